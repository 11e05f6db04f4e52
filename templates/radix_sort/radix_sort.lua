-- radix_sort: keys, or keys with values, in ascending or descending order; stable.
--
-- Least significant digit first: each pass moves the keys, by DIGIT of their bits, from one array to another and keeps
-- the order of those with equal digits. Passes share the bits evenly; the last may have fewer. ALG:
--   onebit        the textbook's pass: one bit, one key per thread, an exclusive scan of all bits
--   three_launch  tiles count their digits, the counts are scanned, then each tile is sorted in shared memory and
--                 its runs of equal digits are written one after another
--   any_bits      the same for any bits and number of keys, which are arguments: compiled with the library
--   onesweep      one launch counts the digits of all passes; a pass then reads and writes each key once, and tiles
--                 learn by look-back how many keys of a digit come before. Passes in which all keys have the same
--                 digit are left out.
--   tasks         onesweep in one launch, for few tiles: blocks take the tiles of all passes in order, wait for the
--                 pass before, and read the counts of all tiles before their own. With BUCKET_ITEMS the highest digit
--                 comes first, and warps sort the keys with the same one in registers, unless there are too many
--   cluster       one cluster of blocks: keys stay in its shared memory until they are sorted
--   ranges        clusters that do not wait for each other: each reads all keys and sorts those of its range
--   single_block  one block with all keys in its registers
--   counting      for keys of one or two bytes without values: how many there are of each says all
--
-- Keys are compared as unsigned words: the sign of signed keys is inverted; of negative floats all bits are, of others
-- the sign; begin_bit and end_bit count the bits of that word. -0 and +0 are equal; a NaN is beyond infinity on its
-- sign's side, and NaNs are in the order of their bits.
--
-- Lower bounds. onesweep moves KEY + VALUE bytes in and out per key and pass, and KEY once more to count: 36 bytes for
-- keys of 32 bits and 4 passes, at 4.3 TB/s 119 Gkey/s. For 32 keys of a pass a warp also needs about 50 instructions,
-- 25 to 35 of them (8 ballots, their inversion and conjunction) of the unit for integers and logic, which starts two
-- per clock, and 18 wavefronts of shared memory, since 32 random digits of 8 bits meet in about 3.5 of a bank: at
-- 132 x 1.9 GHz these allow 100 Gkey/s.
-- Pairs of 4 bytes each take 3.5 wavefronts more, and by the counters of an H200 nothing is saturated (memory 55 %,
-- second-level cache 71 %, issue 40 %): phases of two blocks per multiprocessor overlap by chance. More and smaller
-- blocks, whole sectors, tiles of one block whose loads overlap, and 3 passes of 11 bits are no faster. If tiles do not
-- follow each other closely, the sectors at the ends of runs leave the cache in parts.
-- For few keys latencies count: a launch takes 2.5 us, a load from memory 0.8, and ranges waits in sequence for such a
-- load, a block's scan, a cluster's barrier, and twice for another block's memory. On an H200 2^12 keys take 5.1 us,
-- 2^14 5.9; 2^16 and 2^17, of which each multiprocessor reads 32 and 64 KB, 8.9 and 12.0.

local CHAINED = "(ALG == 'onesweep' or ALG == 'tasks')" -- tiles read the counts of other tiles
local CLUSTERED = "(ALG == 'cluster' or ALG == 'ranges')"
local BETWEEN_PASSES = "(ALG == 'onebit' or ALG == 'three_launch' or ALG == 'any_bits' or " -- keys are in memory
  .. CHAINED .. ")"
local KEY = "sel(dtype == 'u8' or dtype == 'i8', 1, sel(dtype == 'u16' or dtype == 'i16' or "
  .. "dtype == 'f16' or dtype == 'bf16', 2, sel(dtype == 'u32' or dtype == 'i32' or "
  .. "dtype == 'f32', 4, 8)))"
local MOST_PASSES = 64
local CHUNK = "max(16, ceildiv(n, 8192))" -- of a thread of the reference

local function join(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    for _, entry in ipairs(list) do all[#all + 1] = entry end
  end
  return all
end

-- For problems without a tuned result: what is fast on an H200.
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
-- All clusters have to run at the same time: where one waits for others to end, 2^16 keys take 16 us instead of 9, and
-- 14 of 8 blocks, or 7 of 16, are the most that 132 multiprocessors take.
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
suggest("n <= 2^13", tasks, { BLOCK = 384, ITEMS = 2, LOOKBACK = "early", BUCKET_ITEMS = 2 })
suggest("n <= 2^14", tasks, { BLOCK = 384, ITEMS = 2, LOOKBACK = "early", BUCKET_ITEMS = 4 })
suggest("n <= 2^15", tasks, { BLOCK = 768, ITEMS = 2, LOOKBACK = "early", BUCKET_ITEMS = 8 })
suggest("n <= 2^16", tasks, { BLOCK = 768, ITEMS = 2, LOOKBACK = "early", BUCKET_ITEMS = 16 })
suggest("n <= 3 * 2^16", tasks, { BLOCK = 768, ITEMS = 4 })
for _, first_pass in ipairs { "unstable", "stable" } do
  suggest("n <= 2^22", onesweep,
    { BLOCK = 384, ITEMS = 24, COUNT = "early", LOOK = 8, FIRST_PASS = first_pass })
  for _, prefetch in ipairs { "half", "none" } do
    suggest("KEY <= 4 and VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 48, COUNT = "early", LOOKBACK = "early",
      LOOK = 4, RESIDENT = 3, COPIES = 16, FIRST_PASS = first_pass, PREFETCH = prefetch })
  end
end
suggest("KEY <= 4 and VALUE == 4", onesweep, { BLOCK = 256, ITEMS = 40, LOOK = 1, RESIDENT = 2,
  COPIES = 16, PACK = 2, VALUES = "early", PREFETCH = "values" })
suggest("KEY <= 4 and VALUE == 8", onesweep, { BLOCK = 384, ITEMS = 20, LOOK = 1, RESIDENT = 2, COPIES = 16,
  PACK = 2, VALUES = "late", PREFETCH = "values", WRITE = "sectors" })
suggest("VALUE == 8 and KEY == 8", onesweep, { BLOCK = 256, ITEMS = 16, LOOK = 1, RESIDENT = 2,
  COPIES = 16, VALUES = "early", PREFETCH = "values" })
suggest("VALUE > 0", onesweep, { BLOCK = 256, ITEMS = 24, LOOK = 1, RESIDENT = 2, COPIES = 16,
  VALUES = "early", PREFETCH = "values" })
suggest("KEY == 8 and VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 36, LOOK = 1, RESIDENT = 2, COPIES = 16,
  WRITE = "sectors", PREFETCH = "half" })
suggest("VALUE == 0", onesweep, { BLOCK = 256, ITEMS = 24, LOOK = 1, RESIDENT = 2, COPIES = 16 })
suggest("n >= 0", { ALG = "onesweep" }, { BLOCK = 256, ITEMS = 24 })

local ARRAYS = { "keys_in", "values_in", "keys_out", "values_out", "keys_tmp", "values_tmp" }
local WHOLE_CALL = { "n", "keys_in", "values_in", "keys_out", "values_out" }

-- The stages of every pass that a problem may have.
local function of_passes(...)
  local stages = {}
  for p = 0, MOST_PASSES - 1 do
    for _, stage in ipairs { ... } do
      local copy = { when = "PASSES > " .. p }
      for key, value in pairs(stage) do copy[key] = value end
      copy.args = stage.of_pass and join({ "n", { "i32", p } }, ARRAYS, stage.of_pass) or stage.args
      copy.of_pass = nil
      stages[#stages + 1] = copy
    end
  end
  return stages
end

-- Requirements on a block's resources: an estimate of a thread's registers, and bytes of shared memory.
local function fits_a_block(regs, smem)
  return {
    { "ITEMS keys, ranks and values exceed the registers of a thread", regs .. " <= 255" },
    { "BLOCK * ITEMS keys, ranks and values exceed the registers of a block",
      "BLOCK * (" .. regs .. ") <= dev_regs_block" },
    { "the tile or the counters exceed the shared memory of a block", smem .. " <= dev_smem_block" },
  }
end
local function resident_blocks_fit(regs, smem)
  return {
    { "RESIDENT blocks exceed the registers of a multiprocessor",
      "RESIDENT == 1 or BLOCK * RESIDENT * (" .. regs .. ") <= dev_regs_sm" },
    { "RESIDENT blocks exceed the threads of a multiprocessor",
      "RESIDENT == 1 or BLOCK * RESIDENT <= dev_threads_sm" },
    { "RESIDENT blocks leave each thread more than 128 registers: no limit is needed",
      "RESIDENT == 1 or BLOCK * RESIDENT * 128 >= dev_regs_sm" },
    { "RESIDENT blocks exceed the shared memory of a multiprocessor",
      "RESIDENT == 1 or RESIDENT * (" .. smem .. " + dev_smem_reserved) <= dev_smem_sm" },
  }
end

-- Registers, and bytes of shared memory: dynamic, and with the static part.
local KEYS_REGS, PAIRS_REGS = "ITEMS * (KEY_REGS + 1) + 20", "ITEMS * (KEY_REGS + 1 + VALUE_REGS) + 20"
local CHAINED_REGS = "ITEMS * (KEY_REGS + sel(STAGE_AS_RANKED or VALUES == 'early', VALUE_REGS, 0)) + "
  .. "sel(STAGE_AS_RANKED, 0, ITEMS // PACK) + 20"
local COUNTERS_OR_TILE = "max(COUNTERS, STAGE)"
local CHAINED_SMEM = "sel(STAGE_AS_RANKED, COUNTERS + STAGE, max(COUNTERS, STAGE))"
local BASES = "BINS * (4 + 4 * WIDE) + 1024"
local function with_bases(smem) return smem .. " + " .. BASES end

local FEW_SMALL_TILES = {
  { "tiles of BLOCK * ITEMS < 2048 keys need n <= 4096 tiles", "TILE >= 2048 or n <= 4096 * TILE" },
}

local ONEBIT = {
  require = { { "ALG=onebit needs SCATTER=direct", "SCATTER == 'direct'" } },
  workspace = {
    { "block_ones", "u32", "(1 + WIDE) * (TILES + 1)" },
    { "ones", "u32", "n" },
  },
  stages = of_passes(
    { kernel = "sort_count", grid = "TILES", block = "BLOCK", of_pass = { "block_ones", "ones" } },
    { kernel = "sort_scan", grid = "min(n, 1)", block = "BLOCK", args = { { "i64", "TILES" }, "block_ones" } },
    { kernel = "sort_scatter", grid = "TILES", block = "BLOCK", of_pass = { "block_ones", "ones" } }),
  source = "radix_sort_onebit.cu",
}

local THREE_LAUNCH = {
  require = join(FEW_SMALL_TILES, fits_a_block(KEYS_REGS, with_bases(COUNTERS_OR_TILE)),
    resident_blocks_fit(KEYS_REGS, with_bases(COUNTERS_OR_TILE))),
  workspace = { { "tile_counts", "u32", "(1 + WIDE) * BINS * (TILES + 1)" } },
  stages = of_passes(
    { kernel = "sort_count", grid = "TILES", block = "BLOCK", smem = "COUNTERS", of_pass = { "tile_counts" } },
    { kernel = "sort_scan", grid = "min(n, 1) * BINS", block = "BLOCK",
      args = { { "i64", "TILES" }, "tile_counts" } },
    { kernel = "sort_scatter", grid = "TILES", block = "BLOCK", smem = COUNTERS_OR_TILE,
      of_pass = { "tile_counts" } }),
  source = "radix_sort_three_launch.cu",
}

local BITS_THAT_COUNT = { "digit_counts", { "i32", "min(begin_bit, 64)" }, { "i32", "min(end_bit, 64)" } }
local ANY_BITS = {
  require = {
    { "ALG=any_bits has one form for all problems",
      "RADIX == 8 and BLOCK == 256 and ITEMS == 4 and RANK == 'ballot' and COUNTER == 32" },
  },
  workspace = { { "digit_counts", "u32", "(1 + WIDE) * BINS * (TILES + 1)" } },
  stages = of_passes(
    { kernel = "sort_count", grid = "TILES", block = "BLOCK", smem = "COUNTERS", of_pass = BITS_THAT_COUNT },
    { kernel = "sort_scan", grid = "min(n, 1) * BINS", block = "BLOCK",
      args = { { "i64", "TILES" }, "digit_counts" } },
    { kernel = "sort_scatter", grid = "TILES", block = "BLOCK", smem = COUNTERS_OR_TILE, of_pass = BITS_THAT_COUNT }),
  source = "radix_sort_any_bits.cu",
}

local ONESWEEP = {
  space = {
    { "FIRST_PASS", { "stable", "unstable" },
      "keys with equal digits keep their order in the first pass, or may be in any" },
    { "WRITE", { "lanes", "sectors" },
      "a staged tile is written by neighbouring lanes, or by whole sectors", when = "SCATTER == 'shared'" },
    { "OVERLAP", { "off", "on" }, "blocks of a pass start while the last blocks of the pass before run" },
    { "PACK", { 1, 2 }, "ranks in a register" },
    { "PREFETCH", { "none", "values", "half", "wave" }, "what a tile prefetches into the second-level cache: nothing, "
      .. "its values, or the keys and values of the tile half a wave of blocks, or a wave, behind it" },
    { "LOAD", { "plain", "streaming" }, "cache operator of a pass's loads" },
    { "STORE", { "plain", "streaming" }, "cache operator of a pass's stores" },
  },
  default = { FIRST_PASS = "stable", WRITE = "lanes", OVERLAP = "off", PACK = 1, PREFETCH = "none", LOAD = "plain",
    STORE = "plain" },
  derive = {
    { "DIGITS_BLOCK", "512" }, -- threads of a block that counts the digits of all passes
    { "DIGITS_SMEM", "4 * PASSES * BINS * COPIES" },
    { "SECTOR", "32 // min(KEY, sel(VALUE > 0, VALUE, KEY))" }, -- elements
    { "RUNS_AT", CHAINED_SMEM }, -- in shared memory
    { "RUNS", "sel(WRITE == 'sectors', BINS * (16 + 16 * WIDE) + "
      .. "(TILE // SECTOR + 2 * BINS) * sel(BINS > 256, 2, 1), 0)" },
    -- Tiles from a tile to the one that it prefetches.
    { "AHEAD", "sel(PREFETCH == 'half', dev_sms * RESIDENT // 2, sel(PREFETCH == 'wave', dev_sms * RESIDENT, 0))" },
    { "SMEM", "RUNS_AT + RUNS" },
  },
  require = join({
    { "FIRST_PASS=unstable needs keys without values, of which equal ones have the same bits",
      "FIRST_PASS == 'stable' or VALUE == 0 and SAME_BITS" },
    { "FIRST_PASS=unstable needs COUNTER=32", "FIRST_PASS == 'stable' or COUNTER == 32" },
    { "DELAY=20 needs ALG=tasks", "DELAY ~= 20" },
    { "PACK=2 needs tiles of less than 65536 keys", "PACK == 1 or TILE < 65536" },
    { "PACK=2 needs ITEMS >= 16, and ranks in registers (COUNT=late or SCATTER=direct)",
      "PACK == 1 or ITEMS >= 16 and not STAGE_AS_RANKED" },
    { "PREFETCH needs compute capability 9.0", "PREFETCH == 'none' or dev_cc >= 90" },
    { "PREFETCH=values needs values", "PREFETCH ~= 'values' or VALUE > 0" },
    { "PREFETCH needs more tiles than are between a tile and the one that it prefetches",
      "PREFETCH == 'none' or TILES > AHEAD" },
    { "OVERLAP=on needs compute capability 9.0", "OVERLAP == 'off' or dev_cc >= 90" },
    { "the counters of all passes exceed the shared memory of a block", "DIGITS_SMEM + 1024 <= dev_smem_block" },
  }, FEW_SMALL_TILES, fits_a_block(CHAINED_REGS, with_bases("SMEM")),
    resident_blocks_fit(CHAINED_REGS, with_bases("SMEM"))),
  -- Counts and first positions of each pass's digits; `plan`: radix_plan.cuh.
  workspace = {
    { "counts", "u32", "(1 + WIDE) * PASSES * BINS" },
    { "begins", "u32", "(1 + WIDE) * PASSES * BINS" },
    { "plan", "u32", "PASSES + 1" },
    { "states", "u32", "(1 + WIDE) * TILES * BINS" },
    { "tickets", "u32", "PASSES" },
  },
  stages = join({
    { kernel = "sort_digits", block = "DIGITS_BLOCK", smem = "DIGITS_SMEM",
      grid = "min(sel(DIGITS_SMEM > 49152, 2, 4) * dev_sms, ceildiv(n, 4 * DIGITS_BLOCK))",
      args = { "n", "keys_in", "counts", "begins", "plan", "arrived" } },
  }, of_passes({ kernel = "sort_pass", grid = "TILES", block = "BLOCK", smem = "SMEM", overlap = "OVERLAP == 'on'",
    of_pass = { "begins", "plan", "states", "tickets" } })),
  source = "radix_sort_onesweep.cu",
}

local TASKS_SMEM = "max(4 * PASSES * BINS, " .. CHAINED_SMEM .. ")"
local BUCKET_REGS = "2 * BUCKET_ITEMS * (KEY_REGS + sel(KEY > 2 and (VALUE > 0 or not SAME_BITS), 1, 0)) + 20"
local TASKS = {
  space = {
    { "BUCKET_ITEMS", { 0, 2, 4, 8, 16, 32 },
      "keys per lane where a warp sorts those with the same highest digit; 0: the lowest digit comes first" },
  },
  default = { BUCKET_ITEMS = 0 },
  require = join({
    { "DELAY=64 needs ALG=onesweep", "DELAY ~= 64" },
    { "BUCKET_ITEMS needs several passes", "BUCKET_ITEMS == 0 or PASSES > 1" },
    { "buckets of 32 * BUCKET_ITEMS keys are less than n in all, or mostly empty", "BUCKET_ITEMS == 0 or "
      .. "32 * BUCKET_ITEMS * BINS >= n and 4 * BUCKET_ITEMS * BINS <= max(n, 2048)" },
    { "ptxas 13.0 runs out of predicates for BUCKET_ITEMS with COUNT=late and keys of up to 4 bytes on compute "
      .. "capability 9.0", "BUCKET_ITEMS == 0 or COUNT == 'early' or KEY > 4 or dev_cc ~= 90" },
    { "ALG=tasks needs n <= 160 tiles of BLOCK * ITEMS: each reads the counts of all tiles before it",
      "TILES <= 160" },
  }, FEW_SMALL_TILES, fits_a_block("max(" .. BUCKET_REGS .. ", " .. CHAINED_REGS .. ")",
    with_bases(TASKS_SMEM) .. " + (4 + 4 * WIDE) * max(BINS, BLOCK)")),
  -- Counts of each pass's digits, of this launch and the next; `done`: tiles whose digits are counted, then those of
  -- each pass but the last.
  workspace = {
    { "task_counts", "u32", "(1 + WIDE) * 2 * PASSES * BINS" },
    { "task_states", "u32", "(1 + WIDE) * PASSES * TILES * BINS" },
    { "done", "u32", "32 * PASSES" },
    { "counter", "u64", 1 },
  },
  stages = {
    { kernel = "sort_tasks", grid = "(PASSES + 1) * TILES", block = "BLOCK", smem = TASKS_SMEM,
      args = join({ "n" }, ARRAYS, { "task_counts", "task_states", "done", "counter" }) },
  },
  source = "radix_sort_tasks.cu",
}

-- A block's counters and tile; and what other blocks store into, counts and the next tile.
local CLUSTER_SMEM = "COUNTERS + CLUSTER * BINS * 4 + 2 * TILE * (KEY + VALUE)"
local FITS_A_CLUSTER = {
  { "clusters need CLUSTER > 1 and compute capability 9.0", "CLUSTER > 1 and dev_cc >= 90" },
  { "CLUSTER blocks have room for more than four times the keys", "CLUSTER * TILE <= max(2048, 4 * n)" },
  { "n exceeds CLUSTER * BLOCK * ITEMS keys", "n <= CLUSTER * TILE" },
}

local CLUSTER = {
  require = join(FITS_A_CLUSTER, fits_a_block(PAIRS_REGS, with_bases(CLUSTER_SMEM))),
  stages = {
    { kernel = "sort_cluster", grid = "min(n, 1) * CLUSTER", block = "BLOCK", smem = CLUSTER_SMEM,
      args = WHOLE_CALL },
  },
  source = "radix_sort_cluster.cu",
}

local RANGES_SMEM = "max(ENTRY * max(DEPTH * BLOCK, 2 * ROOM), " .. CLUSTER_SMEM .. ")"
local RANGES = {
  space = {
    { "CLUSTERS", { 1, 2, 4, 6, 7, 8, 12, 14, 16, 32 }, "clusters that share the range of the keys" },
  },
  default = { CLUSTERS = 1 },
  derive = {
    { "ENTRY", "sel(VALUE == 0 and SAME_BITS, KEY, 2 * max(2, KEY))" }, -- bytes of what is sorted instead of a key
    { "DEPTH", "min(ITEMS, 8 + 4 * ITEMS // CLUSTERS)" }, -- a thread's keys that its cluster may take
    { "ROOM", "max(2 * BLOCK, 4 * TILE // CLUSTERS)" }, -- and a block's
  },
  require = join(FITS_A_CLUSTER, {
    { "ALG=ranges needs CLUSTERS > 1", "CLUSTERS > 1" },
    { "CLUSTERS * CLUSTER blocks do not run at the same time",
      "CLUSTERS * CLUSTER * BLOCK <= dev_sms * dev_threads_sm" },
    { "ALG=ranges needs RADIX=8 and RANK=ballot_mad: it rarely sorts by digits",
      "RADIX == 8 and RANK == 'ballot_mad'" },
    { "ALG=ranges of keys of up to 2 bytes needs n <= 2^16, for positions of 16 bits", "KEY > 2 or n <= 2^16" },
  }, fits_a_block(PAIRS_REGS, with_bases(RANGES_SMEM) .. " + 6 * BLOCK")),
  stages = {
    { kernel = "sort_ranges", grid = "min(n, 1) * CLUSTERS * CLUSTER", block = "BLOCK", smem = RANGES_SMEM,
      args = WHOLE_CALL },
  },
  source = "radix_sort_ranges.cu",
}

local SINGLE_BLOCK = {
  require = join({ { "n exceeds BLOCK * ITEMS keys", "n <= TILE" } },
    fits_a_block(PAIRS_REGS, COUNTERS_OR_TILE .. " + 1024")),
  stages = {
    { kernel = "sort_block", grid = "min(n, 1)", block = "BLOCK", smem = COUNTERS_OR_TILE, args = WHOLE_CALL },
  },
  source = "radix_sort_single_block.cu",
}

local COUNTING_SMEM = "4 * COPIES * KINDS // PARTS"
local COUNTING = {
  derive = {
    { "KINDS", "1 << 8 * min(KEY, 2)" }, -- possible keys
    { "PARTS", "sel(KINDS > 256, 2, 1)" }, -- of the possible keys; a block counts one part
  },
  require = join({
    { "ALG=counting needs keys of one or two bytes without values, of which equal ones have the same bits",
      "KEY <= 2 and VALUE == 0 and SAME_BITS" },
    { "ALG=counting has no digits: it needs RADIX=8", "RADIX == 8" },
  }, fits_a_block(KEYS_REGS, COUNTING_SMEM .. " + 1024")),
  workspace = {
    { "kind_counts", "u32", "(1 + WIDE) * KINDS" },
    { "kind_begins", "u32", "(1 + WIDE) * (KINDS + 1)" },
  },
  stages = {
    { kernel = "count_keys", block = "BLOCK", smem = COUNTING_SMEM,
      grid = "PARTS * min(dev_sms * max(1, 1024 // BLOCK) // PARTS, ceildiv(n, 4 * BLOCK))",
      args = { "n", "keys_in", "kind_counts", "kind_begins", "arrived" } },
    { kernel = "write_keys", block = "BLOCK", grid = "ceildiv(n * KEY, 16 * TILE)",
      args = { "n", "kind_begins", "keys_out" } },
  },
  source = "radix_sort_counting.cu",
}

-- The reference has a pass for each bit.
local slow_arrays = { "keys_in", "values_in", "keys_out", "values_out", "keys", "values" }
local slow = {}
for p = 0, MOST_PASSES - 1 do
  local when = "max(1, min(end_bit, 8 * (" .. KEY .. ")) - begin_bit) > " .. p
  local args = join({ "n", { "i64", CHUNK }, { "i32", p } }, slow_arrays, { "zeros" })
  slow[#slow + 1] = { kernel = "count", when = when, block = 64,
    grid = "ceildiv(n, 64 * " .. CHUNK .. ")", args = args }
  slow[#slow + 1] = { kernel = "exclude", when = when, grid = "min(n, 1)", block = 1,
    args = { { "i64", "ceildiv(n, " .. CHUNK .. ")" }, "zeros" } }
  slow[#slow + 1] = { kernel = "scatter", when = when, block = 64,
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
      default = "u32",
      like = { i32 = "u32", f32 = "u32", i64 = "u64", f64 = "u64", i16 = "u16", f16 = "u16", bf16 = "u16", i8 = "u8" },
      brief = "type of the keys" },
    { "value_bytes", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key; 0: none" },
    { "order", { "ascending", "descending" }, default = "ascending", like = "ascending",
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
      "counting", "any_bits" }, "how keys are sorted: see the top of radix_sort.lua" },
    { "RADIX", { 1, 4, 5, 6, 7, 8, 9, 10, 11 }, "bits of a digit at most" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48 },
      "coarsening factor: keys per thread" },
    { "RANK", { "ballot", "ballot_mad", "match", "or" },
      "how a warp finds equal digits: a ballot per bit, inverted by logic or by a multiplication; "
        .. "__match_any_sync; atomics on masks in shared memory", when = "ALG ~= 'onebit' and ALG ~= 'counting'" },
    { "COUNT", { "late", "early" },
      "a tile's digits are counted as its keys are ranked, or before that", when = CHAINED },
    { "COUNTER", { 32, 16 }, "bits of a warp's counters of digits",
      when = "ALG ~= 'onebit' and ALG ~= 'ranges' and ALG ~= 'counting'" },
    { "SCATTER", { "shared", "direct" },
      "a tile is staged, sorted, in shared memory before it is written, or written from registers",
      when = "ALG == 'onebit' or ALG == 'three_launch' or ALG == 'onesweep'" },
    { "LOOKBACK", { "late", "early" },
      "a tile reads the counts of the tiles before it when its keys are staged, or as soon as it has its own",
      when = CHAINED },
    { "LOOK", { 1, 4, 8, 16 }, "states of tiles that are loaded at a time" },
    { "DELAY", { 0, 20, 64 }, "nanoseconds between two reads of the state of a tile that is waited for",
      when = CHAINED },
    { "RESIDENT", { 1, 2, 3, 4, 6, 8 }, "blocks per multiprocessor that a thread's registers are limited for",
      when = "ALG == 'three_launch' or ALG == 'onesweep'" },
    { "COPIES", { 1, 8, 16 }, "copies of a block's counters where all keys are counted",
      when = "ALG == 'onesweep' or ALG == 'counting'" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks of a cluster", when = CLUSTERED },
    { "VALUES", { "late", "early" },
      "values are loaded when keys are staged, or as soon as these are ranked", when = CHAINED .. " and VALUE > 0" },
  },
  -- BUCKET_ITEMS comes early: with it a digit's bits are known, which counts the space ten times as fast.
  order = { "ALG", "BUCKET_ITEMS", "RADIX", "BLOCK", "ITEMS", "RANK", "COUNT", "FIRST_PASS", "COUNTER", "SCATTER",
    "WRITE", "LOOKBACK", "LOOK", "DELAY", "RESIDENT", "OVERLAP", "COPIES", "CLUSTER", "CLUSTERS", "PACK", "VALUES",
    "PREFETCH", "LOAD", "STORE" },

  derive = {
    { "KEY", KEY }, -- bytes
    { "VALUE", "value_bytes" },
    { "WIDE", "sel(n < 2^30 and ALG ~= 'any_bits', 0, 1)" }, -- positions have 64 bits
    { "SORTED_FROM", "min(begin_bit, 8 * KEY - 1)" }, -- the bits that count
    { "SORTED_BITS", "max(0, min(end_bit, 8 * KEY) - begin_bit)" },
    { "FIRST_BIT", "sel(ALG == 'any_bits', 0, SORTED_FROM)" }, -- the bits that passes go through
    { "BITS", "sel(ALG == 'any_bits', 8 * KEY, SORTED_BITS)" },
    -- Equal keys have the same bits.
    { "SAME_BITS", "BITS == 8 * KEY and dtype ~= 'f16' and dtype ~= 'bf16' and dtype ~= 'f32' and dtype ~= 'f64'" },
    { "PASSES", "max(1, ceildiv(BITS, RADIX))" },
    -- Passes share the bits evenly; but the highest digit, where it comes first, may have more.
    { "FROM_TOP", "BUCKET_ITEMS > 0" },
    { "DIGIT", "max(1, sel(FROM_TOP, min(RADIX, BITS), ceildiv(BITS, PASSES)))" }, -- bits
    { "BINS", "1 << DIGIT" },
    { "ROW", "max(8, BINS)" }, -- counters of a warp
    { "WARPS", "BLOCK // 32" },
    { "TILE", "BLOCK * ITEMS" },
    { "TILES", "ceildiv(n, TILE)" },
    { "BINS_THREAD", "ceildiv(BINS, BLOCK)" },
    -- Counted before they are ranked, keys are staged as they are ranked, beside the counters.
    { "STAGE_AS_RANKED", "COUNT == 'early' and SCATTER == 'shared'" },
    { "COUNTERS", "WARPS * ROW * (COUNTER // 8 + sel(RANK == 'or', 4, 0))" }, -- bytes
    { "STAGE", "sel(SCATTER == 'shared', TILE * (KEY + VALUE), 0)" }, -- bytes
    { "KEY_REGS", "max(4, KEY) // 4" },
    { "VALUE_REGS", "VALUE // 4" },
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "ALG=onebit needs RADIX=1 and ITEMS=1, the others need more",
      "sel(ALG == 'onebit', RADIX == 1 and ITEMS == 1, RADIX > 1 and ITEMS > 1)" },
    { "RADIX other than 8 has to be the bits of a digit, and to change the number of passes",
      "RADIX == 8 or RADIX == 1 or RADIX == DIGIT and (FROM_TOP or PASSES ~= ceildiv(BITS, 8))" },
    { "LOOK > 1 needs ALG=onesweep or tasks", "LOOK == 1 or " .. CHAINED },
    { "VALUES=early needs COUNT=late or SCATTER=direct: otherwise values are loaded with the keys",
      "VALUES == 'late' or not STAGE_AS_RANKED" },
    { "BLOCK * ITEMS is more than twice n", "TILE <= max(2048, 2 * n)" },
    { "BLOCK * ITEMS keys are less than two per digit", "TILE >= 2 * BINS" },
    { "COUNTER=16 needs less than 65536 keys per block or cluster", "COUNTER == 32 or TILE * CLUSTER < 65536" },
    { "COUNTER=16 makes a difference only if counters of 32 bits need more memory than a tile",
      "COUNTER == 32 or 4 * WARPS * ROW > sel(STAGE_AS_RANKED, 16384, STAGE)" },
  },

  default = { ALG = "onesweep", RADIX = 8, BLOCK = 256, ITEMS = 8, RANK = "ballot", COUNT = "late", COUNTER = 32,
    SCATTER = "shared", LOOKBACK = "late", LOOK = 4, DELAY = 0, RESIDENT = 1, COPIES = 1, CLUSTER = 1,
    VALUES = "late" },
  base = { {}, { ALG = "any_bits", ITEMS = 4, LOOK = 1 } },
  untuned = SUGGESTED,

  workspace = {
    { "keys_tmp", "u8", "sel(PASSES > 1 and " .. BETWEEN_PASSES .. ", n * KEY, 0)" },
    { "values_tmp", "u8", "sel(PASSES > 1 and " .. BETWEEN_PASSES .. ", n * VALUE, 0)" },
    { "arrived", "u32", "sel(ALG == 'onesweep' or ALG == 'counting', 1, 0)" },
  },

  algorithms = { onebit = ONEBIT, three_launch = THREE_LAUNCH, onesweep = ONESWEEP, tasks = TASKS, cluster = CLUSTER,
    ranges = RANGES, single_block = SINGLE_BLOCK, counting = COUNTING, any_bits = ANY_BITS },

  reference = {
    workspace = {
      { "keys", "u8", "n * (" .. KEY .. ")" },
      { "values", "u8", "n * value_bytes" },
      { "zeros", "u64", "ceildiv(n, " .. CHUNK .. ") + 1" },
    },
    stages = slow,
    source = "radix_sort_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "2 * n * (" .. KEY .. " + value_bytes)",

  kinds = { "sorted,equal,small", when = "words == 1" },

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
