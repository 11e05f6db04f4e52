-- segmented_scan: all prefix sums, maxima or minima within every one of many segments of n numbers.
--
-- A thread, LANES lanes of a warp, or a block scans a segment, ITEMS numbers per thread at a time (ALG thread, warp,
-- block): where segments differ much in length, the longest of a warp or block determines its time. With ALG=lookback
-- all blocks have tiles of equal size, in one scan that starts again where a segment begins.
--
-- With reproducible=shape the length of a segment alone decides what scans it: 8 threads, or a block if it is long.
--
-- The least memory traffic is all numbers in and out once, and the starts.

local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, 4)"
local EXACT = "(dtype == 'i32' or dtype == 'i64' or op ~= 'sum')"

-- With reproducible=shape, blocks that share the long ones of GROUPS segments.
local LONG_SHARES = "sel(ONE_ORDER and segments <= 4096, GROUPS, 1)"

-- `width` threads for each segment.
local function groups(width, require)
  return {
    derive = {
      { "WIDTH", width },
      { "GROUPS", "BLOCK // WIDTH" }, -- segments per block
    },
    require = require,
    source = "segmented_scan.cu",
    stages = {
      { kernel = "segmented_scan", grid = { "ceildiv(segments, GROUPS)", LONG_SHARES }, block = "BLOCK", early = "EARLY",
        args = { "n", "segments", "starts", "x", "y" } },
    },
  }
end

local HAS_WORK = { "ITEMS elements per thread exceed four times the mean segment",
  "ITEMS == 1 or ITEMS * WIDTH <= 4 * ceildiv(n, segments)" }

local WARP = groups("LANES", { { "ALG=warp needs LANES > 1", "LANES > 1" }, HAS_WORK })
WARP.space = { { "LANES", { 1, 2, 4, 8, 16, 32 }, "lanes per segment" } }
WARP.default = { LANES = 1 }

local LOOKBACK = {
  space = {
    { "DELAY", { 0, 32, 128 }, "nanoseconds between two reads of the state of a tile that is waited for" },
  },
  derive = {
    { "TILE", "BLOCK * ITEMS" },
    { "WIDE", "sel(dtype == 'i32' or dtype == 'f32' and op ~= 'sum', 4, 8)" }, -- bytes of a tile's sum
  },
  require = {
    { "ALG=lookback needs BLOCK * ITEMS >= 512", "TILE >= 512" },
    { "BLOCK * ITEMS elements exceed 32 KB of shared memory", "TILE * NBYTES <= 32768" },
  },
  default = { DELAY = 0 },
  source = "segmented_scan_lookback.cu",
  workspace = {
    { "words", "u64", "ceildiv(n, TILE) * WIDE // 4" }, -- states of tiles (tile_state.cuh)
    { "counter", "u64", 1 },
  },
  stages = {
    { kernel = "segmented_scan", grid = "ceildiv(n, TILE)", block = "BLOCK", early = "EARLY",
      args = { "n", "segments", "starts", "x", "y", "words", "counter" } },
  },
}

return {
  name = "segmented_scan",
  version = 1,
  brief = "prefix sums, maxima or minima within segments of n numbers",
  cite = "Sengupta, Harris, Garland, Efficient parallel scan algorithms for GPUs; "
    .. "Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^24, brief = "elements" },
    { "segments", 1, 2^31 - 1, default = "max(1, n // 100)", brief = "number of segments" },
    { "kind", { "inclusive", "exclusive" }, default = "inclusive", like = "inclusive",
      brief = "with or without the element itself; the first exclusive result is the identity" },
    { "op", { "sum", "max", "min" }, default = "sum", like = "sum", brief = "sums of integers wrap" },
    { "dtype", { "i32", "f32", "i64", "f64" }, default = "i32", like = { f32 = "i32", f64 = "i64" },
      brief = "type of the elements" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of a segment also whatever surrounds it" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "starts", "i32", "in", count = "segments", fill = { "sorted", 0, "n" },
      brief = "where each begins, not descending, up to n; the first begins at 0 in any case" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", "sel(" .. EXACT .. ", -100, -1)", "sel(" .. EXACT .. ", 100, 1)" } },
    { "y", "dtype", "out", count = "n", brief = "not x itself" },
  },

  call = { "kind", "op", "dtype", "n", "segments", "starts", "x", "y" },

  space = {
    { "ALG", { "thread", "warp", "block", "lookback" },
      "what scans a segment: a thread, LANES lanes of a warp, a block; or tiles of equal size per block" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 8, 16 }, "coarsening factor: neighbouring elements per thread" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "ONE_ORDER", "reproducible == 'shape' and not " .. EXACT }, -- additions in one order for all sizes
  },

  require = {
    -- It sums up totals back to the nearest prefix that is there already, so timing decides how they are grouped.
    { "reproducible=run and shape exclude ALG=lookback on floating-point sums",
      "reproducible == 'any' or " .. EXACT .. " or ALG ~= 'lookback'" },
    { "reproducible=shape needs ALG=thread, BLOCK=128 and ITEMS=1",
      "not ONE_ORDER or ALG == 'thread' and BLOCK == 128 and ITEMS == 1" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
  },

  default = { ALG = "thread", BLOCK = 128, ITEMS = 1 },
  base = { { ALG = "lookback", BLOCK = 256, ITEMS = 16 } },
  untuned = {
    { when = "reproducible == 'shape' and (dtype == 'f32' or dtype == 'f64') and op == 'sum'", ALG = "thread" },
    -- A block scans a long segment 512 elements at a time, one after the other.
    { when = "n >= 4096 and n >= 1024 * segments and segments < 2048", ALG = "lookback", BLOCK = 256, ITEMS = 8 },
    -- Blocks and warps are faster where segments of middle length are enough to keep the device busy.
    { when = "n >= 2^18 and (segments < 2048 or n < 24 * segments)",
      ALG = "lookback", BLOCK = 256, ITEMS = 16 },
    { when = "n >= 2^18 and (segments < 2048 or n < 24 * segments)",
      ALG = "lookback", BLOCK = 256, ITEMS = 8 },
    { when = "n >= 512 * segments", ALG = "block", ITEMS = 4 },
    { when = "n >= 64 * segments", ALG = "warp", LANES = 32, ITEMS = 4 },
    { when = "n >= 24 * segments", ALG = "warp", LANES = 8, ITEMS = 2 },
    { when = "n >= 6 * segments", ALG = "warp", LANES = 4 },
  },

  algorithms = { thread = groups("sel(ONE_ORDER, 8, 1)", { HAS_WORK }), warp = WARP, block = groups("BLOCK", {}), lookback = LOOKBACK },

  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(segments, 128)", block = 128,
        args = { "n", "segments", "starts", "x", "y" } },
    },
    source = "segmented_scan_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Maxima, minima and integers are exact. Sums of f32 are in f64 but for the at most 2^14 numbers
  -- that a block holds at a time: uniform in [-1, 1] their partial sums have a standard deviation of at
  -- most 74, and a chain through a thread, its warp and its block of at most 27 additions leaves
  -- 2^-24 * 74 * (27 / 3)^0.5, eight times which is below 2^-13. Sums of f64: a chain of n additions
  -- leaves 2^-53 * n at eight standard deviations. rel is the last rounding.
  tolerance = {
    abs = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-52 * (n + 2^13), 2.0^-13))",
    rel = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-52, 2.0^-23))",
  },

  flops = "n",
  bytes = "2 * n * (" .. NBYTES .. ") + 4 * segments",

  sizes = {
    emu = { "n=3000 segments=100", "n=0 segments=3", "n=1000 segments=700 op=max kind=exclusive",
      "n=5003 segments=5 dtype=f32", "n=2000 segments=1 dtype=f64 kind=exclusive",
      "n=1501 segments=40 dtype=i64 op=min", "n=5000 segments=3000 kind=exclusive" },
    test = { "n=0 segments=1", "n=1", "n=1000003 segments=1000 kind=exclusive",
      "n=2^22 segments=2^20", "n=2^18 segments=3 dtype=f32",
      "n=3000001 segments=100000 dtype=i64 op=min", "n=2^20 segments=5000 dtype=f64", "n=2^20 segments=2^21" },
    bench = { "n=2^26 segments=2^24", "n=2^26 segments=2^20", "n=2^26 segments=2^16" },
  },
}
