// conv2d_basic.cu -- a thread for each result; the radii are arguments, the filter is in global memory.
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    conv2d(int nx, int ny, int rx, int ry, int mx, int my, const stored *__restrict__ x,
           long long ldx, const tap *__restrict__ f, const tap *__restrict__ fy,
           stored *__restrict__ y, long long ldy) {
  const unsigned tiles = (unsigned)(mx - 1) / BLOCK_X + 1;
  const int column = blockIdx.x % tiles * BLOCK_X + threadIdx.x;
  const int row = blockIdx.x / tiles * BLOCK_Y + threadIdx.y;
  x += pdl_wait();
  if (column >= mx || row >= my) return;
  const int skip_x = BORDER == BORDER_valid ? 0 : rx, skip_y = BORDER == BORDER_valid ? 0 : ry;
  number sum = 0;
  for (int j = 0; j <= 2 * ry; j++) {
    const int from = border_index(row + j - skip_y, ny);
    if (from < 0) continue;
    for (int i = 0; i <= 2 * rx; i++) {
      const int at = border_index(column + i - skip_x, nx);
      if (at < 0) continue;
      const number weight =
          RANK == RANK_full ? (number)f[j * (2 * rx + 1) + i] : (number)f[i] * (number)fy[j];
      sum += weight * type::widen(read(x + from * ldx + at));
    }
  }
  y[row * ldy + column] = type::narrow(sum);
}
