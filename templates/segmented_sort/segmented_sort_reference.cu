// segmented_sort_reference.cu -- merges runs of 1, 2, 4, ... keys of each segment, one thread per key: it counts the
// keys of the other run that come before its own.
#include "elements.cuh"

using type = element<DTYPE>;

using key = choose<KEY == 8, unsigned long long,
                   choose<KEY == 4, unsigned, choose<KEY == 2, unsigned short, unsigned char>>>;
using value = choose<VALUE == 8, unsigned long long, unsigned>;

// The word by which a key is compared.
__device__ unsigned long long word_of(key k) {
  const key sign = (key)((key)1 << (8 * KEY - 1));
  if (!type::INTEGER) {
    if ((key)(k << 1) == 0) k = 0;  // zeros of either sign
    return k & sign ? (key)~k : k | sign;
  }
  return type::least() < 0 ? k ^ sign : k;
}

// The last segment that begins at or before each key; -1 where none does or it has ended.
extern "C" __global__ void find_segments(long long n, long long segments, const int *offsets,
                                         int *segment) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    long long least = -1, most = segments - 1;
    while (least < most) {
      const long long s = (least + most + 1) / 2;
      if (offsets[s] <= i) {
        least = s;
      } else {
        most = s - 1;
      }
    }
    segment[i] = least >= 0 && i < offsets[least + 1] ? least : -1;
  }
}

__device__ void put(long long to, long long from, const key *x, const value *xv, key *y,
                    value *yv) {
  y[to] = x[from];
  if (VALUE > 0) yv[to] = xv[from];
}

extern "C" __global__ void take(long long n, const int *segment, const key *x, const value *xv,
                                key *y, value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    if (segment[i] >= 0) put(i, i, x, xv, y, yv);
  }
}

__device__ bool goes_before(key a, key b) {
  return ORDER == ORDER_descending ? word_of(a) > word_of(b) : word_of(a) < word_of(b);
}

// How many of n keys go before x; with ties, also those that tie with it.
__device__ long long rank(key x, const key *keys, long long n, bool ties) {
  long long least = 0, most = n;
  while (least < most) {
    const long long i = (least + most) / 2;
    if (ties ? !goes_before(x, keys[i]) : goes_before(keys[i], x)) {
      least = i + 1;
    } else {
      most = i;
    }
  }
  return least;
}

extern "C" __global__ void pass(long long n, long long run, const int *offsets, const int *segment,
                                const key *x, const value *xv, key *y, value *yv) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    const int s = segment[i];
    if (s < 0) continue;
    const long long first = offsets[s], last = offsets[s + 1];
    const long long start = i - (i - first) % (2 * run), middle = min(start + run, last);
    const long long end = min(middle + run, last);
    const bool left = i < middle;
    const long long before = left ? rank(x[i], x + middle, end - middle, false)
                                  : rank(x[i], x + start, middle - start, true);
    put(start + (i - (left ? start : middle)) + before, i, x, xv, y, yv);
  }
}
