// sample_bounds.cuh -- a sample of the keys, ranked by counting, gives the bounds of ranges.
#pragma once
#include "sample_layout.cuh"

// The place of the j-th sample: one of each of SAMPLES equal stretches, at a pseudo-random place in it, since keys may
// be periodic. Of fewer keys, all are samples, the last one several times.
__device__ __forceinline__ unsigned sample_place(unsigned j, unsigned n) {
  if (n <= SAMPLES) return min(j, n - 1);
  const unsigned first = (unsigned)((unsigned long long)j * n / SAMPLES);
  const unsigned end = (unsigned)((j + 1ull) * n / SAMPLES);
  return first + __umulhi((j + 1) * 2654435761u, end - first);  // Knuth's multiplicative hash
}

// The first range that does not start before this place in the sorted sample; and where a range starts.
__device__ __forceinline__ unsigned range_from(unsigned rank) {
  return (rank * RANGES + SAMPLES - 1) / SAMPLES;
}
__device__ __forceinline__ unsigned start_of(unsigned range) { return range * SAMPLES / RANGES; }

constexpr int FETCHES = (SAMPLES + SORT_BLOCK - 1) / SORT_BLOCK;

__device__ __forceinline__ void fetch_sample(key (&fetched)[FETCHES], unsigned n, const key *x) {
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    fetched[i] = j < SAMPLES ? x[sample_place(j, n)] : key();
  }
}

// Finds the bounds of the cluster's ranges. The first and the last of all ranges have none at their outer ends.
__device__ __forceinline__ void rank_sample(const key (&fetched)[FETCHES], unsigned n) {
  key *const sample = shared_at<key>(SAMPLE_AT);
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    if (j < SAMPLES) sample[j] = fetched[i];
  }
  __syncthreads();
  constexpr int PARTS = SORT_BLOCK / EACH;
  const int own = threadIdx.x % EACH;
  const part_of part(SAMPLES, PARTS, threadIdx.x / EACH);
  if (part.from < part.end) {
    const int place = block_rank() * EACH + own;
    atomicAdd(ranks + own, count_before<SAMPLES / PARTS>(sample, place, part.from, part.end));
  }
  arrive_at_cluster();
  wait_for_cluster();
#pragma unroll
  for (int i = 0; i < FETCHES; i++) {
    const int j = i * SORT_BLOCK + threadIdx.x;
    if (j < SAMPLES) {
      const unsigned rank = *of_block(ranks + j % EACH, j / EACH);
      const unsigned range = range_from(rank), nth = range - cluster() * CLUSTER;
      if (nth < BOUNDS && start_of(range) == rank) {
        bounds().keys[nth] = fetched[i];
        bounds().numbers[nth] = sample_place(j, n);
      }
    }
  }
  __syncthreads();
}
