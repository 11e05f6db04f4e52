// segments.cuh -- segments given by where each starts, and how their numbers combine.
#pragma once
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
// The type in which a thread combines the elements of one step; sums of integers wrap.
using value = choose<OP == OP_sum, type::wrapping, stored>;
// The type in which steps, threads and blocks are combined.
using wide = choose<OP == OP_sum && !type::INTEGER, double, value>;

__device__ __forceinline__ stored identity_element() {
  if constexpr (OP == OP_max) return type::least();
  if constexpr (OP == OP_min) return type::most();
  return 0;
}

template <typename T>
__device__ __forceinline__ T identity() {
  return (T)identity_element();
}

template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
  if constexpr (OP == OP_max) return a > b ? a : b;
  if constexpr (OP == OP_min) return a < b ? a : b;
  return a + b;
}

struct segment {
  long long begin, end;
};

// The first begins at 0 and the last ends at n, whatever starts[0] is; empty beyond the last.
__device__ __forceinline__ segment segment_of(long long i, long long n, long long segments,
                                              const int *starts) {
  if (i >= segments) return {0, 0};
  return {i > 0 ? starts[i] : 0, i + 1 < segments ? starts[i + 1] : n};
}

// The first segment other than 0 that starts at `at` or later, or `segments`: a search by a whole warp,
// in which every step leaves a 32nd.
__device__ __forceinline__ long long first_start_from(long long at, long long segments,
                                                      const int *starts) {
  long long low = 1, high = segments;
  while (low < high) {
    const long long step = (high - low + 31) / 32, i = low + threadIdx.x % 32 * step;
    const int before = __popc(__ballot_sync(0xffffffff, i < high && starts[i] < at));
    if (before == 0) break;
    high = min(high, low + before * step);
    low += (before - 1) * step + 1;
  }
  return low;
}
