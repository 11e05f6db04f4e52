-- radix_sort: keys, or keys with values, in ascending or descending order; stable.
--
-- Least significant digit first: every pass moves the keys, by DIGIT bits of theirs, from one array
-- to another and keeps the order of those with equal digits. Passes share the bits evenly; the last
-- may have fewer. What a pass does is ALG:
--   onebit        the textbook's: one bit, a key a thread, an exclusive scan of all bits, and every
--                 key goes straight to its place
--   three_launch  tiles count their digits, the counts are scanned, then every tile is sorted in
--                 shared memory and its runs of equal digits are written one after another
--   onesweep      digits of all passes are counted first, in one launch; a pass then reads and writes
--                 each key once, and tiles learn by look-back how many keys of a digit came before.
--                 Passes in which all keys have the same digit are left out.
--   tasks         onesweep in one launch, for few tiles: its blocks take the tiles of all passes in
--                 order, wait for the pass before, and read the counts of every tile before their own.
--                 With BUCKET_ITEMS they go by the highest digit first, and warps sort what has the same
--                 one in their registers, unless too many keys have
--   cluster       all passes in one cluster of blocks: keys stay in their shared memory until they are
--                 sorted, and blocks store into each other's
--   ranges        clusters each read all keys and sort those of their range: none waits for another
--                 (radix_ranges.cuh)
--   single_block  one block has all keys in its registers; every pass goes through shared memory
--   counting      of keys alone, of one or two bytes, it is enough to know how many there are of each
--
-- Keys are compared as unsigned words: of signed keys the sign is inverted, of negative floats all
-- bits are, of others the sign; begin_bit and end_bit count the bits of that word. -0 and +0 are
-- equal; a NaN is beyond infinity on its sign's side, and NaNs are in the order of their bits.
--
-- What is the least? onesweep moves KEY + VALUE bytes in and out per key and pass, and KEY once more to
-- count: 36 bytes for keys of 32 bits and 4 passes, at 4.3 TB/s 119 Gkey/s. For 32 keys of a pass a
-- warp also needs about 50 instructions, 25 to 35 of them (8 ballots, their inversion and conjunction)
-- of the unit for integers and logic, which begins two a clock, and 18 turns at shared memory, since 32
-- random digits of 8 bits meet in about 3.5 of a bank: at 132 x 1.9 GHz these allow 100 Gkey/s.
-- Pairs of 4 bytes each take 3.5 turns more, and by counters of an H200 nothing is full (memory 55 %, the
-- second-level cache 71 %, issue 40 %): phases of two blocks a multiprocessor overlap by chance. More and
-- smaller blocks, sectors written whole, and tiles of one block whose loads overlap, are no faster; neither are 3
-- passes of 11 bits. With tiles that do not follow each other closely runs' sectors leave the cache in parts.
-- Of few keys it is latencies: a launch is 2.5 us, a load that no cache has 0.8, and ranges wait in turn for
-- such a load, a block's scan, a cluster's barrier, and twice for another block's memory. On an H200 2^12
-- keys take 5.1 us, 2^14 5.9; 2^16 and 2^17, of which each multiprocessor reads 32 and 64 KB, 8.9 and 12.0.

local MANY = "(ALG == 'three_launch' or ALG == 'onesweep' or ALG == 'tasks')" -- sorted in tiles
-- not in memory between two passes
local CLUSTERED = "(ALG == 'cluster' or ALG == 'ranges')"
local HELD = "(ALG == 'single_block' or " .. CLUSTERED .. " or ALG == 'counting')"
local KEY = "sel(dtype == 'u8' or dtype == 'i8', 1, sel(dtype == 'u16' or dtype == 'i16' or "
  .. "dtype == 'f16' or dtype == 'bf16', 2, sel(dtype == 'u32' or dtype == 'i32' or "
  .. "dtype == 'f32', 4, 8)))"
local WHOLE = "dtype ~= 'f16' and dtype ~= 'bf16' and dtype ~= 'f32' and dtype ~= 'f64'"
local MOST_PASSES = 64
local CHUNK = "max(16, ceildiv(n, 8192))" -- of a thread of the reference

local function join(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, entry in ipairs(list) do all[#all + 1] = entry end
  end
  return all
end

-- For problems that nobody tuned, as an H200 was fast with.
local SUGGESTED = {}
local function suggest(condition, base, more)
  local config = {}
  for _, from in ipairs { base, more } do
    for name, v in pairs(from) do config[name] = v end
  end
  config.when, config.RANK = condition, config.ALG ~= "counting" and "ballot_mad" or nil
  SUGGESTED[#SUGGESTED + 1] = config
end
local tasks = { ALG = "tasks", COUNT = "early", LOOK = 16, DELAY = 20 }
local onesweep = { ALG = "onesweep", OVERLAP = "on" }
suggest("KEY == 1 and n > 2^16", { ALG = "counting", BLOCK = 256, ITEMS = 4 }, { COPIES = 16, LOOK = 1 })
suggest("KEY == 2 and n > 2^22", { ALG = "counting", BLOCK = 1024, ITEMS = 4 }, { LOOK = 1 })
-- How many keys a cluster holds, and how. All clusters have to run at the same time: where one waits for
-- others to end, 2^16 keys take 16 us instead of 9, and 14 of 8 blocks, or 7 of 16, are the most that
-- 132 multiprocessors take.
local ranges = { ALG = "ranges", LOOK = 1 }
for _, c in ipairs {
  { 11, 256, 2, 4, 8 }, { 12, 512, 2, 4, 16 }, { 13, 384, 4, 8, 12 }, { 14, 384, 6, 8, 7 },
  { 15, 768, 6, 8, 14 }, { 16, 768, 12, 8, 14 }, { 16, 1024, 4, 16, 7 }, { 17, 1024, 16, 8, 14 },
  { 17, 1024, 8, 16, 7 }, { 18, 1024, 16, 16, 7 },
} do
  suggest("dev_cc >= 90 and dev_sms >= 132 and n <= 2^" .. c[1], ranges,
    { BLOCK = c[2], ITEMS = c[3], CLUSTER = c[4], CLUSTERS = c[5] })
  suggest("dev_cc >= 90 and n <= 2^" .. c[1], ranges,
    { BLOCK = c[2], ITEMS = c[3], CLUSTER = c[4], CLUSTERS = c[4] == 16 and 4 or 8 })
end
suggest("n <= 2^11", { ALG = "single_block" }, { BLOCK = 256, ITEMS = 8, LOOK = 1 })
suggest("n <= 2^13", tasks, { BLOCK = 384, ITEMS = 2, SEEK = "soon", BUCKET_ITEMS = 2 })
suggest("n <= 2^14", tasks, { BLOCK = 384, ITEMS = 2, SEEK = "soon", BUCKET_ITEMS = 4 })
suggest("n <= 2^15", tasks, { BLOCK = 768, ITEMS = 2, SEEK = "soon", BUCKET_ITEMS = 8 })
suggest("n <= 2^16", tasks, { BLOCK = 768, ITEMS = 2, SEEK = "soon", BUCKET_ITEMS = 16 })
suggest("n <= 3 * 2^16", tasks, { BLOCK = 768, ITEMS = 4 })
for _, equals in ipairs { "any", "ordered" } do
  suggest("n <= 2^22", onesweep,
    { BLOCK = 384, ITEMS = 24, COUNT = "early", LOOK = 8, EQUALS = equals })
  for _, ask in ipairs { "half", "none" } do
    suggest("KEY <= 4 and VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 48, COUNT = "early", SEEK = "soon",
      LOOK = 4, RESIDENT = 3, COPIES = 16, EQUALS = equals, PREFETCH = ask })
  end
end
suggest("KEY <= 4 and VALUE == 4", onesweep, { BLOCK = 256, ITEMS = 40, LOOK = 1, RESIDENT = 2,
  COPIES = 16, PACK = 2, VALUES = "soon", PREFETCH = "values" })
suggest("KEY <= 4 and VALUE == 8", onesweep, { BLOCK = 384, ITEMS = 20, LOOK = 1, RESIDENT = 2, COPIES = 16,
  PACK = 2, VALUES = "late", PREFETCH = "values", WRITE = "sectors" })
suggest("VALUE == 8 and KEY == 8", onesweep, { BLOCK = 256, ITEMS = 16, LOOK = 1, RESIDENT = 2,
  COPIES = 16, VALUES = "soon", PREFETCH = "values" })
suggest("VALUE > 0", onesweep, { BLOCK = 256, ITEMS = 24, LOOK = 1, RESIDENT = 2, COPIES = 16,
  VALUES = "soon", PREFETCH = "values" })
suggest("KEY == 8 and VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 36, LOOK = 1, RESIDENT = 2, COPIES = 16,
  WRITE = "sectors", PREFETCH = "half" })
suggest("VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 24, LOOK = 1, RESIDENT = 2, COPIES = 16 })
suggest("n >= 0", { ALG = "onesweep" }, { BLOCK = 256, ITEMS = 24 })

-- Stages are there for every pass that a problem may have.
local arrays = { "keys_in", "values_in", "keys_out", "values_out", "keys_tmp", "values_tmp" }
local stages = {
  { kernel = "sort_block", when = "ALG == 'single_block'", grid = "min(n, 1)", block = "BLOCK",
    smem = "SMEM", args = { "n", "keys_in", "values_in", "keys_out", "values_out" } },
  { kernel = "sort_cluster", when = "ALG == 'cluster'", grid = "min(n, 1) * CLUSTER", block = "BLOCK",
    smem = "SMEM", args = { "n", "keys_in", "values_in", "keys_out", "values_out" } },
  { kernel = "sort_ranges", when = "ALG == 'ranges'", grid = "min(n, 1) * CLUSTERS * CLUSTER",
    block = "BLOCK", smem = "SMEM",
    args = { "n", "keys_in", "values_in", "keys_out", "values_out" } },
  { kernel = "count_keys", when = "ALG == 'counting'", block = "BLOCK", smem = "SMEM",
    grid = "PARTS * min(dev_sms * max(1, 1024 // BLOCK) // PARTS, ceildiv(n, 4 * BLOCK))",
    args = { "n", "keys_in", "counts", "bases", "arrived" } },
  { kernel = "write_keys", when = "ALG == 'counting'", block = "BLOCK",
    grid = "ceildiv(n * KEY, 16 * TILE)", args = { "n", "bases", "keys_out" } },
  { kernel = "sort_tasks", when = "ALG == 'tasks'", grid = "(PASSES + 1) * TILES", block = "BLOCK",
    smem = "SMEM", args = join({ "n" }, arrays, { "counts", "published", "done", "counter" }) },
  { kernel = "sort_digits", when = "ALG == 'onesweep'", block = "DIGITS_BLOCK", smem = "DIGITS_SMEM",
    grid = "min(sel(DIGITS_SMEM > 49152, 2, 4) * dev_sms, ceildiv(n, 4 * DIGITS_BLOCK))",
    args = { "n", "keys_in", "counts", "bases", "plan", "arrived" } },
}
for p = 0, MOST_PASSES - 1 do
  local pass = { "i32", p }
  local three = "PASSES > " .. p .. " and (ALG == 'onebit' or ALG == 'three_launch')"
  stages[#stages + 1] = { kernel = "sort_count", when = three, grid = "TILES", block = "BLOCK",
    smem = "COUNTERS", args = join({ "n", pass }, arrays, { "counts", "ones" }) }
  stages[#stages + 1] = { kernel = "sort_scan", when = three,
    grid = "sel(ALG == 'onebit', min(n, 1), min(n, 1) * BINS)", block = "BLOCK",
    args = { { "i64", "TILES" }, "counts" } }
  stages[#stages + 1] = { kernel = "sort_scatter", when = three, grid = "TILES", block = "BLOCK",
    smem = "SMEM", args = join({ "n", pass }, arrays, { "counts", "ones" }) }
  stages[#stages + 1] = { kernel = "sort_pass", when = "PASSES > " .. p .. " and ALG == 'onesweep'",
    grid = "TILES", block = "BLOCK", smem = "SMEM", overlap = "OVERLAP == 'on'",
    args = join({ "n", pass }, arrays, { "bases", "plan", "published", "tickets" }) }
end

-- The reference's passes: one bit each.
local slow_arrays = { "keys_in", "values_in", "keys_out", "values_out", "keys", "values" }
local slow = {}
for p = 0, MOST_PASSES - 1 do
  local when = "max(1, min(end_bit, 8 * (" .. KEY .. ")) - begin_bit) > " .. p
  local args = join({ "n", { "i64", CHUNK }, { "i32", p } }, slow_arrays, { "zeros" })
  slow[#slow + 1] = { kernel = "count", when = when, block = 64,
    grid = "ceildiv(n, 64 * " .. CHUNK .. ")", args = args }
  slow[#slow + 1] = { kernel = "exclude", when = when, grid = "min(n, 1)", block = 1,
    args = { { "i64", "ceildiv(n, " .. CHUNK .. ")" }, "zeros" } }
  slow[#slow + 1] = { kernel = "move", when = when, block = 64,
    grid = "ceildiv(n, 64 * " .. CHUNK .. ")", args = args }
end

return {
  name = "radix_sort",
  version = 1,
  brief = "stable sort of keys, or of keys with values",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 13; "
    .. "Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "keys" },
    { "dtype", { "u32", "i32", "f32", "u64", "i64", "f64", "u16", "i16", "f16", "bf16", "u8", "i8" },
      default = "u32", brief = "type of the keys" },
    { "value_bytes", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key; 0: none" },
    { "order", { "ascending", "descending" }, default = "ascending",
      brief = "equal keys stay in their order" },
    { "begin_bit", 0, 64, default = 0, brief = "the lowest bit of the keys that counts" },
    { "end_bit", 0, 64, default = "8 * (" .. KEY .. ")", brief = "one above the highest" },
    -- Says how keys are distributed, which decides what is fast. What it is tuned for is what tests
    -- and timing use; any keys are sorted.
    { "words", { 1, 2, 3, 4, 5, 6, 16, 64 }, default = 1,
      brief = "random words whose bitwise and is a key: 1, 0.81, 0.54, 0.34, 0.20 bits of entropy a "
        .. "bit; 64: all keys are 0" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "keys_in", "dtype", "in", count = "n", fill = { "bits", "words" } },
    { "values_in", "u32", "in", count = "n * (value_bytes // 4)", fill = { "ramp", 0, 1 },
      brief = "n values of value_bytes" },
    { "keys_out", "dtype", "out", count = "n", brief = "not keys_in itself" },
    { "values_out", "u32", "out", count = "n * (value_bytes // 4)" },
  },

  call = { "dtype", "order", "begin_bit", "end_bit", "value_bytes", "n", "keys_in", "keys_out",
    "values_in", "values_out" },
  call_require = {
    { "values of 8 bytes have to be aligned to 8",
      "value_bytes ~= 8 or values_in % 8 == 0 and values_out % 8 == 0" },
  },

  space = {
    { "ALG", { "onebit", "three_launch", "onesweep", "tasks", "cluster", "ranges", "single_block",
      "counting" }, "what a pass does" },
    { "RADIX", { 1, 4, 5, 6, 7, 8, 9, 10, 11 }, "bits of a digit at most" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48 },
      "coarsening factor: keys per thread" },
    { "RANK", { "ballot", "ballot_mad", "match", "or" },
      "how a warp finds equal digits: a ballot a bit, inverted by logic or by a multiplication; one "
        .. "instruction; masks in shared memory" },
    { "COUNT", { "late", "early" },
      "a tile's digits are counted as keys are ranked, or before that" },
    { "EQUALS", { "ordered", "any" },
      "keys with equal digits keep their order in all passes, or in all but the first" },
    { "COUNTER", { 32, 16 }, "bits of a warp's counters" },
    { "SCATTER", { "shared", "direct" },
      "keys are sorted in shared memory before they are written, or not" },
    { "WRITE", { "lanes", "sectors" }, "what is sorted in shared memory is written a warp's lanes at a time, "
      .. "or by whole sectors", when = "ALG == 'onesweep' and SCATTER == 'shared'" },
    { "SEEK", { "late", "soon" },
      "a tile looks back before its keys are written, or as soon as it has counted" },
    { "LOOK", { 1, 4, 8, 16 }, "tiles that a look back loads at a time" },
    { "DELAY", { 0, 20, 64 }, "nanoseconds between two looks at what is waited for" },
    { "RESIDENT", { 1, 2, 3, 4, 6, 8 }, "blocks a multiprocessor has registers for" },
    { "OVERLAP", { "off", "on" }, "blocks of a pass start while the last of the pass before run" },
    { "COPIES", { 1, 8, 16 }, "copies of the counters that count digits of all passes" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks of a cluster", when = CLUSTERED },
    { "CLUSTERS", { 1, 2, 4, 6, 7, 8, 12, 14, 16, 32 }, "that share the keys' range",
      when = "ALG == 'ranges'" },
    { "BUCKET_ITEMS", { 0, 2, 4, 8, 16, 32 }, "keys that a lane sorts of those with the same highest "
      .. "digit; 0: the lowest digit is the first", when = "ALG == 'tasks'" },
    { "PACK", { 1, 2 }, "ranks in a register" },
    { "VALUES", { "late", "soon" },
      "values are loaded when keys are staged, or as soon as these are ranked", when = "VALUE > 0" },
    { "PREFETCH", { "none", "values", "half", "wave" }, "asked of the second-level cache as a tile begins: "
      .. "nothing, its values, or all of the tile that begins half a wave of blocks later, or a wave" },
    { "LOAD", { "plain", "streaming" }, "cache operator of a pass's loads", when = "ALG == 'onesweep'" },
    { "STORE", { "plain", "streaming" }, "cache operator of a pass's stores", when = "ALG == 'onesweep'" },
  },

  derive = {
    { "KEY", KEY }, -- bytes
    { "VALUE", "value_bytes" },
    { "WIDE", "sel(n < 2^30, 0, 1)" }, -- is a position more than 30 bits?
    { "FIRST_BIT", "min(begin_bit, 8 * KEY - 1)" },
    { "BITS", "max(0, min(end_bit, 8 * KEY) - begin_bit)" },
    { "PASSES", "max(1, ceildiv(BITS, RADIX))" },
    -- Passes share the bits evenly; but where the highest digit is the first it may be larger.
    { "DIGIT", "max(1, sel(BUCKET_ITEMS > 0, min(RADIX, BITS), ceildiv(BITS, PASSES)))" },
    { "BINS", "1 << DIGIT" },
    { "ROW", "max(8, BINS)" }, -- counters of a warp
    { "WARPS", "BLOCK // 32" },
    { "TILE", "BLOCK * ITEMS" },
    { "TILES", "ceildiv(n, TILE)" },
    { "BINS_THREAD", "ceildiv(BINS, BLOCK)" },
    { "COUNTERS", "sel(ALG == 'onebit', 0, WARPS * ROW * (COUNTER // 8 + sel(RANK == 'or', 4, 0)))" },
    { "STAGE", "sel(SCATTER == 'shared', TILE * (KEY + VALUE), 0)" },
    -- What a cluster's blocks store into: counts of all blocks, keys and values.
    { "TABLE", "sel(" .. CLUSTERED .. ", CLUSTER * BINS * 4, 0)" },
    { "INCOMING", "sel(" .. CLUSTERED .. ", TILE * (KEY + VALUE), 0)" },
    -- Counted before they are ranked, keys are staged as they are ranked: beside the counters.
    { "AT_ONCE", "sel(COUNT == 'early' and SCATTER == 'shared', 1, 0)" },
    { "SECTOR", "32 // min(KEY, sel(VALUE > 0, VALUE, KEY))" }, -- elements
    { "RUNS_AT", "sel(AT_ONCE == 1, COUNTERS + STAGE, max(COUNTERS, STAGE))" },
    { "RUNS", "sel(WRITE == 'sectors', BINS * (16 + 16 * WIDE) + "
      .. "(TILE // SECTOR + 2 * BINS) * sel(BINS > 256, 2, 1), 0)" },
    { "DIGITS_BLOCK", "512" }, -- threads that count digits of all passes
    { "DIGITS_SMEM", "sel(ALG == 'onesweep' or ALG == 'tasks', 4 * PASSES * BINS * COPIES, 0)" },
    { "KINDS", "sel(ALG == 'counting', 1 << (8 * min(KEY, 2)), 1)" }, -- of keys
    { "PARTS", "sel(KINDS > 256, 2, 1)" }, -- of which a block counts one
    { "KINDS_SMEM", "sel(ALG == 'counting', 4 * COPIES * KINDS // PARTS, 0)" },
    -- Of ranges: what is sorted of a key, how many of a thread's its cluster may take, a block's.
    { "ENTRY", "sel(VALUE == 0 and BITS == 8 * KEY and " .. WHOLE .. ", KEY, 2 * max(2, KEY))" },
    { "DEPTH", "min(ITEMS, 8 + 4 * ITEMS // CLUSTERS)" },
    { "ROOM", "max(2 * BLOCK, 4 * TILE // CLUSTERS)" },
    { "RANGES_SMEM", "sel(ALG == 'ranges', ENTRY * max(DEPTH * BLOCK, 2 * ROOM), 0)" },
    { "SMEM", "max(RANGES_SMEM, KINDS_SMEM, sel(ALG == 'tasks', DIGITS_SMEM, 0), sel(AT_ONCE == 1 or "
      .. CLUSTERED .. ", COUNTERS + STAGE + TABLE + INCOMING, max(COUNTERS, STAGE)) + RUNS)" },
    { "STATIC", "sel(" .. MANY .. " or " .. CLUSTERED .. ", BINS * (4 + 4 * WIDE), 0) + "
      .. "sel(ALG == 'ranges', 6 * BLOCK, 0) + " .. "sel(ALG == 'tasks', (4 + 4 * WIDE) * max(BINS, BLOCK), 0) + 1024" },
    -- Tiles from a tile to the one that is asked for as it begins.
    { "AHEAD", "sel(PREFETCH == 'half', dev_sms * RESIDENT // 2, sel(PREFETCH == 'wave', dev_sms * RESIDENT, 0))" },
    { "REGS", "max(2 * BUCKET_ITEMS * (max(4, KEY) // 4 + "
      .. "sel(KEY > 2 and (VALUE > 0 or BITS < 8 * KEY or not (" .. WHOLE .. ")), 1, 0)), ITEMS * (max(4, KEY) // 4 + "
      .. "sel(" .. HELD .. " or AT_ONCE == 1 or VALUES == 'soon', VALUE // 4, 0)) + "
      .. "sel(AT_ONCE == 1, 0, ITEMS // PACK)) + 20" },
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "one bit a pass and one key a thread are the textbook's",
      "sel(ALG == 'onebit', RADIX == 1 and ITEMS == 1, RADIX > 1 and ITEMS > 1)" },
    { "a few bits less take as many passes",
      "ALG == 'onebit' or RADIX == 8 or "
        .. "RADIX == DIGIT and (BUCKET_ITEMS > 0 or PASSES ~= ceildiv(BITS, 8))" },
    { "the textbook scans bits", "ALG ~= 'onebit' or RANK == 'ballot' and "
      .. "COUNTER == 32 and SCATTER == 'direct'" },
    { "keys stay in shared memory", "not " .. HELD .. " or SCATTER == 'shared'" },
    { "keys whose order could be told apart", "EQUALS == 'ordered' or ALG == 'onesweep' and "
      .. "VALUE == 0 and BITS == 8 * KEY and " .. WHOLE },
    { "long counters are added to", "EQUALS == 'ordered' or COUNTER == 32" },
    { "nobody waits for a tile's counts",
      "COUNT == 'late' or ALG == 'onesweep' or ALG == 'tasks'" },
    { "nobody looks back",
      "ALG == 'onesweep' or OVERLAP == 'off' and (DELAY == 0 or ALG == 'tasks')" },
    { "what is waited for is soon there", "DELAY ~= sel(ALG == 'tasks', 64, 20)" },
    { "few tiles stay as they are loaded", "ALG ~= 'tasks' or SCATTER == 'shared'" },
    { "nobody counts the digits of all passes",
      "ALG == 'onesweep' or ALG == 'counting' or COPIES == 1" },
    { "nobody reads others' counts",
      "ALG == 'onesweep' or ALG == 'tasks' or SEEK == 'late' and LOOK == 1" },
    { "keys that differ, though they are of one kind", "ALG ~= 'counting' or KEY <= 2 and "
      .. "VALUE == 0 and BITS == 8 * KEY and " .. WHOLE },
    { "nothing is ranked", "ALG ~= 'counting' or RADIX == 8 and RANK == 'ballot' and COUNTER == 32" },
    { "buckets are after another pass", "BUCKET_ITEMS == 0 or PASSES > 1" },
    { "buckets that are too small, or mostly empty", "BUCKET_ITEMS == 0 or "
      .. "32 * BUCKET_ITEMS * BINS >= n and 4 * BUCKET_ITEMS * BINS <= max(n, 2048)" },
    { "ptxas 13.0 finds no predicates for buckets of such keys, counted late, on compute capability 9.0",
      "BUCKET_ITEMS == 0 or COUNT == 'early' or KEY > 4 or dev_cc ~= 90" },
    { "ranks of 16 bits", "PACK == 1 or ITEMS >= 16 and TILE < 65536 and AT_ONCE == 0 "
      .. "and ALG == 'onesweep'" },
    { "values that are there already or are not", "VALUES == 'late' or "
      .. "AT_ONCE == 0 and (ALG == 'onesweep' or ALG == 'tasks')" },
    { "prefetches of tiles are for compute capability 9.0 on",
      "PREFETCH == 'none' or ALG == 'onesweep' and dev_cc >= 90" },
    { "there are no values", "PREFETCH ~= 'values' or VALUE > 0" },
    { "no tile begins that much later", "PREFETCH == 'none' or TILES > AHEAD" },
    { "clusters are for compute capability 9.0 on",
      "not " .. CLUSTERED .. " or CLUSTER > 1 and dev_cc >= 90" },
    { "most of the cluster's blocks have no keys",
      "not " .. CLUSTERED .. " or CLUSTER * TILE <= max(2048, 4 * n)" },
    { "more keys than the cluster holds", "not " .. CLUSTERED .. " or n <= CLUSTER * TILE" },
    { "one cluster has no use for ranges", "ALG ~= 'ranges' or CLUSTERS > 1" },
    { "clusters that wait for others' multiprocessors",
      "ALG ~= 'ranges' or CLUSTERS * CLUSTER * BLOCK <= dev_sms * dev_threads_sm" },
    { "digits are the exception", "ALG ~= 'ranges' or RADIX == 8 and RANK == 'ballot_mad' and "
      .. "COUNTER == 32" },
    { "places of 16 bits", "ALG ~= 'ranges' or KEY > 2 or n <= 2^16" },
    { "too many tiles to read the counts of each", "ALG ~= 'tasks' or TILES <= 160" },
    { "launches overlap from compute capability 9.0 on", "OVERLAP == 'off' or dev_cc >= 90" },
    { "one block a multiprocessor", "RESIDENT == 1 or " .. MANY .. " and ALG ~= 'tasks'" },
    { "more keys than the block holds", "ALG ~= 'single_block' or n <= TILE" },
    { "tiles larger than the problem", "TILE <= max(2048, 2 * n)" },
    { "fewer keys a tile than digits", "TILE >= 2 * BINS or ALG == 'onebit'" },
    { "many small tiles", "not " .. MANY .. " or TILE >= 2048 or n <= 4096 * TILE" },
    { "short counters overflow", "COUNTER == 32 or TILE * CLUSTER < 65536" },
    { "short counters, though long ones have room", "COUNTER == 32 or "
      .. "4 * WARPS * ROW > sel(AT_ONCE == 1, 16384, STAGE)" },
    { "a thread's keys exceed the registers", "REGS <= 255" },
    { "a block's keys exceed the registers", "BLOCK * REGS <= dev_regs_block" },
    { "that many blocks exceed a multiprocessor's registers",
      "RESIDENT == 1 or BLOCK * RESIDENT * REGS <= dev_regs_sm" },
    { "that many blocks exceed a multiprocessor's threads",
      "RESIDENT == 1 or BLOCK * RESIDENT <= dev_threads_sm" },
    { "so few blocks need no bound", "RESIDENT == 1 or BLOCK * RESIDENT * 128 >= dev_regs_sm" },
    { "more shared memory than a block may have", "SMEM + STATIC <= dev_smem_block" },
    { "that many blocks exceed a multiprocessor's shared memory",
      "RESIDENT == 1 or RESIDENT * (SMEM + STATIC + dev_smem_reserved) <= dev_smem_sm" },
    { "counters of all passes exceed a block's shared memory",
      "DIGITS_SMEM + 1024 <= dev_smem_block" },
  },

  default = { ALG = "onesweep", RADIX = 8, BLOCK = 256, ITEMS = 8, RANK = "ballot", COUNT = "late",
    EQUALS = "ordered", COUNTER = 32, SCATTER = "shared", WRITE = "lanes", SEEK = "late", LOOK = 4, DELAY = 0,
    RESIDENT = 1, OVERLAP = "off", COPIES = 1, CLUSTER = 1, CLUSTERS = 1, BUCKET_ITEMS = 0,
    PACK = 1, VALUES = "late", PREFETCH = "none", LOAD = "plain",
    STORE = "plain" },
  untuned = SUGGESTED,

  workspace = {
    { "keys_tmp", "u8", "sel(PASSES > 1 and not " .. HELD .. ", n * KEY, 0)" },
    { "values_tmp", "u8", "sel(PASSES > 1 and not " .. HELD .. ", n * VALUE, 0)" },
    -- onesweep, tasks: of each pass how many keys have a digit; three_launch: of each digit how many of a
    -- tile's keys have it, then all keys that do; onebit: of each block how many bits are ones.
    { "counts", "u32", "(1 + WIDE) * sel(ALG == 'onesweep', PASSES * BINS, sel(ALG == 'tasks', "
      .. "2 * PASSES * BINS, sel(ALG == 'three_launch', BINS * (TILES + 1), sel(ALG == 'onebit', "
      .. "TILES + 1, sel(ALG == 'counting', KINDS, 0)))))" },
    { "ones", "u32", "sel(ALG == 'onebit', n, 0)" },
    { "bases", "u32", "(1 + WIDE) * sel(ALG == 'onesweep', PASSES * BINS, "
      .. "sel(ALG == 'counting', KINDS + 1, 0))" },
    { "plan", "u32", "sel(ALG == 'onesweep', PASSES + 1, 0)" },
    { "published", "u32", "(1 + WIDE) * TILES * BINS * sel(ALG == 'tasks', PASSES, "
      .. "sel(ALG == 'onesweep', 1, 0))" },
    -- tiles whose digits are counted, then those of each pass but the last
    { "done", "u32", "sel(ALG == 'tasks', 32 * PASSES, 0)" },
    { "counter", "u64", "sel(ALG == 'tasks', 1, 0)" },
    { "tickets", "u32", "sel(ALG == 'onesweep', PASSES, 0)" },
    { "arrived", "u32", "sel(ALG == 'onesweep' or ALG == 'counting', 1, 0)" },
  },

  stages = stages,

  source = [==[
@include "last_block.cuh"
@include "cluster.cuh"
@include "lanes.cuh"
@include "prefetch.cuh"
@include "ptx.cuh"
@include "ticket.cuh"
@include "words.cuh"

@ local chained = ALG == "onesweep" or ALG == "tasks" -- tiles read each other's counts
@ local tiles = ALG == "three_launch" or chained
@ local from_top = BUCKET_ITEMS > 0 -- the lowest digit has what bits are left
@include "radix_tile.cuh"
@include "radix_move.cuh"
@ if ALG == "onesweep" or ALG == "counting" then
struct alignas(16) vector {
  key e[16 / KEY];
};

// All keys, each by one of the blocks of THREADS threads; whole vectors, and what lies before and after.
template <int THREADS, typename F>
__device__ __forceinline__ void each_key(const key *keys, long long n, int block, int blocks, F f) {
  constexpr int VEC = 16 / KEY, COARSE = 4;
  const long long head = min(n, (long long)(-(long long)keys & 15) / KEY);
  const long long vectors = (n - head) / VEC;
  const vector *from = reinterpret_cast<const vector *>(keys + head);
  if (block == 0) {
    if (threadIdx.x < head) f(keys[threadIdx.x]);
    const long long tail = head + vectors * VEC + threadIdx.x;
    if (tail < n) f(keys[tail]);
  }
  for (long long at = (long long)block * (THREADS * COARSE) + threadIdx.x; at < vectors;
       at += (long long)blocks * (THREADS * COARSE)) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (at + c * THREADS < vectors) v[c] = load_plain(from + at + c * THREADS);
    }
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (at + c * THREADS < vectors) {
#pragma unroll
        for (int e = 0; e < VEC; e++) f(v[c].e[e]);
      }
    }
  }
}
@ end
@ if ALG == "onesweep" then

// ---- digits of all passes ----------------------------------------------------------------------

// Which passes are made, and how: a plan has a pass's difference from what is usual, so that zeros,
// which is what it is at first, are the usual passes.
enum { SKIP = 1, FIRST = 2, LAST = 4, TO_OUT = 8, PARITY = 16 };

__device__ __forceinline__ unsigned steps_of(bool first, int left, unsigned parity) {
  return (first ? FIRST : 0) | (left == 0 ? LAST : 0) | (left % 2 == 0 ? TO_OUT : 0) |
         (parity % 2 ? PARITY : 0);
}
__device__ __forceinline__ unsigned usual_steps(int pass) {
  return steps_of(pass == 0, PASSES - 1 - pass, pass + 1);
}

// By one thread. plan[PASSES] has the parity of the last pass that was made, so that words of a pass
// are told from those of the pass before.
__device__ __forceinline__ void make_plan(const bool *same, unsigned parity, unsigned *plan) {
  int left = 0;
  for (int p = 0; p < PASSES; p++) left += !same[p];
  const bool none = left == 0;
  bool first = true;
  left = none ? 1 : left;
  for (int p = 0; p < PASSES; p++) {
    unsigned steps = SKIP;
    if (!same[p] || (none && p == 0)) {
      steps = steps_of(first, --left, parity ^= 1);
      first = false;
    }
    plan[p] = steps ^ usual_steps(p);
  }
  plan[PASSES] = parity;
}

extern "C" __global__ void __launch_bounds__(DIGITS_BLOCK)
sort_digits(long long n, const key *__restrict__ keys_in, position *counts, position *begins,
            unsigned *plan, unsigned *arrived) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  let_next_start();
  for (int i = threadIdx.x; i < PASSES * BINS * COPIES; i += DIGITS_BLOCK) counters[i] = 0;
  __syncthreads();
  each_key<DIGITS_BLOCK>(keys_in, n, blockIdx.x, gridDim.x, count_key);
  __syncthreads();
  add_digits<DIGITS_BLOCK>(counts);
  if (!is_last_block(arrived, gridDim.x)) return;
  __shared__ bool same[PASSES];
  const unsigned parity = plan[PASSES];
  for (int p = threadIdx.x / 32; p < PASSES; p += DIGITS_BLOCK / 32) {
    const bool all = scan_pass((position)n, counts + p * BINS, begins + p * BINS);
    if (threadIdx.x % 32 == 0) same[p] = all;
  }
  __syncthreads();
  if (threadIdx.x == 0) make_plan(same, parity, plan);
}

// ---- a pass ------------------------------------------------------------------------------------

// A tile publishes how many keys of a digit it has, then how many all up to and with it have, as a
// word of the digit: the pass's parity, which of the two, the number.
constexpr position ODD = (position)1 << (32 + 32 * WIDE - 1), SUM = ODD >> 1, NUMBER = SUM - 1;

// How many keys of this thread's bins the tiles before this one have.
__device__ __forceinline__ void look_back(const position *words, long long tile, position odd,
                                          position (&sum)[BINS_THREAD]) {
  long long at[BINS_THREAD];  // the tile to look at; -1 when all is known
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    at[j] = j * BLOCK + threadIdx.x < BINS ? tile - 1 : -1;
    sum[j] = 0;
  }
  bool more;
  do {
    position w[BINS_THREAD][LOOK];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
#pragma unroll
      for (int l = 0; l < LOOK; l++) {
        if (at[j] >= 0) w[j][l] = load_relaxed(words + max(at[j] - l, 0ll) * BINS + j * BLOCK);
      }
    }
    more = false;
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
#pragma unroll
      for (int l = 0; l < LOOK; l++) {
        if (at[j] < 0) break;
        while ((w[j][l] & ODD) != odd) {
@   if DELAY > 0 then
          __nanosleep(DELAY);
@   end
          w[j][l] = load_relaxed(words + at[j] * BINS + j * BLOCK);
        }
        sum[j] += w[j][l] & NUMBER;
        at[j] = w[j][l] & SUM ? -1 : at[j] - 1;
      }
      more |= at[j] >= 0;
    }
  } while (more);
}

@   if PREFETCH ~= "none" then
// Asks for the tile's elements, as far as they are whole words of 16 bytes.
template <typename T>
__device__ __forceinline__ void prefetch(const T *from, long long room) {
  const size_t first = ((size_t)from + 15) / 16 * 16;
  const size_t end = (size_t)(from + min(room, (long long)TILE)) / 16 * 16;
  if (first < end) prefetch_second(reinterpret_cast<const void *>(first), (unsigned)(end - first));
}

@   end
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
sort_pass(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
          value *values_out, key *keys_tmp, value *values_tmp, const position *begins,
          const unsigned *plan, position *words, unsigned *tickets) {
  __shared__ unsigned ticket;  // tiles in the order in which blocks start: nobody waits for a later
  if (threadIdx.x == 0) ticket = atomicInc(tickets + pass, gridDim.x - 1);
  clear_counters();
  let_next_start();
  wait_for_last();
  const unsigned what = plan[pass] ^ usual_steps(pass);
  if (what & SKIP) return;
  __syncthreads();
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of(what & FIRST, what & LAST, what & TO_OUT);
  const position odd = what & PARITY ? ODD : 0;
  const long long tile = ticket, room = n - tile * TILE;
@   if PREFETCH ~= "none" then
  if (threadIdx.x == 0 && room > AHEAD * (long long)TILE) {
    const long long there = (tile + AHEAD) * TILE;
@     if PREFETCH ~= "values" then
    prefetch(m.from + there, n - there);
@     end
@     if VALUE > 0 then
    prefetch(m.values_from + there, n - there);
@     end
  }
@   end
  position *own = words + tile * BINS;
  const auto tell = [&](const unsigned (&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS && tile > 0) store_relaxed(own + bin, odd | count[j]);
      if (bin < BINS && tile == 0) {
        store_relaxed(own + bin, odd | SUM | (begins[pass * BINS + bin] + count[j]));
      }
    }
  };
  const auto find = [&](const unsigned (&count)[BINS_THREAD],
                        const unsigned (&start)[BINS_THREAD]) {
    position before[BINS_THREAD];
    if (tile > 0) look_back(words + threadIdx.x, tile, odd, before);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) {
        if (tile == 0) before[j] = begins[pass * BINS + bin];
        else store_relaxed(own + bin, odd | SUM | (before[j] + count[j]));
@   if WRITE == "lanes" then
        bases[bin] = before[j] - start[j];
@   end
      }
    }
@   if WRITE == "sectors" then
    lay_out(before, count, start, behind_sector(m.to));
@   end
  };
  move_tile(m, place_of(pass), tile, room, tell, find);
}
@ elseif ALG == "tasks" then

// ---- all passes in one launch ------------------------------------------------------------------

// A tile publishes how many keys of a digit it has as a word: the launch's parity, the number.
constexpr position ODD = (position)1 << (32 + 32 * WIDE - 1), NUMBER = ODD - 1;

// Adds up what tiles up to `tile` have of a digit: every `step`-th from the first on.
__device__ __forceinline__ position add_tiles(const position *words, unsigned first, unsigned step,
                                           unsigned tile, position odd) {
  position sum = 0;
  for (unsigned t = first; t < tile; t += step * LOOK) {
    position w[LOOK];
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      w[j] = load_relaxed(words + (long long)min(t + j * step, tile - 1) * BINS);
    }
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      const unsigned at = t + j * step;
      if (at >= tile) break;
      while ((w[j] & ODD) != odd) w[j] = load_relaxed(words + (long long)at * BINS);
      sum += w[j] & NUMBER;
    }
  }
  return sum;
}

// What the tiles before this one have of this thread's bins; threads beyond the bins read some tiles.
__device__ __forceinline__ void sum_tiles(const position *words, unsigned tile, position odd,
                                          position (&before)[BINS_THREAD]) {
  constexpr int GROUPS = BLOCK > BINS ? BLOCK / BINS : 1;
  __shared__ position parts[GROUPS * BINS];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int at = j * BLOCK + threadIdx.x;
    if (at < GROUPS * BINS) parts[at] = add_tiles(words + at % BINS, at / BINS, GROUPS, tile, odd);
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    before[j] = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) before[j] += bin < BINS ? parts[g * BINS + bin] : 0;
  }
}

constexpr int APART = 32;  // between counters, so that who waits for one is in nobody else's way

// Of one pass: tiles that are done.
__device__ __forceinline__ void tell_done(unsigned *done) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, 1);
  }
}
__device__ __forceinline__ void wait_for(const unsigned *done, unsigned tiles) {
  if (threadIdx.x == 0) {
    while (load_acquire(done) != tiles) {
@   if DELAY > 0 then
      __nanosleep(DELAY);
@   end
    }
  }
  __syncthreads();
}

// The tile's digits of all passes.
__device__ __forceinline__ void count_tile(const key *from, long long room, position *counts) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  key k[ITEMS];
  get_keys(k, from, room, false);
  for (int i = threadIdx.x; i < PASSES * BINS * COPIES; i += BLOCK) counters[i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) count_key(k[i]);
  }
  __syncthreads();
  add_digits<BLOCK>(counts);
}

@   if BUCKET_ITEMS > 0 then
@include "radix_entry.cuh"

// Can warps sort the keys of each highest digit?
__device__ __forceinline__ bool buckets_are_small(const position *counts) {
  bool large = false;
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    large |= bin < BINS && load_second(counts + bin) > 32 * BUCKET_ITEMS;
  }
  return !__syncthreads_or(large);
}

// Those of every tiles-th bucket.
__device__ __forceinline__ void sort_buckets(position n, const arrays &all, const position *counts,
                                             unsigned tile, unsigned tiles) {
  const int lane = threadIdx.x % 32;
  position begin[BINS_THREAD];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    begin[j] = bin < BINS ? load_second(counts + bin) : 0;
  }
  scan_rows<BIN_ROWS>(begin);
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) bases[bin] = begin[j];
  }
  __syncthreads();
  for (unsigned b = threadIdx.x / 32 * tiles + tile; b < BINS; b += WARPS * tiles) {
    const position first = bases[b], count = (b + 1 < BINS ? bases[b + 1] : n) - first;
    const key *from = all.keys_tmp + first;
    entry v[BUCKET_ITEMS];
#pragma unroll
    for (int i = 0; i < BUCKET_ITEMS; i++) {
      const unsigned at = i * 32 + lane;
      v[i] = make_entry(at < count ? load_plain(from + at) : (key)~(key)0, at);
    }
    sort_lanes<32>(v);
#pragma unroll
    for (int i = 0; i < BUCKET_ITEMS; i++) {
      const position at = lane * BUCKET_ITEMS + i;
      if (at < count) {
        all.keys_out[first + at] = key_of(v[i], from, true);
@     if VALUE > 0 then
        all.values_out[first + at] = all.values_tmp[first + v[i].at()];
@     end
      }
    }
  }
}

@   end
// The tasks of a launch: tiles whose digits are counted, then those of each pass. counts: of this
// launch and, zeros for now, of the next.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
sort_tasks(long long n, const key *keys_in, const value *values_in, key *keys_out,
           value *values_out, key *keys_tmp, value *values_tmp, position *counts, position *words,
           unsigned *done, unsigned long long *counter) {
  unsigned launch;
  const unsigned tiles = gridDim.x / (PASSES + 1);
  const unsigned task = take_ticket(counter, &launch), tile = task % tiles;
  const long long room = n - (long long)tile * TILE;
  const position odd = launch % 2 ? 0 : ODD;
  position *mine = counts + launch % 2 * (PASSES * BINS);
  if (task < tiles) {
    count_tile(keys_in + (long long)tile * TILE, room, mine);
    tell_done(done);
    return;
  }
  const unsigned step = task / tiles - 1, before = (launch + 1) * tiles;
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  move m = all.of_pass(step);
  unsigned pass = step;
  bool moves = true;
  words += ((long long)step * tiles + tile) * BINS;
  clear_counters();
@   if BUCKET_ITEMS > 0 then
  wait_for(done, before);
  if (buckets_are_small(mine + (PASSES - 1) * BINS)) {
    pass = PASSES - 1;
    m = {keys_in, keys_tmp, values_in, values_tmp, true, false};
    moves = step == 0;
  }
  if (step > 0) wait_for(done + step * APART, before);
  if (!moves) {
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) words[bin] = odd;  // as moves would
    if (step == 1) sort_buckets((position)n, all, mine + pass * BINS, tile, tiles);
  }
@   else
  wait_for(done + step * APART, before);
@   end
  if (tile == 0) {
    position *next = counts + (launch + 1) % 2 * (PASSES * BINS) + step * BINS;
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) next[bin] = 0;
  }
  const auto tell = [&](const unsigned (&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) store_relaxed(words + bin, odd | count[j]);
    }
  };
  const auto find = [&](const unsigned (&)[BINS_THREAD], const unsigned (&start)[BINS_THREAD]) {
    position earlier[BINS_THREAD], begin[BINS_THREAD];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      begin[j] = bin < BINS ? load_second(mine + pass * BINS + bin) : 0;
    }
    sum_tiles(words - (long long)tile * BINS, tile, odd, earlier);
    scan_rows<BIN_ROWS>(begin);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) bases[bin] = begin[j] + earlier[j] - start[j];
    }
  };
  if (moves) move_tile(m, place_of(pass), tile, room, tell, find);
  if (step + 1 < PASSES) tell_done(done + (step + 1) * APART);
}
@ elseif ALG == "three_launch" then

// ---- a pass in three launches ------------------------------------------------------------------

// counts[digit * tiles + tile], then counts[BINS * tiles + digit] of all tiles

extern "C" __global__ void __launch_bounds__(BLOCK)
sort_count(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
           value *values_out, key *keys_tmp, value *values_tmp, position *counts, unsigned *) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of_pass(pass);
  const long long tile = blockIdx.x, room = n - tile * TILE;
  const place p = place_of(pass);
  key k[ITEMS];
  unsigned count[BINS_THREAD];
  clear_counters();
  get_keys(k, m.from + tile * TILE, room, m.first);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned d = p.of(k[i]);
    atomicAdd(reinterpret_cast<unsigned *>(counters_of(threadIdx.x / 32)) + d * COUNTER / 32,
              1u << d % (32 / COUNTER) * 16);
  }
  __syncthreads();
  sum_counters(count);
  real_counts(count, room, p, count);
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) counts[(long long)bin * gridDim.x + tile] = count[j];
  }
}

// Of each digit the exclusive scan of its counts: a block for each.
extern "C" __global__ void __launch_bounds__(BLOCK) sort_scan(long long tiles, position *counts) {
  position *row = counts + blockIdx.x * tiles, before = 0;
  for (long long at = threadIdx.x; at < (tiles + BLOCK - 1) / BLOCK * BLOCK; at += BLOCK) {
    position v[1] = {at < tiles ? row[at] : 0};
    const position sum = scan_rows<WARPS>(v);
    if (at < tiles) row[at] = before + v[0];
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[gridDim.x * tiles + blockIdx.x] = before;
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
sort_scatter(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
             value *values_out, key *keys_tmp, value *values_tmp, const position *counts, unsigned *) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of_pass(pass);
  const long long tile = blockIdx.x, tiles = gridDim.x, room = n - tile * TILE;
  const place p = place_of(pass);
  key k[ITEMS];
  value v[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  clear_counters();
  get_keys(k, m.from + tile * TILE, room, m.first);
  rank_keys(k, p, [&](int i, unsigned r) { rank.set(i, r); });
  __syncthreads();
  sum_counters(start);
  scan_counters(start);
  __syncthreads();
  add_starts(k, rank, p);
  put(k, v, rank, m, p, tile * TILE, room, [&] {
    position begin[BINS_THREAD];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      begin[j] = bin < BINS ? counts[BINS * tiles + bin] : 0;
    }
    scan_rows<BIN_ROWS>(begin);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) bases[bin] = begin[j] + counts[bin * tiles + tile] - start[j];
    }
  });
}
@ elseif ALG == "single_block" then

// ---- all passes in one block -------------------------------------------------------------------

@include "radix_block.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
sort_block(long long n, const key *keys_in, const value *values_in, key *keys_out,
           value *values_out) {
  sort_in_block(n, keys_in, values_in, keys_out, values_out);
}
@ elseif ALG == "cluster" or ALG == "ranges" then

// ---- all passes in one cluster -----------------------------------------------------------------

@include "radix_cluster.cuh"
@   if ALG == "ranges" then
@include "radix_ranges.cuh"
@   else

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(BLOCK)
sort_cluster(long long n, const key *keys_in, const value *values_in, key *keys_out,
             value *values_out) {
  sort_in_cluster(n, keys_in, values_in, keys_out, values_out);
}
@   end
@ elseif ALG == "counting" then

// ---- how many there are of each ----------------------------------------------------------------

// Where the keys of each kind begin, and where the last end: by the block that comes last.
__device__ __forceinline__ void scan_kinds(position n, position *counts, position *begins) {
  constexpr int EACH = KINDS < 8 * BLOCK ? (KINDS + BLOCK - 1) / BLOCK : 8;
  position before = 0;
  for (int first = 0; first < KINDS; first += EACH * BLOCK) {
    position v[EACH];
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int kind = first + j * BLOCK + threadIdx.x;
      v[j] = kind < KINDS ? load_second(counts + kind) : 0;
    }
    const position sum = scan_rows<EACH * WARPS>(v);
#pragma unroll
    for (int j = 0; j < EACH; j++) {
      const int kind = first + j * BLOCK + threadIdx.x;
      if (kind < KINDS) {
        begins[kind] = before + v[j];
        counts[kind] = 0;
      }
    }
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) begins[KINDS] = n;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
count_keys(long long n, const key *__restrict__ keys_in, position *counts, position *begins,
           unsigned *arrived) {
  constexpr int SHARE = KINDS / PARTS;
  const unsigned first = blockIdx.x % PARTS * SHARE;
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  for (int i = threadIdx.x; i < SHARE * COPIES; i += BLOCK) counters[i] = 0;
  __syncthreads();
  each_key<BLOCK>(keys_in, n, blockIdx.x / PARTS, gridDim.x / PARTS, [&](key k) {
    const unsigned kind = encode(k) - first;
    if (PARTS == 1 || kind < SHARE) atomicAdd(counters + kind * COPIES + threadIdx.x % COPIES, 1);
  });
  __syncthreads();
  for (int kind = threadIdx.x; kind < SHARE; kind += BLOCK) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; c++) sum += counters[kind * COPIES + (c + threadIdx.x) % COPIES];
    if (sum > 0) atomicAdd(counts + first + kind, (position)sum);
  }
  if (is_last_block(arrived, gridDim.x)) scan_kinds((position)n, counts, begins);
}

// The kind of the key at a place, which is between two kinds.
__device__ __forceinline__ int kind_at(const position *begins, position at, int least, int most) {
  while (least < most) {  // the last that begins no later
    const int middle = (least + most + 1) / 2;
    if (begins[middle] <= at) least = middle;
    else most = middle - 1;
  }
  return least;
}

// 16 bytes from a place on; most of them of one kind where there are many.
__device__ __forceinline__ vector keys_from(const position *begins, position at, int least, int most) {
  constexpr int VEC = 16 / KEY;
  vector v;
  int kind = kind_at(begins, at, least, most);
  position end = begins[kind + 1];
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    if (at + e >= end) {
      kind = kind_at(begins, at + e, kind + 1, most);
      end = begins[kind + 1];
    }
    v.e[e] = decode((key)kind);
  }
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
write_keys(long long n, const position *begins, key *keys_out) {
  constexpr int VEC = 16 / KEY;
  const long long head = min(n, (long long)(-(long long)keys_out & 15) / KEY);
  const long long vectors = (n - head) / VEC, first = (long long)blockIdx.x * TILE;
  __shared__ int kinds[2];  // of the block's first and last key
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
    const long long at = threadIdx.x == 0 ? first : first + TILE;
    kinds[threadIdx.x / 32] = kind_at(begins, min(head + at * VEC, n - 1), 0, KINDS - 1);
  }
  __syncthreads();
  const int least = kinds[0], most = kinds[1];
  vector *to = reinterpret_cast<vector *>(keys_out + head);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = first + i * BLOCK + threadIdx.x;
    if (at < vectors) store_plain(to + at, keys_from(begins, head + at * VEC, least, most));
  }
  if (blockIdx.x > 0) return;
  const long long tail = head + vectors * VEC + threadIdx.x;
  if (threadIdx.x < head) {
    keys_out[threadIdx.x] = decode((key)kind_at(begins, threadIdx.x, 0, KINDS - 1));
  }
  if (tail < n) keys_out[tail] = decode((key)kind_at(begins, tail, 0, KINDS - 1));
}
@ elseif ALG == "onebit" then

// ---- the textbook's pass -----------------------------------------------------------------------

__device__ __forceinline__ unsigned bit_of(const move &m, place p, long long i) {
  return p.of(m.first ? encode(m.from[i]) : m.from[i]);
}

// Of each bit how many of the block's bits before it are ones; and how many ones the block has.
extern "C" __global__ void __launch_bounds__(BLOCK)
sort_count(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
           value *values_out, key *keys_tmp, value *values_tmp, position *counts, unsigned *ones) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  unsigned bit[1] = {i < n ? bit_of(all.of_pass(pass), place_of(pass), i) : 0};
  const unsigned sum = scan_rows<WARPS>(bit);
  if (i < n) ones[i] = bit[0];
  if (threadIdx.x == 0) counts[blockIdx.x] = sum;
}

// The blocks' counts become how many ones are before each; then how many there are.
extern "C" __global__ void __launch_bounds__(BLOCK) sort_scan(long long blocks, position *counts) {
  position before = 0;
  for (long long at = threadIdx.x; at < (blocks + BLOCK - 1) / BLOCK * BLOCK; at += BLOCK) {
    position v[1] = {at < blocks ? counts[at] : 0};
    const position sum = scan_rows<WARPS>(v);
    if (at < blocks) counts[at] = before + v[0];
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[blocks] = before;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
sort_scatter(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
             value *values_out, key *keys_tmp, value *values_tmp, const position *counts,
             const unsigned *ones) {
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of_pass(pass);
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const long long before = counts[blockIdx.x] + (long long)ones[i], all_ones = counts[gridDim.x];
  const long long to = bit_of(m, place_of(pass), i) ? n - all_ones + before : i - before;
  const key k = m.first ? encode(m.from[i]) : m.from[i];
  m.to[to] = m.last ? decode(k) : k;
@   if VALUE > 0 then
  m.values_to[to] = m.values_from[i];
@   end
}
@ end
]==],

  -- Least significant bit first, keys as they are: chunks of neighbours, a thread each. Threads count
  -- their zeros, one thread scans the counts, then each moves its keys in their order.
  reference = {
    workspace = {
      { "keys", "u8", "n * (" .. KEY .. ")" },
      { "values", "u8", "n * value_bytes" },
      { "zeros", "u64", "ceildiv(n, " .. CHUNK .. ") + 1" },
    },
    stages = slow,
    source = [[
@ local size = tonumber(dtype:match("%d+")) // 8
@ local unsigned = { "unsigned char", "unsigned short", nil, "unsigned", nil, nil, nil,
@   "unsigned long long" }
@ local float = dtype:find("f") ~= nil
using key = @{unsigned[size]};
using value = @{unsigned[value_bytes] or "unsigned"};

constexpr int WIDTH = @{8 * size}, STEPS = @{math.max(1, math.min(end_bit, 8 * size) - begin_bit)};

// A bit of the word by which a key is compared; 1 comes last.
__device__ bool bit_of(key k, int pass) {
@ if begin_bit >= math.min(end_bit, 8 * size) then
  return false;
@ end
  const bool negative = k >> (WIDTH - 1) & 1;
@ if float then
  if ((key)(k << 1) == 0) k = 0;  // zeros of either sign
@ end
  const int bit = @{begin_bit} + pass;
  bool one = k >> bit & 1;
@ if float then
  if (bit == WIDTH - 1 || (negative && k != 0)) one = !one;
@ elseif dtype:sub(1, 1) == "i" then
  if (bit == WIDTH - 1) one = !one;
@ end
  return one != @{order == "descending" and "true" or "false"};
}

struct arrays {
  const key *from;
  const value *values_from;
  key *to;
  value *values_to;
};
__device__ arrays of_pass(int pass, const key *keys_in, const value *values_in, key *keys_out,
                          value *values_out, key *keys, value *values) {
  const bool to_out = (STEPS - 1 - pass) % 2 == 0;
  return {pass == 0 ? keys_in : to_out ? keys : keys_out,
          pass == 0 ? values_in : to_out ? values : values_out, to_out ? keys_out : keys,
          to_out ? values_out : values};
}

extern "C" __global__ void count(long long n, long long chunk, int pass, const key *keys_in,
                                 const value *values_in, key *keys_out, value *values_out,
                                 key *keys, value *values, long long *zeros) {
  const arrays a = of_pass(pass, keys_in, values_in, keys_out, values_out, keys, values);
  const long long first = (blockIdx.x * 64ll + threadIdx.x) * chunk;
  if (first >= n) return;
  long long sum = 0;
  for (long long i = first; i < n && i < first + chunk; i++) sum += !bit_of(a.from[i], pass);
  zeros[first / chunk] = sum;
}

extern "C" __global__ void exclude(long long chunks, long long *zeros) {
  long long sum = 0;
  for (long long i = 0; i < chunks; i++) {
    const long long own = zeros[i];
    zeros[i] = sum;
    sum += own;
  }
  zeros[chunks] = sum;
}

extern "C" __global__ void move(long long n, long long chunk, int pass, const key *keys_in,
                                const value *values_in, key *keys_out, value *values_out,
                                key *keys, value *values, const long long *zeros) {
  const arrays a = of_pass(pass, keys_in, values_in, keys_out, values_out, keys, values);
  const long long first = (blockIdx.x * 64ll + threadIdx.x) * chunk;
  if (first >= n) return;
  long long zero = zeros[first / chunk];
  long long one = zeros[(n + chunk - 1) / chunk] + first - zero;
  for (long long i = first; i < n && i < first + chunk; i++) {
    const long long to = bit_of(a.from[i], pass) ? one++ : zero++;
    a.to[to] = a.from[i];
@ if value_bytes > 0 then
    a.values_to[to] = a.values_from[i];
@ end
  }
}
]],
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "2 * n * (" .. KEY .. " + value_bytes)",

  sizes = {
    emu = { "n=3001", "n=0", "n=1003 value_bytes=4 words=5",
      "n=777 dtype=f16 order=descending value_bytes=8 begin_bit=3 end_bit=16" },
    test = { "n=0", "n=1", "n=1025", "n=65537 value_bytes=4", "n=1000003 words=3",
      "n=1000000 dtype=f32 order=descending value_bytes=8", "n=2^20 dtype=i64 value_bytes=4",
      "n=3000001 dtype=u8 value_bytes=4", "n=777777 dtype=f16", "n=2^22 end_bit=20",
      "n=300000 dtype=f64 words=5 value_bytes=8", "n=2^20 words=64", "n=2^20 dtype=i16" },
    bench = { "n=2^12", "n=2^16", "n=2^20", "n=2^24", "n=2^27", "n=2^24 value_bytes=4",
      "n=2^26 value_bytes=4", "n=2^27 end_bit=20", "n=2^27 words=3", "n=2^26 dtype=u64",
      "n=2^27 dtype=f32", "n=2^28 dtype=u8" },
  },
}
