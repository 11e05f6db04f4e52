// stencil_points.cuh -- what all algorithms share: types, weights, and what lies beyond the border.
//
// A point is the weighted sum of its neighbours: of a star those along the axes, c[d] at the distance d; of a
// box all, c[d] at a Chebyshev distance of d. With DIMS == 2 there are nz images, each a stencil of its own.
#pragma once
#include "elements.cuh"
#include "pdl.cuh"

using stored = element<DTYPE>::stored;
using number = element<DTYPE>::number;

struct weights {
  number c[5];
};

__device__ __forceinline__ weights weights_of(double c0, double c1, double c2, double c3,
                                              double c4) {
  return {{(number)c0, (number)c1, (number)c2, (number)c3, (number)c4}};
}

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// The place of i in 0..n-1 of a periodic field.
__device__ __forceinline__ int wrap(int i, int n) {
  if ((unsigned)i < (unsigned)n) return i;
  i %= n;
  return i < 0 ? i + n : i;
}

// Is i of 0..n-1 in the outer layers, which keep their values?
__device__ __forceinline__ bool outer(int i, int n) { return i < ORDER || i >= n - ORDER; }

struct extents {
  int nx, ny, nz;

  __device__ __forceinline__ bool contains(int x, int y, int z) const {
    return (unsigned)x < (unsigned)nx && (unsigned)y < (unsigned)ny && (unsigned)z < (unsigned)nz;
  }
  __device__ __forceinline__ long long at(int x, int y, int z) const {
    return ((long long)z * ny + y) * nx + x;
  }
  __device__ __forceinline__ bool keeps(int x, int y, int z) const {
    return BORDER == BORDER_keep && (outer(x, nx) || outer(y, ny) || (DIMS == 3 && outer(z, nz)));
  }
  // The value of a neighbour, which may be beyond the border.
  __device__ __forceinline__ number load(const stored *in, int x, int y, int z) const {
    if constexpr (BORDER == BORDER_periodic) {
      x = wrap(x, nx), y = wrap(y, ny), z = wrap(z, nz);
    } else {
      if (!contains(x, y, z)) return 0;
    }
    return element<DTYPE>::widen(in[at(x, y, z)]);
  }
};

// The sum at one point; neighbour(dx, dy, dz) gives the values.
template <typename Neighbour>
__device__ __forceinline__ number sum_point(const weights &w, Neighbour neighbour) {
  number sum = w.c[0] * neighbour(0, 0, 0);
  if constexpr (SHAPE == SHAPE_star) {
#pragma unroll
    for (int d = 1; d <= ORDER; d++) {
      sum = multiply_add(w.c[d], neighbour(-d, 0, 0), sum);
      sum = multiply_add(w.c[d], neighbour(d, 0, 0), sum);
      sum = multiply_add(w.c[d], neighbour(0, -d, 0), sum);
      sum = multiply_add(w.c[d], neighbour(0, d, 0), sum);
      if constexpr (DIMS == 3) {
        sum = multiply_add(w.c[d], neighbour(0, 0, -d), sum);
        sum = multiply_add(w.c[d], neighbour(0, 0, d), sum);
      }
    }
  } else {
#pragma unroll 1
    for (int z = DIMS == 3 ? -ORDER : 0; z <= (DIMS == 3 ? ORDER : 0); z++) {
#pragma unroll 1
      for (int y = -ORDER; y <= ORDER; y++) {
#pragma unroll
        for (int x = -ORDER; x <= ORDER; x++) {
          if (x == 0 && y == 0 && z == 0) continue;
          const int d = max(max(abs(x), abs(y)), abs(z));
          number c = w.c[0];
#pragma unroll
          for (int k = 1; k <= ORDER; k++) c = d == k ? w.c[k] : c;
          sum = multiply_add(c, neighbour(x, y, z), sum);
        }
      }
    }
  }
  return sum;
}

// A step of one point, from global memory.
__device__ __forceinline__ stored compute_point(const weights &w, const extents &field,
                                                const stored *in, int x, int y, int z) {
  if (field.keeps(x, y, z)) return in[field.at(x, y, z)];
  return element<DTYPE>::narrow(
      sum_point(w, [&](int dx, int dy, int dz) { return field.load(in, x + dx, y + dy, z + dz); }));
}
