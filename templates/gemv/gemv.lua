-- gemv: y = alpha op(A) x + beta y, as BLAS has it: column-major A of m rows and n columns.
--
-- A block has LX threads along the rows, which are contiguous, and BLOCK / LX along the columns; see
-- matrix_vectors.cuh. A thread adds up along the columns, or with trans=t along the rows; at the end
-- the threads that have the same result combine. The dimension of the sum is split among as many
-- blocks as give BLOCKS per multiprocessor, or among those of a cluster.

local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local OUTPUTS = "sel(trans == 'n', m, n)"
local DEPTH = "sel(trans == 'n', n, m)" -- elements of x
-- With reproducible=shape, elements of x per block: a multiple of STEP, at most 64 shares.
local FIXED_SHARE = "max(128, roundup(ceildiv(" .. DEPTH .. ", 64), 128))"
local MOST = 2^31 - 2^17 -- so that an index in the last step, beyond the last element, is an int
local VEC_MOST = "min(align, pow2div(m, 8), 16 // NBYTES)"

-- For sizes without a tuned result: what is fast on an H200 near 1024 and near 4096.
local SUGGESTED = { { when = "reproducible == 'shape' and trans == 't'", BLOCK = 256, LX = 32, VEC = 1, ROWS = 4, COLS = 2 } }
for _, vec in ipairs { 8, 4, 2, 1 } do
  local function suggest(condition, config)
    config.when = VEC_MOST .. " == " .. vec .. " and " .. condition
    config.VEC, config.LOAD = vec, "streaming"
    SUGGESTED[#SUGGESTED + 1] = config
  end
  suggest("reproducible == 'shape' and trans == 'n'", { BLOCK = 256, LX = 32, ROWS = 1, COLS = 4 })
  -- A split costs a small product more than it gains. In a large one few columns are split along the rows, and narrow
  -- loads need many under way: with f64, align=1, m=8192 and n=300 one block per multiprocessor, two rows and two
  -- columns reach a quarter of the memory bandwidth.
  for _, rows in ipairs { 4, 2 } do
    suggest("trans == 't' and m > 256 and m * n > 2^19", { BLOCK = 128, LX = 64, ROWS = rows, COLS = 2, BLOCKS = 4 })
    suggest("trans == 't' and m > 256", { BLOCK = 128, LX = 64, ROWS = rows, COLS = 2, BLOCKS = 1 })
  end
  suggest("trans == 't' and m * n > 2^19", { BLOCK = 128, LX = 16, ROWS = 2, COLS = 1, BLOCKS = 4 })
  suggest("trans == 't'", { BLOCK = 128, LX = 8, ROWS = 2, COLS = 1, BLOCKS = 1 })
  suggest("trans == 'n' and m * n > 2^19 and m * n <= 2^21", { BLOCK = 256, LX = 32 // vec, ROWS = 1, COLS = 8 })
  suggest("trans == 'n' and m * n <= 2^21", { BLOCK = 256, LX = 16, ROWS = 2, COLS = 4, BLOCKS = 1 })
  suggest("trans == 'n' and NBYTES <= 4 and " .. VEC_MOST .. " == 1", { BLOCK = 256, LX = 32, ROWS = 2, COLS = 8 })
  suggest("trans == 'n'", { BLOCK = 256, LX = 16, ROWS = 2, COLS = 2 })
  -- Of few rows or columns.
  suggest("n > 64", { BLOCK = 256, LX = 32 // vec, ROWS = 1, COLS = 4 })
  suggest("n >= 0", { BLOCK = 128, LX = 32 // vec, ROWS = 1, COLS = 1 })
end

return {
  name = "gemv",
  version = 1,
  brief = "y = alpha op(A) x + beta y, column-major",
  cite = "BLAS level 2; Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 6, 10; "
    .. "Abdelfattah, Keyes, Ltaief, KBLAS: optimized matrix-vector products on GPUs",

  problem = {
    { "m", 0, MOST, default = 4096, brief = "rows of A" },
    { "n", 0, MOST, default = "m", brief = "columns of A" },
    { "trans", { "n", "t" }, default = "n", brief = "op(A): n as it is, t transposed" },
    { "dtype", { "f32", "f64", "f16", "bf16" }, default = "f32", like = { bf16 = "f16" },
      brief = "type of the elements; sums of 16-bit ones are f32" },
    { "unit", { 1, 0 }, default = 1, brief = "1: x is contiguous" },
    { "align", { 8, 4, 2, 1 }, default = "pow2div(max(m, 1), 8)",
      brief = "elements to which A, its leading dimension and x are aligned" },
    { "scale", { "none", "row" }, default = "none", like = "none", brief = "factors of the results, one per row" },
    { "bias", { "none", "row" }, default = "none", like = "none", brief = "summands of the scaled results, likewise" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none", like = "none",
      brief = "the function applied last" },
    { "alpha_is", { "1", "any" }, default = "1", class = true,
      brief = "alpha that kernels are tuned with; they compute with every alpha" },
    { "beta_is", { "0", "1", "any" }, default = "0", class = true,
      brief = "beta, likewise; y is read unless it is 0" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: of an element also whatever the other sizes" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "alpha", "f64", sample = "sel(alpha_is == '1', 1, -0.75)" },
    { "A", "dtype", "in", count = "lda * max(0, n - 1) + m", fill = { "uniform", -1, 1 },
      shift = "sel(align < pow2div(max(m, 1), 8), align, 0) * (" .. NBYTES .. ")" },
    { "lda", "i64", sample = "roundup(max(1, m), align)" },
    { "x", "dtype", "in", count = "max(0, " .. DEPTH .. " - 1) * abs(incx) + min(1, " .. DEPTH .. ")",
      fill = { "uniform", -1, 1 } },
    { "incx", "i64", sample = "sel(unit == 1, 1, 2)",
      brief = "increment; negative: backwards from the end" },
    { "beta", "f64", sample = "sel(beta_is == '0', 0, sel(beta_is == '1', 1, 0.5))" },
    -- With beta 0, y is not read: it may hold a NaN.
    { "y", "dtype", "inout",
      count = "max(0, " .. OUTPUTS .. " - 1) * abs(incy) + min(1, " .. OUTPUTS .. ")",
      fill = { "uniform", -1, 1 }, overwritten = "beta == 0" },
    { "incy", "i64", sample = 1 },
    { "scales", "dtype", "in", count = "sel(scale == 'none', 0, " .. OUTPUTS .. ")",
      fill = { "uniform", -1, 1 }, optional = "scale == 'none'" },
    { "biases", "dtype", "in", count = "sel(bias == 'none', 0, " .. OUTPUTS .. ")",
      fill = { "uniform", -1, 1 }, optional = "bias == 'none'" },
  },

  call = { "trans", "dtype", "m", "n", "alpha", "A", "lda", "x", "incx", "beta", "y", "incy",
    unit = "sel(incx == 1, 1, 0)",
    align = "min(pow2div(A // (" .. NBYTES .. "), 8), pow2div(x // (" .. NBYTES .. "), 8), "
      .. "pow2div(lda, 8))",
    alpha_is = "sel(alpha == 1, '1', 'any')",
    beta_is = "sel(beta == 0, '0', sel(beta == 1, '1', 'any'))",
    -- With alpha 0, A and x are not read: they may hold NaNs.
    m = "sel(alpha == 0 and trans == 't', 0, m)", n = "sel(alpha == 0 and trans == 'n', 0, n)" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, m)" },
    { "incx is 0", "incx ~= 0" },
    { "incy is 0", "incy ~= 0" },
  },

  space = {
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "LX", { 4, 8, 16, 32, 64, 128, 256, 512, 1024 }, "threads of a block along the rows; the others are along the columns" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load" },
    { "ROWS", { 1, 2, 4, 8 }, "loads under way per thread along the rows" },
    { "COLS", { 1, 2, 4, 8, 16 }, "loads under way per thread along the columns" },
    { "AHEAD", { 0, 1 }, "prefetch distance: steps loaded ahead of the FMAs" },
    { "X", { "cached", "shared" }, "where x is read from: the L1 cache, or shared memory" },
    { "LOAD", { "plain", "streaming", "second" }, "cache operator of the loads of A" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 12, 16, 32 }, "blocks per multiprocessor, reached by splits of the sum",
      when = "FINISH ~= 'cluster'" },
    { "FINISH", { "last_block", "two_launch", "atomic", "cluster" }, "how splits add up: the last block to finish, a second launch, atomics on y, or a cluster" },
    { "CLUSTER", { 2, 4, 8 }, "blocks of a cluster, a split each", when = "FINISH == 'cluster'" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "CONTIGUOUS", "unit == 1" }, -- x
    { "WIDE", "sel(dtype == 'f64', 8, 4)" }, -- bytes of a number in registers
    { "LY", "max(1, BLOCK // LX)" },
    { "TR", "LX * ROWS * VEC" }, -- rows and columns of a block's step
    { "TC", "LY * COLS" },
    { "OUT", "sel(trans == 'n', TR, TC)" }, -- results of the block
    { "STEP", "sel(trans == 'n', TC, TR)" },
    -- Partial sums in shared memory per result.
    { "SLOTS", "sel(trans == 'n', sel(LX < 32, BLOCK // 32, LY), max(1, LX // 32))" },
    { "TILES", "ceildiv(" .. OUTPUTS .. ", OUT)" },
    { "ONE_ORDER", "reproducible == 'shape'" }, -- additions in one order for all sizes
    { "SPLITS", "sel(FINISH == 'cluster', CLUSTER, sel(ONE_ORDER, max(1, ceildiv(" .. DEPTH .. ", " .. FIXED_SHARE .. ")), "
      .. "max(1, min(BLOCKS * dev_sms // max(1, TILES), ceildiv(" .. DEPTH .. ", STEP)))))" },
    -- Elements of x per block.
    { "SHARE", "sel(ONE_ORDER, " .. FIXED_SHARE .. ", roundup(ceildiv(" .. DEPTH .. ", SPLITS), STEP))" },
    { "OVERLAPS", "FINISH == 'atomic' and dev_cc >= 90" }, -- gemv_scale
    { "SMEM", "WIDE * max(SLOTS * OUT, BLOCK, sel(X == 'shared', SHARE, 0))" },
  },

  require = {
    -- Atomics add in the order in which blocks arrive; the other values of FINISH in that of the splits.
    { "reproducible=run and shape exclude FINISH=atomic", "reproducible == 'any' or FINISH ~= 'atomic'" },
    -- A thread adds up every BLOCK / LX-th group of COLS columns, or with trans=t every LX-th row; how many other results
    -- it has, by ROWS and VEC or by COLS, makes no difference. Blocks have FIXED_SHARE elements of x.
    { "reproducible=shape with trans=n needs LX >= 32, BLOCK=8*LX and COLS=4",
      "not ONE_ORDER or trans == 't' or LX >= 32 and BLOCK == 8 * LX and COLS == 4" },
    { "reproducible=shape with trans=t needs LX=32, VEC=1 and ROWS <= 4",
      "not ONE_ORDER or trans == 'n' or LX == 32 and VEC == 1 and ROWS <= 4" },
    { "reproducible=shape excludes FINISH=cluster", "not ONE_ORDER or FINISH ~= 'cluster'" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "LX exceeds BLOCK", "LX <= BLOCK" },
    { "VEC elements exceed 16 bytes, A or x is not aligned to them, or they do not divide m",
      "VEC <= " .. VEC_MOST },
    { "VEC is less than half of what 16 bytes, the alignment and m allow",
      "VEC == 1 or 2 * VEC >= " .. VEC_MOST },
    { "LX < 32 threads load less than a sector of 32 bytes", "LX * VEC * NBYTES >= 32 or LX == 32" },
    { "ROWS * COLS vectors of VEC elements exceed the registers",
      "COLS * ROWS * VEC * NBYTES * (1 + AHEAD) <= 256 and COLS * ROWS <= 32" },
    { "the sums of a thread exceed the registers",
      "sel(trans == 'n', ROWS * VEC, COLS + ROWS * VEC) * WIDE <= 256" },
    { "a step of the block has more than twice the rows of A", "TR // 2 < max(m, 32)" },
    { "a step of the block has more than twice the columns of A", "TC // 2 < max(n, 32)" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "BLOCKS == 1 or FINISH == 'cluster' or BLOCK * BLOCKS <= dev_threads_sm" },
    { "BLOCKS gives no more splits than BLOCKS - 1 does",
      "BLOCKS == 1 or BLOCKS == 4 or SPLITS > max(1, min((BLOCKS - 1) * dev_sms // max(1, TILES), "
        .. "ceildiv(" .. DEPTH .. ", STEP)))" },
    { "FINISH=cluster needs compute capability 9.0", "FINISH ~= 'cluster' or dev_cc >= 90" },
    { "CLUSTER exceeds the steps along the sum",
      "FINISH ~= 'cluster' or CLUSTER <= max(2, ceildiv(" .. DEPTH .. ", STEP))" },
    { "FINISH=cluster is for at most 16 clusters per multiprocessor",
      "FINISH ~= 'cluster' or TILES <= 16 * dev_sms" },
    { "FINISH other than last_block needs splits", "SPLITS > 1 or FINISH == 'last_block'" },
    { "FINISH=atomic needs elements of 4 or 8 bytes, and excludes scale, bias and act",
      "FINISH ~= 'atomic' or NBYTES > 2 and scale == 'none' and bias == 'none' and act == 'none'" },
    { "AHEAD=1 needs more than one step", "AHEAD == 0 or SHARE > STEP" },
    { "SMEM exceeds a block's shared memory", "SMEM + 16 <= dev_smem_block" }, -- last_block.cuh: 16
  },

  default = { BLOCK = 256, LX = 32, VEC = 1, ROWS = 1, COLS = 4, AHEAD = 0, X = "cached",
    LOAD = "plain", BLOCKS = 4, FINISH = "last_block", CLUSTER = 2 },
  untuned = SUGGESTED,

  workspace = {
    -- A sum per result and split, in units of 8 bytes.
    { "partial", "f64", "sel(SPLITS > 1 and (FINISH == 'last_block' or FINISH == 'two_launch'), "
      .. "ceildiv(SPLITS * " .. OUTPUTS .. " * WIDE, 8), 0)" },
    { "arrived", "u32", "sel(SPLITS > 1 and FINISH == 'last_block', TILES, 0)" },
  },

  stages = {
    { kernel = "gemv_scale", when = "SPLITS > 1 and FINISH == 'atomic'",
      grid = "ceildiv(" .. OUTPUTS .. ", 256)", block = 256,
      args = { { "i32", OUTPUTS }, "beta", "y", "incy" } },
    { kernel = "gemv", grid = { "TILES", "SPLITS" }, block = "BLOCK", smem = "SMEM",
      overlap = "OVERLAPS",
      args = { "m", "n", "alpha", "A", "lda", "x", "incx", "beta", "y", "incy", "scales", "biases",
        { "i64", "SHARE" }, "partial", "arrived" } },
    { kernel = "gemv_finish", when = "SPLITS > 1 and FINISH == 'two_launch'",
      grid = "TILES", block = "BLOCK", smem = "SMEM",
      args = { { "i32", OUTPUTS }, { "i32", "SPLITS" }, "alpha", "beta", "y", "incy", "scales",
        "biases", "partial" } },
  },

  source = "gemv.cu",

  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(" .. OUTPUTS .. ", 128)", block = 128,
        args = { "m", "n", "alpha", "A", "lda", "x", "incx", "beta", "y", "incy", "scales",
          "biases" } },
    },
    source = "gemv_reference.cu",
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5, incx = "sel(unit == 1, 1, -3)", incy = -2 },
    { lda = "roundup(max(1, m), align) + 3 * align", beta = "sel(beta_is == '0', -1, 0)", incx = "sel(unit == 1, 1, 1)",
      incy = 3 },
    { alpha = 0, beta = 0.5 },
  },

  -- Adding up k products of numbers uniform in [-1, 1] with rounding error u stays below 4 u k, as
  -- sgemm.lua derives; f64's reference errs likewise. A step of the epilogue rounds once or twice;
  -- its functions stretch errors by less than 1.2 and in f32 err by less than 2^-20 themselves:
  -- exp has relative error (2 |u| + 4) 2^-23, and x/2 (1 + tanh u) less than 1 where |u| counts.
  -- A result of 16 bits may be the neighbour of the reference's.
  tolerance = {
    abs = "sel(dtype == 'f64', 2.0^-50, 2.0^-22) * (" .. DEPTH .. " + 1) * 1.25 "
      .. "+ sel(act == 'none', 0, sel(dtype == 'f64', 2.0^-50, 2.0^-20))",
    rel = "sel(dtype == 'f64', 2.0^-50, sel(dtype == 'f32', 2.0^-21, sel(dtype == 'f16', 2.0^-10, "
      .. "2.0^-7)))",
  },

  flops = "2 * m * n",
  bytes = "(" .. NBYTES .. ") * (m * n + m + n + sel(beta_is == '0', 0, " .. OUTPUTS .. "))",

  sizes = {
    emu = { "m=300 n=70", "m=75 n=61 trans=t unit=0", "m=64 n=50 dtype=bf16 bias=row act=relu",
      "m=96 n=40 trans=t dtype=f16 act=gelu scale=row", "m=50 n=30 dtype=f64 act=gelu_erf" },
    test = { "m=0 n=5", "m=0 n=5 trans=t", "m=5 n=0", "m=1 n=1", "m=1 n=100003", "m=100003 n=1 trans=t",
      "m=1000 n=1000", "m=1023 n=1025 trans=t unit=0", "m=4096 n=4096", "m=4096 n=4096 trans=t",
      "m=2048 n=3000 dtype=bf16", "m=2048 n=3000 dtype=f16 trans=t act=gelu bias=row",
      "m=999 n=1001 dtype=f64 scale=row act=gelu_erf", "m=65536 n=64 trans=t", "m=64 n=65536" },
    bench = { "m=4096 n=4096", "m=4096 n=4096 trans=t", "m=256", "m=256 trans=t", "m=1024",
      "m=1024 trans=t", "m=2048", "m=2048 trans=t", "m=16384", "m=16384 trans=t", "m=65536 n=256",
      "m=65536 n=256 trans=t", "m=256 n=65536", "m=256 n=65536 trans=t", "m=4095",
      "m=4095 trans=t", "m=8192 n=8192 dtype=bf16 trans=t" },
  },
}
