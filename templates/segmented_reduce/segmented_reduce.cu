// segmented_reduce.cu -- a group of WIDTH threads for each segment: one, some lanes of a warp, or a block.
#include "pdl.cuh"
#include "segment_fold.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    segmented_reduce(long long n, long long segments, const int *__restrict__ starts,
                     const stored *__restrict__ x, stored *y) {
  const int zero = pdl_wait();
  x += zero;
  starts += zero;
  const long long i = (long long)blockIdx.x * GROUPS + threadIdx.x / WIDTH;
  const int thread = threadIdx.x % WIDTH;
  wide v = fold_share<WIDTH>(x, segment_of(i, n, segments, starts), thread);
  if constexpr (WIDTH > 32) {
    v = fold_block(v);
  } else {
    v = fold_lanes<WIDTH>(v);
  }
  if (thread == 0 && i < segments) y[i] = (stored)v;
}
