// box_blur_shared.cu -- a thread per pixel, which reads its window from the block's tile in shared memory.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    box_blur(int width, int height, int radius, const value *__restrict__ src, long long src_pitch,
             value *__restrict__ dst, long long dst_pitch) {
  extern __shared__ unsigned char memory[];
  value *tile = reinterpret_cast<value *>(memory);
  src += pdl_wait();
  const int left = blockIdx.x * BLOCK_X, top = blockIdx.y * BLOCK_Y;
  const int across = BLOCK_X + 2 * radius, down = BLOCK_Y + 2 * radius;
  for (int j = threadIdx.y; j < down; j += BLOCK_Y) {
    const int v = inside(top - radius + j, height);
    for (int i = threadIdx.x; i < across; i += BLOCK_X) {
      const int u = inside(left - radius + i, width);
      tile[j * across + i] = u >= 0 && v >= 0 ? src[v * src_pitch + u] : (value)0;
    }
  }
  __syncthreads();
  const int x = left + threadIdx.x, y = top + threadIdx.y;
  if (x >= width || y >= height) return;
  total sum = 0;
  for (int j = 0; j <= 2 * radius; j++) {
    const value *line = tile + (threadIdx.y + j) * across + threadIdx.x;
    total part = 0;
#pragma unroll 4
    for (int i = 0; i <= 2 * radius; i++) part += line[i];
    sum += part;
  }
  dst[y * dst_pitch + x] = mean_of(sum, counted(x, width, radius), counted(y, height, radius));
}
