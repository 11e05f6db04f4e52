// rank_sort.cu -- very few keys: every block loads all keys, counts for KEYS_PER_BLOCK of them how many come before
// each, and stores them at these places.
#include "pdl.cuh"

#include "rank_count.cuh"

extern "C" __global__ void __launch_bounds__(SORT_BLOCK)
    rank_sort(long long n_keys, const key *x, const value *xv, key *y, value *yv) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ unsigned ranks[KEYS_PER_BLOCK];
  key *const keys = reinterpret_cast<key *>(memory);
  const int n = (int)n_keys, whole = n / 4 * 4;
  if (threadIdx.x < KEYS_PER_BLOCK) ranks[threadIdx.x] = 0;
  x += pdl_wait();
  key k[SORT_ITEMS];
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) {
    const int at = i * SORT_BLOCK + threadIdx.x;
    k[i] = at < n ? x[at] : key();
  }
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) keys[i * SORT_BLOCK + threadIdx.x] = k[i];
  __syncthreads();
  const int own = blockIdx.x * KEYS_PER_BLOCK + threadIdx.x % KEYS_PER_BLOCK;
  const part_of part(whole, SORT_BLOCK / KEYS_PER_BLOCK, threadIdx.x / KEYS_PER_BLOCK);
  if (own < n) {
    unsigned before_it =
        part.from < part.end ? count_before<RUN>(keys, own, part.from, part.end) : 0;
    if (threadIdx.x < KEYS_PER_BLOCK) {
      for (int i = whole; i < n; i++) {
        before_it += i < own ? !before(keys[own], keys[i]) : before(keys[i], keys[own]);
      }
    }
    atomicAdd(ranks + threadIdx.x % KEYS_PER_BLOCK, before_it);
  }
  __syncthreads();
  if (threadIdx.x < KEYS_PER_BLOCK && own < n) {
    const unsigned to = ranks[threadIdx.x];
    y[to] = keys[own];
    if constexpr (VALUE > 0) yv[to] = xv[own];
  }
}
