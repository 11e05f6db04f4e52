-- reduce: the sum, the largest or the smallest of n numbers.
--
-- Every block folds its share in registers, then across its threads. What the blocks found meets
-- in one of three ways (FINISH): the last block to arrive folds it, a second launch does, or
-- atomics add it up. Sums of f32 are kept in f64 except within one step of a thread, so that a
-- billion numbers add up as exactly as a thousand.

local GRID = "max(1, min(BLOCKS * dev_sms, ceildiv(n, STEP * VEC)))" -- blocks

return {
  name = "reduce",
  version = 1,
  brief = "sum, maximum or minimum of n numbers",
  cite = "Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 10; "
    .. "Harris, Optimizing parallel reduction in CUDA",

  problem = {
    { "n", 0, 2^36, default = 2^24, brief = "elements" },
    { "op", { "sum", "max", "min" }, default = "sum", brief = "of no elements: its identity" },
    { "dtype", { "f32", "f64", "i32" }, default = "f32", brief = "type of the elements" },
    { "align", { 4, 2, 1 }, default = 4, brief = "elements that x is aligned to" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", -8, 8 } },
    { "y", "dtype", "out", count = 1 },
  },

  call = { "op", "dtype", "n", "x", "y", align = "pow2div(x // sel(dtype == 'f64', 8, 4), 4)" },

  space = {
    { "BLOCK", { 64, 128, 256, 512, 1024 }, "threads per block" },
    { "BLOCKS", { 1, 2, 4, 8, 16, 32 }, "blocks per multiprocessor at most" },
    { "VEC", { 1, 2, 4 }, "elements per load" },
    { "COARSE", { 1, 2, 4, 8, 16 }, "coarsening factor: loads under way per thread" },
    { "FOLD", { "shuffle", "shared" }, "across a block: between registers, or in shared memory" },
    { "FINISH", { "last_block", "two_launch", "atomic" }, "across blocks" },
  },

  derive = {
    { "NBYTES", "sel(dtype == 'f64', 8, 4)" },
    { "STEP", "BLOCK * COARSE" }, -- vectors a block takes at a time
  },

  require = {
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "more threads than a multiprocessor has", "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "loads under way exceed the registers", "COARSE * VEC * NBYTES <= 256" },
    { "atomics are for sums", "FINISH ~= 'atomic' or op == 'sum'" },
  },

  default = { BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 4, FOLD = "shuffle",
    FINISH = "two_launch" },

  workspace = {
    { "partial", "f64", "sel(FINISH == 'atomic', 0, BLOCKS * dev_sms)" }, -- one result per block
    { "arrived", "u32", "sel(FINISH == 'last_block', 1, 0)" },
  },

  stages = {
    { memset = "y", value = 0, nbytes = "NBYTES", when = "FINISH == 'atomic'" },
    { kernel = "reduce", grid = GRID, block = "BLOCK",
      args = { "n", "x", "y", "partial", "arrived" } },
    { kernel = "reduce_finish", when = "FINISH == 'two_launch'", grid = 1, block = "BLOCK",
      args = { { "i32", GRID }, "partial", "y" } },
  },

  source = [[
@ local types = { f32 = "float", f64 = "double", i32 = "int" }
@ local most = { f32 = "__int_as_float(0x7f800000)", f64 = "__longlong_as_double(0x7ffll << 52)",
@   i32 = "2147483647" }
@ local least = dtype == "i32" and "-2147483647 - 1" or "-" .. most[dtype]
@include "arrive.cuh"

using value = @{types[dtype]};
using wide = @{dtype == "f32" and op == "sum" and "double" or types[dtype]};  // to accumulate in

@ if op == "sum" then
#define IDENTITY 0
template <typename T>
__device__ __forceinline__ T combine(T a, T b) { return a + b; }
@ elseif op == "max" then
#define IDENTITY (@{least})
template <typename T>
__device__ __forceinline__ T combine(T a, T b) { return a > b ? a : b; }
@ else
#define IDENTITY (@{most[dtype]})
template <typename T>
__device__ __forceinline__ T combine(T a, T b) { return a < b ? a : b; }
@ end

struct alignas(VEC * sizeof(value)) vector {
  value e[VEC];
};

// Of all the block's threads; thread 0 has the result.
__device__ __forceinline__ wide fold_block(wide v) {
@ if FOLD == "shuffle" then
  __shared__ wide warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < BLOCK / 32 ? warps[lane] : (wide)IDENTITY;
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  }
@ else
  __shared__ wide all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) all[threadIdx.x] = v = combine(v, all[threadIdx.x + d]);
  }
@ end
  return v;
}

// Of this block's share of x: steps of STEP vectors, as far apart as there are blocks.
__device__ __forceinline__ wide fold_share(long long n, const value *x) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
  wide sum = IDENTITY;
  for (long long i = (long long)blockIdx.x * STEP + threadIdx.x; i < vectors;
       i += (long long)gridDim.x * STEP) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (i + c * BLOCK < vectors) {
        v[c] = from[i + c * BLOCK];
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) v[c].e[e] = IDENTITY;
      }
    }
    value step = IDENTITY;
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) step = combine(step, v[c].e[e]);
    }
    sum = combine(sum, (wide)step);
  }
  const long long rest = vectors * VEC + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) sum = combine(sum, (wide)x[rest]);
  return sum;
}

@ if FINISH ~= "atomic" then
// Of the results of all blocks, by one block.
__device__ __forceinline__ void finish(int blocks, const wide *partial, value *y) {
  wide sum = IDENTITY;
  for (int i = threadIdx.x; i < blocks; i += BLOCK) sum = combine(sum, partial[i]);
  __syncthreads();  // fold_block's memory may be in use still
  sum = fold_block(sum);
  if (threadIdx.x == 0) *y = (value)sum;
}

@ end
extern "C" __global__ void __launch_bounds__(BLOCK)
reduce(long long n, const value *x, value *y, wide *partial, unsigned *arrived) {
  const wide sum = fold_block(fold_share(n, x));
@ if FINISH == "atomic" then
  if (threadIdx.x == 0) atomicAdd(y, (value)sum);
@ else
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
@ end
@ if FINISH == "last_block" then
  if (last_to_arrive(arrived, gridDim.x)) finish(gridDim.x, partial, y);
@ end
}
@ if FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_finish(int blocks, const wide *partial, value *y) {
  finish(blocks, partial, y);
}
@ end
]],

  -- One output element: one block, each thread every 1024th element, then thread 0 the 1024
  -- results; sums in double or, of integers, exactly (they wrap).
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "y" } },
    },
    source = [[
@ local types = { f32 = "float", f64 = "double", i32 = "int" }
@ local wide = dtype == "i32" and "int" or "double"
@ local most = dtype == "i32" and "2147483647" or "__longlong_as_double(0x7ffll << 52)"
@ local least = dtype == "i32" and "-2147483647 - 1" or "-" .. most
@ local identity = op == "sum" and "0" or op == "max" and least or most
@ local combine = { sum = "a + b", max = "a > b ? a : b", min = "a < b ? a : b" }
__device__ @{wide} combine(@{wide} a, @{wide} b) { return @{combine[op]}; }

extern "C" __global__ void reference(long long n, const @{types[dtype]} *x, @{types[dtype]} *y) {
  __shared__ @{wide} all[1024];
  @{wide} v = @{identity};
  for (long long i = threadIdx.x; i < n; i += 1024) v = combine(v, x[i]);
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 1024; i++) v = combine(v, all[i]);
  *y = (@{types[dtype]})v;
}
]],
  },

  cases = { {} },

  -- Maxima, minima and integers are exact. A sum's error is that of its chains of additions: with
  -- numbers uniform in [-8, 8], of standard deviation s = 4.6, chains of L additions leave an error
  -- of standard deviation u s sqrt(n L / 6), since roundings are independent of sign and the sums
  -- along a chain a random walk; the chains of the levels (thread, block, grid) add up their L.
  -- f32, u = 2^-24: at most 64 in a step (the rest is f64), and as many as there are blocks, 2^13,
  -- when atomics add them up: eight standard deviations are 1360 u sqrt(n), below 2^-13 sqrt(n).
  -- f64, u = 2^-53: n / 2^6 a thread at worst, the same for n <= 2^31 with L = 2^25: 2^-36 sqrt(n).
  -- The largest n that the tests use, 2^24, has a tolerance of 0.5 among numbers as large as 8.
  tolerance = {
    abs = "sel(op ~= 'sum' or dtype == 'i32', 0, sel(dtype == 'f64', 2.0^-36, 2.0^-13) * n^0.5)",
    rel = "sel(op ~= 'sum' or dtype == 'i32', 0, 2.0^-23)",
  },

  flops = "n",
  bytes = "n * sel(dtype == 'f64', 8, 4)",

  sizes = {
    emu = { "n=1000", "n=5003 op=max", "n=777 dtype=f64", "n=4096 dtype=i32 op=min" },
    test = { "n=0", "n=0 op=max", "n=1", "n=31", "n=65537", "n=1000003",
      "n=1000000 op=min dtype=i32", "n=100001 dtype=f64", "n=2^24" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^27" },
  },
}
