// quadtree_sort.cuh -- a stable pass of a radix sort of ways and points by 8 bits, in one launch: tiles
// learn from the tiles before them, digit by digit, where their points go.
// src: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs
#pragma once
#include "ptx.cuh"

using wide = unsigned;
#define IDENTITY 0
__device__ __forceinline__ wide combine(wide a, wide b) { return a + b; }
__device__ __forceinline__ unsigned long long bits_of(wide v) { return v; }
__device__ __forceinline__ wide of_bits(unsigned long long v) { return (wide)v; }
#include "tile_state.cuh"

__shared__ unsigned sort_ranks[BLOCK / 32][256], sort_places[256], sort_sums[8];
extern __shared__ unsigned
    sort_ways[];  // 2 * TILE: of the tile's points, in their new order, and their numbers

// The lanes of the warp whose digit is the same.
__device__ __forceinline__ unsigned same_digit(unsigned digit) {
  unsigned mask = 0xffffffff;
#pragma unroll
  for (int b = 0; b < 8; b++) {
    const bool one = digit >> b & 1;
    const unsigned lanes = __ballot_sync(0xffffffff, one);
    mask &= one ? lanes : ~lanes;
  }
  return mask;
}

// The exclusive sum over the first 256 threads; all threads come here.
__device__ __forceinline__ unsigned sum_digits(unsigned v) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = v;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned left = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += left;
  }
  __syncthreads();
  if (warp < 8 && lane == 31) sort_sums[warp] = sum;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < 7; w++) sum += w < warp ? sort_sums[w] : 0;
  return sum - v;
}

// The digit's count in the tiles before this one, by its thread, which looks at LOOK tiles at a time.
__device__ __forceinline__ unsigned counted_before(const tile_states &all, long long at) {
  unsigned sum = 0;
  for (at -= 256; at >= 0;) {
    tile_record seen[LOOK];
#pragma unroll
    for (int k = 0; k < LOOK; k++) seen[k] = all.look(max(at - 256 * k, 0ll));
#pragma unroll
    for (int k = 0; k < LOOK; k++) {
      unsigned v;
      int kind = all.kind(seen[k], &v);
      if (!kind) kind = all.wait(at, &v);
      sum += v;
      at -= 256;
      if (kind == PREFIX) return sum;
    }
  }
  return sum;
}

__device__ __forceinline__ unsigned tiles_before(const tile_states &all, long long tile,
                                                 unsigned count) {
  const long long at = 256 * tile + threadIdx.x;
  const unsigned sum = counted_before(all, at);
  all.publish(at, PREFIX, sum + count);
  return sum;
}

// Ranks within the warp, in order: of the digits of the warp's points so far.
__device__ __forceinline__ void rank_points(const unsigned (&way)[ITEMS], int shift,
                                            unsigned (&rank)[ITEMS], unsigned *counts) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const unsigned digit = way[k] >> shift & 255, same = same_digit(digit), before = counts[digit];
    rank[k] = before + __popc(same & ((1u << lane) - 1));
    __syncwarp();
    if (lane == __ffs(same) - 1) counts[digit] = before + __popc(same);
    __syncwarp();
  }
}

// Counts of the warps become places in the tile, and each digit's first place in the whole is found.
__device__ __forceinline__ void place_digits(const tile_states &all, long long tile,
                                             unsigned base) {
  unsigned count = 0;
  if (threadIdx.x < 256) {
#pragma unroll
    for (int w = 0; w < BLOCK / 32; w++) {
      const unsigned of_warp = sort_ranks[w][threadIdx.x];
      sort_ranks[w][threadIdx.x] = count;
      count += of_warp;
    }
    if (tile > 0) all.publish(256 * tile + threadIdx.x, AGGREGATE, count);
  }
  const unsigned local = sum_digits(count);
  base = sum_digits(base);
  if (threadIdx.x < 256) {
#pragma unroll
    for (int w = 0; w < BLOCK / 32; w++) sort_ranks[w][threadIdx.x] += local;
    sort_places[threadIdx.x] = base - local;
  }
  __syncthreads();
  if (threadIdx.x < 256) sort_places[threadIdx.x] += tiles_before(all, tile, count);
}

// From buffer pass % 2 to the other; of the last pass, points go to the permutation. Those of the first
// are numbers in order.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
    quadtree_sort(int pass, int passes, int n, unsigned *ways, unsigned *points, int *permutation,
                  const unsigned *state, unsigned long long *words, unsigned long long *counter) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, shift = 8 * pass;
  const unsigned *way_from = ways + (pass % 2 ? n : 0), *point_from = points + (pass % 2 ? n : 0);
  unsigned *way_to = ways + (pass % 2 ? 0 : n),
           *point_to = pass == passes - 1 ? (unsigned *)permutation : points + (pass % 2 ? 0 : n);
  unsigned launch, way[ITEMS], point[ITEMS], rank[ITEMS];
  pdl_wait();
  const long long tile = take_ticket(counter, &launch);
  const tile_states all = {words, launch};
  unsigned *sort_points = sort_ways + TILE;
  const int start = (int)tile * TILE, first = start + warp * 32 * ITEMS + lane,
            here = min(TILE, n - start);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) way[k] = first + 32 * k < n ? way_from[first + 32 * k] : ~0u;
  const unsigned base = threadIdx.x < 256 ? state[STATE_DIGITS + 256 * pass + threadIdx.x] : 0;
  for (int i = lane; i < 256; i += 32) sort_ranks[warp][i] = 0;
  __syncwarp();
  rank_points(way, shift, rank, sort_ranks[warp]);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const int from = first + 32 * k;
    point[k] = pass == 0 || from >= n ? (unsigned)from : point_from[from];
  }
  __syncthreads();
  place_digits(all, tile, base);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    const unsigned at = sort_ranks[warp][way[k] >> shift & 255] + rank[k];
    sort_ways[at] = way[k];
    sort_points[at] = point[k];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < here; i += BLOCK) {
    const unsigned w = sort_ways[i], to = sort_places[w >> shift & 255] + i;
    way_to[to] = w;
    point_to[to] = sort_points[i];
  }
}
