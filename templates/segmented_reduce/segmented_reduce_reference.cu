// segmented_reduce_reference.cu -- a block per segment: each thread every 128th element, then thread 0
// the 128 results.
#include "segment_reference.cuh"

extern "C" __global__ void reference(long long n, long long segments, const int *starts,
                                     const stored *x, stored *y) {
  __shared__ wide all[128];
  const long long i = blockIdx.x;
  const long long begin = i == 0 ? 0 : starts[i], end = i == segments - 1 ? n : starts[i + 1];
  wide v = identity();
  for (long long at = begin + threadIdx.x; at < end; at += 128) v = combine(v, (wide)x[at]);
  all[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int t = 1; t < 128; t++) v = combine(v, all[t]);
  y[i] = (stored)v;
}
