// histogram_reference.cu -- a thread takes 64 consecutive samples, and adds those that follow each other in a bin at
// once: if all are in one bin, atomics would take longer than everything else.
//
// Bins of floats are found with the same two roundings as in histogram_bins.cuh, bins of integers by a division.
#include "elements.cuh"

using sample = element<DTYPE>::stored;

__device__ long long bin_of(sample v) {
  if constexpr (DTYPE == DTYPE_f32) {
    const float d = __fsub_rn(v, (float)LOWER);
    if (!(d >= 0 && d < SPAN)) return -1;
    const int bin = (int)__fmul_rn(d, (float)BINS / (float)SPAN);
    return bin < BINS ? bin : BINS - 1;
  } else {
    const long long d = v - (long long)LOWER;
    return d >= 0 && d < SPAN ? d * BINS / SPAN : -1;
  }
}

extern "C" __global__ void reference(long long n, const sample *x, unsigned *y) {
  const long long first = ((long long)blockIdx.x * 256 + threadIdx.x) * 64;
  long long bin = -1;
  unsigned length = 0;
  for (long long i = first; i <= n && i <= first + 64; i++) {
    const long long next = i < n && i < first + 64 ? bin_of(x[i]) : -1;
    if (next != bin && bin >= 0) atomicAdd(y + bin, length);
    length = next == bin ? length + 1 : 1;
    bin = next;
  }
}
