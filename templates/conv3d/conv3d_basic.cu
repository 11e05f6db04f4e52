// conv3d_basic.cu -- a thread for each result; the radii are arguments, the filter is in global memory.
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y *BLOCK_Z)
    conv3d(int nx, int ny, int nz, int rx, int ry, int rz, int mx, int my, int mz,
           const stored *__restrict__ x, long long ldx, const tap *__restrict__ f,
           const tap *__restrict__ fy, const tap *__restrict__ fz, stored *__restrict__ y,
           long long ldy) {
  const unsigned columns = (unsigned)(mx - 1) / BLOCK_X + 1,
                 rows = (unsigned)(my - 1) / BLOCK_Y + 1;
  const unsigned line = blockIdx.x / columns;
  const int column = blockIdx.x % columns * BLOCK_X + threadIdx.x;
  const int row = line % rows * BLOCK_Y + threadIdx.y, plane = line / rows * BLOCK_Z + threadIdx.z;
  x += pdl_wait();
  if (column >= mx || row >= my || plane >= mz) return;
  const bool skips = BORDER == BORDER_valid;
  const int skip_x = skips ? 0 : rx, skip_y = skips ? 0 : ry, skip_z = skips ? 0 : rz;
  number sum = 0;
  for (int k = 0; k <= 2 * rz; k++) {
    const int slice = border_index(plane + k - skip_z, nz);
    if (slice < 0) continue;
    for (int j = 0; j <= 2 * ry; j++) {
      const int from = border_index(row + j - skip_y, ny);
      if (from < 0) continue;
      const stored *elements = x + ((long long)slice * ny + from) * ldx;
      const tap *taps = RANK == RANK_full ? f + (k * (2 * ry + 1) + j) * (2 * rx + 1) : f;
      const number across = RANK == RANK_full ? 1 : (number)fy[j] * (number)fz[k];
      for (int i = 0; i <= 2 * rx; i++) {
        const int at = border_index(column + i - skip_x, nx);
        if (at < 0) continue;
        const number weight = RANK == RANK_full ? (number)taps[i] : (number)taps[i] * across;
        sum += weight * type::widen(read(elements + at));
      }
    }
  }
  y[((long long)plane * my + row) * ldy + column] = type::narrow(sum);
}
