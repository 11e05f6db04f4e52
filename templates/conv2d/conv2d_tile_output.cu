// conv2d_tile_output.cu -- OUT_X x OUT_Y results for each thread, BLOCK_X and BLOCK_Y apart, from a tile with its halo
// in shared memory, of which a thread loads several elements.
#include "conv2d_image.cuh"

constexpr int ACROSS = BLOCK_X * OUT_X, DOWN = BLOCK_Y * OUT_Y;  // results
constexpr int TILE_X = ACROSS + 2 * RX, TILE_Y = DOWN + 2 * RY, PITCH = TILE_X + PAD;

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx,
           ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  extern __shared__ uint4 memory[];
  number *elements = reinterpret_cast<number *>(memory);
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const image from = {nx, ny, x + pdl_wait(), ldx};
  for (int j = threadIdx.y; j < TILE_Y; j += BLOCK_Y) {
    for (int i = threadIdx.x; i < TILE_X; i += BLOCK_X) {
      elements[j * PITCH + i] = from.at(tile.column + i + SKIP_X - RX, tile.row + j + SKIP_Y - RY);
    }
  }
  place_taps(f, threadIdx.y * BLOCK_X + threadIdx.x, BLOCK_X * BLOCK_Y);
  __syncthreads();
  number sum[OUT_Y][OUT_X] = {};
  const number *mine = elements + threadIdx.y * PITCH + threadIdx.x;
#pragma unroll UNROLL
  for (int b = 0; b < HIGH; b++) {
#pragma unroll
    for (int a = 0; a < WIDE; a++) {
      const number weight = tap_at(f, b * WIDE + a);
#pragma unroll
      for (int v = 0; v < OUT_Y; v++) {
#pragma unroll
        for (int u = 0; u < OUT_X; u++)
          sum[v][u] += weight * mine[(v * BLOCK_Y + b) * PITCH + u * BLOCK_X + a];
      }
    }
  }
#pragma unroll
  for (int v = 0; v < OUT_Y; v++) {
    const int row = tile.row + v * BLOCK_Y + threadIdx.y;
#pragma unroll
    for (int u = 0; u < OUT_X; u++) {
      const int column = tile.column + u * BLOCK_X + threadIdx.x;
      if (row < my && column < mx) y[row * ldy + column] = type::narrow(sum[v][u]);
    }
  }
}
