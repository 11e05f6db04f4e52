-- reduce: n numbers become one: their sum, product, maximum or minimum, or a norm.
--
-- Every block folds its share in registers, then across its threads (FOLD); with CLUSTER > 1 a
-- cluster's blocks bring what they found together in the shared memory of one of them. It meets in
-- one of five ways (FINISH): the last block to arrive folds it, a second launch does, atomics add it
-- up, in the result or (accumulate) in scratch memory from where the last to arrive fetches it, or
-- there is but one cluster. The textbook's kernels are points of this space: its simple and its
-- convergent tree in global memory and its tree in shared memory are values of FOLD, with atomics its
-- segments, with COARSE > 1 its coarsened kernel; with last_block the same bits come out every time.
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

-- For problems that nobody tuned: one launch, and a load of `vec` numbers under way in every thread that
-- a small problem has work for.
local SUGGESTED = {}
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
    { "op", { "sum", "max", "min", "product", "norm1", "norm2" }, default = "sum",
      brief = "of no elements: its identity; whole sums and products wrap, norms are of floats" },
    { "dtype", { "f32", "f64", "i32", "i64", "f16", "bf16" }, default = "f32",
      brief = "type of the elements" },
    { "align", { 8, 4, 2, 1 }, default = "sel(dtype == 'f16' or dtype == 'bf16', 8, 4)",
      brief = "elements that x is aligned to" },
    { "order", { "any", "fixed" }, default = "any",
      brief = "fixed: in every run the same bits, which atomics can't promise of floats" },
  },

  args = {
    { "n", "i64", value = "n" },
    { "x", "dtype", "in", count = "n", fill = { "uniform", bound("-"), bound("+") } },
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
      "across a block: between registers, in shared or in global memory" },
    { "FINISH", { "last_block", "two_launch", "atomic", "accumulate", "cluster" },
      "across blocks" },
    { "CLUSTER", { 1, 2, 4, 8, 16 }, "blocks whose results meet in shared memory first" },
  },

  derive = {
    { "NBYTES", NBYTES },
    { "STEP", "BLOCK * COARSE" }, -- vectors a block takes at a time
    { "EARLY", "dev_cc >= 90" }, -- starts while the kernel ahead ends
  },

  require = {
    { "norms are of floats", "not " .. WHOLE .. " or op ~= 'norm1' and op ~= 'norm2'" },
    { "more threads than a block may have", "BLOCK <= dev_threads_block" },
    { "more threads than a multiprocessor has", "BLOCK * BLOCKS <= dev_threads_sm or BLOCKS == 1" },
    { "vectors wider than the alignment", "VEC <= align" },
    { "vectors of more than 16 bytes", "VEC * NBYTES <= 16" },
    { "loads under way exceed the registers",
      "COARSE * VEC * NBYTES <= 256 and COARSE * VEC <= 64" },
    { "atomics are for sums of 4 or 8 bytes", "FINISH ~= 'atomic' or " .. ADDS .. " and NBYTES > 2" },
    { "only sums can be accumulated", "FINISH ~= 'accumulate' or " .. ADDS .. " or op == 'norm2'" },
    { "atomics add up in any order",
      "FINISH ~= 'atomic' and FINISH ~= 'accumulate' or order == 'any' or " .. WHOLE },
    { "clusters are of compute capability 9.0", "CLUSTER == 1 or dev_cc >= 90" },
    { "a cluster has more blocks than the problem",
      "CLUSTER == 1 or n > (CLUSTER // 2) * STEP * VEC" },
    { "one cluster is at least two blocks, and one a multiprocessor",
      "FINISH ~= 'cluster' or CLUSTER > 1 and BLOCKS == 1" },
    { "one cluster for so much would leave the others idle",
      "FINISH ~= 'cluster' or n <= 8 * CLUSTER * STEP * VEC" },
    { "so many loads would hide what a tree in global memory costs",
      "FOLD == 'shuffle' or FOLD == 'shared' or COARSE * VEC <= 4" },
  },

  default = { BLOCK = 256, BLOCKS = 4, VEC = 1, COARSE = 4, LOAD = "plain",
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

  source = [[
@ local half = dtype == "f16" or dtype == "bf16"
@ local whole = dtype == "i32" or dtype == "i64"
@ local adds = op == "sum" or op == "norm1"
@ local stored = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long",
@   f16 = "unsigned short", bf16 = "unsigned short" }
@ local close = { f32 = "float", f64 = "double", f16 = "float", bf16 = "float",
@   i32 = "int", i64 = "long long" }
@ local step = close[dtype]
@ if whole and (adds or op == "product") then step = "unsigned " .. step end  -- it wraps
@ if not whole and (op == "product" or op == "norm2") then step = "double" end
@ local wide = step
@ if not whole and op ~= "max" and op ~= "min" then wide = "double" end
@ local most = { f32 = "__int_as_float(0x7f800000)", f64 = "__longlong_as_double(0x7ffll << 52)",
@   i32 = "2147483647", i64 = "9223372036854775807ll", f16 = "0x7c00", bf16 = "0x7f80" }
@ local least = half and most[dtype] .. " | 0x8000" or whole and "-" .. most[dtype] .. " - 1"
@   or "-" .. most[dtype]
@ local one = dtype == "f16" and "0x3c00" or dtype == "bf16" and "0x3f80" or "1"
@ local identity = op == "max" and least or op == "min" and most[dtype] or op == "product" and one
@   or "0"
@include "ahead.cuh"
@include "arrive.cuh"
@include "words.cuh"
@ if CLUSTER > 1 then
@include "cluster.cuh"
@ end
@ if dtype == "f16" then
@include "ptx.cuh"
@ elseif dtype == "bf16" then
@include "bfloat.cuh"
@ end

using stored = @{stored[dtype]};  // in memory
using value = @{step};  // of a thread's step
using wide = @{wide};  // to accumulate in

#define IDENTITY ((stored)(@{identity}))
@ if dtype == "f16" then
__device__ __forceinline__ value widen(stored v) { return half_to_float(v); }
__device__ __forceinline__ stored narrow(wide v) { return float_to_half((float)v); }
@ elseif dtype == "bf16" then
__device__ __forceinline__ value widen(stored v) { return bfloat_to_float(v); }
__device__ __forceinline__ stored narrow(wide v) { return float_to_bfloat((float)v); }
@ else
__device__ __forceinline__ value widen(stored v) { return (value)v; }
__device__ __forceinline__ stored narrow(wide v) { return (stored)v; }
@ end

// What of a number is combined, how, and what the result of it is.
@ if op == "norm1" then
__device__ __forceinline__ value take(stored v) { return fabs(widen(v)); }
@ elseif op == "norm2" then
__device__ __forceinline__ value take(stored v) { return widen(v) * widen(v); }
@ else
__device__ __forceinline__ value take(stored v) { return widen(v); }
@ end
template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
@ local combined = { sum = "a + b", norm1 = "a + b", norm2 = "a + b", product = "a * b",
@   max = "a > b ? a : b", min = "a < b ? a : b" }
  return @{combined[op]};
}
__device__ __forceinline__ stored result(wide v) {
  return narrow(@{op == "norm2" and "sqrt(v)" or "v"});
}
__device__ __forceinline__ wide identity() { return (wide)take(IDENTITY); }

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Of all the block's threads; thread 0 has the result.
__device__ __forceinline__ wide fold_block(wide v, wide *trees) {
@ if FOLD == "shuffle" then
  __shared__ wide warps[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < BLOCK / 32 ? warps[lane] : identity();
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  }
@ else
@   if FOLD == "shared" then
  __shared__ wide all[BLOCK];
@   else
  wide *const all = trees + (long long)blockIdx.x * BLOCK;
@   end
  all[threadIdx.x] = v;
@   if FOLD == "simple" then
#pragma unroll 1
  for (int d = 1; d < BLOCK; d *= 2) {  // ever fewer threads of ever more warps
    __syncthreads();
    if (threadIdx.x % (2 * d) == 0) all[threadIdx.x] = v = combine(v, all[threadIdx.x + d]);
  }
@   else
#pragma unroll
  for (int d = BLOCK / 2; d > 0; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) all[threadIdx.x] = v = combine(v, all[threadIdx.x + d]);
  }
@   end
@ end
  return v;
}

// Of this block's share of x: steps of STEP vectors, as far apart as there are blocks.
__device__ __forceinline__ wide fold_share(long long n, const stored *x) {
  const vector *from = reinterpret_cast<const vector *>(x);
  const long long vectors = n / VEC;
  wide sum = identity();
  for (long long i = (long long)blockIdx.x * STEP + threadIdx.x; i < vectors;
       i += (long long)gridDim.x * STEP) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (i + c * BLOCK < vectors) {
        v[c] = load_@{LOAD}(from + i + c * BLOCK);
      } else {
#pragma unroll
        for (int e = 0; e < VEC; e++) v[c].e[e] = IDENTITY;
      }
    }
    value step = take(IDENTITY);
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) step = combine(step, take(v[c].e[e]));
    }
    sum = combine(sum, (wide)step);
  }
  const long long rest = vectors * VEC + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) sum = combine(sum, (wide)take(x[rest]));
  return sum;
}

@ if CLUSTER > 1 then
// Of a cluster's blocks; thread 0 of the first has the result, the other blocks are done.
__device__ __forceinline__ wide fold_cluster(wide v) {
  __shared__ wide mates[CLUSTER];
  cluster_wait();  // until all have started
  if (threadIdx.x == 0) in_block(mates, 0)[blockIdx.x % CLUSTER] = v;
  cluster_barrier();
  if (blockIdx.x % CLUSTER > 0) return v;
  v = threadIdx.x < CLUSTER ? mates[threadIdx.x] : identity();
#pragma unroll
  for (int d = CLUSTER / 2; d > 0; d /= 2) v = combine(v, __shfl_down_sync(0xffffffff, v, d));
  return v;
}

@ end
@ if FINISH == "last_block" or FINISH == "two_launch" then
// Of the results of all blocks, by one block.
__device__ __forceinline__ void finish(int blocks, const wide *partial, stored *y, wide *trees) {
  wide sum = identity();
  for (int i = threadIdx.x; i < blocks; i += BLOCK) sum = combine(sum, partial[i]);
  __syncthreads();  // fold_block's memory may be in use still
  sum = fold_block(sum, trees);
  if (threadIdx.x == 0) *y = result(sum);
}

@ end
@ if FINISH == "accumulate" then
// By thread 0 of every block: the last finds the whole sum, and leaves zero for the next launch.
__device__ __forceinline__ void accumulate(wide sum, wide *total, unsigned *arrived, unsigned blocks,
                                           stored *y) {
  atomicAdd(total, sum);
  __threadfence();
  if (atomicInc(arrived, blocks - 1) < blocks - 1) return;
  __threadfence();
  *y = result(__ldcg(total));
  *total = 0;
}

@ end
@ local clusters = CLUSTER > 1 and " __cluster_dims__(CLUSTER, 1, 1)" or ""
extern "C" __global__ void@{clusters} __launch_bounds__(BLOCK)
reduce(long long n, const stored *x, stored *y, wide *partial, unsigned *arrived, wide *trees) {
  x += wait_for_ahead();
@ if CLUSTER > 1 then
  cluster_arrive();
  const wide sum = fold_cluster(fold_block(fold_share(n, x), trees));
  if (blockIdx.x % CLUSTER > 0) return;
@ else
  const wide sum = fold_block(fold_share(n, x), trees);
@ end
@ if FINISH == "atomic" then
  using added = @{dtype == "i64" and "unsigned long long" or stored[dtype]};
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<added *>(y), (added)sum);
@ elseif FINISH == "accumulate" then
  if (threadIdx.x == 0) accumulate(sum, partial, arrived, gridDim.x / CLUSTER, y);
@ elseif FINISH == "cluster" then
  if (threadIdx.x == 0) *y = result(sum);
@ else
  if (threadIdx.x == 0) partial[blockIdx.x / CLUSTER] = sum;
@ end
@ if FINISH == "last_block" then
  if (last_to_arrive(arrived, gridDim.x / CLUSTER)) finish(gridDim.x / CLUSTER, partial, y, trees);
@ end
}
@ if FINISH == "two_launch" then

extern "C" __global__ void __launch_bounds__(BLOCK)
reduce_finish(int blocks, const wide *partial, stored *y, wide *trees) {
  finish(blocks, partial, y, trees);
}
@ end
]],

  -- One output element: one block, each thread every 1024th element, then thread 0 the 1024
  -- results; in double or, of integers, exactly (they wrap).
  reference = {
    stages = {
      { kernel = "reference", grid = 1, block = 1024, args = { "n", "x", "y" } },
    },
    source = [[
@ local stored = { f32 = "float", f64 = "double", i32 = "int", i64 = "long long",
@   f16 = "unsigned short", bf16 = "unsigned short" }
@ local whole = dtype == "i32" or dtype == "i64"
@ local wide = not whole and "double" or (op == "max" or op == "min") and "long long"
@   or "unsigned long long"
@ local most = dtype == "i32" and "2147483647" or dtype == "i64" and "9223372036854775807ll"
@   or "__longlong_as_double(0x7ffll << 52)"
@ local least = whole and "-" .. most .. " - 1" or "-" .. most
@ local identity = { max = least, min = most, product = "1" }
@ local combine = { product = "a * b", max = "a > b ? a : b", min = "a < b ? a : b" }
@ local take = { norm1 = "fabs(v)", norm2 = "v * v" }
@ local to_wide = { f16 = "half_to_float(v)", bf16 = "bfloat_to_float(v)" }
@ local from_wide = { f16 = "float_to_half((float)v)", bf16 = "float_to_bfloat((float)v)" }
@include "ptx.cuh"
@include "bfloat.cuh"
using stored = @{stored[dtype]};
using wide = @{wide};

__device__ wide combine(wide a, wide b) { return @{combine[op] or "a + b"}; }
__device__ wide take(wide v) { return @{take[op] or "v"}; }
__device__ wide widen(stored v) { return (wide)@{to_wide[dtype] or "v"}; }
__device__ stored narrow(wide v) { return @{from_wide[dtype] or "(stored)v"}; }

extern "C" __global__ void reference(long long n, const stored *x, stored *y) {
  __shared__ wide all[1024];
  wide v = (wide)(@{identity[op] or "0"});
  for (long long i = threadIdx.x; i < n; i += 1024) v = combine(v, take(widen(x[i])));
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 1024; i++) v = combine(v, all[i]);
  *y = narrow(@{op == "norm2" and "sqrt(v)" or "v"});
}
]],
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
  -- deviations. rel is all this, and the last rounding.
  tolerance = {
    abs = "sel(op ~= 'sum' or " .. EXACT .. ", 0, sel(dtype == 'f64', 2.0^-36, 2.0^-13) * "
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
      "n=1000001 op=product", "n=65537 op=norm2 dtype=f64", "n=2^20 op=norm1 order=fixed",
      "n=100003 dtype=f16 op=norm2", "n=3000000 dtype=bf16", "n=777777 dtype=f16 op=min",
      "n=0 op=product dtype=i32" },
    bench = { "n=2^16", "n=2^20", "n=2^24", "n=2^27", "n=2^28 dtype=f16", "n=2^26 dtype=i64" },
  },
}
