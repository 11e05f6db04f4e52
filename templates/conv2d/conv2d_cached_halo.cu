// conv2d_cached_halo.cu -- a tile without its halo in shared memory; elements of the halo are read from global memory,
// where neighbouring blocks have brought them to the L2 cache.
#include "conv2d_image.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx,
           ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  __shared__ number elements[BLOCK_Y][BLOCK_X + PAD];
  const tile_origin tile = find_tile<BLOCK_X, BLOCK_Y>(mx);
  const int i = threadIdx.x, j = threadIdx.y;
  const int column = tile.column + i, row = tile.row + j;
  const image from = {nx, ny, x + pdl_wait(), ldx};
  elements[j][i] = from.at(column + SKIP_X, row + SKIP_Y);
  place_taps(f, j * BLOCK_X + i, BLOCK_X * BLOCK_Y);
  __syncthreads();
  if (column >= mx || row >= my) return;
  number sum = 0;
#pragma unroll UNROLL
  for (int b = 0; b < HIGH; b++) {
#pragma unroll
    for (int a = 0; a < WIDE; a++) {
      const unsigned in_x = i + a - RX, in_y = j + b - RY;
      const number v = in_x < BLOCK_X && in_y < BLOCK_Y
                           ? elements[in_y][in_x]
                           : from.at(column + a + SKIP_X - RX, row + b + SKIP_Y - RY);
      sum += tap_at(f, b * WIDE + a) * v;
    }
  }
  y[row * ldy + column] = type::narrow(sum);
}
