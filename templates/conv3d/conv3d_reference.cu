// conv3d_reference.cu -- one thread for each result, summing in f64.
#include "elements.cuh"

using type = element<DTYPE>;
using tap = element<FTYPE>::stored;

__device__ int find(int i, int n) {
  if (BORDER == BORDER_replicate) i = i < 0 ? 0 : i >= n ? n - 1 : i;
  if (BORDER == BORDER_mirror && n == 1) i = 0;
  if (BORDER == BORDER_mirror) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i >= 0 && i < n ? i : -1;
}

extern "C" __global__ void reference(int nx, int ny, int nz, int rx, int ry, int rz, int mx, int my,
                                     int mz, const type::stored *x, long long ldx, const tap *f,
                                     const tap *fy, const tap *fz, type::stored *y, long long ldy,
                                     double *magnitude) {
  const long long n = (long long)mx * my * mz;
  const bool skips = BORDER == BORDER_valid;
  for (long long at = blockIdx.x * 256ll + threadIdx.x; at < n; at += gridDim.x * 256ll) {
    const int column = at % mx, row = at / mx % my, plane = at / mx / my;
    double sum = 0, bound = 0;
    for (int k = 0; k <= 2 * rz; k++) {
      const int z = find(plane + k - (skips ? 0 : rz), nz);
      for (int j = 0; j <= 2 * ry; j++) {
        const int line = find(row + j - (skips ? 0 : ry), ny);
        for (int i = 0; i <= 2 * rx; i++) {
          const int from = find(column + i - (skips ? 0 : rx), nx);
          if (from < 0 || line < 0 || z < 0) continue;
          const double weight = RANK == RANK_full
                                    ? (double)f[(k * (2 * ry + 1) + j) * (2 * rx + 1) + i]
                                    : (double)f[i] * (double)fy[j] * (double)fz[k];
          const double term = weight * type::widen(x[((long long)z * ny + line) * ldx + from]);
          sum += term;
          bound += fabs(term);
        }
      }
    }
    y[((long long)plane * my + row) * ldy + column] = type::narrow(sum);
    magnitude[((long long)plane * my + row) * ldy + column] = bound;
  }
}
