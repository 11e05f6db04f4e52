// box_blur_direct.cu -- a thread per pixel, which reads its whole window.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    box_blur(int width, int height, int radius, const value *__restrict__ src, long long src_pitch,
             value *__restrict__ dst, long long dst_pitch) {
  src += pdl_wait();
  const int r = R < 0 ? radius : R;
  const int x = blockIdx.x * BLOCK_X + threadIdx.x;
  if (x >= width) return;
  for (long long row = (long long)blockIdx.y * BLOCK_Y + threadIdx.y; row < height;
       row += gridDim.y * BLOCK_Y) {
    const int y = (int)row;
    total sum = 0;
    for (int j = -r; j <= r; j++) {
      const int v = inside(y + j, height);
      if (v < 0) continue;
      const value *from = src + v * src_pitch;
      line_total line = 0;
      for (int i = -r; i <= r; i++) {
        const int u = inside(x + i, width);
        if (u >= 0) line += from[u];
      }
      sum += line;
    }
    dst[row * dst_pitch + x] = mean_of(sum, counted(x, width, r), counted(y, height, r));
  }
}
