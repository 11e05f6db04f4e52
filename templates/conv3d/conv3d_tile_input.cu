// conv3d_tile_input.cu -- a thread for each element of a tile with its halo, in shared memory; the outer RX, RY and RZ
// layers of threads only load.
#include "conv3d_volume.cuh"

constexpr int ACROSS = BLOCK_X - 2 * RX, DOWN = BLOCK_Y - 2 * RY,
              DEPTH = BLOCK_Z - 2 * RZ;  // results

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y *BLOCK_Z)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, const stored *__restrict__ x,
           long long ldx, ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  __shared__ number elements[BLOCK_Z][BLOCK_Y][BLOCK_X + PAD];
  const result to = {mx, my, mz, y, ldy};
  const place tile = find_tile<ACROSS, DOWN>(to, DEPTH);
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  const place p = {tile.column + i - RX, tile.row + j - RY, tile.plane + k - RZ};
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  elements[k][j][i] = from.at(p.column + SKIP_X, p.row + SKIP_Y, p.plane + SKIP_Z);
  place_taps(f, (k * BLOCK_Y + j) * BLOCK_X + i, BLOCK_X * BLOCK_Y * BLOCK_Z);
  __syncthreads();
  const bool inside =
      i >= RX && i < BLOCK_X - RX && j >= RY && j < BLOCK_Y - RY && k >= RZ && k < BLOCK_Z - RZ;
  if (!inside || !to.has(p)) return;
  number sum = 0;
#pragma unroll 1
  for (int c = 0; c < DEEP; c++) {
#pragma unroll UNROLL
    for (int b = 0; b < HIGH; b++) {
#pragma unroll
      for (int a = 0; a < WIDE; a++) {
        sum += tap_at(f, (c * HIGH + b) * WIDE + a) * elements[k + c - RZ][j + b - RY][i + a - RX];
      }
    }
  }
  *to.at(p) = type::narrow(sum);
}
