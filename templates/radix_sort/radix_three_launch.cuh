// radix_three_launch.cuh -- a pass in three launches: tiles count their digits, the counts are scanned, and each tile
// goes where the scans say.
#pragma once
#include "radix_scatter.cuh"

// counts[digit * tiles + tile] becomes the number of the tile's keys with the digit.
__device__ __forceinline__ void count_tile(long long n, const move &m, digit_bits digit,
                                           position *counts) {
  const long long tile = blockIdx.x, room = n - tile * TILE;
  key k[ITEMS];
  unsigned count[BINS_THREAD];
  clear_counters();
  get_keys(k, m.from + tile * TILE, room, m.first);
  count_digits(k, digit);
  __syncthreads();
  sum_counters(count);
  real_counts(count, room, digit, count);
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    if (bin < BINS) counts[(long long)bin * gridDim.x + tile] = count[j];
  }
}

// Moves a tile.
__device__ __forceinline__ void scatter_tile(long long n, const move &m, digit_bits digit,
                                             const position *counts) {
  const long long tile = blockIdx.x, tiles = gridDim.x, room = n - tile * TILE;
  key k[ITEMS];
  value v[ITEMS];
  ranks rank;
  unsigned start[BINS_THREAD];
  clear_counters();
  get_keys(k, m.from + tile * TILE, room, m.first);
  rank_keys(k, digit, [&](int i, unsigned r) { rank.set(i, r); });
  __syncthreads();
  sum_counters(start);
  scan_counters(start);
  __syncthreads();
  add_starts(k, rank, digit);
  scatter<lane_writer>(k, v, rank, m, digit, tile * TILE, room, [&] {
    position begin[BINS_THREAD];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      begin[j] = bin < BINS ? counts[BINS * tiles + bin] : 0;
    }
    scan_rows<BIN_ROWS>(begin);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) bases[bin] = begin[j] + counts[bin * tiles + tile] - start[j];
    }
  });
}

// An exclusive scan of each digit's counts, by a block; counts[BINS * tiles + digit] becomes their sum.
extern "C" __global__ void __launch_bounds__(BLOCK) sort_scan(long long tiles, position *counts) {
  position *row = counts + blockIdx.x * tiles, before = 0;
  for (long long at = threadIdx.x; at < (tiles + BLOCK - 1) / BLOCK * BLOCK; at += BLOCK) {
    position v[1] = {at < tiles ? row[at] : 0};
    const position sum = scan_rows<WARPS>(v);
    if (at < tiles) row[at] = before + v[0];
    before += sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) counts[gridDim.x * tiles + blockIdx.x] = before;
}
