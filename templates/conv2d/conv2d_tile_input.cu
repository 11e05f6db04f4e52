// conv2d_tile_input.cu -- a thread for each element of a tile with its halo, in shared memory; the outer RX and RY
// layers of threads only load.
#include "conv2d_image.cuh"

constexpr int ACROSS = BLOCK_X - 2 * RX, DOWN = BLOCK_Y - 2 * RY;  // results

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx,
           ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  __shared__ number elements[BLOCK_Y][BLOCK_X + PAD];
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const int i = threadIdx.x, j = threadIdx.y;
  const image from = {nx, ny, x + pdl_wait(), ldx};
  elements[j][i] = from.at(tile.column + i + SKIP_X - RX, tile.row + j + SKIP_Y - RY);
  place_taps(f, j * BLOCK_X + i, BLOCK_X * BLOCK_Y);
  __syncthreads();
  const int column = tile.column + i - RX, row = tile.row + j - RY;
  if (i < RX || i >= BLOCK_X - RX || j < RY || j >= BLOCK_Y - RY || column >= mx || row >= my)
    return;
  number sum = 0;
#pragma unroll UNROLL
  for (int b = 0; b < HIGH; b++) {
#pragma unroll
    for (int a = 0; a < WIDE; a++)
      sum += tap_at(f, b * WIDE + a) * elements[j + b - RY][i + a - RX];
  }
  y[row * ldy + column] = type::narrow(sum);
}
