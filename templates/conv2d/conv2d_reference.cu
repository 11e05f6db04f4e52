// conv2d_reference.cu -- one thread for each result, summing in f64.
#include "elements.cuh"

using type = element<DTYPE>;
using tap = element<FTYPE>::stored;

__device__ bool find(int &i, int n) {
  if (BORDER == BORDER_replicate) i = i < 0 ? 0 : i >= n ? n - 1 : i;
  if (BORDER == BORDER_mirror && n == 1) i = 0;
  if (BORDER == BORDER_mirror) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i >= 0 && i < n;
}

extern "C" __global__ void reference(int nx, int ny, int rx, int ry, int mx, int my,
                                     const type::stored *x, long long ldx, const tap *f,
                                     const tap *fy, type::stored *y, long long ldy,
                                     double *magnitude) {
  const long long n = (long long)mx * my;
  const int skip_x = BORDER == BORDER_valid ? rx : 0, skip_y = BORDER == BORDER_valid ? ry : 0;
  for (long long k = blockIdx.x * 256ll + threadIdx.x; k < n; k += gridDim.x * 256ll) {
    const int column = k % mx, row = k / mx;
    double sum = 0, bound = 0;
    for (int j = -ry; j <= ry; j++) {
      for (int i = -rx; i <= rx; i++) {
        int from = column + skip_x + i, line = row + skip_y + j;
        if (!find(from, nx) || !find(line, ny)) continue;
        const double weight = RANK == RANK_full ? (double)f[(j + ry) * (2 * rx + 1) + i + rx]
                                                : (double)f[i + rx] * (double)fy[j + ry];
        const double term = weight * type::widen(x[line * ldx + from]);
        sum += term;
        bound += fabs(term);
      }
    }
    y[row * ldy + column] = type::narrow(sum);
    magnitude[row * ldy + column] = bound;
  }
}
