// conv3d_cached_halo.cu -- a tile without its halo in shared memory; elements of the halo are read from global memory,
// where neighbouring blocks have brought them to the L2 cache.
#include "conv3d_volume.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y *BLOCK_Z)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, const stored *__restrict__ x,
           long long ldx, ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  __shared__ number elements[BLOCK_Z][BLOCK_Y][BLOCK_X + PAD];
  const result to = {mx, my, mz, y, ldy};
  const int i = threadIdx.x, j = threadIdx.y, k = threadIdx.z;
  place p = find_tile<BLOCK_X, BLOCK_Y>(to, BLOCK_Z);
  p.column += i, p.row += j, p.plane += k;
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  elements[k][j][i] = from.at(p.column + SKIP_X, p.row + SKIP_Y, p.plane + SKIP_Z);
  place_taps(f, (k * BLOCK_Y + j) * BLOCK_X + i, BLOCK_X * BLOCK_Y * BLOCK_Z);
  __syncthreads();
  if (!to.has(p)) return;
  number sum = 0;
#pragma unroll 1
  for (int c = 0; c < DEEP; c++) {
    const unsigned in_z = k + c - RZ;
#pragma unroll UNROLL
    for (int b = 0; b < HIGH; b++) {
      const unsigned in_y = j + b - RY;
#pragma unroll
      for (int a = 0; a < WIDE; a++) {
        const unsigned in_x = i + a - RX;
        const number v = in_x < BLOCK_X && in_y < BLOCK_Y && in_z < BLOCK_Z
                             ? elements[in_z][in_y][in_x]
                             : from.at(p.column + a + SKIP_X - RX, p.row + b + SKIP_Y - RY,
                                       p.plane + c + SKIP_Z - RZ);
        sum += tap_at(f, (c * HIGH + b) * WIDE + a) * v;
      }
    }
  }
  *to.at(p) = type::narrow(sum);
}
