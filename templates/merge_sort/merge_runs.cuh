// merge_runs.cuh -- the first step of passes and tasks: blocks sort tiles, the runs that are then merged.
#pragma once
constexpr bool ADJACENT_EXCHANGES = NETWORK == NETWORK_odd_even && MERGE == MERGE_serial;
constexpr bool ITEMS_IN_ORDER = true;
#include "block_sort.cuh"

template <bool WHOLE>
__device__ __forceinline__ void load_run(item (&v)[SORT_ITEMS], const key *x, int count) {
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const int i = k * SORT_BLOCK + threadIdx.x;
    v[k] = make_item(WHOLE || i < count ? x[i] : key(), i);
  }
}

template <bool WHOLE>
__device__ __forceinline__ void store_run(rows all, const value *xv, key *y, value *yv, int count) {
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const int i = k * SORT_BLOCK + threadIdx.x;
    if (WHOLE || i < count) {
      const item one = all.nth<SORT_BLOCK>(threadIdx.x, k);
      y[i] = key_of(one);
      if constexpr (VALUE > 0) yv[i] = xv[source_of(one)];
    }
  }
}

// Sorts tile number `run` of x into y.
__device__ __forceinline__ void make_run(long long run, long long n, const key *x, const value *xv,
                                         key *y, value *yv, unsigned char *memory) {
  const long long first = run * RUN;
  const int count = (int)min(n - first, (long long)RUN);
  const rows all = {reinterpret_cast<item *>(memory)};
  item v[SORT_ITEMS];
  if (count == RUN) {
    load_run<true>(v, x + first, count);
  } else {
    load_run<false>(v, x + first, count);
  }
  const bool in_any_order = !STABLE && count == RUN;  // any thread may start with any key
  if (!in_any_order) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.nth<SORT_BLOCK>(threadIdx.x, k) = v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) v[k] = all.own(k);
    __syncwarp();
  }
  sort_tile(v, count, all);
  if (count == RUN) {
    store_run<true>(all, xv + first, y + first, yv + first, count);
  } else {
    store_run<false>(all, xv + first, y + first, yv + first, count);
  }
}
