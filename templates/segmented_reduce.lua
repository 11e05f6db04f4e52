-- segmented_reduce: the sum, maximum or minimum of every one of many segments of n numbers.
--
-- Segments lie one behind the other and are told by where they start. ALG says who folds one: a
-- thread, LANES of a warp, or a block. Segments of very different lengths are not balanced: the
-- longest of a block or warp decides.

local WIDTH = "sel(ALG == 'block', BLOCK, LANES)" -- threads of a segment
local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, 4)"
local EXACT = "(dtype == 'i32' or dtype == 'i64' or op ~= 'sum')"

return {
  name = "segmented_reduce",
  version = 1,
  brief = "sums, maxima or minima of segments of n numbers",
  cite = "Bell and Garland, Implementing sparse matrix-vector multiplication on throughput-oriented "
    .. "processors: rows by threads and by warps",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^24, brief = "elements" },
    { "segments", 1, 2^31 - 1, default = "max(1, n // 100)", brief = "how many" },
    { "op", { "sum", "max", "min" }, default = "sum",
      brief = "of no elements: its identity; whole sums wrap" },
    { "dtype", { "f32", "f64", "i32", "i64" }, default = "f32", brief = "type of the elements" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that x is aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "starts", "i32", "in", count = "segments", fill = { "sorted", 0, "n" },
      brief = "where each begins, not descending, up to n; the first counts as 0" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", -8, 8 } },
    { "y", "dtype", "out", count = "segments" },
  },

  call = { "op", "dtype", "n", "segments", "starts", "x", "y",
    align = "pow2div(x // (" .. NBYTES .. "), 4)" },

  space = {
    { "ALG", { "thread", "warp", "block" }, "who folds a segment" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "of a warp", when = "ALG == 'warp'" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: loads under way per thread" },
  },

  derive = {
    { "WIDTH", WIDTH },
    { "GROUPS", "BLOCK // WIDTH" }, -- segments of a block
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "a single lane is a thread", "ALG ~= 'warp' or LANES > 1" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * (" .. NBYTES .. ") <= 16" },
    { "so many loads a thread would be mostly beyond the segment",
      "ALG == 'block' or COARSE * VEC == 1 or COARSE * VEC * WIDTH <= 4 * ceildiv(n, segments)" },
    { "more blocks than a grid may have", "ceildiv(segments, GROUPS) < 2^31" },
  },

  default = { ALG = "thread", LANES = 1, BLOCK = 128, VEC = 1, COARSE = 1 },
  untuned = {
    { when = "n >= 512 * segments and align >= 2", ALG = "block", VEC = 2, COARSE = 4 },
    { when = "n >= 512 * segments", ALG = "block", COARSE = 4 },
    { when = "n >= 64 * segments", ALG = "warp", LANES = 32, COARSE = 2 },
    { when = "n >= 24 * segments", ALG = "warp", LANES = 8, COARSE = 2 },
    { when = "n >= 6 * segments", ALG = "warp", LANES = 4 },
  },

  stages = {
    { kernel = "segmented_reduce", grid = "ceildiv(segments, GROUPS)", block = "BLOCK",
      args = { "n", "segments", "starts", "x", "y" } },
  },

  source = [[
@include "segments.cuh"
@include "words.cuh"

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Vector i of x as far as it is in the segment.
__device__ __forceinline__ vector load(const stored *x, long long i, segment s) {
  vector v;
  if (i * VEC >= s.begin && (i + 1) * VEC <= s.end) {
    v = load_plain(reinterpret_cast<const vector *>(x) + i);
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      const long long at = i * VEC + e;
      v.e[e] = at >= s.begin && at < s.end ? x[at] : (stored)IDENTITY;
    }
  }
  return v;
}

// Of a segment, by one of its threads: vectors WIDTH apart.
__device__ __forceinline__ wide fold_share(const stored *x, segment s, int thread) {
  wide sum = (wide)IDENTITY;
  for (long long i = s.begin / VEC + thread; i * VEC < s.end; i += WIDTH * COARSE) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) v[c] = load(x, i + c * WIDTH, s);
    value step = (value)IDENTITY;
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) step = combine(step, (value)v[c].e[e]);
    }
    sum = combine(sum, (wide)step);
  }
  return sum;
}

// Of the segment's threads; the first has the result.
__device__ __forceinline__ wide fold_threads(wide v) {
#pragma unroll
  for (int d = (WIDTH < 32 ? WIDTH : 32) / 2; d > 0; d /= 2) {
    v = combine(v, __shfl_xor_sync(0xffffffff, v, d));
  }
@ if WIDTH > 32 then
  __shared__ wide warps[WIDTH / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int w = 1; w < WIDTH / 32; w++) {
    if (threadIdx.x == 0) v = combine(v, warps[w]);
  }
@ end
  return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
segmented_reduce(long long n, long long segments, const int *__restrict__ starts,
                 const stored *__restrict__ x, stored *y) {
  const long long i = (long long)blockIdx.x * GROUPS + threadIdx.x / WIDTH;
  const int thread = threadIdx.x % WIDTH;
  const wide v = fold_threads(fold_share(x, segment_of(i, n, segments, starts), thread));
  if (thread == 0 && i < segments) y[i] = (stored)v;
}
]],

  -- A block per segment, each thread every 128th element, then thread 0 the 128 results; in double
  -- or, of integers, exactly (they wrap).
  reference = {
    stages = {
      { kernel = "reference", grid = "segments", block = 128,
        args = { "n", "segments", "starts", "x", "y" } },
    },
    source = [[
@ local stored = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long" }
@ local whole = dtype == "i32" or dtype == "i64"
@ local combined = { sum = "a + b", max = "a > b ? a : b", min = "a < b ? a : b" }
@ local none = { sum = "0", min = "LARGEST", max = "-LARGEST" .. (whole and " - 1" or "") }
using stored = @{stored[dtype]};
using wide = @{not whole and "double" or op == "sum" and "unsigned long long" or "long long"};

// of the type: two to one less than its bits, less one; of a floating-point type, infinity
#define LARGEST @{whole and "((long long)((1ull << (8 * sizeof(stored) - 1)) - 1))" or "exp2(2000.0)"}

__device__ wide combine(wide a, wide b) { return @{combined[op]}; }

extern "C" __global__ void reference(long long n, long long segments, const int *starts,
                                     const stored *x, stored *y) {
  __shared__ wide all[128];
  const long long i = blockIdx.x;
  const long long begin = i == 0 ? 0 : starts[i], end = i == segments - 1 ? n : starts[i + 1];
  wide v = (wide)(@{none[op]});
  for (long long at = begin + threadIdx.x; at < end; at += 128) v = combine(v, (wide)x[at]);
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int t = 1; t < 128; t++) v = combine(v, all[t]);
  y[i] = (stored)v;
}
]],
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
      "n=5003 segments=5 dtype=i32", "n=2000 segments=1 dtype=f64", "n=1501 segments=40 dtype=i64" },
    test = { "n=0 segments=1", "n=1", "n=1000003 segments=1000 align=1", "n=2^22 segments=2^20",
      "n=2^24 segments=3", "n=3000001 segments=100000 dtype=i64 op=min",
      "n=2^20 segments=5000 dtype=f64", "n=2^20 segments=2^21 dtype=i32" },
    bench = { "n=2^26 segments=2^24", "n=2^26 segments=2^20", "n=2^26 segments=2^16",
      "n=2^26 segments=2^12" },
  },
}
