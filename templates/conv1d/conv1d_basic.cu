// conv1d_basic.cu -- a thread for each result; the radius is an argument, the filter is in global memory.
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int rx, int mx, const stored *__restrict__ x, const tap *__restrict__ f,
           stored *__restrict__ y) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  x += pdl_wait();
  if (at >= mx) return;
  const int first = BORDER == BORDER_valid ? at : at - rx;
  number sum = 0;
  for (int i = 0; i <= 2 * rx; i++) {
    const int from = border_index(first + i, nx);
    if (from >= 0) sum += (number)f[i] * type::widen(read(x + from));
  }
  y[at] = type::narrow(sum);
}
