-- segmented_reduce: the sum, maximum or minimum of every one of many segments of n numbers.
--
-- A thread, LANES lanes of a warp, or a block combines a segment (ALG thread, warp, block): where segments differ
-- much in length, the longest of a warp or block determines its time. With ALG=tiles all blocks have tiles of equal
-- size; a second launch combines the parts of segments that cross a tile's end.
--
-- With reproducible=shape the length of a segment alone decides what combines it: 8 threads, or a block if it is long.

local TILES = "max(1, ceildiv(n, TILE))"
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
    source = "segmented_reduce.cu",
    stages = {
      { kernel = "segmented_reduce", grid = { "ceildiv(segments, GROUPS)", LONG_SHARES }, block = "BLOCK", early = "EARLY",
        args = { "n", "segments", "starts", "x", "y" } },
    },
  }
end

local HAS_WORK = { "COARSE vectors of VEC elements per thread exceed four times the mean segment",
  "COARSE * VEC == 1 or COARSE * VEC * WIDTH <= 4 * ceildiv(n, segments)" }

local TILES_OF_NUMBERS = {
  space = { { "SPAN", { 8, 16, 32, 64 }, "elements of a tile per thread" } },
  derive = {
    { "GROUPS", "BLOCK // LANES" }, -- groups of threads per block
    { "TILE", "BLOCK * SPAN" },
  },
  require = {
    { "ALG=tiles needs LANES > 1", "LANES > 1" },
    { "ALG=tiles needs two warps, which search for a tile's segments", "BLOCK >= 64" },
    { "COARSE vectors of VEC elements exceed SPAN", "COARSE * VEC <= SPAN" },
  },
  default = { SPAN = 8 },
  source = "segmented_reduce_tiles.cu",
  workspace = {
    -- Of each tile: its part of the segment that begins before it, its part of the one that ends behind it,
    -- and which segment this is, or -1.
    { "head", "u64", TILES },
    { "tail", "u64", TILES },
    { "tail_segment", "i32", TILES },
  },
  stages = {
    { kernel = "reduce_tiles", grid = TILES, block = "BLOCK", early = "EARLY",
      args = { "n", "segments", "starts", "x", "y", "head", "tail", "tail_segment" } },
    { kernel = "reduce_crossing", grid = "ceildiv(" .. TILES .. ", 8)", block = 256, overlap = "EARLY",
      args = { "n", "segments", "starts", { "i32", TILES }, "head", "tail", "tail_segment", "y" } },
  },
}

return {
  name = "segmented_reduce",
  version = 1,
  brief = "sums, maxima or minima of segments of n numbers",
  cite = "Bell and Garland, Implementing sparse matrix-vector multiplication on throughput-oriented "
    .. "processors: rows by threads and by warps",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^24, brief = "elements" },
    { "segments", 1, 2^31 - 1, default = "max(1, n // 100)", brief = "number of segments" },
    { "op", { "sum", "max", "min" }, default = "sum", like = "sum",
      brief = "an empty segment gives its identity; sums of integers wrap" },
    { "dtype", { "f32", "f64", "i32", "i64" }, default = "f32", like = { i32 = "f32", i64 = "f64" },
      brief = "type of the elements" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that x is aligned to" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of a segment also whatever surrounds it" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "starts", "i32", "in", count = "segments", fill = { "sorted", 0, "n" },
      brief = "where each begins, not descending, up to n; the first begins at 0 in any case" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", -8, 8 },
      shift = "sel(align < 4, align, 0) * (" .. NBYTES .. ")" },
    { "y", "dtype", "out", count = "segments" },
  },

  call = { "op", "dtype", "n", "segments", "starts", "x", "y",
    align = "pow2div(x // (" .. NBYTES .. "), 4)" },

  space = {
    { "ALG", { "thread", "warp", "block", "tiles" },
      "what combines a segment: a thread, LANES lanes of a warp, a block; or tiles of equal size per block" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "lanes per segment", when = "ALG == 'warp' or ALG == 'tiles'" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: loads under way per thread" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
    { "ONE_ORDER", "reproducible == 'shape' and not " .. EXACT }, -- additions in one order for all sizes
  },

  require = {
    -- Threads, blocks and tiles have numbers that determine the order of additions, so reproducible=run excludes nothing.
    { "reproducible=shape needs ALG=thread, BLOCK=128, VEC=1 and COARSE=1",
      "not ONE_ORDER or ALG == 'thread' and BLOCK == 128 and VEC == 1 and COARSE == 1" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "x is not aligned to VEC elements", "VEC <= align" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
  },

  default = { ALG = "thread", LANES = 1, BLOCK = 128, VEC = 1, COARSE = 1 },
  base = { { ALG = "tiles", LANES = 32, BLOCK = 256, COARSE = 4, SPAN = 32 } },
  untuned = {
    { when = "reproducible == 'shape' and dtype ~= 'i32' and dtype ~= 'i64' and op == 'sum'", ALG = "thread" },
    { when = "segments < 2048 and n >= max(2^18, 512 * segments) and align >= 4 and NBYTES == 4",
      ALG = "tiles", LANES = 32, BLOCK = 256, VEC = 4, COARSE = 4, SPAN = 32 },
    { when = "segments < 2048 and n >= max(2^18, 512 * segments)", ALG = "tiles", LANES = 32, BLOCK = 256, COARSE = 8,
      SPAN = 32 },
    { when = "n >= 512 * segments and align >= 4 and NBYTES == 4",
      ALG = "block", BLOCK = 256, VEC = 4, COARSE = 4 },
    { when = "n >= 512 * segments and align >= 2", ALG = "block", BLOCK = 256, VEC = 2, COARSE = 4 },
    { when = "n >= 512 * segments", ALG = "block", BLOCK = 256, COARSE = 8 },
    { when = "n >= 64 * segments and align >= 4 and NBYTES == 4",
      ALG = "warp", LANES = 8, VEC = 4, COARSE = 4 },
    { when = "n >= 64 * segments and align >= 2", ALG = "warp", LANES = 8, VEC = 2, COARSE = 4 },
    { when = "n >= 64 * segments", ALG = "warp", LANES = 16, COARSE = 8 },
    { when = "n >= 24 * segments and align >= 4 and NBYTES == 4",
      ALG = "warp", LANES = 8, VEC = 4, COARSE = 2 },
    { when = "n >= 24 * segments", ALG = "warp", LANES = 8, COARSE = 2 },
    { when = "n >= 6 * segments", ALG = "warp", LANES = 4 },
  },

  algorithms = {
    thread = groups("sel(ONE_ORDER, 8, 1)", { HAS_WORK }),
    warp = groups("LANES", { { "ALG=warp needs LANES > 1", "LANES > 1" }, HAS_WORK }),
    block = groups("BLOCK", {}),
    tiles = TILES_OF_NUMBERS,
  },

  reference = {
    stages = {
      { kernel = "reference", grid = "segments", block = 128,
        args = { "n", "segments", "starts", "x", "y" } },
    },
    source = "segmented_reduce_reference.cu",
  },

  cases = { {} },

  -- Maxima, minima and integers are exact. Sums of f32 are in f64 but for the at most 32 numbers of
  -- a thread's step; partial sums of 32 numbers uniform in [-8, 8] have a standard deviation of 26,
  -- so that n of them are rounded by 2^-24 * 26 / 3^0.5 * n^0.5 in all, eight times which is below
  -- 2^-17 * n^0.5 even if all are in one segment. Sums of f64: a chain of n, 2^-49 * n at eight
  -- standard deviations. rel is the last rounding.
  tolerance = {
    abs = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-49 * n, 2.0^-17 * n^0.5))",
    rel = "sel(" .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-52, 2.0^-23))",
  },

  flops = "n",
  bytes = "(n + segments) * (" .. NBYTES .. ") + 4 * segments",

  sizes = {
    emu = { "n=3000 segments=100", "n=0 segments=3", "n=1000 segments=700 op=max align=1",
      "n=5003 segments=5 dtype=i32", "n=4096 segments=9000", "n=2000 segments=1 dtype=f64", "n=1501 segments=40 dtype=i64" },
    test = { "n=0 segments=1", "n=1", "n=1000003 segments=1000 align=1", "n=2^22 segments=2^20",
      "n=2^24 segments=3", "n=3000001 segments=100000 dtype=i64 op=min",
      "n=2^20 segments=5000 dtype=f64", "n=2^20 segments=2^21 dtype=i32" },
    bench = { "n=2^26 segments=2^24", "n=2^26 segments=2^20", "n=2^26 segments=2^16",
      "n=2^26 segments=2^12" },
  },
}
