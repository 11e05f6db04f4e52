-- merge_sort: sorts n keys by comparisons; keys may have values. The sort is stable.
--
-- Blocks sort tiles, the runs (block_sort.cuh). Then passes merge each two or four runs to one (WAYS), with many blocks
-- per run (merge_path.cuh, merge_tile.cuh), until one is left: four at a time halve the traffic of global memory.
--
-- A lower bound for the networks: a key of 32 bits takes 12 half exchanges in its thread, 40 within a warp, 10 or 11
-- for each doubling after that, and about as many instructions again for addresses and moves. At two instructions a
-- clock on the integer pipe, 132 x 1.98 GHz, 2^24 keys take 120 us to become runs of 2^13 and 18 us a doubling;
-- reading and writing them once takes 31 us.
--
-- A lower bound for buckets in two levels: a level reads a key of 4 bytes to count it, stores the byte of its bin,
-- reads both and stores the key, 14 bytes: 110 us for two levels of 2^24 keys at 4.29 TB/s, and as much for about 200
-- instructions a key at four a clock. Buckets of 3000 keys take 73 half exchanges a key, 104 us, and their keys are
-- read and stored in 31 us meanwhile. In all that is 215 us; H200: 579 us with twice the instructions in the levels.
--
-- ALG says how the steps are launched:
--   passes       a launch sorts tiles, then each pass is a launch; one tile needs no pass. Every other pass goes
--                backwards, to start with keys that are still in the second-level cache.
--   tasks        one launch: blocks take the tiles of all passes in order, and each waits for the tiles of the runs
--                that it merges
--   sample_sort  one launch, for few keys: clusters of blocks each read all keys and sort those of their ranges, which
--                a sample bounds (sample_sort.cu). H200: 2^16 keys in 10.8 us, by passes in 20.6
--   sample_passes  launches move keys to buckets that a sample bounds, and sort each in shared memory
--                (sample_passes.cu): a step in the search tree costs a tenth of a doubling of runs
--   bitonic, odd_even_merge, odd_even  sorting networks in one launch, for few keys (network_sort.cu)
--   rank_sort    one launch, for very few keys: each block counts for some keys how many of all come before
--                (rank_sort.cu). 2^12 keys in 4.3 us, by passes in 7.9
-- Merging in the shared memory of a cluster of 16 blocks was tried for few keys: barriers, searches and copies between
-- its blocks take as long per level as a launch that overlaps the one before, and 16 multiprocessors sort more slowly
-- than all (H200, 2^16 keys: 24.4 us, by launches 20.9).
-- merge_order.cuh has the order of keys, and says how to sort by another.

local NBYTES = "sel(dtype == 'i64' or dtype == 'u64' or dtype == 'f64', 8, "
  .. "sel(dtype == 'i8' or dtype == 'u8', 1, sel(dtype == 'i16' or dtype == 'u16', 2, 4)))"
local ALL_KEYS = "sel(dtype == 'i8' or dtype == 'u8', 256, sel(dtype == 'i16' or dtype == 'u16', 2^16, 2^32))"
local LEAST = "sel(dtype == 'i64' or dtype == 'i32' or dtype == 'i16' or dtype == 'i8', "
  .. "-(keys // 2), sel(dtype == 'f32' or dtype == 'f64', -1000, 0))"
local MOST = "sel(dtype == 'f32' or dtype == 'f64', 1000, " .. LEAST .. " + keys - 1)"
local RUNS = "ceildiv(n, RUN)"
local TILES = "ceildiv(n, TILE)"
local MOST_PASSES = 26
local MERGED = "(ALG == 'passes' or ALG == 'tasks')"
local FEW = "(ALG == 'bitonic' or ALG == 'odd_even_merge' or ALG == 'odd_even')"
local NETWORKS = "(ALG == 'passes' or ALG == 'tasks' or ALG == 'sample_passes')" -- of block_sort.cuh

-- For problems without a tuned result: keys of `nbytes` bytes, aligned to vectors of 16 bytes, then any.
local SUGGESTED = {}
for _, c in ipairs { { "n <= 2^11", 512, 4, 32 }, { "n <= 2^12 and dev_sms >= 100", 768, 7, 16 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = c[1], ALG = "rank_sort", SORT_BLOCK = c[2], SORT_ITEMS = c[3],
    KEYS_PER_BLOCK = c[4] }
end
-- By the keys that a cluster of 16 blocks holds. All clusters have to run at the same time: 132 multiprocessors have
-- room for 7. (Compute capability 12.0 has clusters of 8.)
for _, c in ipairs {
  { 13, 512, 1, 512, 32 }, { 14, 512, 2, 512, 64 }, { 15, 1024, 2, 512, 128 }, { 16, 1024, 4, 1024, 128 },
  { 17, 1024, 8, 1024, 256 }, { 18, 1024, 16, 1024, 256 },
} do
  SUGGESTED[#SUGGESTED + 1] = { when = "dev_cc >= 90 and dev_cc < 120 and dev_sms >= 132 and n <= 2^" .. c[1],
    ALG = "sample_sort", SORT_BLOCK = c[2], SORT_ITEMS = c[3], CLUSTER = 16, CLUSTERS = 7, SAMPLES = c[4],
    BINS = c[5], NETWORK = "batcher" }
end
for _, tile in ipairs { { "n <= 2^11", 128 }, { "n <= 2^12 and (align < 16 // NBYTES or dev_cc < 90)", 256 } } do
  SUGGESTED[#SUGGESTED + 1] = { when = tile[1], SORT_BLOCK = tile[2], SORT_ITEMS = 16,
    NETWORK = "batcher", WARP_MERGE = "mixed", MERGE = "network" }
end
local function suggest(condition, config)
  config.when, config.NETWORK, config.WARP_MERGE, config.MERGE = condition, "batcher", "mixed", "network"
  config.PARTITION, config.STORE = "block", "warp"
  SUGGESTED[#SUGGESTED + 1] = config
end
-- Many keys, by the most that two levels make buckets of: SPLITTERS rows of two thirds as many buckets, of MEAN keys.
local function suggest_buckets(condition, block, items, least)
  for _, c in ipairs { { 32, 32, 6 }, { 64, 32, 6 }, { 128, 32, 6 }, { 256, 32, 6 }, { 512, 16, 4 }, { 1024, 8, 3 } } do
    local splitters, oversample, fill = c[1], c[2], c[3]
    local run = block * items
    if splitters * oversample <= run then
      SUGGESTED[#SUGGESTED + 1] = {
        when = ("dev_cc >= 80 and n > %d and n <= %d and %s"):format(least,
          math.min(2^31 - 1, splitters * (run * fill // 16 * splitters * 2 // 3)) // 1, condition),
        ALG = "sample_passes", NETWORK = "batcher", WARP_MERGE = "mixed", SORT_BLOCK = block, SORT_ITEMS = items,
        SORT_RESIDENT = items == 32 and 4 or 1, LEVELS = 2, SPLITTERS = splitters, OVERSAMPLE = oversample, FILL = fill,
        BLOCK = 256, ITEMS = 16 }
    end
  end
end
suggest_buckets("value == 0 and NBYTES <= 4", 256, 32, 2^21)
for _, block in ipairs { 256, 512 } do
  suggest_buckets("value == 0 and NBYTES == 8", block, 16, 2^20)
  suggest_buckets("value > 0 and NBYTES <= 4", block, 16, 2^19)
end
suggest_buckets("value > 0 and NBYTES == 8", 256, 16, 2^19)
suggest_buckets("value > 0 and NBYTES == 8", 512, 8, 2^19)
-- WAYS == 4 needs an even number of doublings from a tile to n: is that from a single key odd?
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

-- ---- passes and tasks: runs are merged ----

local MERGED_REQUIRE = {
  { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
  { "SORT_BLOCK is not a power of two", "ispow2(SORT_BLOCK)" },
  { "tiles of SORT_BLOCK * SORT_ITEMS need more than " .. MOST_PASSES .. " passes", "PASSES <= " .. MOST_PASSES },
  { "ITEMS < 4 needs n <= 2^18: threads mostly search", "ITEMS >= 4 or n <= 2^18" },
  { "WAYS runs are not a multiple of BLOCK * ITEMS keys", "PASSES == 0 or WAYS * RUN % TILE == 0" },
  { "WAYS == 4 needs more than two runs", "WAYS == 2 or DOUBLINGS > 1" },
  { "BLOCK * ITEMS and SORT_BLOCK * SORT_ITEMS differ more than eightfold",
    "PASSES == 0 or TILE <= 8 * RUN and RUN <= 8 * TILE" },
  { "y is not aligned to VEC keys", "VEC <= align" },
  { "VEC keys exceed 16 bytes", "VEC * NBYTES <= 16" },
  { "ITEMS is not a multiple of VEC", "ITEMS % VEC == 0" },
  { "LOADER=cp_async needs compute capability 8.0", "LOADER ~= 'cp_async' or dev_cc >= 80" },
  { "LOADER=cp_async needs VEC keys of 4, 8 or 16 bytes", "LOADER ~= 'cp_async' or VEC * NBYTES >= 4" },
  { "LOADER=bulk needs compute capability 9.0", "LOADER ~= 'bulk' or dev_cc >= 90" },
  { "LOADER=bulk needs VEC keys of 16 bytes", "LOADER ~= 'bulk' or VEC * NBYTES == 16" },
  { "WARP_MERGE=shuffle and mixed need a power of two for SORT_ITEMS",
    "WARP_MERGE == 'shared' or ispow2(SORT_ITEMS)" },
  { "WARP_MERGE=shuffle and mixed need NETWORK=batcher: they are not stable by themselves",
    "WARP_MERGE == 'shared' or NETWORK == 'batcher'" },
  { "WARP_MERGE=mixed needs MERGE=network", "WARP_MERGE ~= 'mixed' or MERGE == 'network'" },
  { "MERGE=network needs NETWORK=batcher: it is not stable by itself", "MERGE == 'serial' or NETWORK == 'batcher'" },
  { "MERGE=network needs a power of two >= 4 for ITEMS", "MERGE == 'serial' or ispow2(ITEMS) and ITEMS >= 4" },
  { "MERGE=network needs a power of two >= 4 for SORT_ITEMS",
    "MERGE == 'serial' or ispow2(SORT_ITEMS) and SORT_ITEMS >= 4" },
  { "IMAD_EXCHANGES needs 4-byte keys without values", "IMAD_EXCHANGES == 0 or value == 0 and NBYTES == 4" },
  { "ITEMS keys exceed 256 bytes of registers per thread", "ITEMS * max(4, ELEMENT) <= 256" },
  { "BLOCK * ITEMS keys exceed the registers of a block",
    "BLOCK * (ITEMS * max(4, NBYTES) // 4 * sel(value > 0, 2, 1) + 28) <= dev_regs_block" },
  { "more tiles than a grid may have blocks", RUNS .. " + PASSES * " .. TILES .. " < 2^31" },
}

local function with(list, more)
  local all = {}
  for _, x in ipairs(list) do all[#all + 1] = x end
  for _, x in ipairs(more) do all[#all + 1] = x end
  return all
end

local PASSES = {
  space = {
    { "STAGES", { 1, 2, 3 },
      "tiles in a block's shared memory; more than one makes blocks persistent, with a warp that loads tiles ahead" },
    { "RESIDENT", { 1, 2, 3, 4, 5, 6, 8 }, "persistent blocks per multiprocessor", when = "STAGES > 1" },
    { "OVERLAP", { "off", "on" }, "let each launch start while the one before ends" },
  },
  default = { STAGES = 1, RESIDENT = 1, OVERLAP = "off" },
  derive = {
    { "STAGE", "roundup(TILE_SMEM, 128)" },
    { "SHARED", "STAGES * STAGE" },
    { "THREADS", "BLOCK + sel(STAGES > 1, 32, 0)" },
  },
  require = with({
    { "STAGES > 1 needs LOADER=bulk and PARTITION=block",
      "STAGES == 1 or LOADER == 'bulk' and PARTITION == 'block'" },
    { "STAGES > 1 needs BLOCK + 32 threads per block", "STAGES == 1 or BLOCK < dev_threads_block" },
    { "RESIDENT blocks exceed the shared memory, the threads or the registers of a multiprocessor", "STAGES == 1 or "
      .. "RESIDENT * (SHARED + 256 * STAGES + dev_smem_reserved) <= dev_smem_sm and "
      .. "RESIDENT * THREADS <= dev_threads_sm and RESIDENT * THREADS * "
      .. "(ITEMS * max(4, ELEMENT) // 4 + 24) <= dev_regs_sm" },
    { "n fits one tile: nothing is merged, and the parameters of merging keep their defaults",
      "PASSES > 0 or WAYS == 2 and BLOCK == 256 and ITEMS == 8 and PARTITION == 'launch' and VEC == 1 and "
      .. "LOADER == 'register' and STORE == 'block' and CACHE == 'plain' and OVERLAP == 'off' and STAGES == 1" },
    { "OVERLAP needs compute capability 9.0", "OVERLAP == 'off' or dev_cc >= 90" },
    { "the tiles exceed the shared memory of a block", "SHARED + 256 * STAGES <= dev_smem_block" },
  }, MERGED_REQUIRE),
  stages = {
    { kernel = "sort_runs", grid = RUNS, block = "SORT_BLOCK", smem = "SORT_SMEM",
      args = { "n", "x", "xv", "y", "yv", "other", "other_v", { "i32", "PASSES % 2" } } },
  },
  source = "merge_sort_passes.cu",
}
for pass = 0, MOST_PASSES - 1 do
  -- in passes of four ways there are half as many
  local longer = pass < MOST_PASSES // 2
    and "sel(WAYS == 4, " .. (1 << 2 * pass) .. ", " .. (1 << pass) .. ")" or 1 << pass
  local run = { "i64", "RUN * " .. longer }
  local tiles = { "i32", "min(2^31 - 1, WAYS * RUN * " .. longer .. " // TILE)" }
  local to_other = { "i32", "(PASSES - 1 - " .. pass .. ") % 2" }
  local when = "PASSES > " .. pass
  local stages = PASSES.stages
  stages[#stages + 1] = { kernel = "merge_split", when = when .. " and PARTITION == 'launch'",
    grid = "ceildiv(" .. TILES .. ", 4)", block = 128,
    overlap = "OVERLAP == 'on'", args = { "n", "y", "other", run, tiles, to_other, "splits" } }
  stages[#stages + 1] = { kernel = "merge_runs_of", when = when, block = "THREADS", smem = "SHARED",
    grid = "min(" .. TILES .. ", sel(STAGES > 1, RESIDENT * dev_sms, 2^31))",
    overlap = "OVERLAP == 'on'",
    args = { "n", "y", "yv", "other", "other_v", run, tiles, to_other,
      { "i32", (pass + 1) % 2 }, "splits" } }
end

local TASKS = {
  require = with({
    { "ALG=tasks needs more than one tile of SORT_BLOCK * SORT_ITEMS", "PASSES > 0" },
    { "ALG=tasks needs BLOCK == SORT_BLOCK: all blocks are of one launch", "BLOCK == SORT_BLOCK" },
    { "ALG=tasks needs PARTITION=block: there is no launch before", "PARTITION == 'block'" },
    { "the tile exceeds the shared memory of a block", "roundup(TILE_SMEM, 128) + 256 <= dev_smem_block" },
  }, MERGED_REQUIRE),
  workspace = {
    -- Finished tiles of each run, of one pass after the other, of all launches.
    { "done", "u32", "PASSES * " .. RUNS },
    { "counter", "u64", "1" },
  },
  stages = {
    { kernel = "sort_all", grid = RUNS .. " + PASSES * " .. TILES, block = "BLOCK",
      smem = "max(SORT_SMEM, TILE_SMEM)",
      args = { "n", "x", "xv", "y", "yv", "other", "other_v", { "i32", "PASSES" }, "done", "counter" } },
  },
  source = "merge_sort_tasks.cu",
}

-- ---- few keys ----

local SAMPLE_SORT = {
  space = {
    { "CLUSTERS", { 2, 4, 6, 7, 8, 12, 14, 16, 32, 64, 128 }, "clusters, which share the ranges" },
    { "SAMPLES", { 64, 128, 256, 512, 1024, 2048 }, "keys of the sample, of which some bound ranges" },
    { "BINS", { 0, 32, 64, 128, 256, 512 }, "bins of a block's range; 0: none" },
  },
  default = { CLUSTERS = 2, SAMPLES = 256, BINS = 0 },
  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "RANGES", "CLUSTER * CLUSTERS" },
    -- Keys that a block has room for, of those that another block has for it. Now and then there are far more keys than
    -- expected between every s-th key of a sample: with room for 2 + 14 / s times as many, one launch in ten thousand
    -- overflows.
    { "SEGMENT", "roundup(ceildiv(RUN * (2 * SAMPLES + 14 * RANGES), RANGES * SAMPLES) + 32, 8)" },
    { "INBOX", "CLUSTER * SEGMENT" },
    { "AREA", "max(RUN, INBOX)" }, -- first for keys that are picked, then for those of the block
    { "SAMPLES_SMEM", "NBYTES * (AREA + INBOX + SAMPLES + CLUSTER + 1 + 2 * BINS) + "
      .. "4 * (AREA + sel(STABLE, INBOX, 0) + CLUSTER + 2 + 3 * BINS) + 2 * INBOX + 12 * 16" },
  },
  require = {
    { "n exceeds the CLUSTER * SORT_BLOCK * SORT_ITEMS keys that a cluster loads", "n <= CLUSTER * RUN" },
    { "CLUSTER * SORT_BLOCK * SORT_ITEMS is more than twice n: most threads have no keys",
      "CLUSTER * RUN <= max(8192, 2 * n)" },
    { "CLUSTER * CLUSTERS blocks do not run at the same time", "RANGES * SORT_BLOCK <= dev_sms * dev_threads_sm" },
    { "SAMPLES is less than the CLUSTER * CLUSTERS ranges", "SAMPLES >= RANGES" },
    { "SAMPLES needs 32 to SORT_BLOCK samples per block of a cluster",
      "SAMPLES <= CLUSTER * SORT_BLOCK and SAMPLES >= 32 * CLUSTER" },
    { "BINS exceeds SORT_BLOCK", "BINS <= SORT_BLOCK" },
    { "BINS leaves a bin fewer than two keys", "BINS == 0 or 2 * BINS * CLUSTERS <= RUN" },
    { "the ranges exceed the shared memory of a block", "SAMPLES_SMEM + 5120 <= dev_smem_block" },
  },
  stages = {
    { kernel = "sample_sort", grid = "min(n, 1) * CLUSTER * CLUSTERS", block = "SORT_BLOCK", smem = "SAMPLES_SMEM",
      early = "EARLY", args = { "n", "x", "xv", "y", "yv", "other", "places" } },
  },
  workspace = { { "places", "u32", "sel(STABLE, 2 * n, 0)" } },
  source = "sample_sort.cu",
}

local RANK_SORT = {
  space = { { "KEYS_PER_BLOCK", { 8, 16, 32, 64 }, "keys whose ranks a block counts" } },
  default = { KEYS_PER_BLOCK = 32 },
  derive = { { "EARLY", "dev_cc >= 90" } }, -- starts while the kernel before ends (pdl.cuh)
  require = {
    { "ALG=rank_sort needs n <= 2^14: it compares all pairs of keys", "n <= 2^14" },
    { "n exceeds the SORT_BLOCK * SORT_ITEMS keys that a block loads", "n <= RUN" },
    { "the keys exceed the shared memory of a block", "RUN * NBYTES + 512 <= dev_smem_block" },
    { "SORT_BLOCK * SORT_ITEMS is more than twice n: most threads load no keys", "RUN <= max(4096, 2 * n)" },
  },
  stages = {
    { kernel = "rank_sort", grid = "ceildiv(n, KEYS_PER_BLOCK)", block = "SORT_BLOCK", smem = "RUN * NBYTES",
      early = "EARLY", args = { "n", "x", "xv", "y", "yv" } },
  },
  source = "rank_sort.cu",
}

local NETWORK_SORT = {
  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "NETWORK_SMEM", "sel(ALG == 'bitonic', sel(CLUSTER > 1, 4, 2), 1) * roundup(SORT_SMEM, 16)" },
  },
  require = {
    { "a sorting network needs n <= 2^16", "n <= 2^16" },
    { "ALG=odd_even needs n <= 2^14: it has n rounds", "ALG ~= 'odd_even' or n <= 2^14" },
    { "n exceeds the CLUSTER * SORT_BLOCK * SORT_ITEMS keys of a cluster", "n <= CLUSTER * RUN" },
    { "CLUSTER * SORT_BLOCK * SORT_ITEMS is more than twice n: most threads have no keys",
      "CLUSTER * RUN <= max(1024, 2 * n)" },
    { "networks need powers of two for SORT_BLOCK and SORT_ITEMS", "ispow2(SORT_BLOCK) and ispow2(SORT_ITEMS)" },
    { "the keys exceed the shared memory of a block", "NETWORK_SMEM + 512 <= dev_smem_block" },
  },
  stages = {
    { kernel = "network_sort", grid = "min(n, 1) * CLUSTER", block = "SORT_BLOCK", smem = "NETWORK_SMEM",
      early = "EARLY", args = { "n", "x", "xv", "y", "yv" } },
  },
  source = "network_sort.cu",
}

-- ---- many keys: buckets ----

local SAMPLE_PASSES = {
  space = {
    { "LEVELS", { 1, 2 }, "moves of a key before its bucket is sorted" },
    { "SPLITTERS", { 32, 64, 128, 256, 512, 1024, 2048, 4096 }, "most buckets that a level makes of each one before" },
    { "OVERSAMPLE", { 4, 8, 16, 24, 32, 48, 64 }, "keys of the sample for each bucket" },
    { "FILL", { 2, 3, 4, 5, 6, 7, 8 }, "sixteenths of the keys that a block sorts: what a bucket has on average" },
  },
  default = { LEVELS = 1, SPLITTERS = 256, OVERSAMPLE = 32, FILL = 6 },
  derive = {
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "TWO", "LEVELS == 2" },
    { "MEAN", "RUN * FILL // 16" },
    { "FIRST", "ceildiv(n, sel(LEVELS == 2, MEAN * SPLITTERS * 2 // 3, MEAN))" }, -- buckets of the first level
    { "BINS_EACH", "sel(STABLE, 1, 2)" },
    { "ROW_BINS", "BINS_EACH * SPLITTERS" },
    { "SEGMENTS", "sel(LEVELS == 2, FIRST * BINS_EACH, 0)" }, -- rows of the second level
    { "ID_NBYTES", "sel(ROW_BINS > 256, 2, 1)" },
    { "COUNT_SMEM", "4 * ROW_BINS + 16 + roundup(SPLITTERS + SPLITTERS // 32, 4) * (NBYTES + sel(STABLE, 4, 0))" },
    { "MOVE_SMEM", "TILE * (NBYTES + sel(STABLE, 4, 0) + ID_NBYTES) + 8 * ROW_BINS + 16" },
  },
  require = {
    { "ALG=sample_passes needs NETWORK=batcher", "NETWORK == 'batcher'" },
    { "ALG=sample_passes needs powers of two for SORT_BLOCK and SORT_ITEMS",
      "ispow2(SORT_BLOCK) and ispow2(SORT_ITEMS)" },
    { "ALG=sample_passes needs SORT_ITEMS >= 4", "SORT_ITEMS >= 4" },
    { "ALG=sample_passes needs WARP_MERGE=shuffle or mixed", "WARP_MERGE ~= 'shared'" },
    { "n fits the SORT_BLOCK * SORT_ITEMS keys that a block sorts", "n > RUN" },
    { "ALG=sample_passes needs n < 2^31", "n < 2^31" },
    { "OVERSAMPLE leaves more than one sort in ten thousand a bucket that overflows; a smaller FILL needs less",
      "OVERSAMPLE >= sel(FILL <= 2, 4, sel(FILL == 3, 8, sel(FILL == 4, 16, sel(FILL == 5, 24, "
      .. "sel(FILL == 6, 32, sel(FILL == 7, 48, 64))))))" },
    { "SPLITTERS * OVERSAMPLE exceed the SORT_BLOCK * SORT_ITEMS keys that a block sorts",
      "SPLITTERS * OVERSAMPLE <= RUN" },
    { "the first level makes more than SPLITTERS buckets", "FIRST <= SPLITTERS" },
    { "SPLITTERS is more than twice the buckets", "LEVELS == 2 or SPLITTERS < 2 * FIRST or SPLITTERS == 32" },
    { "LEVELS=2 needs more than FIRST = 4 buckets of the first level", "LEVELS == 1 or FIRST > 4" },
    { "SORT_BLOCK * SORT_ITEMS is not a multiple of BLOCK * ITEMS", "RUN % TILE == 0" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCK * ITEMS keys exceed the registers of a block",
      "BLOCK * (ITEMS * max(4, NBYTES) // 4 * 3 + 28) <= dev_regs_block" },
    { "the tile or the splitters exceed the shared memory of a block",
      "max(COUNT_SMEM, MOVE_SMEM, TILE_SMEM) + 512 <= dev_smem_block" },
  },
  workspace = {
    { "state", "u32", 64 },
    { "rows", "u32", "4 * (SEGMENTS + 1)" },
    { "tile_rows", "u32", "sel(LEVELS == 2, " .. TILES .. " + SEGMENTS, 0)" },
    { "counts", "u32", "(SEGMENTS + 1) * ROW_BINS" },
    { "ends", "u32", "(SEGMENTS + 1) * ROW_BINS" },
    { "row_done", "u32", "SEGMENTS + 1" },
    { "nodes", "dtype", "(SEGMENTS + 1) * SPLITTERS" },
    { "numbers", "u32", "sel(STABLE, (SEGMENTS + 1) * SPLITTERS, 0)" },
    { "ids", "u8", "n * ID_NBYTES" },
    { "y_places", "u32", "sel(STABLE, n, 0)" },
    { "other_places", "u32", "sel(STABLE and LEVELS == 2, n, 0)" },
  },
  stages = {},
  source = "sample_passes.cu",
}
do
  local function stage(kernel, when, grid, block, smem, args)
    for _, name in ipairs { "state", "rows", "tile_rows", "counts", "ends", "row_done", "nodes", "numbers" } do
      args[#args + 1] = name
    end
    local stages = SAMPLE_PASSES.stages
    local timing = #stages == 0 and "early" or "overlap" -- against the caller's kernel, or the one before
    stages[#stages + 1] = { kernel = kernel, when = when, grid = grid, block = block, smem = smem, args = args,
      [timing] = "EARLY" }
  end
  local function sort(task, when, grid, from)
    stage("sort_parts", when, grid, "SORT_BLOCK", "SORT_SMEM",
      { { "i32", task }, { "u32", "n" }, { "u32", "FIRST" }, { "i32", "PASSES % 2" }, from[1], from[2], "xv",
        "y", "yv", "y_places", "other", "other_v" })
  end
  local function level(second, when, grid, tiles, x, to)
    local from = { x, x == "x" and "other_places" or x .. "_places" }
    sort(second, when, grid, from)
    stage("count_keys", when, tiles, "BLOCK", "COUNT_SMEM",
      { { "i32", second }, { "i32", "sel(LEVELS == 1, 1, " .. second .. ")" }, from[1], from[2], "ids" })
    for _, y in ipairs(to) do
      stage("move_keys", y[2], tiles, "BLOCK", "MOVE_SMEM",
        { { "i32", second }, from[1], from[2], "ids", y[1], y[1] .. "_places" })
    end
  end
  local ONE, TWO = "LEVELS == 1", "LEVELS == 2"
  level(0, nil, 1, TILES, "x", { { "y", ONE }, { "other", TWO } })
  level(1, TWO, "SEGMENTS", TILES .. " + SEGMENTS", "other", { { "y", TWO } })
  sort(2, nil, "sel(LEVELS == 2, FIRST, 1) * SPLITTERS", { "x", "y_places" })
  SAMPLE_PASSES.stages[#SAMPLE_PASSES.stages + 1] = { kernel = "merge_overflow", grid = "min(" .. TILES
    .. ", 2 * dev_sms)", block = "BLOCK", smem = "TILE_SMEM", overlap = "EARLY",
    args = { "n", { "i32", "PASSES" }, "y", "yv", "other", "other_v", "state" } }
end

-- Every pass of the reference goes from one pair of buffers to the other; the first starts where the last then ends
-- in y.
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
      default = "i32", like = { u32 = "i32", f32 = "i32", u64 = "i64", f64 = "i64", u16 = "i16", u8 = "i8" },
      brief = "type of the keys; floats must not be NaN" },
    { "value", { 0, 4, 8 }, default = 0, brief = "bytes of the value of each key" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "keys to which y is aligned" },
    { "keys", 1, 2^32, default = ALL_KEYS,
      brief = "number of different integer keys in tests and timing" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", LEAST, MOST } },
    { "y", "dtype", "out", count = "n", shift = "sel(align < 16, align, 0) * (" .. NBYTES .. ")" },
    { "xv", "u8", "in", count = "n * value", fill = { "uniform", 0, 255 }, brief = "values of x" },
    { "yv", "u8", "out", count = "n * value", brief = "values of y" },
  },

  call = { "dtype", "value", "n", "x", "xv", "y", "yv",
    align = "pow2div(y // (" .. NBYTES .. "), 16)", keys = ALL_KEYS },
  call_require = {
    { "values have to be aligned to their size", "value == 0 or xv % max(1, value) == 0 and yv % max(1, value) == 0" },
  },

  space = {
    { "ALG", { "passes", "tasks", "sample_sort", "rank_sort", "sample_passes", "bitonic", "odd_even_merge",
      "odd_even" },
      "how steps are launched: see the top of merge_sort.lua" },
    { "SORT_BLOCK", { 64, 128, 256, 384, 512, 768, 1024 },
      "threads per block that sorts a tile, a range, or by ranks" },
    { "SORT_ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys per thread of such a block" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks per cluster", when = "ALG == 'sample_sort' or " .. FEW },
    { "SORT_RESIDENT", { 1, 2, 3, 4, 6 },
      "blocks that sort tiles or buckets per multiprocessor, for which registers must suffice",
      when = "ALG == 'passes' or ALG == 'sample_passes'" },
    { "NETWORK", { "odd_even", "batcher" },
      "network that sorts a thread's keys: odd-even transposition, stable, or Batcher's, with fewer exchanges; "
        .. "ALG=sample_sort: keep the order of equal keys (odd_even), or only if they have values",
      when = "ALG == 'sample_sort' or " .. NETWORKS },
    { "WARP_MERGE", { "shared", "shuffle", "mixed" },
      "how lanes merge runs within a warp: in shared memory, by a bitonic network of shuffles, or by one in registers "
        .. "with exchanges through shared memory where lanes are far apart", when = NETWORKS },
    { "MERGE", { "serial", "network" },
      "how threads merge in shared memory: each its own part serially, or in groups by a bitonic network",
      when = MERGED },
    { "IMAD_EXCHANGES", { 0, 1, 2 },
      "of every three exchanges, those that compute the larger key by multiply-adds, in another pipe than comparisons",
      when = "NETWORK == 'batcher' and " .. NETWORKS },
    { "WAYS", { 2, 4 }, "runs that a pass merges to one", when = MERGED },
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block that merges, or moves keys to buckets",
      when = NETWORKS },
    { "ITEMS", { 1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 28, 32 },
      "coarsening factor: keys per thread of such a block", when = NETWORKS },
    { "PARTITION", { "launch", "block" },
      "what finds where tiles start in the runs: a launch before each pass, or two warps of the block", when = MERGED },
    { "VEC", { 1, 2, 4, 8, 16 }, "keys per load and store of a block that merges", when = MERGED },
    { "LOADER", { "register", "cp_async", "bulk" },
      "global to shared memory: through registers, by cp.async, by bulk copies (TMA)", when = MERGED },
    { "STORE", { "direct", "block", "warp" },
      "threads store their own keys, or exchange them in a block's or a warp's shared memory for coalesced stores",
      when = MERGED },
    { "CACHE", { "plain", "streaming" }, "cache operator of a pass's stores", when = MERGED },
  },
  order = { "ALG", "SORT_BLOCK", "SORT_ITEMS", "KEYS_PER_BLOCK", "CLUSTER", "CLUSTERS", "SAMPLES", "BINS",
    "LEVELS", "SPLITTERS", "OVERSAMPLE", "FILL", "SORT_RESIDENT", "NETWORK", "WARP_MERGE", "MERGE", "IMAD_EXCHANGES",
    "WAYS", "BLOCK", "ITEMS", "PARTITION", "VEC", "LOADER", "STAGES", "RESIDENT", "STORE", "CACHE", "OVERLAP" },

  derive = {
    { "NBYTES", NBYTES },
    { "VALUE", "value" },
    { "RUN", "SORT_BLOCK * SORT_ITEMS" },
    { "STABLE", "value > 0 or NETWORK == 'odd_even'" }, -- are equal keys distinguished?
    -- Bytes of a key and where it came from.
    { "ITEM", "sel(value == 0, NBYTES, 2 * max(sel(ALG == 'sample_passes', 4, 2), NBYTES))" },
    { "SORT_SMEM",
      "RUN * ITEM + sel(SORT_ITEMS % 2 == 0, ceildiv(RUN * ITEM, 128) * max(4, ITEM), 0)" },
    -- Of ALG=passes and tasks.
    { "DOUBLINGS", "sel(n <= RUN, 0, log2(max(1, " .. RUNS .. " - 1)) + 1)" }, -- doublings from a run to n
    { "PASSES", "ceildiv(DOUBLINGS, sel(WAYS == 4, 2, 1))" },
    { "TILE", "BLOCK * ITEMS" },
    { "UNITS", "ITEMS // VEC" }, -- vectors per thread
    { "ROW", "UNITS + 1 - UNITS % 2" }, -- odd, so that rows of vectors start in different banks
    -- The tile's keys, with up to VEC - 1 more at both ends of each piece; then keys in rows of ITEMS, and where they
    -- came from.
    { "ROOM", "(TILE + 2 * WAYS * VEC) * NBYTES" },
    { "ELEMENT", "sel(MERGE == 'network', ITEM, NBYTES)" },
    { "ROWS", "sel(WAYS == 4 or MERGE == 'network', roundup(TILE * ELEMENT + sel(ITEMS % 2 == 0, "
      .. "ceildiv(TILE * ELEMENT, 128) * max(4, ELEMENT), 0), 16), 0)" },
    { "SOURCES", "max(ROOM, ROWS)" }, -- where the sources of keys start
    { "TILE_SMEM", "max(SOURCES + sel(WAYS == 4 and value > 0 and MERGE == 'serial', "
      .. "TILE * 4 + TILE // 8 + 4, 0), "
      .. "sel(STORE == 'direct', 0, "
      .. "max(BLOCK * ROW * VEC * NBYTES, sel(value > 0, BLOCK * (ITEMS + 1) * 4, 0))))" },
  },

  require = {
    { "SORT_BLOCK exceeds the device's threads per block", "SORT_BLOCK <= dev_threads_block" },
    { "CLUSTER > 1 needs compute capability 9.0", "CLUSTER == 1 or dev_cc >= 90" },
    { "SORT_ITEMS < 4 needs n <= 2^18: threads mostly search", "SORT_ITEMS >= 4 or n <= 2^18" },
    { "NETWORK=odd_even needs SORT_ITEMS <= 24: it has SORT_ITEMS^2 / 2 exchanges",
      "NETWORK == 'batcher' or SORT_ITEMS <= 24" },
    { "SORT_ITEMS keys exceed 256 bytes of registers per thread", "SORT_ITEMS * max(4, ITEM) <= 256" },
    { "SORT_BLOCK * SORT_ITEMS keys exceed the registers of a block",
      "SORT_BLOCK * (SORT_ITEMS * max(4, ITEM) // 4 + 28) <= dev_regs_block" },
    { "SORT_BLOCK * SORT_ITEMS keys exceed the shared memory of a block", "SORT_SMEM + 256 <= dev_smem_block" },
    { "SORT_RESIDENT blocks exceed the threads, the registers or the shared memory of a multiprocessor",
      "SORT_RESIDENT == 1 or SORT_RESIDENT * SORT_BLOCK <= dev_threads_sm and "
      .. "SORT_RESIDENT * SORT_BLOCK * (SORT_ITEMS * max(4, ITEM) // 4 + 24) <= dev_regs_sm and "
      .. "SORT_RESIDENT * (SORT_SMEM + dev_smem_reserved) <= dev_smem_sm" },
  },

  default = { ALG = "passes", SORT_BLOCK = 256, SORT_ITEMS = 8, CLUSTER = 1, SORT_RESIDENT = 1, NETWORK = "odd_even",
    WARP_MERGE = "shared", MERGE = "serial", IMAD_EXCHANGES = 0, WAYS = 2, BLOCK = 256, ITEMS = 8,
    PARTITION = "launch", VEC = 1, LOADER = "register", STORE = "block", CACHE = "plain" },
  untuned = SUGGESTED,

  workspace = {
    -- Passes go from there to y and back; with ALG=sample_sort, ranges that overflow are merged there.
    { "other", "dtype", "sel(ALG == 'sample_sort', 2 * n, sel(" .. NETWORKS .. ", sel(PASSES > 0, n, 0), 0))" },
    { "other_v", "u8", "sel(" .. NETWORKS .. ", sel(PASSES > 0, n * value, 0), 0)" },
    { "splits", "i64", "sel(" .. MERGED .. ", sel(PASSES > 0 and PARTITION == 'launch', WAYS * " .. TILES
      .. ", 0), 0)" },
  },

  algorithms = { passes = PASSES, tasks = TASKS, sample_sort = SAMPLE_SORT, rank_sort = RANK_SORT,
    sample_passes = SAMPLE_PASSES, bitonic = NETWORK_SORT, odd_even_merge = NETWORK_SORT, odd_even = NETWORK_SORT },

  -- Runs of 1, 2, 4, ... keys become runs of twice as many. Every second pass ends in y; a copy starts where needed.
  reference = {
    workspace = {
      { "was", "dtype", "n" },
      { "was_v", "u8", "n * value" },
    },
    stages = reference_stages,
    source = "merge_sort_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  tolerance = { abs = 0, rel = 0 },

  flops = "n * log2(max(n, 1))",
  bytes = "2 * n * (" .. NBYTES .. " + value)",

  kinds = { "sorted,equal,small", when = "keys == " .. ALL_KEYS },

  sizes = {
    emu = { "n=5000", "n=9001 dtype=u16 keys=50 value=4 align=1" },
    test = { "n=0", "n=1", "n=2 dtype=u8", "n=1025", "n=65537", "n=1000003 align=1", "n=2^22 dtype=f32",
      "n=2000000 value=4 keys=1000", "n=1500001 dtype=u64 value=8 keys=5", "n=2^22 dtype=i8",
      "n=3000001 dtype=u16", "n=2^21 dtype=f64", "n=16777215" },
    bench = { "n=2^10", "n=2^13", "n=2^16", "n=2^20", "n=2^24", "n=2^27", "n=2^24 dtype=f32",
      "n=2^24 dtype=i64", "n=2^24 value=4" },
  },
}
