-- segmented_scan: all prefix sums, maxima or minima within every one of many segments of n numbers.
--
-- Segments lie one behind the other and are told by where they start. ALG says who scans one, ITEMS
-- numbers a thread at a time: a thread, LANES of a warp, or a block. There segments of very different
-- lengths are not balanced: the longest of a block or warp decides. With lookback all blocks have tiles
-- of the same size, whatever the segments: these are flags at numbers where sums begin anew, and a tile
-- looks back no further than to the last of them.
--
-- What is the least? Numbers in and out, 8 bytes each of 4, and the starts.

local WIDTH = "sel(ALG == 'block', BLOCK, LANES)" -- threads of a segment
local NBYTES = "sel(dtype == 'f64' or dtype == 'i64', 8, 4)"
local TILES = "ceildiv(n, TILE)"
local LOOKBACK = "ALG == 'lookback'"
local EXACT = "(dtype == 'i32' or dtype == 'i64' or op ~= 'sum')"

return {
  name = "segmented_scan",
  version = 1,
  brief = "prefix sums, maxima or minima within segments of n numbers",
  cite = "Sengupta, Harris, Garland, Efficient parallel scan algorithms for GPUs; "
    .. "Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back",

  problem = {
    { "n", 0, 2^31 - 1, default = 2^24, brief = "elements" },
    { "segments", 1, 2^31 - 1, default = "max(1, n // 100)", brief = "how many" },
    { "kind", { "inclusive", "exclusive" }, default = "inclusive",
      brief = "with or without the element itself; the first exclusive result is the identity" },
    { "op", { "sum", "max", "min" }, default = "sum", brief = "sums of integers wrap" },
    { "dtype", { "i32", "f32", "i64", "f64" }, default = "i32", brief = "type of the elements" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "segments", "i64", value = "segments" },
    { "starts", "i32", "in", count = "segments", fill = { "sorted", 0, "n" },
      brief = "where each begins, not descending, up to n; the first counts as 0" },
    { "x", "dtype", "in", count = "n",
      fill = { "uniform", "sel(" .. EXACT .. ", -100, -1)", "sel(" .. EXACT .. ", 100, 1)" } },
    { "y", "dtype", "out", count = "n", brief = "not x itself" },
  },

  call = { "kind", "op", "dtype", "n", "segments", "starts", "x", "y" },

  space = {
    { "ALG", { "thread", "warp", "block", "lookback" },
      "who scans a segment; lookback: blocks have tiles, whatever the segments" },
    { "LANES", { 1, 2, 4, 8, 16, 32 }, "of a warp", when = "ALG == 'warp'" },
    { "BLOCK", { 32, 64, 128, 256, 512, 1024 }, "threads per block" },
    { "ITEMS", { 1, 2, 4, 8, 16 }, "coarsening factor: neighbouring elements per thread" },
    { "DELAY", { 0, 32, 128 }, "nanoseconds between two looks at a tile that is waited for",
      when = LOOKBACK },
  },

  derive = {
    { "WIDTH", WIDTH },
    { "GROUPS", "BLOCK // WIDTH" }, -- segments of a block
    { "TILE", "BLOCK * ITEMS" },
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel ahead ends
    { "WIDE", "sel(dtype == 'i32' or dtype == 'f32' and op ~= 'sum', 4, 8)" }, -- what tiles add up
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "a single lane is a thread", "ALG ~= 'warp' or LANES > 1" },
    { "so many elements a thread would be mostly beyond the segment",
      "ALG == 'block' or ALG == 'lookback' or ITEMS == 1 or ITEMS * WIDTH <= 4 * ceildiv(n, segments)" },
    { "tiles of few elements look back too often", "ALG ~= 'lookback' or TILE >= 512" },
    { "a tile exceeds the shared memory",
      "ALG ~= 'lookback' or TILE * (" .. NBYTES .. ") <= 32768" },
    { "more blocks than a grid may have", "ceildiv(segments, GROUPS) < 2^31" },
  },

  default = { ALG = "thread", LANES = 1, BLOCK = 128, ITEMS = 1, DELAY = 0 },
  untuned = {
    -- With more segments than keep a device busy, of a middle length, blocks and warps are faster.
    { when = "n >= 2^18 and (segments < 2048 or n < 24 * segments)",
      ALG = "lookback", BLOCK = 256, ITEMS = 16 },
    { when = "n >= 2^18 and (segments < 2048 or n < 24 * segments)",
      ALG = "lookback", BLOCK = 256, ITEMS = 8 },
    { when = "n >= 512 * segments", ALG = "block", ITEMS = 4 },
    { when = "n >= 64 * segments", ALG = "warp", LANES = 32, ITEMS = 4 },
    { when = "n >= 24 * segments", ALG = "warp", LANES = 8, ITEMS = 2 },
    { when = "n >= 6 * segments", ALG = "warp", LANES = 4 },
  },

  workspace = {
    -- What tiles tell each other: a word for every 4 bytes of a number.
    { "words", "u64", "sel(" .. LOOKBACK .. ", " .. TILES .. " * WIDE // 4, 0)" },
    { "counter", "u64", "sel(" .. LOOKBACK .. ", 1, 0)" },
  },

  stages = {
    { kernel = "segmented_scan", when = LOOKBACK, grid = TILES, block = "BLOCK",
      early = "EARLY", args = { "n", "segments", "starts", "x", "y", "words", "counter" } },
    { kernel = "segmented_scan", when = "ALG ~= 'lookback'", grid = "ceildiv(segments, GROUPS)", block = "BLOCK",
      early = "EARLY", args = { "n", "segments", "starts", "x", "y" } },
  },

  source = [[
@include "pdl.cuh"
@include "segments.cuh"

@ if ALG == "lookback" then
@ local float = { f32 = "__double_as_longlong(v)", f64 = "__double_as_longlong(v)" }
@ local of_float = { f32 = "__longlong_as_double(v)", f64 = "__longlong_as_double(v)" }
@ if dtype == "f32" and op ~= "sum" then
@   float.f32, of_float.f32 = "__float_as_uint(v)", "__uint_as_float((unsigned)v)"
@ end
@include "ptx.cuh"
@include "ticket.cuh"
__device__ __forceinline__ unsigned long long bits_of(wide v) {
  return @{float[dtype] or WIDE == 4 and "(unsigned)v" or "v"};
}
__device__ __forceinline__ wide of_bits(unsigned long long v) {
  return @{of_float[dtype] or "(wide)v"};
}
@include "tile_state.cuh"

// ---- where segments begin ----------------------------------------------------------------------

// A bit for each of the tile's elements: a segment begins with it.
__device__ __forceinline__ void mark(unsigned (&heads)[TILE / 32], long long tile,
                                     long long segments, const int *starts) {
  __shared__ long long first;
  for (int i = threadIdx.x; i < TILE / 32; i += BLOCK) heads[i] = 0;
  if (threadIdx.x < 32) {
    const long long found = first_from(tile * TILE, segments, starts);
    if (threadIdx.x == 0) first = found;
  }
  __syncthreads();
  for (long long i = first + threadIdx.x; i < segments; i += BLOCK) {
    const long long at = starts[i] - tile * TILE;
    if (at >= TILE) break;
    atomicOr(heads + at / 32, 1u << at % 32);
  }
  __syncthreads();
}

// ---- sums that begin anew ----------------------------------------------------------------------

struct part {  // of numbers in a row
  value sum;   // since the last that a segment begins with
  bool anew;   // there is one
};

__device__ __forceinline__ part operator+(const part &a, const part &b) {
  return {b.anew ? b.sum : combine(a.sum, b.sum), a.anew || b.anew};
}

// The inclusive scan across the first N lanes.
template <int N>
__device__ __forceinline__ part scan_parts(part p) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < N; d *= 2) {
    const part left = {__shfl_up_sync(0xffffffff, p.sum, d),
                       (bool)__shfl_up_sync(0xffffffff, (int)p.anew, d)};
    if (lane >= d) p = left + p;
  }
  return p;
}

// What the block's threads before this one have, and what all have.
__device__ __forceinline__ part before_thread(part p, part *total) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ value sums[WARPS];
  __shared__ bool anew[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const part none = {(value)IDENTITY, false};
  p = scan_parts<32>(p);
  if (lane == 31) {
    sums[warp] = p.sum;
    anew[warp] = p.anew;
  }
  __syncthreads();
  const part all = scan_parts<WARPS>(lane < WARPS ? part{sums[lane], anew[lane]} : none);
  const int from = warp > 0 ? warp - 1 : 0;
  const part ahead = {__shfl_sync(0xffffffff, all.sum, from),
                      (bool)__shfl_sync(0xffffffff, (int)all.anew, from)};
  *total = {__shfl_sync(0xffffffff, all.sum, WARPS - 1),
            (bool)__shfl_sync(0xffffffff, (int)all.anew, WARPS - 1)};
  const part left = {__shfl_up_sync(0xffffffff, p.sum, 1),
                     (bool)__shfl_up_sync(0xffffffff, (int)p.anew, 1)};
  return (warp > 0 ? ahead : none) + (lane > 0 ? left : none);
}

// ---- a tile ------------------------------------------------------------------------------------

// Where an element lies in shared memory: threads that have rows of a power of two use all banks.
__device__ __forceinline__ int place(int i) { return i + i / 32; }

// The sum of the segment that goes on from tiles before, told to all threads; others are told ours.
__device__ __forceinline__ wide before_tile(const tile_states &all, long long tile, const part &total) {
  __shared__ wide found;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) all.publish(tile, tile == 0 || total.anew ? PREFIX : AGGREGATE, total.sum);
    const wide sum = look_back(all, tile);
    if (threadIdx.x == 0) {
      if (tile > 0 && !total.anew) all.publish(tile, PREFIX, combine(sum, (wide)total.sum));
      found = sum;
    }
  }
  __syncthreads();
  return found;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
segmented_scan(long long n, long long segments, const int *__restrict__ starts,
               const stored *__restrict__ x, stored *__restrict__ y, unsigned long long *words,
               unsigned long long *counter) {
  __shared__ stored elements[TILE + TILE / 32];
  __shared__ unsigned heads[TILE / 32];
  unsigned launch;
  const int none = pdl_wait();
  x += none;
  starts += none;
  const long long tile = take_ticket(counter, &launch), begin = tile * TILE;
  const tile_states all = {words, launch};
  stored raw[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = begin + i * BLOCK + threadIdx.x;
    raw[i] = at < n ? x[at] : (stored)IDENTITY;
  }
  mark(heads, tile, segments, starts);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) elements[place(i * BLOCK + threadIdx.x)] = raw[i];
  __syncthreads();
  const int first = threadIdx.x * ITEMS;
  const unsigned anew = heads[first / 32] >> first % 32;
  value v[ITEMS];
  part own = {(value)IDENTITY, false}, total;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    v[i] = (value)elements[place(first + i)];
    own = own + part{v[i], (bool)(anew >> i & 1)};
  }
  part before = before_thread(own, &total);
  const wide carry = before_tile(all, tile, total);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const part with = before + part{v[i], (bool)(anew >> i & 1)};
@ if kind == "inclusive" then
    elements[place(first + i)] =
        (stored)(with.anew ? (wide)with.sum : combine(carry, (wide)with.sum));
@ else
    elements[place(first + i)] = anew >> i & 1 ? (stored)IDENTITY
        : (stored)(before.anew ? (wide)before.sum : combine(carry, (wide)before.sum));
@ end
    before = with;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int k = i * BLOCK + threadIdx.x;
    if (begin + k < n) y[begin + k] = elements[place(k)];
  }
}
@ else
// The inclusive scan across the first N lanes of each group of them.
template <int N>
__device__ __forceinline__ value scan_lanes(value v) {
#pragma unroll
  for (int d = 1; d < N; d *= 2) {
    const value left = __shfl_up_sync(0xffffffff, v, d, N);
    if (threadIdx.x % N >= d) v = combine(left, v);
  }
  return v;
}

// What the segment's threads before this one have, and what all have.
__device__ __forceinline__ value scan_threads(value v, value *total) {
  constexpr int LANES_OF = WIDTH < 32 ? WIDTH : 32;
  v = scan_lanes<LANES_OF>(v);
  const value left = __shfl_up_sync(0xffffffff, v, 1, LANES_OF);
  value before = threadIdx.x % LANES_OF > 0 ? left : (value)IDENTITY;
@ if WIDTH > 32 then
  constexpr int WARPS = WIDTH / 32;
  __shared__ value warps[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // the totals before have been read
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  const value sums = scan_lanes<WARPS>(lane < WARPS ? warps[lane] : (value)IDENTITY);
  const value ahead = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  *total = __shfl_sync(0xffffffff, sums, WARPS - 1);
  return warp > 0 ? combine(ahead, before) : before;
@ else
  *total = __shfl_sync(0xffffffff, v, LANES_OF - 1, LANES_OF);
  return before;
@ end
}

extern "C" __global__ void __launch_bounds__(BLOCK)
segmented_scan(long long n, long long segments, const int *__restrict__ starts,
               const stored *__restrict__ x, stored *__restrict__ y) {
  const int none = pdl_wait();
  x += none;
  starts += none;
  const segment s = segment_of((long long)blockIdx.x * GROUPS + threadIdx.x / WIDTH, n, segments,
                               starts);
  wide sum = (wide)IDENTITY;
  // all of a warp go on until its longest segment ends
  for (long long first = s.begin; __any_sync(0xffffffff, first < s.end); first += WIDTH * ITEMS) {
    const long long at = first + threadIdx.x % WIDTH * ITEMS;
    value v[ITEMS], total;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) v[i] = at + i < s.end ? (value)x[at + i] : (value)IDENTITY;
    value own = v[0];
#pragma unroll
    for (int i = 1; i < ITEMS; i++) own = combine(own, v[i]);
    value local = scan_threads(own, &total);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const value with = combine(local, v[i]);
      if (at + i < s.end) {
        y[at + i] = (stored)combine(sum, (wide)@{kind == "inclusive" and "with" or "local"});
      }
      local = with;
    }
    sum = combine(sum, (wide)total);
  }
}
@ end
]],

  -- A thread per segment; in double or, of integers, exactly (they wrap).
  reference = {
    stages = {
      { kernel = "reference", grid = "ceildiv(segments, 128)", block = 128,
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
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= segments) return;
  const long long begin = i == 0 ? 0 : starts[i], end = i == segments - 1 ? n : starts[i + 1];
  wide sum = (wide)(@{none[op]});
  for (long long at = begin; at < end; at++) {
    const wide with = combine(sum, (wide)x[at]);
    y[at] = (stored)@{kind == "inclusive" and "with" or "sum"};
    sum = with;
  }
}
]],
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
