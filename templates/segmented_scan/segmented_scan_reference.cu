// segmented_scan_reference.cu -- a thread per segment.
#include "segment_reference.cuh"

extern "C" __global__ void reference(long long n, long long segments, const int *starts,
                                     const stored *x, stored *y) {
  const long long i = (long long)blockIdx.x * 128 + threadIdx.x;
  if (i >= segments) return;
  const long long begin = i == 0 ? 0 : starts[i], end = i == segments - 1 ? n : starts[i + 1];
  wide sum = identity();
  for (long long at = begin; at < end; at++) {
    const wide with = combine(sum, (wide)x[at]);
    y[at] = (stored)(KIND == KIND_inclusive ? with : sum);
    sum = with;
  }
}
