-- dot: the sum of x[i] y[i], as BLAS has it.
--
-- Like reduce, with two operands: a block adds up its share in registers, then across its threads (FOLD); with
-- CLUSTER > 1 the blocks of a cluster combine in the shared memory of one of them. Blocks combine in one of six ways
-- (FINISH). With FINISH=wait the grid's last block waits for the sums of the others: a word in memory is 0 until its sum
-- is there, so that neither fences nor counters delay it.
-- Sums are f64, but for those of f32 and 16-bit elements within one step of a thread, unless accuracy=fp64.
-- The textbook's kernel is a point of this space: BLOCK=256, BLOCKS=32 with PER=device, FOLD=shared, FINISH=two_launch.

local NBYTES = "sel(dtype == 'f64', 8, sel(dtype == 'f32', 4, 2))"
local CLUSTERS = "sel(FINISH == 'cluster', 1, max(1, min(BLOCKS * sel(PER == 'device', 1, dev_sms) // CLUSTER, "
  .. "ceildiv(n, CLUSTER * TILE))))"
local MOST = "max(BLOCKS * sel(PER == 'device', 1, dev_sms), CLUSTER)" -- blocks
local WIDE_STEPS = "(accuracy == 'fp64' or dtype == 'f64')"

-- For sizes without a tuned result: one block; then blocks with all their loads under way at once; then a loop.
-- Contiguous operands are fetched ahead where the device can.
local SUGGESTED = { { when = "reproducible == 'shape'", BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 8,
  LOAD = "streaming", FINISH = "wait" } }
-- Of `vec` elements of `nbytes` per load; `coarse` is for words of 16 bytes.
local function suggest(nbytes, vec, most, block, blocks, coarse, finish)
  for ahead = (vec * nbytes == 16 or vec * nbytes == 4) and 1 or 0, 0, -1 do
    SUGGESTED[#SUGGESTED + 1] = { when = "NBYTES == " .. nbytes .. " and min(sel(unit == 1, align, 1), 16 // NBYTES) == "
      .. vec .. (ahead == 1 and " and unit == 1" or "") .. (most and " and n * NBYTES <= " .. most or ""), BLOCK = block,
      BLOCKS = blocks, VEC = vec, COARSE = math.min(16, coarse * 16 // (vec * nbytes)), LOAD = "streaming",
      AHEAD = ahead, FINISH = finish }
  end
end
for _, nbytes in ipairs { 2, 4, 8 } do
  for _, vec in ipairs { 8, 4, 2, 1 } do
    if vec * nbytes <= 16 then
      suggest(nbytes, vec, "2^14", 512, 1, 1, "cluster")
      suggest(nbytes, vec, "2^15", 1024, 1, 2, "cluster")
      suggest(nbytes, vec, "2^18", 128, 1, 1, "wait")
      suggest(nbytes, vec, "2^19", 256, 1, 1, "wait")
      suggest(nbytes, vec, "2^20", 512, 1, 1, "wait")
      suggest(nbytes, vec, "2^21", 512, 1, 2, "wait")
      suggest(nbytes, vec, "2^22", 256, 2, 4, "wait")
      suggest(nbytes, vec, nil, 512, 2, 4, "wait")
    end
  end
end

return {
  name = "dot",
  version = 1,
  brief = "the dot product of two vectors",
  cite = "BLAS level 1; Sanders and Kandrot, CUDA by Example, ch. 5; "
    .. "Harris, Optimizing parallel reduction in CUDA",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "dtype", { "f32", "f64", "f16", "bf16" }, default = "f32", like = { bf16 = "f16" },
      brief = "type of the elements" },
    { "result_dtype", { "f32", "f64", "f16", "bf16" }, default = "dtype", like = "f32", brief = "type of the result" },
    { "accuracy", { "fp32", "fp64" }, default = "sel(result_dtype == 'f64', 'fp64', 'fp32')", like = { fp64 = "fp32" },
      brief = "fp64: all additions are of f64; fp32: not those of the up to 64 products of a thread's step" },
    { "unit", { 1, 0 }, default = 1, brief = "1: x and y are contiguous" },
    { "align", { 8, 4, 2, 1 }, default = "sel(dtype == 'f16' or dtype == 'bf16', 8, 4)",
      brief = "elements that x and y are aligned to" },
    { "reproducible", { "any", "run", "shape" }, default = "any", class = "promise",
      brief = "run: the same bits in every launch on a device; shape: whatever the alignment and increments, too" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "max(0, n - 1) * abs(incx) + min(1, n)", fill = { "uniform", -1, 1 } },
    { "incx", "i64", sample = "sel(unit == 1, 1, 2)", brief = "increment; negative: backwards from the end" },
    { "y", "dtype", "in", count = "max(0, n - 1) * abs(incy) + min(1, n)", fill = { "uniform", -1, 1 } },
    { "incy", "i64", sample = 1 },
    { "result", "result_dtype", "out", count = 1 },
  },

  -- Backwards through both is forwards through both.
  call = { "dtype", "n", "x", "incx", "y", "incy", "result", "result_dtype",
    unit = "sel(incx == incy and abs(incx) == 1, 1, 0)",
    align = "min(pow2div(x // (" .. NBYTES .. "), 8), pow2div(y // (" .. NBYTES .. "), 8))" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32 }, "blocks at most, per PER" },
    { "PER", { "multiprocessor", "device" }, "what BLOCKS counts the blocks of" },
    { "VEC", { 1, 2, 4, 8 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads of each operand under way per thread" },
    { "LOAD", { "plain", "constant", "streaming", "fetch_256" },
      "cache operator of loads, or 256 bytes a fetch from memory" },
    { "AHEAD", { 0, 1 }, "1: operands of a block's first tile are fetched to the second-level cache before the kernel before has ended",
      when = "unit == 1" },
    { "FOLD", { "shuffle", "shared" },
      "how a block's threads combine: warp shuffles, or a tree in shared memory" },
    { "FINISH", { "last_block", "wait", "two_launch", "atomic", "accumulate", "cluster" },
      "how blocks combine: the last one to finish, the last one of the grid once it sees all sums, a second launch, "
        .. "atomics on the result, atomics on scratch memory, or one cluster only" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks whose sums meet in shared memory first" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "CONTIGUOUS", "unit == 1" },
    { "WIDE_STEPS", WIDE_STEPS },
    { "TILE", "BLOCK * COARSE * VEC" }, -- elements of each operand a block takes at a time
    { "RESIDENT", "sel(PER == 'device', 1, BLOCKS)" }, -- blocks on a multiprocessor at a time, at most
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel before ends (pdl.cuh)
  },

  require = {
    { "result_dtype is neither dtype nor a wider type",
      "result_dtype == dtype or result_dtype == 'f64' or result_dtype == 'f32' and dtype ~= 'f64'" },
    { "result_dtype=f64 needs accuracy=fp64", "result_dtype ~= 'f64' or accuracy == 'fp64'" },
    { "BLOCK exceeds the device's threads per block", "BLOCK <= dev_threads_block" },
    { "BLOCKS blocks exceed the threads of a multiprocessor",
      "BLOCK * RESIDENT <= dev_threads_sm or RESIDENT == 1" },
    { "fewer blocks than multiprocessors", "PER == 'multiprocessor'", advice = "search" },
    { "x and y are not contiguous, or not aligned to VEC elements", "VEC <= sel(unit == 1, align, 1)" },
    { "VEC elements exceed 16 bytes", "VEC * NBYTES <= 16" },
    { "COARSE vectors of VEC elements exceed the registers",
      "COARSE * VEC * NBYTES <= 128 and COARSE * VEC <= 64" },
    { "LOAD=fetch_256 needs compute capability 8.0", "LOAD ~= 'fetch_256' or dev_cc >= 80" },
    { "AHEAD=1 needs compute capability 9.0", "AHEAD == 0 or dev_cc >= 90" },
    { "FINISH=atomic needs a result of 4 or 8 bytes, and of f64 with accuracy=fp64",
      "FINISH ~= 'atomic' or result_dtype == 'f64' or result_dtype == 'f32' and accuracy == 'fp32'" },
    -- Atomics add in the order in which blocks arrive; the other values of FINISH in that of the blocks' numbers.
    { "reproducible=run and shape exclude atomics",
      "FINISH ~= 'atomic' and FINISH ~= 'accumulate' or reproducible == 'any'" },
    -- One division of the products among threads and one tree: VEC, which the alignment limits, would change them.
    { "reproducible=shape needs BLOCK=256, BLOCKS=4, VEC=1, COARSE=8, FOLD=shuffle and CLUSTER=1, not FINISH=cluster",
      "reproducible ~= 'shape' or BLOCK == 256 and BLOCKS == 4 and VEC == 1 and COARSE == 8 and FOLD == 'shuffle' "
        .. "and CLUSTER == 1 and PER == 'multiprocessor' and FINISH ~= 'cluster'" },
    { "CLUSTER > 1 needs compute capability 9.0", "CLUSTER == 1 or dev_cc >= 90" },
    { "CLUSTER has more blocks than n has work for",
      "CLUSTER == 1 or n > (CLUSTER // 2) * TILE" },
    { "CLUSTER exceeds the grid's blocks", "CLUSTER == 1 or PER == 'multiprocessor'" },
    { "FINISH=cluster needs BLOCKS == 1", "FINISH ~= 'cluster' or BLOCKS == 1 and PER == 'multiprocessor'" },
    { "FINISH=cluster needs a small n: it uses one cluster only",
      "FINISH ~= 'cluster' or n <= 8 * CLUSTER * TILE" },
  },

  default = { BLOCK = 256, BLOCKS = 4, PER = "multiprocessor", VEC = 1, COARSE = 8, LOAD = "plain", AHEAD = 0,
    FOLD = "shuffle", FINISH = "last_block", CLUSTER = 1 },
  untuned = SUGGESTED,

  workspace = {
    -- A sum per block, or the sum so far.
    { "partial", "f64", "sel(FINISH == 'atomic' or FINISH == 'cluster', 0, "
      .. "sel(FINISH == 'accumulate', 1, " .. MOST .. "))" },
    { "arrived", "u32", "sel(FINISH == 'last_block' or FINISH == 'accumulate', 1, 0)" },
  },

  stages = {
    { memset = "result", value = 0, nbytes = "sel(result_dtype == 'f64', 8, 4)", when = "FINISH == 'atomic'" },
    { kernel = "dot", grid = "CLUSTER * " .. CLUSTERS, block = "BLOCK", early = "EARLY",
      args = { "n", "x", "incx", "y", "incy", "result", "partial", "arrived" } },
    { kernel = "dot_finish", when = "FINISH == 'two_launch'", grid = 1, block = "BLOCK",
      args = { { "i32", CLUSTERS }, "partial", "result" } },
  },

  source = "dot.cu",

  -- One block: each thread every 1024th product, then thread 0 the 1024 sums, in double.
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "incx", "y", "incy", "result" } },
    },
    source = [[
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
using result_type = element<RESULT_DTYPE>;

__device__ const stored *first(const stored *v, long long n, long long increment) {
  return increment < 0 ? v - (n - 1) * increment : v;
}

extern "C" __global__ void reference(long long n, const stored *x, long long incx, const stored *y,
                                     long long incy, result_type::stored *result) {
  __shared__ double all[1024];
  double v = 0;
  x = first(x, n, incx);
  y = first(y, n, incy);
  for (long long i = threadIdx.x; i < n; i += 1024) {
    v += (double)type::widen(x[i * incx]) * (double)type::widen(y[i * incy]);
  }
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 1024; i++) v += all[i];
  *result = result_type::narrow((result_type::number)v);
}
]],
  },

  -- The second finds the workspace as the first has left it.
  cases = { {}, { incx = "sel(unit == 1, -1, -3)", incy = "sel(unit == 1, -1, 2)" } },

  -- Products of numbers uniform in [-1, 1] have a standard deviation of s = 1/3. Chains of L additions leave an error
  -- of standard deviation u s sqrt(n L / 6), as reduce.lua derives.
  -- fp32, u = 2^-24: at most 64 in a step and, when atomics add them up, 2^13 blocks: eight standard deviations are
  -- 100 u sqrt(n), below 2^-17 sqrt(n). fp64, u = 2^-53: n / 2^6 a thread at worst, the same for n <= 2^31 with
  -- L = 2^25: 2^-40 sqrt(n). rel is the last rounding.
  tolerance = {
    abs = "sel(" .. WIDE_STEPS .. ", 2.0^-40, 2.0^-17) * (n + 1)^0.5",
    rel = "sel(result_dtype == 'bf16', 2.0^-7, sel(result_dtype == 'f16', 2.0^-10, "
      .. "sel(result_dtype == 'f64', 2.0^-50, 2.0^-23)))",
  },

  flops = "2 * n",
  bytes = "2 * n * (" .. NBYTES .. ")",

  sizes = {
    emu = { "n=1000", "n=5003 unit=0", "n=777 dtype=f64", "n=2001 dtype=bf16 result_dtype=f32 align=1",
      "n=1501 dtype=f16 unit=0", "n=3000 accuracy=fp64 reproducible=shape", "n=900 result_dtype=f64 reproducible=run" },
    test = { "n=0", "n=0 unit=0", "n=1", "n=31 unit=0", "n=33792", "n=65537 align=1", "n=1000003", "n=2^20 dtype=f64 unit=0",
      "n=2^24", "n=2^24 accuracy=fp64", "n=100003 dtype=f16 result_dtype=f32", "n=3000001 dtype=bf16",
      "n=1000001 result_dtype=f64 reproducible=run" },
    bench = { "n=2^10", "n=2^16", "n=2^20", "n=2^24", "n=2^28", "n=2^26 dtype=f64", "n=2^28 dtype=f16 result_dtype=f32" },
  },
}
