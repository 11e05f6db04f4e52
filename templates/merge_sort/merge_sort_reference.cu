// merge_sort_reference.cu -- merges runs of 1, 2, 4, ... keys, one thread per key: it counts the keys of the other run
// that come before its own.
#include "merge_key.cuh"

// How many of n keys go before x; with ties, also those that equal it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !before(x, keys[i]) : before(keys[i], x)) {
      least = i + 1;
    } else {
      most = i;
    }
  }
  return least;
}

__device__ void put(long long to, key x, const value *v, long long from, key *y, value *yv) {
  y[to] = x;
  if (VALUE > 0) yv[to] = v[from];
}

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
