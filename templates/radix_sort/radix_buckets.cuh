// radix_buckets.cuh -- buckets of keys with the same highest digit, sorted by warps in their registers.
#pragma once
#include "radix_entry.cuh"
#include "radix_scatter.cuh"

// Can a warp sort each bucket?
__device__ __forceinline__ bool buckets_are_small(const position *counts) {
  bool large = false;
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    large |= bin < BINS && load_second(counts + bin) > 32 * BUCKET_ITEMS;
  }
  return !__syncthreads_or(large);
}

// Sorts the buckets `tile`, `tile` + `tiles`, ... from the temporary arrays to the output, EACH keys per lane.
template <int EACH>
__device__ __forceinline__ void sort_buckets(position n, const arrays &all, const position *counts,
                                             unsigned tile, unsigned tiles) {
  const int lane = threadIdx.x % 32;
  position begin[BINS_THREAD];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    begin[j] = bin < BINS ? load_second(counts + bin) : 0;
  }
  scan_rows<BIN_ROWS>(begin);
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) bases[bin] = begin[j];
  }
  __syncthreads();
  for (unsigned b = threadIdx.x / 32 * tiles + tile; b < BINS; b += WARPS * tiles) {
    const position first = bases[b], count = (b + 1 < BINS ? bases[b + 1] : n) - first;
    const key *from = all.keys_tmp + first;
    entry v[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const unsigned at = i * 32 + lane;
      v[i] = make_entry(at < count ? load_plain(from + at) : (key) ~(key)0, at);
    }
    sort_lanes<32>(v);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const position at = lane * EACH + i;
      if (at < count) {
        all.keys_out[first + at] = key_of(v[i], from, true);
        if constexpr (VALUE > 0) all.values_out[first + at] = all.values_tmp[first + v[i].at()];
      }
    }
  }
}
