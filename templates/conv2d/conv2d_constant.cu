// conv2d_constant.cu -- a thread for each result; the filter is in constant memory, the radii are constants.
#include "conv2d_image.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx,
           ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<BLOCK_X, BLOCK_Y>(mx);
  const int column = tile.column + threadIdx.x, row = tile.row + threadIdx.y;
  const image from = {nx, ny, x + pdl_wait(), ldx};
  if (column >= mx || row >= my) return;
  number sum = 0;
#pragma unroll UNROLL
  for (int j = 0; j < HIGH; j++) {
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      sum += tap_at(f, j * WIDE + i) * from.at(column + i + SKIP_X - RX, row + j + SKIP_Y - RY);
    }
  }
  y[row * ldy + column] = type::narrow(sum);
}
