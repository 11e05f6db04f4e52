// histogram_cluster.cu -- the PARTS blocks of a cluster share one set of counters: bin b is in the shared memory
// of block b % PARTS.
#include "cluster.cuh"

#include "histogram_copies.cuh"
#include "histogram_samples.cuh"

extern __shared__ unsigned words[];  // SHARE counters

struct cluster_counters {
  static constexpr int NO_BIN = -1;

  __device__ static int own(int bin) { return bin; }
  __device__ static bool counts(int bin) { return bin >= 0; }
  __device__ static void add(int bin, unsigned by) {
    add_in_block(words + bin / PARTS, bin % PARTS, by);
  }
  __device__ static bool full() { return false; }
  __device__ static void flush() {}
};

__device__ __forceinline__ void clear() {
  for (int i = threadIdx.x; i < SHARE; i += BLOCK) words[i] = 0;
  cluster_barrier();  // the other blocks' counters are zero too
}

// To global memory.
__device__ __forceinline__ void commit(unsigned *y, unsigned *partial) {
  const int first = blockIdx.x % PARTS, copy = blockIdx.x / PARTS;
  cluster_barrier();
  for (int i = threadIdx.x; i < SHARE && first + i * PARTS < BINS; i += BLOCK) {
    const unsigned sum = words[i];
    const int bin = first + i * PARTS;
    if constexpr (FINISH == FINISH_atomic) {
      if (sum > 0) atomicAdd(y + bin, sum);
    } else {
      partial[(long long)copy * BINS + bin] = sum;
    }
  }
}

extern "C" __global__ void __cluster_dims__(PARTS, 1, 1) __launch_bounds__(BLOCK)
    histogram(long long n, const sample *__restrict__ x, unsigned *y, int copies,
              unsigned *partial) {
  const samples all = {n, x};
  cluster_counters counters;
  clear();
  count_samples(all, counters);
  commit(y, partial);
}
