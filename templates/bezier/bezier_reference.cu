// bezier_reference.cu -- a thread a curve, in double; the counts are defined by their roundings.
#include "bezier_curve.cuh"

// One block: each thread counts the points of a range of curves, thread 0 adds the ranges up.
extern "C" __global__ void starts(long long curves, const float *control, int max_points,
                                  long long *starts) {
  __shared__ long long sums[1025];
  const long long range = (curves + 1023) / 1024, first = threadIdx.x * range;
  bezier_curve c;
  long long sum = 0;
  for (long long i = first; i < curves && i < first + range; i++) {
    c.load(control + 6 * i);
    sum += bezier_count(c, max_points);
  }
  sums[threadIdx.x + 1] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sums[0] = 0;
    for (int i = 1; i <= 1024; i++) sums[i] += sums[i - 1];
    starts[curves] = sums[1024];
  }
  __syncthreads();
  sum = sums[threadIdx.x];
  for (long long i = first; i < curves && i < first + range; i++) {
    starts[i] = sum;
    c.load(control + 6 * i);
    sum += bezier_count(c, max_points);
  }
}

extern "C" __global__ void reference(long long curves, const float *control, float *out,
                                     const long long *starts, double *magnitude) {
  const long long curve = (long long)blockIdx.x * 256 + threadIdx.x;
  if (curve >= curves) return;
  const float *p = control + 6 * curve;
  const long long n = starts[curve + 1] - starts[curve];
  for (long long i = 0; i < n; i++) {
    const double t = (double)i / (double)(n - 1), s = 1 - t, w[] = {s * s, 2 * s * t, t * t};
    for (int k = 0; k < 2; k++) {
      const long long at = 2 * (starts[curve] + i) + k;
      double sum = 0, size = 0;
      for (int j = 0; j < 3; j++) {
        sum += w[j] * p[2 * j + k];
        size += fabs(w[j] * p[2 * j + k]);
      }
      out[at] = (float)sum;
      magnitude[at] = size;
    }
  }
}
