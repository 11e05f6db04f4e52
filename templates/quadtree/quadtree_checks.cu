// quadtree_checks.cu -- is it a tree of these points?
#include "quadtree_cells.cuh"

__device__ void report(unsigned long long *wrong, long long i) {
  atomicAdd(&wrong[0], 1ull);
  atomicMin(&wrong[1], (unsigned long long)i);
}

extern "C" __global__ void mark_points(int n, const int *permutation, unsigned *times,
                                       unsigned long long *wrong) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const int p = permutation[i];
  if (p >= 0 && p < n) {
    atomicAdd(&times[p], 1u);
  } else {
    report(wrong, i);
  }
}

extern "C" __global__ void are_one(int n, const unsigned *times, unsigned long long *wrong) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n && times[i] != 1) report(wrong, i);
}

__device__ int level_of(int way) { return (31 - __clz(way)) / 2; }

// Are the children those of the node, with its points one behind the other's?
__device__ bool children_fit(const int *nodes, int all, const quad_node &node) {
  int first = node.first;
  if (node.child < 1 || node.child > all - 4) return false;
  for (int q = 0; q < 4; q++) {
    const quad_node c = quad_get(nodes, node.child + q);
    if (c.way != node.way * 4 + q || c.first != first || c.count < 0) return false;
    first += c.count;
  }
  return first == node.first + node.count;
}

extern "C" __global__ void check_nodes(int n, int min_points, int max_depth, const int *nodes,
                                       const int *node_count, unsigned *parents, unsigned *inner,
                                       unsigned long long *wrong) {
  const int all = *node_count;
  if (all < 1 && blockIdx.x + threadIdx.x == 0) report(wrong, 0);
  for (int i = blockIdx.x * 256 + threadIdx.x; i < all; i += gridDim.x * 256) {
    const quad_node node = quad_get(nodes, i);
    const bool splits = node.count > min_points && level_of(node.way) < max_depth;
    const bool root = node.way == 1 && node.first == 0 && node.count == n;
    if ((i == 0 && !root) || splits != (node.child >= 0) ||
        (splits && !children_fit(nodes, all, node))) {
      report(wrong, i);
    } else if (splits) {
      atomicAdd(inner, 1u);
      for (int q = 0; q < 4; q++) atomicAdd(&parents[node.child + q], 1u);
    }
  }
}

// Every node but the root is the child of one.
extern "C" __global__ void check_parents(const int *node_count, const unsigned *parents,
                                         const unsigned *inner, unsigned long long *wrong) {
  const int all = *node_count;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < all; i += gridDim.x * 256) {
    if (parents[i] != (i > 0) || all != 1 + 4 * (int)*inner) report(wrong, i);
  }
}

// A thread a place in the permutation goes down to its leaf, whose way the point's must begin with.
extern "C" __global__ void check_boxes(int n, const float *x, const float *y, int max_depth,
                                       float left, float bottom, float width, float height,
                                       const int *nodes, const int *node_count,
                                       const int *permutation, unsigned long long *wrong) {
  const int i = blockIdx.x * 256 + threadIdx.x, all = *node_count;
  if (i >= n || all < 1) return;
  quad_node node = quad_get(nodes, 0);
  int level = 0;
  while (node.child >= 1 && node.child <= all - 4 && level < max_depth) {
    int q = 0;
    while (q < 3 && i >= nodes[4ll * (node.child + q + 1) + 1]) q++;
    node = quad_get(nodes, node.child + q);
    level++;
  }
  const int p = permutation[i];
  const quad_box box = {left, bottom, width, height};
  const bool in = p >= 0 && p < n && i >= node.first && i < node.first + node.count;
  if (!in || quad_way(x[p], y[p], box, max_depth) >> 2 * (max_depth - level) !=
                 ((unsigned)node.way ^ 1u << 2 * level)) {
    report(wrong, i);
  }
}
