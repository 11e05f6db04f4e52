-- merge_sort: n keys in order, stable, by comparisons alone; values go along, if there are.
--
-- Every block sorts a tile, a run (block_sort.cuh). Then passes merge two or four runs to one
-- (WAYS), each by many blocks (merge_path.cuh, merge_tile.cuh), until one is left: four at a time
-- halve what goes through global memory.
--
-- What is the least? By networks a key of 32 bits takes 12 exchanges' halves in its thread, 40 among a
-- warp's and 10 or 11 for each doubling after that, and about as much again to be found and moved. With
-- two instructions a clock on the integer unit, 132 x 1.98 GHz, 2^24 keys take 120 us to become runs of
-- 2^13 and 18 us a doubling, where reading and writing them once takes 31.
--
-- What comes after what is ALG:
--   passes  a launch sorts tiles, then each pass is a launch; one tile needs no pass. Every other pass
--           starts where the one before ended, with what is still in the second-level cache.
--   tasks   one launch: its blocks take the tiles of all passes in order, and each waits for those
--           that made the runs it merges
--   samples one launch, of few keys: clusters of blocks each read all of them and sort those of their
--           ranges, which a sample bounds (merge_samples.cuh). H200: 2^16 keys in 10.8 us, by passes 20.6
--   count   one launch, of very few keys: each block counts for some keys how many of all come before:
--           2^12 keys in 4.3 us, by passes 7.9
-- Few keys could stay in the shared memory of a cluster's 16 blocks. That was tried: each level's barrier,
-- search and copies between blocks take as long as a launch that overlaps the one before, and 16
-- multiprocessors sort more slowly than all (H200, 2^16 keys: 24.4 us, by launches 20.9).
-- The order is that of merge_order.cuh, which says how to sort by another.

local NBYTES = "sel(dtype == 'i64' or dtype == 'u64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i8' or dtype == 'u8', 1, sel(dtype == 'i16' or dtype == 'u16', 2, 4)))"
local LEAST = "sel(dtype == 'i64' or dtype == 'i32' or dtype == 'i16' or dtype == 'i8', "
  .. "-(keys // 2), sel(dtype == 'f32' or dtype == 'f64', -1000, 0))"
local MOST = "sel(dtype == 'f32' or dtype == 'f64', 1000, " .. LEAST .. " + keys - 1)"
local RUNS = "ceildiv(n, RUN)"
local TILES = "ceildiv(n, TILE)"
local MOST_PASSES = 26
local SAMPLED, MERGED = "ALG == 'samples'", "(ALG == 'passes' or ALG == 'tasks')"

-- For problems that nobody tuned: keys of `nbytes` bytes, aligned to vectors of 16 bytes, then any.
local SUGGESTED = {}
for _, c in ipairs { { "n <= 2^11", 512, 4, 32 }, { "n <= 2^12 and dev_sms >= 100", 768, 7, 16 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = c[1], ALG = "count", SORT_BLOCK = c[2], SORT_ITEMS = c[3], OWN = c[4] }
end
-- How many keys a cluster of 16 blocks holds, and how. All clusters have to run at the same time: 7 are the
-- most that 132 multiprocessors take. (Compute capability 12.0 has clusters of 8.)
for _, c in ipairs {
  { 13, 512, 1, 512, 32 }, { 14, 512, 2, 512, 64 }, { 15, 1024, 2, 512, 128 }, { 16, 1024, 4, 1024, 128 },
  { 17, 1024, 8, 1024, 256 }, { 18, 1024, 16, 1024, 256 },
} do
  SUGGESTED[#SUGGESTED + 1] = { when = "dev_cc >= 90 and dev_cc < 120 and dev_sms >= 132 and n <= 2^" .. c[1],
    ALG = "samples", SORT_BLOCK = c[2], SORT_ITEMS = c[3], CLUSTER = 16, CLUSTERS = 7, SAMPLES = c[4],
    LOCAL = c[5], NETWORK = "batcher" }
end
for _, tile in ipairs { { "n <= 2^11", 128 }, { "n <= 2^12 and (align < 16 // NBYTES or dev_cc < 90)", 256 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = tile[1], SORT_BLOCK = tile[2], SORT_ITEMS = 16,
    NETWORK = "batcher", LANES = "window", MERGE = "network" }
end
local function suggest(condition, config)
  config.when, config.NETWORK, config.LANES, config.MERGE = condition, "batcher", "window", "network"
  config.PARTITION, config.STORE = "block", "warp"
  SUGGESTED[#SUGGESTED + 1] = config
end
-- With four ways the doublings from a tile to n should be even. Are those from a single key odd?
local ODD = "log2(max(1, n - 1)) % 2 == 0"
for _, nbytes in ipairs { 1, 2, 4, 8 } do
  local vec = 16 // nbytes
  local aligned = "NBYTES == " .. nbytes .. " and dev_cc >= 90 and align >= " .. vec
  local function suggest_by(most, block, items, config)
    config.SORT_BLOCK, config.SORT_ITEMS, config.VEC = block, items, vec
    config.LOADER, config.OVERLAP = "bulk", "on"
    config.ITEMS = math.max(config.ITEMS, vec)
    suggest(aligned .. " and n <= " .. most, config)
  end
  suggest_by("2^13", 128, 16, { BLOCK = 64, ITEMS = 8 })
  suggest_by("2^17", 256, 16, { BLOCK = 64, ITEMS = 8 })
  suggest_by("2^18", 128, 16, { BLOCK = 64, ITEMS = 8 })
  if nbytes <= 4 then
    suggest_by("2^19", 256, 16, { BLOCK = 128, ITEMS = 16 })
    suggest_by("2^20 and value == 0", 128, 32, { WAYS = 4, BLOCK = 256, ITEMS = 32 })
    suggest_by("2^23 and value == 0", 256, 32, { BLOCK = 128, ITEMS = 16 })
    for _, half in ipairs { { " and " .. ODD, 256 }, { "", 512 } } do
      suggest_by("2^36 and value == 0" .. half[1], half[2], 32,
        { WAYS = 4, BLOCK = 256, ITEMS = 16, STAGES = 2, RESIDENT = 4 })
    end
    suggest_by("2^36 and value == 0", 256, 32, { BLOCK = 128, ITEMS = 16 })
  end
  suggest_by("2^36", 256, 16, { BLOCK = 128, ITEMS = 16 })
end
suggest("n <= 2^17", { SORT_BLOCK = 256, SORT_ITEMS = 16, BLOCK = 64, ITEMS = 8 })
suggest("n > 2^17", { SORT_BLOCK = 256, SORT_ITEMS = 16, BLOCK = 128, ITEMS = 16 })

local stages = {
  { kernel = "sort_runs", when = "ALG == 'passes'", grid = RUNS, block = "SORT_BLOCK",
    smem = "SORT_SMEM", args = { "n", "x", "xv", "y", "yv", "other", "other_v",
      { "i32", "PASSES % 2" } } },
  { kernel = "sort_all", when = "ALG == 'tasks'", grid = RUNS .. " + PASSES * " .. TILES,
    block = "BLOCK", smem = "max(SORT_SMEM, TILE_SMEM)",
    args = { "n", "x", "xv", "y", "yv", "other", "other_v", { "i32", "PASSES" }, "done",
      "counter" } },
  { kernel = "sort_counting", when = "ALG == 'count'", grid = "ceildiv(n, OWN)", block = "SORT_BLOCK",
    smem = "RUN * NBYTES", early = "EARLY", args = { "n", "x", "xv", "y", "yv" } },
  { kernel = "sort_samples", when = "ALG == 'samples'", grid = "min(n, 1) * CLUSTER * CLUSTERS",
    block = "SORT_BLOCK", smem = "SAMPLES_SMEM", early = "EARLY",
    args = { "n", "x", "xv", "y", "yv", "other", "places" } },
}
for pass = 0, MOST_PASSES - 1 do
  -- in passes of four ways there are half as many
  local longer = pass < MOST_PASSES // 2
    and "sel(WAYS == 4, " .. (1 << 2 * pass) .. ", " .. (1 << pass) .. ")" or 1 << pass
  local run = { "i64", "RUN * " .. longer }
  local tiles = { "i32", "min(2^31 - 1, WAYS * RUN * " .. longer .. " // TILE)" }
  local to_other = { "i32", "(PASSES - 1 - " .. pass .. ") % 2" }
  local when = "ALG == 'passes' and PASSES > " .. pass
  stages[#stages + 1] = { kernel = "merge_split", when = when .. " and PARTITION == 'launch'",
    grid = "ceildiv(" .. TILES .. ", 4)", block = 128,
    overlap = "OVERLAP == 'on'", args = { "n", "y", "other", run, tiles, to_other, "splits" } }
  stages[#stages + 1] = { kernel = "merge_runs_of", when = when, block = "THREADS", smem = "SHARED",
    grid = "min(" .. TILES .. ", sel(STAGES > 1, RESIDENT * dev_sms, 2^31))",
    overlap = "OVERLAP == 'on'",
    args = { "n", "y", "yv", "other", "other_v", run, tiles, to_other,
      { "i32", (pass + 1) % 2 }, "splits" } }
end

-- Every pass of the reference goes from one pair of buffers to the other; the first starts so that
-- the last ends in y.
local REFERENCE_PASSES = "sel(n <= 1, 0, log2(max(1, n - 1)) + 1)"
local reference_stages = {}
for odd = 0, 1 do
  reference_stages[odd + 1] = { kernel = "take", grid = "min(65536, ceildiv(n, 256))", block = 256,
    when = REFERENCE_PASSES .. " % 2 == " .. odd,
    args = { "n", "x", "xv", odd == 1 and "was" or "y", odd == 1 and "was_v" or "yv" } }
end
for pass = 0, 35 do
  for odd = 0, 1 do
    local from, to = odd == 1 and "y" or "was", odd == 1 and "was" or "y"
    reference_stages[#reference_stages + 1] = { kernel = "pass",
      grid = "min(65536, ceildiv(n, 256))", block = 256,
      when = REFERENCE_PASSES .. " > " .. pass .. " and (" .. REFERENCE_PASSES .. " - 1 - " .. pass
        .. ") % 2 == " .. odd,
      args = { "n", { "i64", 1 << pass }, from, from .. (odd == 1 and "v" or "_v"),
        to, to .. (odd == 1 and "_v" or "v") } }
  end
end

return {
  name = "merge_sort",
  version = 1,
  brief = "sorts keys by comparing them, stable",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 13.7; "
    .. "Green, McColl, Bader, GPU merge path",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "keys" },
    { "dtype", { "i32", "u32", "i64", "u64", "f32", "f64", "i16", "u16", "i8", "u8" },
      default = "i32", brief = "type of the keys; floats that are numbers" },
    { "value", { 0, 4, 8 }, default = 0, brief = "bytes of the value that goes with a key" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "keys that y is aligned to" },
    { "keys", 1, 2^32, default = "sel(dtype == 'i8' or dtype == 'u8', 256, "
      .. "sel(dtype == 'i16' or dtype == 'u16', 2^16, 2^32))",
      brief = "different keys that integers in tests and timing have" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", LEAST, MOST } },
    { "y", "dtype", "out", count = "n" },
    { "xv", "u8", "in", count = "n * value", fill = { "uniform", 0, 255 }, brief = "values of x" },
    { "yv", "u8", "out", count = "n * value", brief = "values of y" },
  },

  call = { "dtype", "value", "n", "x", "xv", "y", "yv",
    align = "pow2div(y // (" .. NBYTES .. "), 16)", keys = "2^32" },

  space = {
    { "ALG", { "passes", "tasks", "samples", "count" }, "what comes after what" },
    { "SORT_BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads that sort a tile, or a range" },
    { "SORT_ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys per thread of them, that it sorts, picks from or brings" },
    { "OWN", { 8, 16, 32, 64 }, "keys that a block counts for", when = "ALG == 'count'" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks of a cluster", when = SAMPLED },
    { "CLUSTERS", { 2, 4, 6, 7, 8, 12, 14, 16, 32, 64, 128 }, "that share the keys' ranges",
      when = SAMPLED },
    { "SAMPLES", { 64, 128, 256, 512, 1024, 2048 }, "keys that bound ranges, before some are chosen",
      when = SAMPLED },
    { "LOCAL", { 0, 32, 64, 128, 256, 512 }, "bins that a block makes of its range", when = SAMPLED },
    { "SORT_RESIDENT", { 1, 2, 3, 4, 6 },
      "blocks that sort which a multiprocessor has registers for", when = MERGED },
    { "NETWORK", { "odd_even", "batcher" }, "that sorts a thread's keys; of samples: are keys that tie "
      .. "told apart, or free to change places?", when = "ALG ~= 'count'" },
    { "LANES", { "merge", "bitonic", "window" },
      "how a warp's threads sort on: in shared memory, by a network between registers, or that with "
        .. "exchanges through shared memory where threads are far apart", when = MERGED },
    { "MERGE", { "serial", "network" },
      "a thread merges its part key by key, or a group of threads theirs by a network of exchanges",
      when = MERGED },
    { "MADS", { 0, 1, 2 }, "of three exchanges those that find the later key by multiplications, "
      .. "which another unit does than that which compares", when = "NETWORK == 'batcher' and " .. MERGED },
    { "WAYS", { 2, 4 }, "runs that a pass merges to one", when = MERGED },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block that merge", when = MERGED },
    { "ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys per thread of them", when = MERGED },
    { "PARTITION", { "launch", "block" },
      "who finds where tiles start in the runs: a launch before each pass, or warps of the block",
      when = MERGED },
    { "VEC", { 1, 2, 4, 8, 16 }, "keys per load and store that merges", when = MERGED },
    { "LOADER", { "register", "cpasync", "bulk" },
      "into shared memory through registers, or past them, or as bulk copies", when = MERGED },
    { "STAGES", { 1, 2, 3 },
      "tiles that a block holds; with more than one, blocks stay, and a warp more has the next tiles "
        .. "copied while the others merge", when = "ALG == 'passes'" },
    { "RESIDENT", { 1, 2, 3, 4, 5, 6, 8 }, "blocks of a multiprocessor that stay",
      when = "STAGES > 1" },
    { "STORE", { "direct", "block", "warp" },
      "threads store their own keys, or exchange them in a block's or a warp's shared memory",
      when = MERGED },
    { "CACHE", { "plain", "streaming" }, "operator of a pass's stores", when = MERGED },
    { "OVERLAP", { "off", "on" },
      "blocks of a launch start while the last of the launch before run", when = "ALG == 'passes'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "RUN", "SORT_BLOCK * SORT_ITEMS" },
    { "TOLD", "sel(value > 0 or NETWORK == 'odd_even', 1, 0)" }, -- apart, if keys tie?
    { "TILE", "BLOCK * ITEMS" },
    { "LEVELS", "sel(n <= RUN or not " .. MERGED .. ", 0, log2(max(1, " .. RUNS .. " - 1)) + 1)" },
    { "PASSES", "ceildiv(LEVELS, sel(WAYS == 4, 2, 1))" },
    { "UNITS", "ITEMS // VEC" }, -- vectors per thread
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
    { "ITEM", "sel(value == 0, NBYTES, 2 * max(2, NBYTES))" }, -- a key and where it came from
    { "SORT_SMEM",
      "RUN * ITEM + sel(SORT_ITEMS % 2 == 0, ceildiv(RUN * ITEM, 128) * max(4, ITEM), 0)" },
    -- The tile's keys, with up to VEC - 1 more at both ends of each part; then keys in rows of ITEMS,
    -- and where they came from.
    { "ROOM", "(TILE + 2 * WAYS * VEC) * NBYTES" },
    { "ELEMENT", "sel(MERGE == 'network', ITEM, NBYTES)" },
    { "ROWS", "sel(WAYS == 4 or MERGE == 'network', roundup(TILE * ELEMENT + sel(ITEMS % 2 == 0, "
      .. "ceildiv(TILE * ELEMENT, 128) * max(4, ELEMENT), 0), 16), 0)" },
    { "SOURCES", "max(ROOM, ROWS)" },
    { "TILE_SMEM", "max(SOURCES + sel(WAYS == 4 and value > 0 and MERGE == 'serial', "
      .. "TILE * 4 + TILE // 8 + 4, 0), "
      .. "sel(STORE == 'direct', 0, "
      .. "max(BLOCK * ROW * VEC * NBYTES, sel(value > 0, BLOCK * (ITEMS + 1) * 4, 0))))" },
    { "STAGE", "roundup(TILE_SMEM, 128)" },
    { "SHARED", "STAGES * STAGE" },
    { "THREADS", "BLOCK + sel(STAGES > 1, 32, 0)" },
    { "EARLY", "not " .. MERGED .. " and dev_cc >= 90" }, -- starts while the kernel ahead ends
    -- Of ranges: keys that a block has room for, of those that another one has for it. Between every s-th
    -- of a sample now and then are far more keys than should be: with room for 2 + 14 / s times as many
    -- one launch of ten thousand has too little.
    { "RANGES", "CLUSTER * CLUSTERS" },
    { "SEGMENT", "roundup(ceildiv(RUN * (2 * SAMPLES + 14 * RANGES), RANGES * SAMPLES) + 32, 8)" },
    { "INBOX", "CLUSTER * SEGMENT" },
    { "AREA", "max(RUN, INBOX)" }, -- first for keys that are picked, then for those of the block
    { "SAMPLES_SMEM", "sel(ALG == 'samples', NBYTES * (AREA + INBOX + SAMPLES + CLUSTER + 1 + "
      .. "2 * LOCAL) + 4 * (AREA + TOLD * INBOX + CLUSTER + 2 + 3 * LOCAL) + 2 * INBOX + 12 * 16, 0)" },
  },

  require = {
    { "tiles are brought as bulk copies, by who knows where they start",
      "STAGES == 1 or LOADER == 'bulk' and PARTITION == 'block' and BLOCK < dev_threads_block" },
    { "more blocks than a multiprocessor has room for", "STAGES == 1 or "
      .. "RESIDENT * (SHARED + 256 * STAGES + dev_smem_reserved) <= dev_smem_sm and "
      .. "RESIDENT * THREADS <= dev_threads_sm and RESIDENT * THREADS * "
      .. "(ITEMS * max(4, ELEMENT) // 4 + 24) <= dev_regs_sm" },
    { "more threads than a block may have", "BLOCK <= dev_threads_block and SORT_BLOCK <= dev_threads_block" },
    { "tiles sorted are too small for so many keys", "PASSES <= " .. MOST_PASSES },
    { "one tile leaves nothing to merge", "PASSES > 0 or ALG ~= 'tasks' and WAYS == 2 and "
      .. "BLOCK == 256 and ITEMS == 8 and PARTITION == 'launch' and VEC == 1 and LOADER == 'register' and "
      .. "STORE == 'block' and CACHE == 'plain' and OVERLAP == 'off' and STAGES == 1" },
    { "launches overlap from compute capability 9.0 on", "OVERLAP == 'off' or dev_cc >= 90" },
    { "all blocks of a launch have the same threads", "ALG ~= 'tasks' or BLOCK == SORT_BLOCK" },
    { "there is no launch before", "ALG ~= 'tasks' or PARTITION == 'block'" },
    { "halves of a block merge", "ispow2(SORT_BLOCK) or not " .. MERGED },
    { "as many comparisons as pairs of keys", "ALG ~= 'count' or n <= 2^14" },
    { "more keys than a block's threads bring",
      "ALG ~= 'count' or n <= RUN and RUN * NBYTES + 512 <= dev_smem_block" },
    { "most of the block's threads bring no keys", "ALG ~= 'count' or RUN <= max(4096, 2 * n)" },
    { "clusters are for compute capability 9.0 on", "CLUSTER == 1 or dev_cc >= 90" },
    { "more keys than a cluster's threads hold", "ALG ~= 'samples' or n <= CLUSTER * RUN" },
    { "most of the cluster's threads have no keys", "ALG ~= 'samples' or CLUSTER * RUN <= max(8192, 2 * n)" },
    { "clusters that wait for others' multiprocessors",
      "ALG ~= 'samples' or RANGES * SORT_BLOCK <= dev_sms * dev_threads_sm" },
    { "more ranges than keys to bound them", "ALG ~= 'samples' or SAMPLES >= RANGES" },
    { "a thread ranks one of the sample",
      "ALG ~= 'samples' or SAMPLES <= CLUSTER * SORT_BLOCK and SAMPLES >= 32 * CLUSTER" },
    { "bins of fewer than two keys, or more than threads", "LOCAL == 0 or LOCAL <= SORT_BLOCK and "
      .. "2 * LOCAL * CLUSTERS <= RUN" },
    { "threads of so few keys mostly search", "(ITEMS >= 4 or n <= 2^18) and (SORT_ITEMS >= 4 or n <= 2^18)" },
    { "tiles merged are no part of a pass's run", "PASSES == 0 or WAYS * RUN % TILE == 0" },
    { "four ways for two runs", "WAYS == 2 or LEVELS > 1" },
    { "tiles sorted and merged differ more than eightfold",
      "PASSES == 0 or TILE <= 8 * RUN and RUN <= 8 * TILE" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "a thread's keys are no whole number of vectors", "ITEMS % VEC == 0" },
    { "asynchronous copies need compute capability 8.0 and 4, 8 or 16 bytes",
      "LOADER ~= 'cpasync' or dev_cc >= 80 and VEC * NBYTES >= 4" },
    { "bulk copies need compute capability 9.0 and vectors of 16 bytes",
      "LOADER ~= 'bulk' or dev_cc >= 90 and VEC * NBYTES == 16" },
    { "a bitonic network needs a power of two of keys, and is not stable without Batcher's tags",
      "LANES == 'merge' or ispow2(SORT_ITEMS) and NETWORK == 'batcher'" },
    { "windows need a power of two of keys, and their order is not kept without Batcher's tags",
      "(MERGE == 'network' or LANES ~= 'window') and (MERGE == 'serial' or NETWORK == 'batcher') and "
        .. "(MERGE == 'serial' or ispow2(ITEMS) and ITEMS >= 4) and "
        .. "(MERGE == 'serial' or ispow2(SORT_ITEMS) and SORT_ITEMS >= 4)" },
    { "multiplications are of keys of 32 bits", "MADS == 0 or value == 0 and NBYTES == 4" },
    { "so many exchanges of neighbours", "NETWORK == 'batcher' or SORT_ITEMS <= 24" },
    { "a thread's keys exceed the registers",
      "SORT_ITEMS * max(4, ITEM) <= 256 and ITEMS * max(4, ELEMENT) <= 256" },
    { "a block's keys exceed the registers",
      "BLOCK * (ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 28) <= dev_regs_block and "
      .. "SORT_BLOCK * (SORT_ITEMS * max(4, ITEM) // 4 + 28) <= dev_regs_block" },
    { "more shared memory than a block may have",
      "SHARED + 256 * STAGES <= dev_smem_block and SORT_SMEM + 256 <= dev_smem_block" },
    { "more shared memory for ranges than a block may have", "SAMPLES_SMEM + 5120 <= dev_smem_block" },
    { "more blocks that sort than a multiprocessor has room for", "SORT_RESIDENT == 1 or "
      .. "ALG == 'passes' and SORT_RESIDENT * SORT_BLOCK <= dev_threads_sm and "
      .. "SORT_RESIDENT * SORT_BLOCK * (SORT_ITEMS * max(4, ITEM) // 4 + 24) <= dev_regs_sm and "
      .. "SORT_RESIDENT * (SORT_SMEM + dev_smem_reserved) <= dev_smem_sm" },
    { "more tiles than a grid may have", RUNS .. " + PASSES * " .. TILES .. " < 2^31" },
  },

  default = { ALG = "passes", SORT_BLOCK = 256, SORT_ITEMS = 8, SORT_RESIDENT = 1, CLUSTER = 1,
    CLUSTERS = 2, SAMPLES = 256, LOCAL = 0, OWN = 32,
    NETWORK = "odd_even", LANES = "merge", MERGE = "serial", MADS = 0, WAYS = 2, BLOCK = 256, ITEMS = 8,
    PARTITION = "launch", VEC = 1, LOADER = "register", STORE = "block",
    CACHE = "plain", OVERLAP = "off", STAGES = 1, RESIDENT = 1 },
  untuned = SUGGESTED,

  workspace = {
    -- Passes go from there to y and back; and there ranges are merged that blocks have no room for.
    { "other", "dtype", "sel(ALG == 'samples', 2 * n, sel(PASSES > 0, n, 0))" },
    { "places", "u32", "sel(ALG == 'samples' and TOLD == 1, 2 * n, 0)" },
    { "other_v", "u8", "sel(PASSES > 0, n * value, 0)" },
    { "splits", "i64", "sel(PASSES > 0 and PARTITION == 'launch', WAYS * " .. TILES .. ", 0)" },
    -- tiles that are done of each run, of one pass after the other, of all launches
    { "done", "u32", "sel(ALG == 'tasks', PASSES * " .. RUNS .. ", 0)" },
    { "counter", "u64", "sel(ALG == 'tasks', 1, 0)" },
  },

  stages = stages,

  source = [[
@ local ways = WAYS
@ local load_keys = "load_plain"  -- not .nc: one launch may both write and read
@ local neighbours = NETWORK == "odd_even" and MERGE == "serial"  -- alone are exchanged
@include "ptx.cuh"
@include "words.cuh"
@ if OVERLAP == "on" then
@include "lanes.cuh"
@ end
@ if LOADER == "bulk" then
@include "ptx90.cuh"
@include "bulk.cuh"
@ end

@include "merge_key.cuh"
@ if value > 0 then
using value = @{value == 4 and "unsigned" or "uint2"};  // bits
@ else
using value = unsigned char;  // there are none
@ end

@ if ALG == "samples" then
@include "merge_count.cuh"
@include "pdl.cuh"
@include "merge_samples.cuh"
@ elseif ALG == "count" then
@include "merge_count.cuh"
@include "pdl.cuh"

// Every block has all keys, finds the places of OWN of them, and puts them there.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK)
sort_counting(long long n_keys, const key *x, const value *xv, key *y, value *yv) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ unsigned ranks[OWN];
  key *const keys = reinterpret_cast<key *>(memory);
  const int n = (int)n_keys, whole = n / 4 * 4;
  if (threadIdx.x < OWN) ranks[threadIdx.x] = 0;
  x += pdl_wait();
  key k[SORT_ITEMS];
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) {
    const int at = i * SORT_BLOCK + threadIdx.x;
    k[i] = at < n ? x[at] : key();
  }
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) keys[i * SORT_BLOCK + threadIdx.x] = k[i];
  __syncthreads();
  const int own = blockIdx.x * OWN + threadIdx.x % OWN;
  const part_of part(whole, SORT_BLOCK / OWN, threadIdx.x / OWN);
  if (own < n) {
    unsigned before_it = part.from < part.end ? count_before<RUN>(keys, own, part.from, part.end) : 0;
    if (threadIdx.x < OWN) {
      for (int i = whole; i < n; i++) {
        before_it += i < own ? !before(keys[own], keys[i]) : before(keys[i], keys[own]);
      }
    }
    atomicAdd(ranks + threadIdx.x % OWN, before_it);
  }
  __syncthreads();
  if (threadIdx.x < OWN && own < n) {
    const unsigned to = ranks[threadIdx.x];
    y[to] = keys[own];
@ if value > 0 then
    yv[to] = xv[own];
@ end
  }
}
@ else
@include "merge_path.cuh"
@ if ALG == "tasks" then
@include "ticket.cuh"
@ end

// ---- runs --------------------------------------------------------------------------------------

@include "merge_item.cuh"
@ if MERGE == "network" then
@include "merge_window.cuh"
@ end
@include "block_sort.cuh"

template <bool WHOLE>
__device__ __forceinline__ void load_run(item (&v)[SORT_ITEMS], const key *x, int count) {
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const int i = k * SORT_BLOCK + threadIdx.x;
    v[k] = make_item(WHOLE || i < count ? x[i] : key(), i);
  }
}

template <bool WHOLE>
__device__ __forceinline__ void store_run(rows all, const value *xv, key *y, value *yv, int count) {
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const int i = k * SORT_BLOCK + threadIdx.x;
    if (WHOLE || i < count) {
      const item one = all.nth<SORT_BLOCK>(threadIdx.x, k);
      y[i] = key_of(one);
@ if value > 0 then
      yv[i] = xv[one.source];
@ end
    }
  }
}

// From x to y: tile number `run`.
__device__ __forceinline__ void make_run(long long run, long long n, const key *x, const value *xv,
                                         key *y, value *yv, unsigned char *memory) {
  const long long first = run * RUN;
  const int count = (int)min(n - first, (long long)RUN);
  const rows all = {reinterpret_cast<item *>(memory)};
  item v[SORT_ITEMS];
  if (count == RUN) {
    load_run<true>(v, x + first, count);
  } else {
    load_run<false>(v, x + first, count);
  }
@ if value > 0 or NETWORK == "odd_even" then
  const bool anywhere = false;
@ else
  const bool anywhere = count == RUN;  // in which thread a key starts
@ end
  if (!anywhere) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.nth<SORT_BLOCK>(threadIdx.x, k) = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) v[k] = all.own(k);
    __syncwarp();
  }
  sort_tile(v, count, all);
  if (count == RUN) {
    store_run<true>(all, xv + first, y + first, yv + first, count);
  } else {
    store_run<false>(all, xv + first, y + first, yv + first, count);
  }
}

// ---- passes ------------------------------------------------------------------------------------

@include "merge_tile.cuh"
@ if STAGES > 1 then
@include "merge_stream.cuh"
@ end

// A tile of the result of a pass that merges runs of `run` keys, WAYS of them at a time.
struct tile_of {
  long long start, count[WAYS];  // the runs, one behind the other
  long long d, d_end;            // the tile, from start on

  // WAYS runs are `tiles` tiles.
  __device__ __forceinline__ tile_of(unsigned tile, long long run, unsigned tiles, long long n) {
    start = (long long)(tile / tiles) * (WAYS * run);
#pragma unroll
    for (int i = 0; i < WAYS; i++) count[i] = max(0ll, min(run, n - start - i * run));
    d = (long long)(tile % tiles) * TILE;
    d_end = min(d + TILE, min(WAYS * run, n - start));
  }
  __device__ __forceinline__ bool last(long long run, long long n) const {
    return d_end == min(WAYS * run, n - start);
  }
};

// How many of the first d keys of a tile's runs merged are of each run.
struct cut {
  long long of[WAYS];
};

// By a whole warp, given bounds for each.
__device__ __forceinline__ cut cut_at(long long d, const tile_of &t, long long run, const key *x,
                                      const cut &low, const cut &high) {
  cut c = low;
  const key *a = x + t.start;
@ if WAYS == 2 then
  c.of[0] = co_rank_warp(d, a, t.count[0], a + run, t.count[1], low.of[0], high.of[0]);
  c.of[1] = d - c.of[0];
@ else
  const key *const runs[WAYS] = {a, a + run, a + 2 * run, a + 3 * run};
  cut most = high;
  co_rank_many(d, runs, c.of, most.of);
@ end
  return c;
}

__device__ __forceinline__ cut cut_at(long long d, const tile_of &t, long long run, const key *x) {
  cut low, high;
#pragma unroll
  for (int i = 0; i < WAYS; i++) low.of[i] = 0, high.of[i] = min(d, t.count[i]);
  return cut_at(d, t, run, x, low, high);
}

__device__ __forceinline__ void pieces_between(piece (&p)[WAYS], const tile_of &t, const cut &from,
                                               const cut &to, long long run, long long n,
                                               const key *x) {
  int left = (int)(t.d_end - t.d);
#pragma unroll
  for (int i = 0; i < WAYS; i++) {
    const long long until = i + 1 < WAYS ? to.of[i] : t.count[i];
    p[i] = {x, n, t.start + i * run + from.of[i], keys_of_a(from.of[i], until, left)};
    left -= p[i].count;
  }
}

@ if value > 0 then
// The value of a place in a tile of y.
struct fetch {
  const value *from[WAYS];
  int end[WAYS];  // of the pieces, one behind the other
  value *y;

  __device__ __forceinline__ void add(int i, const value *first, int count) {
    from[i] = first;
    end[i] = count + (i > 0 ? end[i > 0 ? i - 1 : 0] : 0);
  }
  __device__ __forceinline__ void operator()(int place, int source) const {
    const value *start = from[0];
#pragma unroll
    for (int i = 1; i < WAYS; i++) start = source < end[i - 1] ? start : from[i] - end[i - 1];
    y[place] = start[source];
  }
};

@ end
// From x to y: the tile that lies between the two cuts.
__device__ __forceinline__ void merge_tile(const tile_of &t, const cut &from, const cut &to,
                                           long long run, long long n, const key *x,
                                           const value *xv, key *y, value *yv,
                                           unsigned char *memory) {
  const int count = (int)(t.d_end - t.d);
  piece p[WAYS];
  pieces_between(p, t, from, to, run, n, x);
  key v[ITEMS];
  int source[ITEMS];
  merge_pieces(memory, p, v, source);
  __syncthreads();
  store_tile(v, y + t.start + t.d, count, memory);
@ if value > 0 then
  fetch take;
  take.y = yv + t.start + t.d;
#pragma unroll
  for (int i = 0; i < WAYS; i++) take.add(i, xv + p[i].first, p[i].count);
  take_values(source, count, memory, take);
@ end
}

@ if STAGES > 1 then
// One after the other, of a pass, forwards or backwards. Where a tile ends the next one starts, or
// the other way round, and none of its pieces is longer than itself.
struct tile_finder {
  const long long n, run;
  const unsigned of_set;  // tiles of WAYS runs
  const key *const x;
  const bool backward;
  unsigned tile;
  cut here;
  bool known;

  __device__ __forceinline__ cut beyond(const tile_of &t) const {
    cut low, high;
#pragma unroll
    for (int i = 0; i < WAYS; i++) {
      low.of[i] = backward ? max(0ll, here.of[i] - TILE) : here.of[i];
      high.of[i] = backward ? here.of[i] : min(here.of[i] + TILE, t.count[i]);
    }
    return cut_at(backward ? t.d : t.d_end, t, run, x, low, high);
  }
  __device__ __forceinline__ void next(piece (&p)[WAYS], int *count, long long *to) {
    const tile_of t(tile, run, of_set, n);
    const bool first = t.d == 0, last = t.last(run, n);
    cut start, end;
#pragma unroll
    for (int i = 0; i < WAYS; i++) start.of[i] = 0, end.of[i] = t.count[i];
    if (backward ? last : first) here = backward ? end : start;
    else if (!known) here = cut_at(backward ? t.d_end : t.d, t, run, x);
    const cut other = backward ? (first ? start : beyond(t)) : (last ? end : beyond(t));
    pieces_between(p, t, backward ? other : here, backward ? here : other, run, n, x);
    *count = (int)(t.d_end - t.d);
    *to = t.start + t.d;
    here = other;
    known = true;
    tile += backward ? -1 : 1;
  }
};

struct merge_stage {
  const value *xv;
  key *y;
  value *yv;

  __device__ __forceinline__ void operator()(unsigned char *memory, const stage &s) const {
    key v[ITEMS];
    int source[ITEMS];
    const loaded<WAYS> keys = s.keys;
    merge_loaded(memory, keys, v, source);
    sync_merging();
    store_tile(v, y + s.to, s.count, memory);
@   if value > 0 then
    fetch take;
    take.y = yv + s.to;
#pragma unroll
    for (int i = 0; i < WAYS; i++) take.add(i, xv + s.first[i], keys.count[i]);
    take_values(source, s.count, memory, take);
@   end
  }
};

@ end
@ if PARTITION == "block" then
// The cuts where the tile starts and ends; all threads come here.
__device__ __forceinline__ void cuts(const tile_of &t, long long run, const key *x, cut *from,
                                     cut *to) {
  __shared__ cut found[2];
  const int warp = threadIdx.x / 32;
  if (warp < 2) {
    const cut c = cut_at(warp == 0 ? t.d : t.d_end, t, run, x);
    if (threadIdx.x % 32 == 0) found[warp] = c;
  }
  __syncthreads();
  *from = found[0];
  *to = found[1];
}

@ end
// ---- launches ----------------------------------------------------------------------------------

// The launch after this one may start, and the one before has ended.
__device__ __forceinline__ void follow() {
@ if OVERLAP == "on" then
  griddepcontrol_launch_dependents();
  griddepcontrol_wait();
@ end
}

extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT)
sort_runs(long long n, const key *x, const value *xv, key *y, value *yv, key *other,
          value *other_v, int to_other) {
  extern __shared__ __align__(16) unsigned char memory[];
  follow();
  make_run(blockIdx.x, n, x, xv, to_other ? other : y, to_other ? other_v : yv, memory);
}

@ if PARTITION == "launch" then
extern "C" __global__ void __launch_bounds__(128)
merge_split(long long n, const key *y, const key *other, long long run, int tiles, int to_other,
            cut *splits) {
  follow();
  const key *x = to_other ? y : other;
  const unsigned tile = blockIdx.x * 4 + threadIdx.x / 32;
  if ((long long)tile * TILE >= n) return;
  const tile_of t(tile, run, tiles, n);
  const cut c = cut_at(t.d, t, run, x);
  if (threadIdx.x % 32 == 0) splits[tile] = c;
}

@ end
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
merge_runs_of(long long n, key *y, value *yv, key *other, value *other_v, long long run,
              int tiles, int to_other, int backward, const cut *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  follow();
  const key *x = to_other ? y : other;
@ if STAGES > 1 then
  const share mine((n + TILE - 1) / TILE);
  tile_finder of_mine = {n, run, (unsigned)tiles, x, backward != 0,
                         backward ? mine.first + mine.count - 1 : mine.first, cut(), false};
  mine.run(of_mine, merge_stage{to_other ? yv : other_v, to_other ? other : y,
                                to_other ? other_v : yv}, memory);
@ else
  const unsigned tile = backward ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const tile_of t(tile, run, tiles, n);
  cut from, to;
@ if PARTITION == "launch" then
  from = splits[tile];
  if (t.last(run, n)) {
#pragma unroll
    for (int i = 0; i < WAYS; i++) to.of[i] = t.count[i];
  } else {
    to = splits[tile + 1];
  }
@ else
  cuts(t, run, x, &from, &to);
@ end
  merge_tile(t, from, to, run, n, x, to_other ? yv : other_v, to_other ? other : y,
             to_other ? other_v : yv, memory);
@ end
}
@ if ALG == "tasks" then

// Of one run, in one pass: tiles that are done.
__device__ __forceinline__ void tell(unsigned *done) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, 1);
  }
}

__device__ __forceinline__ void wait_for(const unsigned *done, unsigned count) {
  while (load_acquire(done) != count) __nanosleep(20);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
sort_all(long long n, const key *x, const value *xv, key *y, value *yv, key *other, value *other_v,
         int passes, unsigned *done, unsigned long long *counter) {
  extern __shared__ __align__(16) unsigned char memory[];
  const unsigned runs = (unsigned)((n - 1) / RUN + 1), tiles = (unsigned)((n - 1) / TILE + 1);
  unsigned launch;
  const unsigned task = take_ticket(counter, &launch);
  if (task < runs) {
    make_run(task, n, x, xv, passes % 2 ? other : y, passes % 2 ? other_v : yv, memory);
    tell(done + task);
    return;
  }
  const unsigned pass = (task - runs) / tiles, tile = (task - runs) % tiles;
  const long long run = (long long)RUN << pass * (WAYS == 4 ? 2 : 1);
  const tile_of t(tile, run, (unsigned)min(0x7fffffffll, WAYS * run / TILE), n);
  if (threadIdx.x < WAYS) {
    const long long count = max(0ll, min(run, n - t.start - threadIdx.x * run));
    const unsigned parts = pass == 0 ? 1 : (unsigned)((count + TILE - 1) / TILE);
    const unsigned *runs_done = done + (long long)pass * runs + t.start / run;
    if (count > 0) wait_for(runs_done + threadIdx.x, (launch + 1) * parts);
  }
  __syncthreads();
  const bool to_other = (passes - 1 - pass) % 2;
  const key *from_keys = to_other ? y : other;
  cut from, to;
  cuts(t, run, from_keys, &from, &to);
  merge_tile(t, from, to, run, n, from_keys, to_other ? yv : other_v, to_other ? other : y,
             to_other ? other_v : yv, memory);
  if (pass + 1 < passes) tell(done + (long long)(pass + 1) * runs + t.start / (WAYS * run));
}
@ end
@ end
]],

  -- Runs of 1, 2, 4... keys become runs of twice as many: one thread per key finds how many of its
  -- run's neighbour come before it. Every second pass ends in y, and a copy does if none does.
  reference = {
    workspace = {
      { "was", "dtype", "n" },
      { "was_v", "u8", "n * value" },
    },
    stages = reference_stages,
    source = [[
@include "merge_key.cuh"

// How many of n keys go before x; with ties, also those that tie with it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !before(x, keys[i]) : before(keys[i], x)) least = i + 1;
    else most = i;
  }
  return least;
}

__device__ void put(long long to, key x, const unsigned char *v, long long from, key *y,
                    unsigned char *yv) {
  y[to] = x;
  for (int e = 0; e < @{value}; e++) yv[to * @{value} + e] = v[from * @{value} + e];
}

extern "C" __global__ void take(long long n, const key *x, const unsigned char *xv, key *y,
                                unsigned char *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    put(i, x[i], xv, i, y, yv);
  }
}

extern "C" __global__ void pass(long long n, long long run, const key *x, const unsigned char *xv,
                                key *y, unsigned char *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const long long start = i - i % (2 * run), middle = min(start + run, n);
    const long long end = min(middle + run, n), left = i < middle ? start : middle;
    const long long other = i < middle ? middle : start, others = i < middle ? end - middle : run;
    put(start + i - left + rank(x[i], x + other, others, i >= middle), x[i], xv, i, y, yv);
  }
}
]],
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n * log2(max(n, 1))",
  bytes = "2 * n * (" .. NBYTES .. " + value)",

  sizes = {
    emu = { "n=5000", "n=9001 dtype=u16 keys=50 value=4 align=1" },
    test = { "n=0", "n=1", "n=2 dtype=u8", "n=1025", "n=65537", "n=1000003 align=1", "n=2^22 dtype=f32",
      "n=2000000 value=4 keys=1000", "n=1500001 dtype=u64 value=8 keys=5", "n=2^22 dtype=i8",
      "n=3000001 dtype=u16", "n=2^21 dtype=f64", "n=16777215" },
    bench = { "n=2^10", "n=2^13", "n=2^16", "n=2^20", "n=2^24", "n=2^27", "n=2^24 dtype=f32",
      "n=2^24 dtype=i64", "n=2^24 value=4" },
  },
}
