-- partition.lua -- numbers below a pivot before the others, each part in any order. Atomics decide where
-- a number goes, so no single result is right: kernels of the template judge it.
--
--   autotune ./partition.lua n=1000000

return {
  name = "partition", version = 1, brief = "numbers below a pivot before the others, in any order",
  cite = "Hoare, Quicksort, 1962",
  problem = { { "n", 0, 2^30, default = 2^20 } },
  args = {
    { "n", "i32", value = "n" }, { "pivot", "f32", sample = 0.25 },
    { "x", "f32", "in", count = "n", fill = { "uniform", 0, 1 } },
    { "y", "f32", "out", count = "n" },
    { "below", "u32", "out", count = 1, brief = "how many are" },
  },
  workspace = { { "taken", "u32", 2 } },
  space = {
    { "BLOCK", { 128, 256, 512 } },
    { "COARSE", { 1, 2, 4, 8 }, "coarsening factor: numbers per thread" },
    { "PLACES", { "thread", "warp" }, "which take their places with one atomic operation" },
  },
  default = { BLOCK = 256, COARSE = 4, PLACES = "warp" },
  cases = { {}, { pivot = 0 }, { pivot = 2 } },
  stages = {
    { memset = "taken", value = 0 },
    { kernel = "partition", grid = "ceildiv(n, BLOCK * COARSE)", block = "BLOCK",
      args = { "n", "pivot", "x", "y", "taken" } },
    { copy = "below", from = "taken", nbytes = 4 },
  },
  source = [[
__device__ unsigned take(unsigned *taken, bool wanted) {
  if constexpr (PLACES == PLACES_thread) return wanted ? atomicAdd(taken, 1u) : 0;
  const unsigned mask = __ballot_sync(~0u, wanted), lane = threadIdx.x % 32;
  unsigned first = 0;
  if (lane == 0 && mask) first = atomicAdd(taken, __popc(mask));
  return __shfl_sync(~0u, first, 0) + __popc(mask & ((1u << lane) - 1));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
partition(int n, float pivot, const float *x, float *y, unsigned *taken) {
#pragma unroll
  for (int c = 0; c < COARSE; c++) {
    const int i = (blockIdx.x * COARSE + c) * BLOCK + threadIdx.x;
    const float v = i < n ? x[i] : 0;
    const bool below = i < n && v < pivot, rest = i < n && !(v < pivot);
    const unsigned front = take(&taken[0], below), back = take(&taken[1], rest);
    if (below) y[front] = v;
    if (rest) y[n - 1 - back] = v;
  }
}
]],
  reference = {
    stages = {
      { memset = "below", nbytes = 4 },
      { kernel = "count", grid = "ceildiv(n, 256)", block = 256, args = { "n", "pivot", "x", "below" } },
    },
    source = [[
extern "C" __global__ void count(int n, float pivot, const float *x, unsigned *below) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && x[i] < pivot) atomicAdd(below, 1u);
}

__device__ void report(unsigned long long *wrong, int i) {
  atomicAdd(&wrong[0], 1ull);
  atomicMin(&wrong[1], (unsigned long long)i);
}

extern "C" __global__ void is_partitioned(int n, float pivot, const float *y, const unsigned *below,
                                          unsigned long long *wrong) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && (i < *below) != (y[i] < pivot)) report(wrong, i);
}

__device__ unsigned long long mixed(unsigned z) {
  unsigned long long m = (z + 1) * 0x9e3779b97f4a7c15ull;
  m = (m ^ m >> 32) * 0xd6e8feb86659fd93ull;
  return m ^ m >> 32;
}

extern "C" __global__ void add_up(int n, const float *x, const float *y, unsigned long long *hashes) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) {
    atomicAdd(&hashes[0], mixed(__float_as_uint(x[i])));
    atomicAdd(&hashes[1], mixed(__float_as_uint(y[i])));
  }
}

extern "C" __global__ void differ(const unsigned long long *hashes, unsigned long long *wrong) {
  wrong[0] = hashes[0] != hashes[1];
}
]] },
  checks = {
    { "partitioned", of = "y", kernel = "is_partitioned", grid = "ceildiv(n, 256)", block = 256,
      args = { "n", "pivot", "y", "below", "wrong" } },
    { "permutation", of = "y", workspace = { { "hashes", "u64", 2 } }, stages = {
      { kernel = "add_up", grid = "ceildiv(n, 256)", block = 256, args = { "n", "x", "y", "hashes" } },
      { kernel = "differ", grid = 1, block = 1, args = { "hashes", "wrong" } } } },
  },
  tolerance = { abs = 0, rel = 0 },
  flops = "n", bytes = "8 * n",
  sizes = { emu = { "n=5000" }, test = { "n=0", "n=1", "n=1001" }, bench = { "n=2^24" } },
}
