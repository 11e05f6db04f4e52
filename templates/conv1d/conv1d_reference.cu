// conv1d_reference.cu -- one thread for each result, summing in f64.
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

extern "C" __global__ void reference(int nx, int rx, int mx, const type::stored *x, const tap *f,
                                     type::stored *y, double *magnitude) {
  for (long long k = blockIdx.x * 256ll + threadIdx.x; k < mx; k += gridDim.x * 256ll) {
    double sum = 0, bound = 0;
    for (int i = -rx; i <= rx; i++) {
      int from = k + i + (BORDER == BORDER_valid ? rx : 0);
      if (!find(from, nx)) continue;
      const double term = (double)f[i + rx] * type::widen(x[from]);
      sum += term;
      bound += fabs(term);
    }
    y[k] = type::narrow(sum);
    magnitude[k] = bound;
  }
}
