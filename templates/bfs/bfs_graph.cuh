// bfs_graph.cuh -- what the algorithms of bfs share.
#pragma once

constexpr unsigned UNREACHED = 0xffffffffu;

__device__ __forceinline__ unsigned grid_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ unsigned grid_threads() { return gridDim.x * blockDim.x; }

// Of several threads that reach v one gets true.
__device__ __forceinline__ bool claim(unsigned *level, unsigned v, unsigned depth) {
  return level[v] == UNREACHED && atomicCAS(&level[v], UNREACHED, depth) == UNREACHED;
}
