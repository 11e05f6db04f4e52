// histogram_private.cu -- several copies of the counters in global memory, added up in the end.
#include "last_block.cuh"

#include "histogram_copies.cuh"
#include "histogram_global.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    histogram(long long n, const sample *__restrict__ x, unsigned *y, int copies, unsigned *partial,
              unsigned *arrived) {
  const samples all = {n, x};
  global_counters counters = {partial + (long long)(blockIdx.x % copies) * BINS};
  count_samples(all, counters);
  if constexpr (FINISH == FINISH_last_block) {
    if (is_last_block(arrived, gridDim.x)) {
      for (int first = 0; first < BINS; first += 32) {
        sum_copies<BLOCK>(copies, partial, y, first, BINS);
        __syncthreads();
      }
    }
  }
}
