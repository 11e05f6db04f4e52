-- histogram: how many of n samples fall into each of a number of bins of equal width.
--
-- ALG says where the counters are: in global memory, one set for all blocks (global) or COPIES sets that are added
-- up in the end (global_private); in a block's shared memory, in COPIES copies so that fewer threads update the same
-- counter (shared); or one set in the shared memory of a cluster's blocks (cluster). With ALG=shared bins
-- that exceed a block's shared memory are divided among PARTS groups of blocks, each of which reads all samples, or
-- counters have 16 bits. AGGREGATE adds equal samples up before they are counted: consecutive ones of a thread, or
-- those of a warp. Bins and their range are constants, but with ALG=any_shared and any_global, which are compiled with
-- the library.

local STEP = "(BLOCK * COARSE)" -- vectors that a block loads at a time
local BLOCKS_MOST = "max(1, min(BLOCKS * dev_sms, ceildiv(n, VEC * " .. STEP .. ")))"
local NBYTES = "sel(dtype == 'u8', 1, sel(dtype == 'u16', 2, 4))"
local MOST = "sel(dtype == 'u8', 255, sel(dtype == 'u16', 65535, 2^31 - 1))"
local STATIC = 4096 -- bytes of shared memory in which copies are added up

-- The counters of `copies` blocks or copies are added up, unless FINISH is atomic.
local function finish(copies, bins)
  return { "COPIES or blocks, times bins, exceed 2^26 counters to add up",
      "FINISH == 'atomic' or " .. copies .. " * bins <= 2^26" },
    { "FINISH=last_block needs at most 2^18 counters to add up",
      "FINISH ~= 'last_block' or " .. copies .. " * " .. bins .. " <= 2^18" }
end

local CLEAR_Y = { memset = "y", value = 0, nbytes = "4 * bins", when = "FINISH == 'atomic'" }

local function finish_stage(copies)
  return { kernel = "histogram_finish", when = "FINISH == 'two_launch'", grid = "ceildiv(bins, 32)",
    block = 1024, args = { { "i32", copies }, "partial", "y" } }
end

local GLOBAL = {
  derive = { { "BEYOND", "-1" } },
  require = {
    { "ALG=global needs FINISH=atomic: there are no copies to add up", "FINISH == 'atomic'" },
  },
  source = "histogram_global.cu",
  stages = {
    CLEAR_Y,
    { kernel = "histogram", grid = BLOCKS_MOST, block = "BLOCK", args = { "n", "x", "y" } },
  },
}

local PRIVATE_COPIES = "min(COPIES, " .. BLOCKS_MOST .. ")"
local PRIVATE = {
  derive = { { "BEYOND", "-1" } },
  require = {
    { "ALG=global_private needs COPIES >= 2", "COPIES >= 2" },
    { "ALG=global_private needs FINISH=last_block or two_launch, which add up the copies", "FINISH ~= 'atomic'" },
    finish(PRIVATE_COPIES, "bins"),
  },
  source = "histogram_private.cu",
  stages = {
    { memset = "partial", value = 0 },
    { kernel = "histogram", grid = BLOCKS_MOST, block = "BLOCK",
      args = { "n", "x", "y", { "i32", PRIVATE_COPIES }, "partial", "arrived" } },
    finish_stage(PRIVATE_COPIES),
  },
}

local SHARED = {
  space = {
    { "SPREAD", { "lanes", "warps" }, "which threads of a block use different copies: lanes of a warp, or warps" },
    { "COUNTER", { 32, 16 }, "bits of a counter in shared memory" },
  },
  derive = {
    { "SHARE", "ceildiv(bins, PARTS)" }, -- bins of a block
    { "BEYOND", "bins" },
    { "WORDS", "ceildiv(SHARE + 1, 32 // COUNTER)" }, -- of a copy
    { "SMEM", "4 * COPIES * WORDS" },
    -- Steps after which a counter of 16 bits may overflow; the last n % VEC samples come on top.
    { "FULL", "sel(COUNTER == 16, (65535 - 16) // (BLOCK * COARSE * VEC), 0)" },
  },
  require = {
    { "ALG=shared needs COPIES <= 32, the lanes of a warp", "COPIES <= 32" },
    { "SPREAD=warps needs 1 < COPIES <= warps of a block",
      "SPREAD == 'lanes' or COPIES > 1 and COPIES <= BLOCK // 32" },
    { "COUNTER=16 overflows within one step of BLOCK * COARSE * VEC samples", "COUNTER == 32 or FULL >= 1" },
    { "COUNTER=16 needs bins >= 1024: counters of 32 bits fit", "COUNTER == 32 or bins >= 1024" },
    { "PARTS > 1 needs bins that exceed half of a block's shared memory in PARTS - 1 parts",
      "PARTS == 1 or 4 * ceildiv(bins, PARTS - 1) > dev_smem_block // 2" },
    { "COPIES of the counters exceed the shared memory of a block", "SMEM + " .. STATIC .. " + 1024 <= dev_smem_block" },
    { "BLOCKS blocks exceed the shared memory of a multiprocessor",
      "BLOCKS == 1 or BLOCKS * (SMEM + " .. STATIC .. " + dev_smem_reserved) <= dev_smem_sm" },
    finish(BLOCKS_MOST, "SHARE"),
  },
  default = { SPREAD = "lanes", COUNTER = 32 },
  source = "histogram_shared.cu",
  stages = {
    CLEAR_Y,
    { kernel = "histogram", grid = { BLOCKS_MOST, "PARTS" }, block = "BLOCK", smem = "SMEM",
      args = { "n", "x", "y", { "i32", BLOCKS_MOST }, "partial", "arrived" } },
    finish_stage(BLOCKS_MOST),
  },
}

local CLUSTERS = "max(1, " .. BLOCKS_MOST .. " // PARTS)"
local CLUSTER = {
  derive = {
    { "SHARE", "ceildiv(bins, PARTS)" }, -- bins of a block
    { "BEYOND", "-1" },
    { "SMEM", "4 * SHARE" },
  },
  require = {
    { "ALG=cluster needs compute capability 9.0", "dev_cc >= 90" },
    { "ALG=cluster needs PARTS > 1", "PARTS > 1" },
    { "ALG=cluster needs bins >= 2048: fewer fit a block's shared memory", "bins >= 2048" },
    { "ALG=cluster does not support FINISH=last_block: a block has only a part of the bins", "FINISH ~= 'last_block'" },
    { "counters exceed the shared memory of a block", "SMEM + " .. STATIC .. " + 1024 <= dev_smem_block" },
    { "BLOCKS blocks exceed the shared memory of a multiprocessor",
      "BLOCKS == 1 or BLOCKS * (SMEM + " .. STATIC .. " + dev_smem_reserved) <= dev_smem_sm" },
    (finish(CLUSTERS, "SHARE")),
  },
  source = "histogram_cluster.cu",
  stages = {
    CLEAR_Y,
    { kernel = "histogram", grid = "PARTS * " .. CLUSTERS, block = "BLOCK", smem = "SMEM",
      args = { "n", "x", "y", { "i32", CLUSTERS }, "partial" } },
    finish_stage(CLUSTERS),
  },
}

local ANY = {
  derive = { { "SMEM", "sel(ALG == 'any_shared', 4 * bins, 0)" } },
  require = {
    { "ALG=any_shared and any_global have one form for all problems", "BLOCK == 256 and BLOCKS == 4 and VEC == 1 and "
        .. "COARSE == 4 and PARTITION == 'interleaved' and AGGREGATE == 'none' and FINISH == 'atomic'" },
    { "counters exceed the shared memory of a block", "SMEM + 1024 <= dev_smem_block" },
  },
  source = "histogram_any.cu",
  stages = {
    CLEAR_Y,
    { kernel = "histogram", grid = BLOCKS_MOST, block = "BLOCK", smem = "SMEM",
      args = { "n", "x", "y", { "i32", "bins" }, { "i64", "lower" }, { "i64", "span" } } },
  },
}

-- For problems without a tuned result, with vectors of `vec` samples. One copy of the counters suffices, however
-- few bins are used: on an H200 2^28 equal samples took as long as uniform ones. But samples of one or two bytes
-- arrive faster than conflicting updates of a bank are served. Bins that exceed the shared memory of a few groups of
-- blocks are counted in the second-level cache.
local function suggest(list, vec)
  local function add(condition, config)
    config.when = "min(align, 16 // NBYTES) == " .. vec .. " and " .. condition
    config.ALG, config.VEC = config.ALG or "shared", vec
    config.COARSE = config.COARSE or math.min(4, 64 // vec)
    list[#list + 1] = config
  end
  add("n < 2^22 and bins <= 8192", { BLOCK = 256, BLOCKS = 4, COARSE = 1 })
  if vec >= 8 then
    add("bins <= 256 and NBYTES < 4", { BLOCK = 256, BLOCKS = 6, COPIES = 32 })
    add("bins <= 2048 and NBYTES < 4", { BLOCK = 512, BLOCKS = 3, COPIES = 8 })
  end
  add("bins <= 12288", { BLOCK = 512, BLOCKS = 4 })
  add("bins <= 25600", { BLOCK = 1024, BLOCKS = 2 })
  add("bins <= 56000", { BLOCK = 1024, BLOCKS = 1 })
  for _, parts in ipairs { 2, 3, 4, 6 } do
    add("n >= 2^22 and bins <= " .. 27000 * parts, { BLOCK = 768, BLOCKS = 2, PARTS = parts })
  end
  add("n >= 2^22 and bins <= 100000", { BLOCK = 1024, BLOCKS = 1, PARTS = 2 })
  add("true", { ALG = "global", BLOCK = 512, BLOCKS = 4 })
end

local SUGGESTED = {}
for _, vec in ipairs { 16, 8, 4, 2, 1 } do
  suggest(SUGGESTED, vec)
end

return {
  name = "histogram",
  version = 1,
  brief = "counts of samples in bins of equal width",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 9; "
    .. "Podlozhnyuk, Histogram calculation in CUDA",

  problem = {
    { "n", 0, 2^32 - 1, default = 2^24, brief = "samples" },
    { "bins", 1, 2^24, default = 256, brief = "bins" },
    { "dtype", { "i32", "u8", "u16", "f32" }, default = "i32", brief = "type of the samples" },
    { "lower", -2^31, 2^31 - 1, default = 0, brief = "where the first bin begins" },
    { "span", 1, 2^32, default = "bins",
      brief = "width of all bins together; samples outside are not counted" },
    -- The distribution of samples, which determines what is fast: test data have it; any data are counted right.
    { "used", 1, 2^25, default = "bins", brief = "bins over which the samples are spread evenly" },
    { "align", { 16, 8, 4, 2, 1 }, default = 16, brief = "samples that x is aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", "min(" .. MOST .. ", sel(dtype == 'u8' or dtype == 'u16', "
        .. "max(0, lower), lower))",
        "min(" .. MOST .. ", max(sel(dtype == 'u8' or dtype == 'u16', max(0, lower), lower), "
          .. "lower + ceildiv(span * used, bins) - sel(dtype == 'f32', 0, 1)))" },
      shift = "sel(align < 16, align, 0) * (" .. NBYTES .. ")" },
    { "y", "u32", "out", count = "bins" },
  },

  call = { "dtype", "bins", "lower", "span", "n", "x", "y",
    align = "pow2div(x // (" .. NBYTES .. "), 16)" },

  space = {
    { "ALG", { "global", "global_private", "shared", "cluster", "any_shared", "any_global" },
      "where counters are: global memory, COPIES sets there, shared memory, or that of a cluster's blocks; any_: one "
        .. "kernel for any bins" },
    { "BLOCK", { 64, 128, 256, 384, 512, 768, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4, 8, 16 }, "samples per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "PARTITION", { "interleaved", "contiguous" }, "loads of a thread: a block's threads apart, or consecutive" },
    { "AGGREGATE", { "none", "run", "match" },
      "equal samples that are counted at once: none, consecutive ones of a thread, or those of a warp" },
    { "COPIES", { 1, 2, 4, 8, 16, 32, 64 },
      "copies of the counters: of each block, or in global memory",
      when = "ALG == 'global_private' or ALG == 'shared'" },
    { "PARTS", { 1, 2, 3, 4, 6, 8, 16 },
      "groups of blocks, or blocks of a cluster, among which the bins are divided",
      when = "ALG == 'shared' or ALG == 'cluster'" },
    { "FINISH", { "atomic", "last_block", "two_launch" },
      "how blocks combine: atomics, the last block to finish, or a second launch" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "BINS", "bins" },
    { "LOWER", "lower" },
    { "SPAN", "span" },
  },

  require = {
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCK * BLOCKS exceeds the threads of a multiprocessor", "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "x is not aligned to VEC samples", "VEC <= align" },
    { "VEC samples exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "COARSE loads of VEC samples exceed 128 bytes of registers", "COARSE * VEC * NBYTES <= 128" },
    { "COARSE * VEC exceeds 64: the unrolled loop is too long", "COARSE * VEC <= 64" },
    { "PARTITION makes a difference only if COARSE > 1", "COARSE > 1 or PARTITION == 'interleaved'" },
    { "AGGREGATE=run needs COARSE * VEC > 1", "AGGREGATE ~= 'run' or COARSE * VEC > 1" },
  },

  default = { ALG = "global", BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 1,
    PARTITION = "interleaved", AGGREGATE = "none", COPIES = 1, PARTS = 1, FINISH = "atomic" },
  base = { { ALG = "any_shared", COARSE = 4 }, { ALG = "any_global", COARSE = 4 } },
  untuned = SUGGESTED,

  workspace = {
    { "partial", "u32", "sel(FINISH == 'atomic', 0, sel(ALG == 'global_private', " .. PRIVATE_COPIES
      .. ", sel(ALG == 'cluster', " .. CLUSTERS .. ", " .. BLOCKS_MOST .. ")) * bins)" },
    { "arrived", "u32", "sel(FINISH == 'last_block', PARTS, 0)" },
  },

  algorithms = { global = GLOBAL, global_private = PRIVATE, shared = SHARED, cluster = CLUSTER,
    any_shared = ANY, any_global = ANY },

  reference = {
    stages = {
      { memset = "y", value = 0, nbytes = "4 * bins" },
      { kernel = "reference", grid = "max(1, ceildiv(n, 64 * 256))", block = 256,
        args = { "n", "x", "y" } },
    },
    source = "histogram_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Counts are exact.
  tolerance = { abs = 0, rel = 0 },

  flops = "n",
  bytes = "n * (" .. NBYTES .. ") + 4 * bins",

  kinds = { "sorted,equal,small", when = "used == bins" },

  sizes = {
    emu = { "n=3000 bins=32", "n=0", "n=1 bins=2", "n=20001 bins=256 dtype=u8 align=1",
      "n=5003 bins=2048", "n=5000 bins=100 lower=-50 span=1000 used=130", "n=7001 bins=7 used=1",
      "n=3001 bins=100 dtype=f32 span=64 used=110", "n=9001 bins=300 dtype=u16 lower=10 span=777",
      "n=4001 bins=70000" },
    test = { "n=0 bins=1", "n=1", "n=31 bins=2 dtype=f32", "n=65537 bins=100 lower=-7 span=991",
      "n=1000003 bins=256 dtype=u8 align=1", "n=1000000 bins=4096 used=3", "n=2^22 bins=100000",
      "n=2^20 bins=65536 dtype=u16", "n=3000001 bins=2048 dtype=f32 span=2^20",
      "n=2^24 bins=32 used=1", "n=2^22 bins=2^21" },
    bench = { "n=2^28 bins=32", "n=2^28 bins=128", "n=2^28 bins=256", "n=2^28 bins=256 dtype=u8",
      "n=2^28 bins=2048", "n=2^28 bins=4096", "n=2^28 bins=32768", "n=2^28 bins=2^21",
      "n=2^28 bins=256 used=2", "n=2^28 bins=2048 dtype=f32 span=2^28", "n=2^20 bins=256",
      "n=2^16 bins=256" },
  },
}
