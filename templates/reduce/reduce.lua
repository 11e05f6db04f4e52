-- reduce: n numbers become one: their sum, product, maximum or minimum, or a norm.
--
-- Each block combines its share in registers, then across its threads (FOLD); with CLUSTER > 1 the blocks
-- of a cluster combine in the shared memory of one of them. Blocks combine in one of five ways (FINISH):
-- the last block to finish does it, a second launch does, atomics add up, in y or (accumulate) in scratch
-- memory from which the last block fetches the sum, or there is only one cluster. The textbook's kernels are points of this space: its simple and its
-- convergent tree in global memory and its tree in shared memory are values of FOLD, with atomics its
-- segments, with COARSE > 1 its coarsened kernel.
-- Sums of f32 are kept in f64 except within one step of a thread, so that a billion numbers add up as
-- exactly as a thousand; products and squares are f64 from the start, and squares can't overflow.

local CLUSTERS = "sel(FINISH == 'cluster', 1, "
  .. "max(1, min(BLOCKS * dev_sms // CLUSTER, ceildiv(n, CLUSTER * STEP * VEC))))"
local GRID = "CLUSTER * " .. CLUSTERS -- blocks
local MOST = "max(BLOCKS * dev_sms, CLUSTER)" -- of them
local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, sel(dtype == 'f16' or dtype == 'bf16', 2, 4))"
local WHOLE = "(dtype == 'i32' or dtype == 'i64')"
local ADDS = "(op == 'sum' or op == 'norm1')"
local EXACT = "(" .. WHOLE .. " or op == 'max' or op == 'min')"
-- Numbers of tests: not so large that a sum of f16 overflows; of products so near to 1 that they stay
-- there, and whole ones that are odd, since a product of even ones is soon 0.
local NEAR_1 = "0.5 / (n + 1)^0.5"
local function bound(sign)
  return "sel(op == 'product', sel(" .. WHOLE .. ", 3, 1 " .. sign .. " " .. NEAR_1 .. "), "
    .. "0 " .. sign .. " sel(dtype == 'f16', 0.125, 8))"
end

-- For sizes without a tuned result: one launch, and loads of `vec` elements in as many threads as a small
-- problem has work for.
local SUGGESTED = { { when = "reproducible == 'shape'", BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 8, FINISH = "last_block" } }
for _, vec in ipairs { 8, 4, 2, 1 } do
  local function suggest(condition, config)
    config.when = "min(align, 16 // NBYTES) == " .. vec .. " and " .. condition
    config.VEC, config.FINISH = vec, "last_block"
    SUGGESTED[#SUGGESTED + 1] = config
  end
  suggest("n <= 2^17", { BLOCK = 128, BLOCKS = 2, COARSE = 1 })
  suggest("n <= 2^21", { BLOCK = 256, BLOCKS = 4, COARSE = 2 })
  suggest("n > 2^21", { BLOCK = 512, BLOCKS = 4, COARSE = vec == 1 and 16 or 4 })
  suggest("n > 2^21", { BLOCK = 256, BLOCKS = 4, COARSE = 4 })
end

return {
  name = "reduce",
  version = 1,
  brief = "sum, product, maximum, minimum or norm of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 10; "
    .. "Harris, Optimizing parallel reduction in CUDA",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "op", { "sum", "max", "min", "product", "norm1", "norm2" }, default = "sum", like = "sum",
      brief = "of no elements: its identity; whole sums and products wrap, norms are of floats" },
    { "dtype", { "f32", "f64", "i32", "i64", "f16", "bf16" }, default = "f32",
      like = { i32 = "f32", i64 = "f64", bf16 = "f16" },
      brief = "type of the elements" },
    { "align", { 8, 4, 2, 1 }, default = "sel(dtype == 'f16' or dtype == 'bf16', 8, 4)",
      brief = "elements that x is aligned to" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: whatever the alignment, too" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", bound("-"), bound("+") },
      shift = "sel(align < 8, align, 0) * (" .. NBYTES .. ")" },
    { "y", "dtype", "out", count = 1 },
  },

  call = { "op", "dtype", "n", "x", "y", align = "pow2div(x // (" .. NBYTES .. "), 8)" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "LOAD", { "plain", "constant", "streaming" }, "cache operator of loads" },
    { "FOLD", { "shuffle", "shared", "convergent", "simple" },
      "how a block's threads combine: warp shuffles, a tree in shared memory, trees in global memory" },
    { "FINISH", { "last_block", "two_launch", "atomic", "accumulate", "cluster" },
      "how blocks combine: the last one to finish, a second launch, atomics on y, atomics on scratch "
        .. "memory, or one cluster only" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks whose results meet in shared memory first" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "STEP", "BLOCK * COARSE" }, -- vectors a block takes at a time
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "op=norm1 and op=norm2 need a floating-point dtype",
      "not " .. WHOLE .. " or op ~= 'norm1' and op ~= 'norm2'" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "x is not aligned to VEC elements", "VEC <= align" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "COARSE vectors of VEC elements exceed the registers",
      "COARSE * VEC * NBYTES <= 256 and COARSE * VEC <= 64" },
    { "FINISH=atomic needs a sum of elements of 4 or 8 bytes",
      "FINISH ~= 'atomic' or " .. ADDS .. " and NBYTES > 2" },
    { "FINISH=accumulate needs op=sum, norm1 or norm2",
      "FINISH ~= 'accumulate' or " .. ADDS .. " or op == 'norm2'" },
    -- Atomics add in the order in which blocks arrive; the other values of FINISH in that of the blocks' numbers.
    { "reproducible=run and shape exclude atomics on floating-point sums",
      "FINISH ~= 'atomic' and FINISH ~= 'accumulate' or reproducible == 'any' or " .. WHOLE },
    -- One division of the numbers among threads and one tree: VEC, which the alignment limits, would change them.
    { "reproducible=shape needs BLOCK=256, BLOCKS=4, VEC=1, COARSE=8, FOLD=shuffle and CLUSTER=1",
      "reproducible ~= 'shape' or " .. EXACT .. " or BLOCK == 256 and BLOCKS == 4 and VEC == 1 and COARSE == 8 "
        .. "and FOLD == 'shuffle' and CLUSTER == 1" },
    { "CLUSTER > 1 needs compute capability 9.0", "CLUSTER == 1 or dev_cc >= 90" },
    { "CLUSTER has more blocks than n has work for",
      "CLUSTER == 1 or n > (CLUSTER // 2) * STEP * VEC" },
    { "FINISH=cluster needs CLUSTER > 1 and BLOCKS == 1",
      "FINISH ~= 'cluster' or CLUSTER > 1 and BLOCKS == 1" },
    { "FINISH=cluster needs a small n: it uses one cluster only",
      "FINISH ~= 'cluster' or n <= 8 * CLUSTER * STEP * VEC" },
    { "FOLD=simple and convergent need COARSE * VEC <= 4",
      "FOLD == 'shuffle' or FOLD == 'shared' or COARSE * VEC <= 4" },
  },

  default = { BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 8, LOAD = "plain",
    FOLD = "shuffle", FINISH = "two_launch", CLUSTER = 1 },
  untuned = SUGGESTED,

  workspace = {
    -- One result per block, or the sum so far.
    { "partial", "f64", "sel(FINISH == 'atomic' or FINISH == 'cluster', 0, "
      .. "sel(FINISH == 'accumulate', 1, " .. MOST .. "))" },
    { "arrived", "u32", "sel(FINISH == 'last_block' or FINISH == 'accumulate', 1, 0)" },
    { "trees", "f64",
      "sel(FOLD == 'simple' or FOLD == 'convergent', " .. MOST .. " * BLOCK, 0)" },
  },

  stages = {
    { memset = "y", value = 0, nbytes = "NBYTES", when = "FINISH == 'atomic'" },
    { kernel = "reduce", grid = GRID, block = "BLOCK", early = "EARLY",
      args = { "n", "x", "y", "partial", "arrived", "trees" } },
    { kernel = "reduce_finish", when = "FINISH == 'two_launch'", grid = 1, block = "BLOCK",
      args = { { "i32", CLUSTERS }, "partial", "y", "trees" } },
  },

  source = "reduce.cu",

  -- One output element: one block, each thread every 1024th element, then thread 0 the 1024
  -- results; in double or, of integers, exactly (they wrap).
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "y" } },
    },
    source = "reduce_reference.cu",
  },

  cases = { {}, {} }, -- the second finds the workspace as the first has left it

  -- Maxima, minima and integers are exact. A sum's error is that of its chains of additions: with
  -- numbers uniform in [-8, 8], of standard deviation s = 4.6, chains of L additions leave an error
  -- of standard deviation u s sqrt(n L / 6), since roundings are independent of sign and the sums
  -- along a chain a random walk; the chains of the levels (thread, block, grid) add up their L.
  -- f32, u = 2^-24: at most 64 in a step (the rest is f64), and as many as there are blocks, 2^13,
  -- when atomics add them up: eight standard deviations are 1360 u sqrt(n), below 2^-13 sqrt(n).
  -- f64, u = 2^-53: n / 2^6 a thread at worst, the same for n <= 2^31 with L = 2^25: 2^-36 sqrt(n).
  -- f16 and bf16 are added up as f32 is; f16 with numbers a 64th as large.
  -- The largest n that the tests use, 2^24, has a tolerance of 0.5 among numbers as large as 8.
  -- Sums of magnitudes grow steadily, so their error is relative: 64 additions in a step leave less
  -- than 2^-18 of it, and 2^13 atomics sqrt(2^13 / 3) u at one standard deviation, 2^-15 at eight.
  -- Products and squares are f64: n <= 2^31 roundings of u, 2^-53, are 2^-34 even at eight standard
  -- deviations. rel is all this, and the last rounding, which is by steps of 2^-24 where a
  -- product in f16 is subnormal.
  tolerance = {
    abs = "sel(op == 'product' and dtype == 'f16', 2.0^-24, 0) "
      .. "+ sel(op ~= 'sum' or " .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-36, 2.0^-13) * "
      .. "sel(dtype == 'f16', 2.0^-6, 1) * n^0.5)",
    rel = "sel(" .. EXACT .. ", 0, sel(dtype == 'bf16', 2.0^-7, sel(dtype == 'f16', 2.0^-10, "
      .. "sel(dtype == 'f64', 2.0^-34, sel(op == 'norm1', 2.0^-14, 2.0^-23)))))",
  },

  flops = "n",
  bytes = "n * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=5003 op=max", "n=777 dtype=f64", "n=4096 dtype=i32 op=min",
      "n=3001 dtype=i64 op=product", "n=1501 dtype=bf16 op=norm1", "n=2000 dtype=f16 op=norm2" },
    test = { "n=0", "n=0 op=max", "n=1", "n=31", "n=65537", "n=1000003",
      "n=1000000 op=min dtype=i32", "n=100001 dtype=f64", "n=2^24", "n=3000001 dtype=i64",
      "n=1000001 op=product", "n=65537 op=norm2 dtype=f64", "n=2^20 op=norm1 reproducible=run",
      "n=100003 dtype=f16 op=norm2", "n=3000000 dtype=bf16", "n=777777 dtype=f16 op=min",
      "n=0 op=product dtype=i32" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^27", "n=2^28 dtype=f16", "n=2^26 dtype=i64" },
  },
}
