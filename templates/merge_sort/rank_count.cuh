// rank_count.cuh -- ranks by counting: how many keys in shared memory come before each of a few. All comparisons are
// independent.
#pragma once
#include "merge_key.cuh"

// Counts in floats, which are exact up to 2^24: they are added in another pipe than comparisons.
__device__ __forceinline__ void count(float &n, bool yes) {
  if (yes) n += 1;
}

// Keys that are loaded from shared memory at once: four, or two of 8 bytes.
struct alignas(sizeof(key) < 4 ? 4 * sizeof(key) : 16) some_keys {
  key of[sizeof(key) <= 4 ? 4 : 2];
};
constexpr int SOME_KEYS = sizeof(some_keys) / sizeof(key);

__device__ __forceinline__ some_keys load_some(const key *keys) {
  return *reinterpret_cast<const some_keys *>(keys);
}

// How many of keys[from..end-1] come before x; with TIES, also those that equal it.
template <bool TIES>
__device__ __forceinline__ float count_up_to(key x, const key *keys, int from, int end) {
  float n = 0, more = 0;
#pragma unroll 4
  for (int i = from; i < end; i += SOME_KEYS) {
    const some_keys y = load_some(keys + i);
#pragma unroll
    for (int e = 0; e < SOME_KEYS; e++) {
      count(e % 2 ? more : n, TIES ? !before(x, y.of[e]) : before(y.of[e], x));
    }
  }
  return n + more;
}

// How many of keys[from..end-1] come before keys[own]; equal keys are in the order of their places. `own` is
// consecutive in the threads of a warp; from and end are multiples of 4. MANY: about end - from.
template <int MANY>
__device__ __forceinline__ unsigned count_before(const key *keys, int own, int from, int end) {
  const key x = keys[own];
  const int first = own & ~31;
  const int mine = MANY <= 8 ? from : max(from, min(first, end));
  const int others = MANY <= 8 ? end : max(from, min(first + 32, end));
  float n = count_up_to<true>(x, keys, from, mine) + count_up_to<false>(x, keys, others, end);
#pragma unroll 2
  for (int i = mine; i < others; i += SOME_KEYS) {
    const some_keys y = load_some(keys + i);
#pragma unroll
    for (int e = 0; e < SOME_KEYS; e++) {
      count(n, i + e < own ? !before(x, y.of[e]) : before(y.of[e], x));
    }
  }
  return (unsigned)n;
}

// Part number `part` of the keys, cut into `parts`; its start and end are multiples of 4, or the end of the keys.
struct part_of {
  int from, end;
  __device__ __forceinline__ part_of(int keys, int parts, int part) {
    const int some = ((keys + parts - 1) / parts + 3) / 4 * 4;
    from = min(part * some, keys);
    end = min(from + some, keys);
  }
};
