// quadtree_cells.cuh -- the cell of a point, and the four numbers of a node.
#pragma once

struct quad_box {
  float left, bottom, width, height;
};

// In a grid of 2^depth cells; what is outside belongs to the nearest. A NaN is in cell 0.
__device__ __forceinline__ unsigned quad_cell(float v, float from, float size, int depth) {
  const float cells = (float)(1 << depth),
              at = __fmul_rn(__fdiv_rn(__fsub_rn(v, from), size), cells);
  return at >= cells - 1.0f ? (1u << depth) - 1 : at > 0.0f ? (unsigned)at : 0u;
}

// Bit k of a number of 16 bits becomes bit 2 k.
__device__ __forceinline__ unsigned quad_spread(unsigned v) {
  v = (v | v << 8) & 0x00ff00ffu;
  v = (v | v << 4) & 0x0f0f0f0fu;
  v = (v | v << 2) & 0x33333333u;
  return (v | v << 1) & 0x55555555u;
}

// The way to a point's cell: two bits a level, from the root down.
__device__ __forceinline__ unsigned quad_way(float x, float y, const quad_box &b, int depth) {
  return quad_spread(quad_cell(x, b.left, b.width, depth)) |
         quad_spread(quad_cell(y, b.bottom, b.height, depth)) << 1;
}

// The quadrant of a node of this level that the way goes to.
__device__ __forceinline__ int quad_of(unsigned way, int level, int depth) {
  return (int)(way >> 2 * (depth - level - 1) & 3);
}

struct quad_node {
  int way, first, count, child;
};

__device__ __forceinline__ quad_node quad_get(const int *nodes, int i) {
  return {nodes[4ll * i], nodes[4ll * i + 1], nodes[4ll * i + 2], nodes[4ll * i + 3]};
}
__device__ __forceinline__ void quad_put(int *nodes, int i, quad_node v) {
  nodes[4ll * i] = v.way;
  nodes[4ll * i + 1] = v.first;
  nodes[4ll * i + 2] = v.count;
  nodes[4ll * i + 3] = v.child;
}
