// conv1d_constant.cu -- a thread for each result; the filter is in constant memory, the radius is a constant.
#include "conv1d_line.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  const line from = {nx, x + pdl_wait()};
  if (at >= mx) return;
  number sum = 0;
#pragma unroll UNROLL
  for (int i = 0; i < WIDE; i++) sum += tap_at(f, i) * from.at(at + i + SKIP - RX);
  y[at] = type::narrow(sum);
}
