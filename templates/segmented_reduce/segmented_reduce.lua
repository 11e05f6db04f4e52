-- segmented_reduce: the sum, maximum or minimum of every one of many segments of n numbers.
--
-- Segments lie one behind the other and are told by where they start. ALG says who folds one: a
-- thread, LANES of a warp, or a block. There segments of very different lengths are not balanced: the
-- longest of a block or warp decides. With tiles every block has as many numbers, whatever the segments:
-- those that lie inside are folded by LANES threads each, the parts of those that reach in or out by the
-- whole block, and a second launch adds these up.

local TILES = "max(1, ceildiv(n, TILE))"
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
    { "ALG", { "thread", "warp", "block", "tiles" },
      "who folds a segment; tiles: blocks have as many numbers, whatever the segments" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "of a warp", when = "ALG == 'warp' or ALG == 'tiles'" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: loads under way per thread" },
    { "SPAN", { 8, 16, 32, 64 }, "elements of a tile per thread", when = "ALG == 'tiles'" },
  },

  derive = {
    { "WIDTH", WIDTH },
    { "GROUPS", "BLOCK // WIDTH" }, -- segments of a block at a time
    { "TILE", "BLOCK * SPAN" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel ahead ends
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "a single lane is a thread", "ALG ~= 'warp' and ALG ~= 'tiles' or LANES > 1" },
    { "two warps look for a tile's segments", "ALG ~= 'tiles' or BLOCK >= 64" },
    { "more loads under way than a tile has", "ALG ~= 'tiles' or COARSE * VEC <= SPAN" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * (" .. NBYTES .. ") <= 16" },
    { "so many loads a thread would be mostly beyond the segment",
      "ALG == 'block' or ALG == 'tiles' or COARSE * VEC == 1 or COARSE * VEC * WIDTH <= 4 * ceildiv(n, segments)" },
    { "more blocks than a grid may have", "ceildiv(segments, GROUPS) < 2^31" },
  },

  default = { ALG = "thread", LANES = 1, BLOCK = 128, VEC = 1, COARSE = 1, SPAN = 8 },
  untuned = {
    { when = "segments < 2048 and n >= max(2^18, 512 * segments) and align >= 4 and (" .. NBYTES .. ") == 4",
      ALG = "tiles", LANES = 32, BLOCK = 256, VEC = 4, COARSE = 4, SPAN = 32 },
    { when = "segments < 2048 and n >= max(2^18, 512 * segments)", ALG = "tiles", LANES = 32, BLOCK = 256, COARSE = 8,
      SPAN = 32 },
    { when = "n >= 512 * segments and align >= 4 and (" .. NBYTES .. ") == 4",
      ALG = "block", BLOCK = 256, VEC = 4, COARSE = 4 },
    { when = "n >= 512 * segments and align >= 2", ALG = "block", BLOCK = 256, VEC = 2, COARSE = 4 },
    { when = "n >= 512 * segments", ALG = "block", BLOCK = 256, COARSE = 8 },
    { when = "n >= 64 * segments and align >= 4 and (" .. NBYTES .. ") == 4",
      ALG = "warp", LANES = 8, VEC = 4, COARSE = 4 },
    { when = "n >= 64 * segments and align >= 2", ALG = "warp", LANES = 8, VEC = 2, COARSE = 4 },
    { when = "n >= 64 * segments", ALG = "warp", LANES = 16, COARSE = 8 },
    { when = "n >= 24 * segments and align >= 4 and (" .. NBYTES .. ") == 4",
      ALG = "warp", LANES = 8, VEC = 4, COARSE = 2 },
    { when = "n >= 24 * segments", ALG = "warp", LANES = 8, COARSE = 2 },
    { when = "n >= 6 * segments", ALG = "warp", LANES = 4 },
  },

  workspace = {
    -- Of each tile: what the segment that reaches in and the one that reaches out have there, and which
    -- segment reaches out, or -1.
    { "inward", "u64", "sel(ALG == 'tiles', " .. TILES .. ", 0)" },
    { "outward", "u64", "sel(ALG == 'tiles', " .. TILES .. ", 0)" },
    { "leaving", "i32", "sel(ALG == 'tiles', " .. TILES .. ", 0)" },
  },

  stages = {
    { kernel = "segmented_reduce", when = "ALG ~= 'tiles'", grid = "ceildiv(segments, GROUPS)",
      block = "BLOCK", early = "EARLY", args = { "n", "segments", "starts", "x", "y" } },
    { kernel = "reduce_tiles", when = "ALG == 'tiles'", grid = TILES, block = "BLOCK",
      early = "EARLY", args = { "n", "segments", "starts", "x", "y", "inward", "outward", "leaving" } },
    { kernel = "reduce_crossing", when = "ALG == 'tiles'", grid = "ceildiv(" .. TILES .. ", 8)",
      block = 256, overlap = "EARLY",
      args = { "n", "segments", "starts", { "i32", TILES }, "inward", "outward", "leaving", "y" } },
  },

  source = [[
@include "pdl.cuh"
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

// Of a segment, by one of its THREADS threads: vectors as far apart.
template <int THREADS>
__device__ __forceinline__ wide fold_share(const stored *x, segment s, int thread) {
  wide sum = (wide)IDENTITY;
  for (long long i = s.begin / VEC + thread; i * VEC < s.end; i += THREADS * COARSE) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) v[c] = load(x, i + c * THREADS, s);
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

// Of THREADS threads of a warp; each of them has the result.
template <int THREADS>
__device__ __forceinline__ wide fold_lanes(wide v) {
#pragma unroll
  for (int d = THREADS / 2; d > 0; d /= 2) v = combine(v, __shfl_xor_sync(0xffffffff, v, d));
  return v;
}

@ if ALG == "block" and BLOCK > 32 or ALG == "tiles" then
// Of the block's threads; the first has the result.
__device__ __forceinline__ wide fold_block(wide v) {
  __shared__ wide warps[BLOCK / 32];
  v = fold_lanes<32>(v);
  __syncthreads();  // what was here before has been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int w = 1; w < BLOCK / 32; w++) {
    if (threadIdx.x == 0) v = combine(v, warps[w]);
  }
  return v;
}

@ end
@ if ALG == "tiles" then
struct crowd {  // the segments that begin in a tile
  long long first, end;
};

// Beyond the last tile there may be empty ones, which are its own.
__device__ __forceinline__ crowd find_crowd(long long begin, long long end, long long n,
                                            long long segments, const int *starts) {
  __shared__ long long found[2];
  if (threadIdx.x < 64) {
    const bool is_last = threadIdx.x >= 32 && end >= n;
    const long long i =
        is_last ? segments : first_from(threadIdx.x < 32 ? begin : end, segments, starts);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = i;
  }
  __syncthreads();
  return {begin > 0 ? found[0] : 0, found[1]};
}

extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_tiles(long long n, long long segments, const int *__restrict__ starts,
             const stored *__restrict__ x, stored *y, wide *inward, wide *outward, int *leaving) {
  const int none = pdl_wait();
  x += none;
  starts += none;
  const long long begin = (long long)blockIdx.x * TILE, end = min(begin + TILE, n);
  const crowd own = find_crowd(begin, begin + TILE, n, segments, starts);
  if (begin > 0) {
    const segment in = segment_of(own.first - 1, n, segments, starts);
    const wide v = fold_block(fold_share<BLOCK>(x, {begin, min(in.end, end)}, threadIdx.x));
    if (threadIdx.x == 0) inward[blockIdx.x] = v;
  }
  const segment out = segment_of(own.end - 1, n, segments, starts);
  const bool leaves = own.end > own.first && out.end > end;
  if (leaves) {
    const wide v = fold_block(fold_share<BLOCK>(x, {out.begin, end}, threadIdx.x));
    if (threadIdx.x == 0) outward[blockIdx.x] = v;
  }
  if (threadIdx.x == 0) leaving[blockIdx.x] = leaves ? (int)(own.end - 1) : -1;
  const int group = threadIdx.x / LANES, inside = (int)(own.end - own.first) - leaves;
  for (int i = 0; i < inside; i += GROUPS) {
    const bool some = i + group < inside;
    const long long at = own.first + i + group;
    const segment s = some ? segment_of(at, n, segments, starts) : segment{0, 0};
    const wide v = fold_lanes<LANES>(fold_share<LANES>(x, s, threadIdx.x % LANES));
    if (some && threadIdx.x % LANES == 0) y[at] = (stored)v;
  }
}

// A warp for each segment that reaches out of a tile: what it has there, and in those behind.
extern "C" __global__ void __launch_bounds__(256)
reduce_crossing(long long n, long long segments, const int *__restrict__ starts, int tiles,
                const wide *inward, const wide *outward, const int *leaving, stored *y) {
  const int tile = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  leaving += pdl_wait();
  const int at = tile < tiles ? leaving[tile] : -1;
  if (at < 0) return;
  const int last = (int)((segment_of(at, n, segments, starts).end - 1) / TILE);
  wide v = (wide)IDENTITY;
  for (int i = tile + 1 + lane; i <= last; i += 32) v = combine(v, inward[i]);
  v = fold_lanes<32>(v);
  if (lane == 0) y[at] = (stored)combine(outward[tile], v);
}
@ else
extern "C" __global__ void __launch_bounds__(BLOCK)
segmented_reduce(long long n, long long segments, const int *__restrict__ starts,
                 const stored *__restrict__ x, stored *y) {
  const int none = pdl_wait();
  x += none;
  starts += none;
  const long long i = (long long)blockIdx.x * GROUPS + threadIdx.x / WIDTH;
  const int thread = threadIdx.x % WIDTH;
  const wide share = fold_share<WIDTH>(x, segment_of(i, n, segments, starts), thread);
@ if ALG == "block" and BLOCK > 32 then
  const wide v = fold_block(share);
@ else
  const wide v = fold_lanes<WIDTH>(share);
@ end
  if (thread == 0 && i < segments) y[i] = (stored)v;
}
@ end
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
      "n=5003 segments=5 dtype=i32", "n=4096 segments=9000", "n=2000 segments=1 dtype=f64", "n=1501 segments=40 dtype=i64" },
    test = { "n=0 segments=1", "n=1", "n=1000003 segments=1000 align=1", "n=2^22 segments=2^20",
      "n=2^24 segments=3", "n=3000001 segments=100000 dtype=i64 op=min",
      "n=2^20 segments=5000 dtype=f64", "n=2^20 segments=2^21 dtype=i32" },
    bench = { "n=2^26 segments=2^24", "n=2^26 segments=2^20", "n=2^26 segments=2^16",
      "n=2^26 segments=2^12" },
  },
}
