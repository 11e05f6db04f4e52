// reference_rank.cuh -- what the references of merge and merge_sort share.
#pragma once
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
