// segmented_reduce.cu -- a group of WIDTH threads for each segment: one, some lanes of a warp, or a block.
#include "pdl.cuh"
#include "segment_fold.cuh"

// With ONE_ORDER the block combines segments that are longer.
constexpr int SHORT = 1024;

__device__ __forceinline__ void fold_long(long long n, long long segments, const int *starts,
                                          const stored *x, stored *y) {
  for (int g = blockIdx.y; g < GROUPS; g += gridDim.y) {
    const long long i = (long long)blockIdx.x * GROUPS + g;
    const segment s = segment_of(i, n, segments, starts);
    if (s.end - s.begin <= SHORT) continue;
    const wide v = fold_block(fold_share<BLOCK, 16>(x, s, threadIdx.x));
    if (threadIdx.x == 0) y[i] = (stored)v;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    segmented_reduce(long long n, long long segments, const int *__restrict__ starts,
                     const stored *__restrict__ x, stored *y) {
  const int zero = pdl_wait();
  x += zero;
  starts += zero;
  const long long i = (long long)blockIdx.x * GROUPS + threadIdx.x / WIDTH;
  const int thread = threadIdx.x % WIDTH;
  const segment s = segment_of(i, n, segments, starts);
  if constexpr (ONE_ORDER) {
    const bool is_long = s.end - s.begin > SHORT;
    if (blockIdx.y == 0) {
      const wide v =
          fold_lanes<WIDTH>(fold_share<WIDTH, 4>(x, is_long ? segment{0, 0} : s, thread));
      if (thread == 0 && i < segments && !is_long) y[i] = (stored)v;
    }
    if (__syncthreads_or(is_long)) fold_long(n, segments, starts, x, y);
    return;
  }
  wide v = fold_share<WIDTH>(x, s, thread);
  if constexpr (WIDTH > 32) {
    v = fold_block(v);
  } else {
    v = fold_lanes<WIDTH>(v);
  }
  if (thread == 0 && i < segments) y[i] = (stored)v;
}
