// vector_add_bulk.cu -- c = a + b by tiles of TILE elements, which bulk copies bring to shared memory, STAGES tiles
// ahead of the one that is added. A block takes every gridDim.x-th tile.
#include "vector_sum.cuh"
#include "ptx90.cuh"
#include "bulk.cuh"
#include "pdl.cuh"

extern __shared__ __align__(128) unsigned char memory[];

struct tiles {
  vector a[STAGES][TILE / VEC], b[STAGES][TILE / VEC];
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    vector_add(long long n, const stored *a, const stored *b, stored *c) {
  __shared__ unsigned long long barriers[STAGES];
  tiles &in = *reinterpret_cast<tiles *>(memory);
  const auto shared = [](const void *p) { return (unsigned)__cvta_generic_to_shared(p); };
  const long long count = n / TILE;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int s = 0; s < STAGES; s++) mbarrier_init(shared(&barriers[s]), 1);
    fence_mbarrier_init();
  }
  const int zero = pdl_wait();
  a += zero, b += zero;
  const auto fetch = [&](long long tile, int s) {
    const unsigned barrier = shared(&barriers[s]);
    mbarrier_arrive_expect(barrier, (int)(2 * sizeof in.a[0]));
    bulk_load(shared(in.a[s]), a + tile * TILE, sizeof in.a[0], barrier);
    bulk_load(shared(in.b[s]), b + tile * TILE, sizeof in.b[0], barrier);
  };
  long long tile = blockIdx.x;
  if (threadIdx.x == 0) {
#pragma unroll
    for (int s = 0; s < STAGES; s++) {
      if (tile + (long long)s * gridDim.x < count) fetch(tile + (long long)s * gridDim.x, s);
    }
  }
  // Elements behind the last tile.
  if (blockIdx.x == gridDim.x - 1) {
    for (long long i = count * TILE + threadIdx.x; i < n; i += BLOCK) c[i] = sum(a[i], b[i]);
  }
  __syncthreads();
  int s = 0, parity = 0;
#pragma unroll 1
  for (; tile < count; tile += gridDim.x) {
    mbarrier_wait(shared(&barriers[s]), parity);
    vector v[COARSE];
#pragma unroll
    for (int i = 0; i < COARSE; i++) {
      v[i] = sum(in.a[s][i * BLOCK + threadIdx.x], in.b[s][i * BLOCK + threadIdx.x]);
    }
    __syncthreads();
    const long long next = tile + (long long)STAGES * gridDim.x;
    if (threadIdx.x == 0 && next < count) fetch(next, s);
    vector *to = reinterpret_cast<vector *>(c + tile * TILE) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < COARSE; i++) store(to + i * BLOCK, v[i]);
    if (++s == STAGES) s = 0, parity ^= 1;
  }
}
