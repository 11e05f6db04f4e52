// conv1d_tile_input.cu -- a thread for each element of a tile with its halo, in shared memory; the outer RX threads on
// either side only load.
#include "conv1d_line.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  __shared__ number elements[BLOCK];
  const int i = threadIdx.x, at = blockIdx.x * (BLOCK - 2 * RX) + i - RX;
  const line from = {nx, x + pdl_wait()};
  elements[i] = from.at(at + SKIP);
  place_taps(f, i, BLOCK);
  __syncthreads();
  if (i < RX || i >= BLOCK - RX || at >= mx) return;
  number sum = 0;
#pragma unroll UNROLL
  for (int a = 0; a < WIDE; a++) sum += tap_at(f, a) * elements[i + a - RX];
  y[at] = type::narrow(sum);
}
