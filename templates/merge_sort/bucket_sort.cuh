// bucket_sort.cuh -- a block sorts up to RUN items, of which each warp has consecutive ones. Warps without any take no
// part; the last one that has some is filled up with items that come after all others.
#pragma once
#include "block_sort.cuh"

constexpr int WARP_ITEMS = 32 * SORT_ITEMS;

__device__ __forceinline__ unsigned bucket_item(int k) {
  return threadIdx.x / 32 * WARP_ITEMS + k * 32 + threadIdx.x % 32;
}

__device__ __forceinline__ key after_all(key x) { return x; }
__device__ __forceinline__ key_and_source after_all(const key_and_source &x) {
  return with_source(x.k, sizeof(x.source) == 2 ? 0xffff : 0x7fffffff);
}

// The last of the items that the block has, of which v has this thread's and `first` is one.
__device__ __forceinline__ item last_of_block(const item (&v)[SORT_ITEMS], unsigned count,
                                              const item &first) {
  __shared__ item of_warp[SORT_BLOCK / 32];
  item last = first;
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    if (bucket_item(k) < count && !swapped(last, v[k])) last = v[k];
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    const item other = from_lane(last, d);
    if (!swapped(last, other)) last = other;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = last;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < SORT_BLOCK / 32; w++) {
    if (!swapped(last, of_warp[w])) last = of_warp[w];
  }
  return last;
}

// load(0) to load(count - 1), 0 < count <= RUN; what is beyond them is any, but v[0] is one of them in all threads.
template <typename Load>
__device__ __forceinline__ void load_items(item (&v)[SORT_ITEMS], unsigned count,
                                           const Load &load) {
  if (bucket_item(0) - threadIdx.x % 32 >= count) {
    v[0] = load(0);
    return;
  }
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) v[k] = load(min(bucket_item(k), count - 1));
}

// Sorts them into shared memory. All threads come here.
__device__ __forceinline__ void sort_items(item (&v)[SORT_ITEMS], unsigned count, rows all) {
  if (count % WARP_ITEMS != 0) {
    const item rest = after_all(last_of_block(v, count, v[0]));
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) {
      if (bucket_item(k) >= count) v[k] = rest;
    }
  }
  const int whole = (int)(count + WARP_ITEMS - 1) / WARP_ITEMS * WARP_ITEMS;
  const bool there = (int)(threadIdx.x / 32 * WARP_ITEMS) < whole;
  if (there) {
    sort_own<true>(v, SORT_ITEMS);
    sort_lanes<1>(v, all);
  }
#pragma unroll 1
  for (int width = 32; width * SORT_ITEMS < whole; width *= 2) {
    if (there) {
#pragma unroll
      for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
    }
    __syncthreads();
    if (there)
      merge_windows(v, whole, all, width);
    else
      __syncthreads();
  }
  if (there) {
#pragma unroll
    for (int k = 0; k < SORT_ITEMS; k++) all.own(k) = v[k];
  }
  __syncthreads();
}
