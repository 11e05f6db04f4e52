// quadtree_launch.cu -- a block a node, which launches a grid for its children (CUDA Dynamic Parallelism).
#include "quadtree_ways.cuh"

// The order of points within a quadrant is that in which their threads come.
__device__ __forceinline__ void move(const quad_node &node, int level, int n, int max_depth,
                                     unsigned *ways, unsigned *points, int *cursors) {
  const unsigned *way = ways + (level % 2 ? n : 0), *point = points + (level % 2 ? n : 0);
  unsigned *way_to = ways + (level % 2 ? 0 : n), *point_to = points + (level % 2 ? 0 : n);
  for (int i = node.first + (int)threadIdx.x; i < node.first + node.count; i += BLOCK) {
    const unsigned w = way[i];
    const int at = atomicAdd(&cursors[quad_of(w, level, max_depth)], 1);
    way_to[at] = w;
    point_to[at] = point[i];
  }
}

// Thread 0: the four children, behind all nodes so far.
__device__ __forceinline__ int add_children(int *nodes, int *node_count, int index,
                                            const quad_node &node, int *counts) {
  const int child = atomicAdd(node_count, 4);
  int first = node.first;
  for (int q = 0; q < 4; q++) {
    const int count = counts[q];
    quad_put(nodes, child + q, {node.way * 4 + q, first, count, -1});
    counts[q] = first;
    first += count;
  }
  nodes[4ll * index + 3] = child;
  return child;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_node(int first, int level, int n, int min_points, int max_depth, const unsigned *state,
                  unsigned *ways, unsigned *points, int *nodes, int *node_count,
                  int *permutation) {
  __shared__ int counts[4], child;
  const int index = first + (int)blockIdx.x;
  const quad_node node = quad_get(nodes, index);
  if (state[STATE_BAD]) {
    if (threadIdx.x == 0) *node_count = -1;
    return;
  }
  if (node.count <= min_points || level == max_depth) {
    const unsigned *point = points + (level % 2 ? n : 0);
    for (int i = node.first + (int)threadIdx.x; i < node.first + node.count; i += BLOCK) {
      permutation[i] = (int)point[i];
    }
    return;
  }
  if (threadIdx.x < 4) counts[threadIdx.x] = 0;
  __syncthreads();
  const unsigned *way = ways + (level % 2 ? n : 0);
  for (int i = node.first + (int)threadIdx.x; i < node.first + node.count; i += BLOCK) {
    atomicAdd(&counts[quad_of(way[i], level, max_depth)], 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) child = add_children(nodes, node_count, index, node, counts);
  __syncthreads();
  move(node, level, n, max_depth, ways, points, counts);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
@ local stream = LAUNCH == "tail" and "cudaStreamTailLaunch" or "cudaStreamFireAndForget"
    quadtree_node<<<4, BLOCK, 0, @{stream}>>>(child, level + 1, n, min_points, max_depth, state, ways, points,
                                              nodes, node_count, permutation);
  }
}
