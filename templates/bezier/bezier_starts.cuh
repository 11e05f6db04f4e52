// bezier_starts.cuh -- a block counts the points of BLOCK curves and learns where they begin.
#pragma once
#include "ptx.cuh"

using wide = long long;
#define IDENTITY 0
__device__ __forceinline__ wide combine(wide a, wide b) { return a + b; }
__device__ __forceinline__ unsigned long long bits_of(wide v) { return (unsigned long long)v; }
__device__ __forceinline__ wide of_bits(unsigned long long v) { return (wide)v; }
#include "tile_state.cuh"

#include "bezier_curve.cuh"

struct bezier_tile {
  bezier_curve curve;
  int count,
      before;  // of this thread's curve: its points, and those of the block's curves before it
  int points;  // of the block's curves
};

// The exclusive sum over the threads of the block, and that of all.
__device__ __forceinline__ int bezier_sum(int v, int *total) {
  __shared__ int warps[BLOCK / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = v;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int left = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += left;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  int before = 0, all = 0;
#pragma unroll
  for (int w = 0; w < BLOCK / 32; w++) {
    before += w < warp ? warps[w] : 0;
    all += warps[w];
  }
  *total = all;
  return before + sum - v;
}

// Coordinates pass through `staged`, 6 * BLOCK floats, so that the block's loads are of neighbours.
__device__ __forceinline__ bezier_tile bezier_count_tile(long long curves, long long first,
                                                         const float *__restrict__ control,
                                                         int max_points, float *staged) {
  bezier_tile t;
  const long long left = curves - first;
  const int n = left < BLOCK ? (int)left : BLOCK;
  float v[6];
#pragma unroll
  for (int k = 0; k < 6; k++) {
    const int i = k * BLOCK + (int)threadIdx.x;
    v[k] = i < 6 * n ? control[6 * first + i] : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < 6; k++) staged[k * BLOCK + threadIdx.x] = v[k];
  __syncthreads();
  t.curve.load(staged + 6 * threadIdx.x);
  t.count = (int)threadIdx.x < n ? bezier_count(t.curve, max_points) : 0;
  t.before = bezier_sum(t.count, &t.points);
  return t;
}

// Where the block's points begin, for all threads, once the blocks before have said how many they have.
__device__ __forceinline__ long long bezier_base(const tile_states &all, long long tile,
                                                 int points) {
  __shared__ long long base;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) all.publish(tile, tile > 0 ? AGGREGATE : PREFIX, points);
    const long long sum = look_back(all, tile);
    if (threadIdx.x == 0) {
      if (tile > 0) all.publish(tile, PREFIX, sum + points);
      base = sum;
    }
  }
  __syncthreads();
  return base;
}

// starts[] of the block's curves; the last block adds how many points there are.
__device__ __forceinline__ void bezier_put_starts(long long curves, long long first, long long base,
                                                  const bezier_tile &t, long long *starts) {
  const long long i = first + threadIdx.x;
  if (i < curves) starts[i] = base + t.before;
  if (curves - first <= BLOCK && threadIdx.x == 0) starts[curves] = base + t.points;
}
