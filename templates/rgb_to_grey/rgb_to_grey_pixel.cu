// rgb_to_grey_pixel.cu -- a thread per pixel, in two-dimensional blocks.
#include "pdl.cuh"
#include "rgb_to_grey_level.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    rgb_to_grey(int width, int height, double wr, double wg, double wb,
                const unsigned char *__restrict__ src, long long src_pitch,
                unsigned char *__restrict__ dst, long long dst_pitch) {
  src += pdl_wait();
  const long long x = (long long)blockIdx.x * BLOCK_X + threadIdx.x;
  const weights w = weights_of(wr, wg, wb);
  if (x >= width) return;
  for (long long y = blockIdx.y * BLOCK_Y + threadIdx.y; y < height; y += gridDim.y * BLOCK_Y) {
    dst[y * dst_pitch + x] = level_at(src + y * src_pitch + x * CHANNELS, w);
  }
}
