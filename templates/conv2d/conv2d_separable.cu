// conv2d_separable.cu -- a thread marches down OUT_X columns of the image: it filters each row along x, and adds the
// sums, times a tap along y, to those of the HIGH results that the row is part of.
#include "conv2d_rows.cuh"

@ if FILTER == "constant" then
__constant__ tap constant_down[HIGH];
@ end

@ if FILTER == "parameter" then
struct down_by_value {
  tap at[HIGH];
};
#define DOWN_ARGUMENT const __grid_constant__ down_by_value fy
using down_given = const down_by_value &;
@ else
#define DOWN_ARGUMENT const tap *__restrict__ fy
using down_given = const tap *;
@ end

__device__ __forceinline__ number tap_down(down_given fy, int j) {
@ if FILTER == "constant" then
  return (number)constant_down[j];
@ elseif FILTER == "parameter" then
  return (number)fy.at[j];
@ else
  return (number)load_constant(fy + j);
@ end
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx, ARGUMENT_OF_TAPS,
           DOWN_ARGUMENT, stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const int column = tile.column + threadIdx.x * OUT_X, row = tile.row + threadIdx.y * OUT_Y;
  const int n = min(OUT_Y, my - row);
  const columns in({nx, ny, x + pdl_wait(), ldx}, column);
  if (column >= mx || n <= 0) return;
  y += row * ldy + column;
  number sum[HIGH][OUT_X] = {};  // the oldest first
  march(in, row + SKIP_Y - RY, n + 2 * RY, [&](int s, const line &v) {
    number across[OUT_X] = {};
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
#pragma unroll
      for (int o = 0; o < OUT_X; o++) across[o] += tap_at(f, i) * v.e[SHIFT + o + i];
    }
    number done[OUT_X];
#pragma unroll
    for (int o = 0; o < OUT_X; o++) {
      sum[HIGH - 1][o] = 0;
      done[o] = sum[0][o] + tap_down(fy, HIGH - 1) * across[o];
#pragma unroll
      for (int k = 1; k < HIGH; k++) sum[k - 1][o] = sum[k][o] + tap_down(fy, HIGH - 1 - k) * across[o];
    }
    if (s >= 2 * RY) {
      put(y, column, mx, done);
      y += ldy;
    }
  });
}
