// radix_read.cuh -- all keys are read once, by vectors, in any order.
#pragma once
#include "radix_keys.cuh"
#include "words.cuh"

struct alignas(16) vector {
  key e[16 / KEY];
};

// Calls f(key) for each key, in one of `blocks` blocks of THREADS threads; block 0 also takes the keys before and
// after the whole vectors.
template <int THREADS, typename F>
__device__ __forceinline__ void each_key(const key *keys, long long n, int block, int blocks, F f) {
  constexpr int VEC = 16 / KEY, COARSE = 4;
  const long long head = min(n, (long long)(-(long long)keys & 15) / KEY);
  const long long vectors = (n - head) / VEC;
  const vector *from = reinterpret_cast<const vector *>(keys + head);
  if (block == 0) {
    if (threadIdx.x < head) f(keys[threadIdx.x]);
    const long long tail = head + vectors * VEC + threadIdx.x;
    if (tail < n) f(keys[tail]);
  }
  for (long long at = (long long)block * (THREADS * COARSE) + threadIdx.x; at < vectors;
       at += (long long)blocks * (THREADS * COARSE)) {
    vector v[COARSE];
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (at + c * THREADS < vectors) v[c] = load_plain(from + at + c * THREADS);
    }
#pragma unroll
    for (int c = 0; c < COARSE; c++) {
      if (at + c * THREADS < vectors) {
#pragma unroll
        for (int e = 0; e < VEC; e++) f(v[c].e[e]);
      }
    }
  }
}
