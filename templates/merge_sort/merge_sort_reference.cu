// merge_sort_reference.cu -- merges runs of 1, 2, 4, ... keys, one thread per key: it counts the keys of the other run
// that come before its own.
#include "reference_rank.cuh"

extern "C" __global__ void take(long long n, const key *x, const value *xv, key *y, value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    put(i, x[i], xv, i, y, yv);
  }
}

extern "C" __global__ void pass(long long n, long long run, const key *x, const value *xv, key *y,
                                value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const long long start = i - i % (2 * run), middle = min(start + run, n);
    const long long end = min(middle + run, n), left = i < middle ? start : middle;
    const long long other = i < middle ? middle : start, others = i < middle ? end - middle : run;
    put(start + i - left + rank(x[i], x + other, others, i >= middle), x[i], xv, i, y, yv);
  }
}
