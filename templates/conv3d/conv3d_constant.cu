// conv3d_constant.cu -- a thread for each result; the filter is in constant memory, the radii are constants.
#include "conv3d_volume.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y *BLOCK_Z)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, const stored *__restrict__ x,
           long long ldx, ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  const result to = {mx, my, mz, y, ldy};
  place p = find_tile<BLOCK_X, BLOCK_Y>(to, BLOCK_Z);
  p.column += threadIdx.x, p.row += threadIdx.y, p.plane += threadIdx.z;
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  if (!to.has(p)) return;
  number sum = 0;
#pragma unroll 1
  for (int k = 0; k < DEEP; k++) {
#pragma unroll UNROLL
    for (int j = 0; j < HIGH; j++) {
#pragma unroll
      for (int i = 0; i < WIDE; i++) {
        sum +=
            tap_at(f, (k * HIGH + j) * WIDE + i) *
            from.at(p.column + i + SKIP_X - RX, p.row + j + SKIP_Y - RY, p.plane + k + SKIP_Z - RZ);
      }
    }
  }
  *to.at(p) = type::narrow(sum);
}
