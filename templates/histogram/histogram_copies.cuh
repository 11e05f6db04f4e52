// histogram_copies.cuh -- the sum of several copies of the counters in global memory.
#pragma once
#include "words.cuh"

// 32 bins from `first` on, by the whole block: a lane for each bin.
template <int THREADS>
__device__ __forceinline__ void sum_copies(int copies, const unsigned *partial, unsigned *y,
                                           int first, int end) {
  constexpr int WARPS = THREADS / 32;
  __shared__ unsigned sums[WARPS][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, bin = first + lane;
  unsigned sum = 0;
  for (int c = warp; c < copies && bin < end; c += WARPS) {
    sum += load_second(partial + (long long)c * BINS + bin);
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp == 0 && bin < end) {
#pragma unroll
    for (int w = 1; w < WARPS; w++) sum += sums[w][lane];
    y[bin] = sum;
  }
}

@ if FINISH == "two_launch" then
extern "C" __global__ void __launch_bounds__(1024)
histogram_finish(int copies, const unsigned *partial, unsigned *y) {
  sum_copies<1024>(copies, partial, y, blockIdx.x * 32, BINS);
}
@ end
