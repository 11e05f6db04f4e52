// block_sort.cuh -- a block sorts a tile: each thread its own items in registers, by a network of exchanges (NETWORK);
// then the lanes of a warp merge runs of 1, 2, 4, ... lanes (WARP_MERGE), and the warps runs of 1, 2, 4, ... warps,
// in shared memory, each thread serially or groups of threads in windows (MERGE).
#pragma once
#include "merge_item.cuh"
#include "merge_path.cuh"
#include "merge_window.cuh"

using rows = spread<item, SORT_ITEMS>;

// Odd-even transposition sort: exchanges of neighbours only, which is stable.
template <bool WHOLE>
__device__ __forceinline__ void sort_by_transposition(item (&v)[SORT_ITEMS], int count) {
#pragma unroll
  for (int round = 0; round < SORT_ITEMS; round++) {
#pragma unroll
    for (int i = round % 2; i + 1 < SORT_ITEMS; i += 2) {
      if (WHOLE || i + 1 < count) exchange(v[i], v[i + 1], i);
    }
  }
}

// Batcher's merge exchange: sorted runs of HALF items become runs of 2 * HALF, by exchanges at the distances HALF,
// HALF / 2, ..., 1. src: Knuth, The Art of Computer Programming, vol. 3, 5.2.2, algorithm M
template <bool WHOLE, int HALF, int DISTANCE, int I = DISTANCE % HALF>
__device__ __forceinline__ void exchange_at_distance(item (&v)[SORT_ITEMS], int count) {
  if constexpr (I + DISTANCE < SORT_ITEMS) {
    constexpr bool COMPARED =
        (I - DISTANCE % HALF) / DISTANCE % 2 == 0 && I / (2 * HALF) == (I + DISTANCE) / (2 * HALF);
    if constexpr (COMPARED) {
      if (WHOLE || I + DISTANCE < count) exchange(v[I], v[I + DISTANCE], I);
    }
    exchange_at_distance<WHOLE, HALF, DISTANCE, I + 1>(v, count);
  }
}

template <bool WHOLE, int HALF = 1, int DISTANCE = HALF>
__device__ __forceinline__ void sort_by_merge_exchange(item (&v)[SORT_ITEMS], int count) {
  if constexpr (HALF < SORT_ITEMS) {
    exchange_at_distance<WHOLE, HALF, DISTANCE>(v, count);
    if constexpr (DISTANCE > 1) {
      sort_by_merge_exchange<WHOLE, HALF, DISTANCE / 2>(v, count);
    } else {
      sort_by_merge_exchange<WHOLE, 2 * HALF>(v, count);
    }
  }
}

// Sorts the thread's items, of which the first `count` exist; the others stay where they are.
template <bool WHOLE>
__device__ __forceinline__ void sort_own(item (&v)[SORT_ITEMS], int count) {
  if constexpr (NETWORK == NETWORK_odd_even) {
    sort_by_transposition<WHOLE>(v, count);
  } else {
    sort_by_merge_exchange<WHOLE>(v, count);
  }
}

// Batcher's bitonic merge of two runs of WIDTH lanes, by shuffles. The run on the right is reversed, and then halves of
// halving size exchange items at the same place.
template <int WIDTH>
__device__ __forceinline__ void merge_lanes(item (&v)[SORT_ITEMS]) {
  const int lane = threadIdx.x % 32;
  item other[SORT_ITEMS];
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    other[k] = from_lane(v[SORT_ITEMS - 1 - k], 2 * WIDTH - 1);
  }
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    v[k] = swapped(v[k], other[k]) == !(lane & WIDTH) ? other[k] : v[k];
  }
#pragma unroll
  for (int d = WIDTH / 2; d > 0; d /= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
      const item one = from_lane(v[k], d);
      v[k] = swapped(v[k], one) == !(lane & d) ? one : v[k];
    }
  }
#pragma unroll
  for (int d = SORT_ITEMS / 2; d > 0; d /= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
      if (!(k & d)) exchange(v[k], v[k + d], k);
    }
  }
}

// The same through shared memory, with all exchanges between registers: both runs are a window.
template <int WIDTH>
__device__ __forceinline__ void merge_in_window(item (&v)[SORT_ITEMS], rows all) {
  using lanes_window = window<SORT_ITEMS, 2 * WIDTH>;
  constexpr int GROUP = 2 * WIDTH, HALF = SORT_ITEMS / 2;
  const int left = lanes_window::start() + lanes_window::lane();
  const int right = lanes_window::start() + HALF * GROUP + GROUP - 1 - lanes_window::lane();
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  __syncwarp();
#pragma unroll
  for (int k = 0; k < HALF; k++) {
    v[k] = all.nth<GROUP>(right, HALF - 1 - k);
    v[k + HALF] = all.nth<GROUP>(left, k);
  }
  __syncwarp();
  lanes_window::rounds(v, all);
}

template <int WIDTH>
__device__ __forceinline__ void sort_lanes(item (&v)[SORT_ITEMS], rows all) {
  if constexpr (WIDTH < 32) {
    if constexpr (WARP_MERGE == WARP_MERGE_mixed && WIDTH > 2 && 2 * WIDTH <= SORT_ITEMS) {
      merge_in_window<WIDTH>(v, all);
    } else {
      merge_lanes<WIDTH>(v);
    }
    sort_lanes<2 * WIDTH>(v, all);
  }
}

// Merges runs of `width` threads in pairs, each thread its own part; the tile has `count` items.
__device__ __forceinline__ void merge_runs(item (&v)[SORT_ITEMS], int count, rows all, int width) {
  const int in = threadIdx.x & (2 * width - 1), start = (threadIdx.x - in) * SORT_ITEMS;
  const int there = max(start, count);
  const int middle = min(start + width * SORT_ITEMS, there);
  const int end = min(start + 2 * width * SORT_ITEMS, there);
  const int na = middle - start, nb = end - middle;
  const int d = min(in * SORT_ITEMS, na + nb);
  const int i = co_rank(d, sequence_of<rows>{all, start}, na, sequence_of<rows>{all, middle}, nb);
  // with width < 32 only the warp is synchronized
  const int last = (width < 32 ? (threadIdx.x / 32 + 1) * 32 * SORT_ITEMS : RUN) - 1;
  merger<item, rows> from(all, start + i, middle, middle + d - i, end, last);
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    int ignored;
    v[k] = from.next(&ignored);
  }
}

// The same in windows, for runs of whole warps. When it returns, all threads have read.
__device__ __forceinline__ void sync_block() { __syncthreads(); }

template <int N>
__device__ __forceinline__ void merge_windows(item (&v)[N], int count, rows all, int width) {
  using tile_window = window<N>;
  const int place = tile_window::start();
  const int run = width * N, start = place & ~(2 * run - 1), middle = start + run;
  const int na = max(0, min(run, count - start)), nb = max(0, min(run, count - middle));
  const int d = min(place - start, na + nb), end = min(d + tile_window::WINDOW, na + nb);
  const pair_of_ranks i = co_ranks<tile_window::GROUP>(d, end, sequence_of<rows>{all, start}, na,
                                                       sequence_of<rows>{all, middle}, nb);
  const stretches both = stretches_between(i, d, end, start, middle);
  const tile_window here = {end - d};
  here.template merge<sync_block, false>(v, both, stretches(), item_rows<N>{all}, all);
}

// Merges runs of `from` threads until they are of `to`.
__device__ __forceinline__ void merge_widths(item (&v)[SORT_ITEMS], int count, rows all, int from,
                                             int to) {
#pragma unroll 1
  for (int width = from; width < to; width *= 2) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    if (to <= 32)
      __syncwarp();
    else
      __syncthreads();
    merge_runs(v, count, all, width);
    if (to <= 32)
      __syncwarp();
    else
      __syncthreads();
  }
}

// Merges runs of a warp until they are of the block, in windows.
template <int N>
__device__ __forceinline__ void merge_warps(item (&v)[N], int count, rows all) {
#pragma unroll 1
  for (int width = 32; width < SORT_BLOCK; width *= 2) {
#pragma unroll
    for (int k = 0; k < N; k++) all.own(k) = v[k];
    __syncthreads();
    merge_windows(v, count, all, width);
  }
}

// Sorts the tile's first `count` items, consecutive ones in each thread, into shared memory.
__device__ __forceinline__ void sort_tile(item (&v)[SORT_ITEMS], int count, rows all) {
  if (count == RUN) {
    sort_own<true>(v, SORT_ITEMS);
  } else {
    sort_own<false>(v, count - (int)threadIdx.x * SORT_ITEMS);
  }
  if constexpr (WARP_MERGE == WARP_MERGE_shared) {
    merge_widths(v, count, all, 1, 32);
  } else if (count == RUN) {
    sort_lanes<1>(v, all);
  } else {
    merge_widths(v, count, all, 1, 32);
  }
  if constexpr (MERGE == MERGE_network) {
    merge_warps(v, count, all);
  } else {
    merge_widths(v, count, all, 32, SORT_BLOCK);
  }
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  __syncthreads();
}
