-- gemv: y = alpha op(A) x + beta y, as BLAS has it: column-major A of m rows and n columns.
--
-- A block has LX threads along the rows, which are contiguous, and BLOCK / LX along the columns; see
-- matrix_vectors.cuh. Without transposition a thread adds up along the columns and the threads of the
-- other columns fold at the end; with it, along the rows likewise. The long dimension is shared by
-- as many blocks as give BLOCKS per multiprocessor, or by those of a cluster.
--
-- The text does not depend on the sizes. VEC assumes that vectors divide a column (see require).

-- Expressions that several places use.
local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local HALF = "(dtype == 'f16' or dtype == 'bf16')"
local OUTPUTS = "sel(trans == 'n', m, n)"
local DEPTH = "sel(trans == 'n', n, m)" -- elements of x
local MOST = 2^31 - 2^17 -- so that the end of a step beyond the last element is a number
local VEC_MOST = "min(align, pow2div(m, 8), 16 // (" .. NBYTES .. "))"

-- For problems that nobody tuned: what an H200 was measured to do well with near 1024 and near 4096.
local SUGGESTED = {}
for _, vec in ipairs { 8, 4, 2, 1 } do
  local function suggest(condition, config)
    config.when = VEC_MOST .. " == " .. vec .. " and " .. condition
    config.VEC, config.LOAD = vec, "streaming"
    SUGGESTED[#SUGGESTED + 1] = config
  end
  suggest("trans == 't' and m > 256", { BLOCK = 128, LX = 64, ROWS = 2, COLS = 2, BLOCKS = 1 })
  suggest("trans == 't'", { BLOCK = 128, LX = 8, ROWS = 2, COLS = 1, BLOCKS = 1 })
  suggest("trans == 'n' and m * n <= 2^21", { BLOCK = 256, LX = 16, ROWS = 2, COLS = 4, BLOCKS = 1 })
  suggest("trans == 'n'", { BLOCK = 256, LX = 16, ROWS = 2, COLS = 2 })
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
    { "dtype", { "f32", "f64", "f16", "bf16" }, default = "f32",
      brief = "type of the elements; 16-bit ones are added up in f32" },
    { "unit", { 1, 0 }, default = 1, brief = "1: x is contiguous" },
    { "align", { 8, 4, 2, 1 }, default = "pow2div(max(m, 1), 8)",
      brief = "elements to which A, its leading dimension and x are aligned" },
    { "scale", { "none", "row" }, default = "none", brief = "factors of the results" },
    { "bias", { "none", "row" }, default = "none", brief = "what is then added to them" },
    { "act", { "none", "relu", "gelu", "gelu_erf" }, default = "none",
      brief = "the function that is then applied" },
  },

  args = {
    { "m", "i32", value = "m" },
    { "n", "i32", value = "n" },
    { "alpha", "f64", sample = 1 },
    { "A", "dtype", "in", count = "lda * max(0, n - 1) + m", fill = { "uniform", -1, 1 } },
    { "lda", "i64", sample = "roundup(max(1, m), align)" },
    { "x", "dtype", "in", count = "max(0, " .. DEPTH .. " - 1) * abs(incx) + min(1, " .. DEPTH .. ")",
      fill = { "uniform", -1, 1 } },
    { "incx", "i64", sample = "sel(unit == 1, 1, 2)",
      brief = "distance of elements; negative: backwards from the end" },
    { "beta", "f64", sample = 0 },
    -- With beta 0 what y held does not matter, not even a NaN.
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
      .. "pow2div(lda, 8))" },

  call_require = {
    { "lda is less than the rows of A", "lda >= max(1, m)" },
    { "the elements of x have no distance", "incx ~= 0" },
    { "the elements of y have no distance", "incy ~= 0" },
  },

  space = {
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "LX", { 4, 8, 16, 32, 64, 128, 256, 512, 1024 }, "of these, side by side along the rows" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load" },
    { "ROWS", { 1, 2, 4, 8 }, "vectors of a thread along the rows, in one step" },
    { "COLS", { 1, 2, 4, 8, 16 }, "and along the columns" },
    { "AHEAD", { 0, 1 }, "steps loaded ahead of the multiplications" },
    { "X", { "cached", "shared" }, "where x is read from: the first-level cache, shared memory" },
    { "LOAD", { "plain", "streaming", "second" }, "cache operator of the loads of A" },
    { "BLOCKS", { 1, 2, 3, 4, 6, 8, 12, 16, 32 }, "blocks per multiprocessor, if need be by splits",
      when = "FINISH ~= 'cluster'" },
    { "FINISH", { "last_block", "two_launch", "atomic", "cluster" }, "how splits add up" },
    { "CLUSTER", { 2, 4, 8 }, "splits, each a block of a cluster", when = "FINISH == 'cluster'" },
  },

  derive = {
    { "WIDE", "sel(dtype == 'f64', 8, 4)" }, -- bytes of a number in registers
    { "LY", "max(1, BLOCK // LX)" },
    { "TR", "LX * ROWS * VEC" }, -- rows and columns of a step of the block
    { "TC", "LY * COLS" },
    { "OUT", "sel(trans == 'n', TR, TC)" }, -- results of the block
    { "STEP", "sel(trans == 'n', TC, TR)" },
    -- Partial sums that meet in shared memory, per result.
    { "SLOTS", "sel(trans == 'n', sel(LX < 32, BLOCK // 32, LY), max(1, LX // 32))" },
    { "TILES", "ceildiv(" .. OUTPUTS .. ", OUT)" },
    { "SPLITS", "sel(FINISH == 'cluster', CLUSTER, "
      .. "max(1, min(BLOCKS * dev_sms // max(1, TILES), ceildiv(" .. DEPTH .. ", STEP))))" },
    { "SHARE", "roundup(ceildiv(" .. DEPTH .. ", SPLITS), STEP)" }, -- of x, for a block
    { "OVERLAPS", "FINISH == 'atomic' and dev_cc >= 90" }, -- the launch that scales y
    { "SMEM", "WIDE * max(SLOTS * OUT, BLOCK, sel(X == 'shared', SHARE, 0))" },
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "fewer threads in the block than along the rows", "LX <= BLOCK" },
    { "vectors wider than the alignment or across an edge", "VEC <= " .. VEC_MOST },
    { "vectors much narrower than the alignment allows", "VEC == 1 or 2 * VEC >= " .. VEC_MOST },
    { "neighbouring threads load less than a sector", "LX * VEC * (" .. NBYTES .. ") >= 32 or LX == 32" },
    { "loads under way exceed the registers",
      "COLS * ROWS * VEC * (" .. NBYTES .. ") * (1 + AHEAD) <= 256 and COLS * ROWS <= 32" },
    { "sums exceed the registers", "sel(trans == 'n', ROWS * VEC, COLS + ROWS * VEC) * WIDE <= 256" },
    { "a block's step is more than twice as high as A", "TR // 2 < max(m, 32)" },
    { "a block's step is more than twice as wide as A", "TC // 2 < max(n, 32)" },
    { "more threads than a multiprocessor has",
      "BLOCKS == 1 or FINISH == 'cluster' or BLOCK * BLOCKS <= dev_threads_sm" },
    { "there are that many blocks without splits, or no more steps to share",
      "BLOCKS == 1 or BLOCKS == 4 or SPLITS > max(1, min((BLOCKS - 1) * dev_sms // max(1, TILES), "
        .. "ceildiv(" .. DEPTH .. ", STEP)))" },
    { "clusters are for compute capability 9.0 on", "FINISH ~= 'cluster' or dev_cc >= 90" },
    { "more blocks in a cluster than steps",
      "FINISH ~= 'cluster' or CLUSTER <= max(2, ceildiv(" .. DEPTH .. ", STEP))" },
    { "clusters, though there are blocks enough", "FINISH ~= 'cluster' or TILES <= 16 * dev_sms" },
    { "blocks that share nothing have no finish", "SPLITS > 1 or FINISH == 'last_block'" },
    { "atomics add up neither 16-bit numbers nor what a function is applied to",
      "FINISH ~= 'atomic' or not " .. HALF .. " and scale == 'none' and bias == 'none' "
        .. "and act == 'none'" },
    { "one step has nothing ahead", "AHEAD == 0 or SHARE > STEP" },
    { "more shared memory than a block may have", "SMEM + 16 <= dev_smem_block" }, -- last_block.cuh: 16
  },

  default = { BLOCK = 256, LX = 32, VEC = 1, ROWS = 1, COLS = 4, AHEAD = 0, X = "cached",
    LOAD = "plain", BLOCKS = 4, FINISH = "last_block", CLUSTER = 2 },
  untuned = SUGGESTED,

  workspace = {
    -- A sum per result and split; two of f32 in one of these.
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

  source = [[
@include "ptx.cuh"
@include "words.cuh"
@include "last_block.cuh"
@ if OVERLAPS then
@include "lanes.cuh"
@ elseif FINISH == "cluster" then
@include "cluster.cuh"
@ end
@include "numbers.cuh"
@include "epilogue.cuh"

constexpr bool ALONG_SUM = @{trans == "t"}, SIDEWAYS = false;
constexpr int LOADS = ROWS, LOADS_ACROSS = COLS, VECTORS = 1, XVEC = @{unit == 1 and "VEC" or "1"};
@include "matrix_vectors.cuh"

// BLAS counts backwards from the end where a distance is negative.
template <typename T>
__device__ __forceinline__ T *first_element(T *v, long long n, long long distance) {
  return distance < 0 ? v - (n - 1) * distance : v;
}

__device__ __forceinline__ results results_of(int n, double alpha, double beta, stored *y,
                                              long long incy, const stored *scales,
                                              const stored *biases) {
  return {(wide)alpha, (wide)beta, first_element(y, n, incy), incy, 0, n, 1, scales, biases};
}

// With alpha 0, BLAS does not look at A and x.
@ local cluster = FINISH == "cluster" and "__cluster_dims__(1, CLUSTER, 1) " or ""
extern "C" __global__ void @{cluster}__launch_bounds__(BLOCK)
gemv(int m, int n, double alpha, const stored *__restrict__ A, long long lda,
     const stored *__restrict__ x, long long incx, double beta, stored *y, long long incy,
     const stored *scales, const stored *biases, long long most, wide *partial,
     unsigned *arrived) {
  const int outputs = ALONG_SUM ? n : m, depth = ALONG_SUM ? m : n;
  const long long distance = @{unit == 1 and "1" or "incx"};
  multiply_vectors(A, lda, {first_element(x, depth, distance), distance, 0, 1},
                   alpha == 0 ? 0 : depth,
                   results_of(outputs, alpha, beta, y, incy, scales, biases), most, partial, arrived,
                   [] {
@ if OVERLAPS then
                     griddepcontrol_wait();  // until y is scaled
@ end
                   });
}
@ if FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(BLOCK)
gemv_finish(int outputs, int splits, double alpha, double beta, stored *y, long long incy,
            const stored *scales, const stored *biases, const wide *partial) {
  finish(results_of(outputs, alpha, beta, y, incy, scales, biases), splits, partial);
}
@ end
@ if FINISH == "atomic" then

extern "C" __global__ void gemv_scale(int outputs, double beta, stored *y, long long incy) {
@ if OVERLAPS then
  griddepcontrol_launch_dependents();
@ end
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= outputs) return;
  stored *to = first_element(y, outputs, incy) + i * incy;
  *to = beta == 0 ? 0 : (wide)beta * *to;
}
@ end
]],

  -- One thread per element of y, accumulating in double.
  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(" .. OUTPUTS .. ", 128)", block = 128,
        args = { "m", "n", "alpha", "A", "lda", "x", "incx", "beta", "y", "incy", "scales",
          "biases" } },
    },
    source = [[
@include "ptx.cuh"
@include "numbers.cuh"
@include "epilogue.cuh"

extern "C" __global__ void reference(int m, int n, double alpha, const stored *A, long long lda,
                                     const stored *x, long long incx, double beta, stored *y,
                                     long long incy, const stored *scales, const stored *biases) {
  const int outputs = @{trans == "n" and "m" or "n"}, depth = @{trans == "n" and "n" or "m"};
  const long long i = blockIdx.x * 128 + threadIdx.x;
  if (i >= outputs) return;
  if (incx < 0) x -= (depth - 1) * incx;
  if (incy < 0) y -= (outputs - 1) * incy;
  double sum = 0;
  for (long long p = 0; alpha != 0 && p < depth; p++) {
    const double a = widen(A[@{trans == "n" and "i + p * lda" or "p + i * lda"}]);
    sum += a * widen(x[p * incx]);
  }
  const double before = beta == 0 ? 0 : beta * widen(y[i * incy]);
  y[i * incy] = narrow((wide)epilogue(alpha * sum + before, i, 0, scales, biases));
}
]],
  },

  cases = {
    {},
    { alpha = -0.75, beta = 0.5, incx = "sel(unit == 1, 1, -3)", incy = -2 },
    { lda = "roundup(max(1, m), align) + 3 * align", beta = -1, incx = "sel(unit == 1, 1, 1)",
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
  bytes = "(" .. NBYTES .. ") * (m * n + m + n)",

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
