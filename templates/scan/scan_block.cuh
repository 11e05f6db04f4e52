// scan_block.cuh -- a scan across the threads of a block (SECTION).
// src: Hwu, Kirk, El Hajj, Programming Massively Parallel Processors, ch. 11
#pragma once
#include "scan_numbers.cuh"

__device__ __forceinline__ wide scan_by_shuffles(wide v, wide *total) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ wide warps[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = scan_lanes<32>(v);
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  // every warp scans the warps' totals for itself, which saves a barrier
  const wide sums = scan_lanes<WARPS>(lane < WARPS ? warps[lane] : identity());
  *total = __shfl_sync(0xffffffff, sums, WARPS - 1);
  const wide before = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  const wide left = __shfl_up_sync(0xffffffff, v, 1);
  return combine(warp > 0 ? before : identity(), lane > 0 ? left : identity());
}

// From the inclusive scan in shared memory.
__device__ __forceinline__ wide before_thread(const wide *all, wide *total) {
  __syncthreads();
  *total = all[BLOCK - 1];
  return threadIdx.x > 0 ? all[threadIdx.x - 1] : identity();
}

__device__ __forceinline__ wide scan_kogge_stone(wide v, wide *total) {
  __shared__ wide all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {
    __syncthreads();
    if (threadIdx.x >= stride) v = combine(all[threadIdx.x - stride], v);
    __syncthreads();  // all have read before any writes
    all[threadIdx.x] = v;
  }
  return before_thread(all, total);
}

__device__ __forceinline__ wide scan_double_buffered(wide v, wide *total) {
  __shared__ wide all[2][BLOCK];
  int from = 0;
  all[from][threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {
    __syncthreads();
    if (threadIdx.x >= stride) v = combine(all[from][threadIdx.x - stride], v);
    from = 1 - from;
    all[from][threadIdx.x] = v;
  }
  return before_thread(all[from], total);
}

__device__ __forceinline__ wide scan_brent_kung(wide v, wide *total) {
  __shared__ wide all[BLOCK];
  all[threadIdx.x] = v;
#pragma unroll
  for (int stride = 1; stride < BLOCK; stride *= 2) {  // totals of ever larger groups
    __syncthreads();
    const int i = (threadIdx.x + 1) * 2 * stride - 1;
    if (i < BLOCK) all[i] = combine(all[i - stride], all[i]);
  }
#pragma unroll
  for (int stride = BLOCK / 4; stride > 0; stride /= 2) {  // from these the prefixes between them
    __syncthreads();
    const int i = (threadIdx.x + 1) * 2 * stride - 1;
    if (i + stride < BLOCK) all[i + stride] = combine(all[i], all[i + stride]);
  }
  return before_thread(all, total);
}

// What the threads before this one have together, and what all have. A barrier has to separate two calls.
__device__ __forceinline__ wide scan_block(wide v, wide *total) {
  if constexpr (SECTION == SECTION_shuffle) {
    return scan_by_shuffles(v, total);
  } else if constexpr (SECTION == SECTION_kogge_stone) {
    return scan_kogge_stone(v, total);
  } else if constexpr (SECTION == SECTION_double_buffered) {
    return scan_double_buffered(v, total);
  } else {
    return scan_brent_kung(v, total);
  }
}

// Scans each thread's elements; returns what the threads before have, and the total of all.
__device__ __forceinline__ wide scan_threads(wide (&v)[ITEMS], wide *total) {
#pragma unroll
  for (int i = 1; i < ITEMS; i++) v[i] = combine(v[i - 1], v[i]);
  return scan_block(v[ITEMS - 1], total);
}
