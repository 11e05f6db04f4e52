// conv3d_tile_output.cu -- OUT_X x OUT_Y x OUT_Z results for each thread, BLOCK_X, BLOCK_Y and BLOCK_Z apart, from a
// tile with its halo in shared memory, of which a thread loads several elements.
#include "conv3d_volume.cuh"

constexpr int ACROSS = BLOCK_X * OUT_X, DOWN = BLOCK_Y * OUT_Y, DEPTH = BLOCK_Z * OUT_Z;  // results
constexpr int TILE_X = ACROSS + 2 * RX, TILE_Y = DOWN + 2 * RY, TILE_Z = DEPTH + 2 * RZ;
constexpr int PITCH = TILE_X + PAD, THREADS = BLOCK_X * BLOCK_Y * BLOCK_Z;

extern "C" __global__ void __launch_bounds__(THREADS)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, const stored *__restrict__ x,
           long long ldx, ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  extern __shared__ uint4 memory[];
  number *elements = reinterpret_cast<number *>(memory);
  const result to = {mx, my, mz, y, ldy};
  const place tile = find_tile<ACROSS, DOWN>(to, DEPTH);
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  for (int line = threadIdx.z * BLOCK_Y + threadIdx.y; line < TILE_Y * TILE_Z;
       line += BLOCK_Y * BLOCK_Z) {
    const int j = line % TILE_Y, k = line / TILE_Y;
    for (int i = threadIdx.x; i < TILE_X; i += BLOCK_X) {
      elements[line * PITCH + i] = from.at(
          tile.column + i + SKIP_X - RX, tile.row + j + SKIP_Y - RY, tile.plane + k + SKIP_Z - RZ);
    }
  }
  place_taps(f, (threadIdx.z * BLOCK_Y + threadIdx.y) * BLOCK_X + threadIdx.x, THREADS);
  __syncthreads();
  number sum[OUT_Z][OUT_Y][OUT_X] = {};
  const number *mine = elements + (threadIdx.z * TILE_Y + threadIdx.y) * PITCH + threadIdx.x;
#pragma unroll 1
  for (int c = 0; c < DEEP; c++) {
#pragma unroll UNROLL
    for (int b = 0; b < HIGH; b++) {
#pragma unroll
      for (int a = 0; a < WIDE; a++) {
        const number weight = tap_at(f, (c * HIGH + b) * WIDE + a);
#pragma unroll
        for (int n = 0; n < OUT_Z * OUT_Y * OUT_X; n++) {
          const int u = n % OUT_X, v = n / OUT_X % OUT_Y, w = n / (OUT_X * OUT_Y);
          sum[w][v][u] +=
              weight *
              mine[((w * BLOCK_Z + c) * TILE_Y + v * BLOCK_Y + b) * PITCH + u * BLOCK_X + a];
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < OUT_Z * OUT_Y * OUT_X; n++) {
    const int u = n % OUT_X, v = n / OUT_X % OUT_Y, w = n / (OUT_X * OUT_Y);
    const place p = {tile.column + u * BLOCK_X + (int)threadIdx.x,
                     tile.row + v * BLOCK_Y + (int)threadIdx.y,
                     tile.plane + w * BLOCK_Z + (int)threadIdx.z};
    if (to.has(p)) *to.at(p) = type::narrow(sum[w][v][u]);
  }
}
