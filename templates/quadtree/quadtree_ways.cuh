// quadtree_ways.cuh -- the first launch: the way of each point, and the root.
#pragma once
#include "pdl.cuh"

#include "quadtree_cells.cuh"

// Places in `state`, all 0 before: is a coordinate not a number; the nodes of each level (of ALG=levels, those
// with children), and their chunks; how often each digit occurs, 256 a pass.
enum { STATE_BAD, STATE_LEVELS = 32, STATE_CHUNKS = 64, STATE_DIGITS = 128 };

// Numbers of points beside the ways (PAIRS), or counts of digits.
extern "C" __global__ void __launch_bounds__(BLOCK)
    quadtree_ways(int n, const float *__restrict__ x, const float *__restrict__ y, int max_depth,
                  float left, float bottom, float width, float height, unsigned *__restrict__ ways,
                  unsigned *__restrict__ points, unsigned *state, int *nodes, int *node_count) {
  __shared__ unsigned counts[DIGITS > 0 ? 256 * DIGITS : 1];
  const quad_box box = {left, bottom, width, height};
  const long long stride = (long long)gridDim.x * BLOCK;
  constexpr int EACH = 4;  // points whose loads are under way together
  pdl_wait();
  if constexpr (DIGITS > 0) {
    for (int i = threadIdx.x; i < 256 * DIGITS; i += BLOCK) counts[i] = 0;
    __syncthreads();
  }
  bool is_bad = false;
  for (long long from = (long long)blockIdx.x * BLOCK + threadIdx.x; from < n;
       from += EACH * stride) {
    float px[EACH], py[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const long long i = min(from + k * stride, n - 1ll);
      px[k] = x[i];
      py[k] = y[i];
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
      const long long i = from + k * stride;
      if (i >= n) break;
      is_bad |= !(px[k] == px[k] && py[k] == py[k]);
      const unsigned way = quad_way(px[k], py[k], box, max_depth);
      ways[i] = way;
      if constexpr (PAIRS) {
        points[i] = (unsigned)i;
      } else {
#pragma unroll
        for (int p = 0; p < DIGITS; p++) {
          if (8 * p < 2 * max_depth || p == 0) {
            atomicAdd(&counts[256 * p + (way >> 8 * p & 255)], 1u);
          }
        }
      }
    }
  }
  if (is_bad) state[STATE_BAD] = 1;
  if constexpr (DIGITS > 0) {
    __syncthreads();
    for (int i = threadIdx.x; i < 256 * DIGITS; i += BLOCK) {
      if (counts[i]) atomicAdd(&state[STATE_DIGITS + i], counts[i]);
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    quad_put(nodes, 0, {1, 0, n, -1});
    *node_count = 1;
    state[STATE_LEVELS] = 1;
  }
}
