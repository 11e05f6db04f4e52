// conv1d_cached_halo.cu -- a tile without its halo in shared memory; elements of the halo are read from global memory,
// where neighbouring blocks have brought them to the L2 cache.
#include "conv1d_line.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  __shared__ number elements[BLOCK];
  const int i = threadIdx.x, at = blockIdx.x * BLOCK + i;
  const line from = {nx, x + pdl_wait()};
  elements[i] = from.at(at + SKIP);
  place_taps(f, i, BLOCK);
  __syncthreads();
  if (at >= mx) return;
  number sum = 0;
#pragma unroll UNROLL
  for (int a = 0; a < WIDE; a++) {
    const unsigned in = i + a - RX;
    sum += tap_at(f, a) * (in < BLOCK ? elements[in] : from.at(at + a + SKIP - RX));
  }
  y[at] = type::narrow(sum);
}
