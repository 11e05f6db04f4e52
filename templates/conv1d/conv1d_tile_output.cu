// conv1d_tile_output.cu -- OUT_X results for each thread, BLOCK apart, from a tile with its halo in shared memory, of
// which a thread loads several elements.
#include "conv1d_line.cuh"

constexpr int ACROSS = BLOCK * OUT_X, TILE = ACROSS + 2 * RX;

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv1d(int nx, int mx, const stored *__restrict__ x, ARGUMENT_OF_TAPS, stored *__restrict__ y) {
  extern __shared__ uint4 memory[];
  number *elements = reinterpret_cast<number *>(memory);
  const int first = blockIdx.x * ACROSS;
  const line from = {nx, x + pdl_wait()};
#pragma unroll
  for (int i = threadIdx.x; i < ACROSS; i += BLOCK) elements[i] = from.at(first + i + SKIP - RX);
  for (int i = ACROSS + threadIdx.x; i < TILE; i += BLOCK)
    elements[i] = from.at(first + i + SKIP - RX);
  place_taps(f, threadIdx.x, BLOCK);
  __syncthreads();
  number sum[OUT_X] = {};
#pragma unroll UNROLL
  for (int a = 0; a < WIDE; a++) {
    const number weight = tap_at(f, a);
#pragma unroll
    for (int u = 0; u < OUT_X; u++) sum[u] += weight * elements[u * BLOCK + threadIdx.x + a];
  }
#pragma unroll
  for (int u = 0; u < OUT_X; u++) {
    const int at = first + u * BLOCK + threadIdx.x;
    if (at < mx) y[at] = type::narrow(sum[u]);
  }
}
