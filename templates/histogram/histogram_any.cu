// histogram_any.cu -- bins and their range are arguments, so that one kernel counts into any; a block's counters are in
// shared memory, if they fit there.
#include "elements.cuh"

using sample = element<DTYPE>::stored;

extern __shared__ unsigned own[];  // with ALG=any_shared: a counter per bin

struct range {
  int bins;
  long long lower, span;

  // The bin of a sample, -1 if it is in none; rounded as the reference does.
  __device__ __forceinline__ int bin_of(sample v) const {
    if constexpr (DTYPE == DTYPE_f32) {
      const float width = (float)span, d = __fsub_rn(v, (float)lower);
      if (!(d >= 0 && d < width)) return -1;
      return min((int)__fmul_rn(d, __fdiv_rn((float)bins, width)), bins - 1);
    } else {
      const long long d = v - lower;
      if (d < 0 || d >= span) return -1;
      return bins == span
                 ? (int)d
                 : (int)((unsigned long long)d * (unsigned)bins / (unsigned long long)span);
    }
  }
};

__device__ __forceinline__ void count_samples(long long n, const sample *__restrict__ x, range all,
                                              unsigned *counts) {
  for (long long step = (long long)blockIdx.x * (BLOCK * COARSE); step < n;
       step += (long long)gridDim.x * (BLOCK * COARSE)) {
    sample v[COARSE];
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
      const long long i = step + k * BLOCK + threadIdx.x;
      if (i < n) v[k] = x[i];
    }
#pragma unroll
    for (int k = 0; k < COARSE; k++) {
      const int bin = step + k * BLOCK + threadIdx.x < n ? all.bin_of(v[k]) : -1;
      if (bin >= 0) atomicAdd(counts + bin, 1);
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    histogram(long long n, const sample *__restrict__ x, unsigned *y, int bins, long long lower,
              long long span) {
  const range all = {bins, lower, span};
  if constexpr (ALG == ALG_any_global) {
    count_samples(n, x, all, y);
  } else {
    for (int i = threadIdx.x; i < bins; i += BLOCK) own[i] = 0;
    __syncthreads();
    count_samples(n, x, all, own);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += BLOCK) {
      if (own[i] > 0) atomicAdd(y + i, own[i]);
    }
  }
}
