// box_blur_integral.cu -- the integral image: sums of all pixels above and to the left, of the image with `radius` more
// on each side. A window's sum is that of four of them; they may wrap around.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"
#include "box_blur_scan.cuh"

// Row j of the sums, of the pixels of row j - 1 alone; a block takes a row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    integral_rows(int width, int height, int radius, const value *__restrict__ src,
                  long long src_pitch, total *__restrict__ sums) {
  __shared__ total warps[2][BLOCK / 32];
  src += pdl_wait();
  const long long across = width + 2 * radius + 1;
  const int v = inside((int)blockIdx.x - 1 - radius, height);
  total *row = sums + blockIdx.x * across, carry = 0;
  const bool any = blockIdx.x > 0 && v >= 0;
  for (long long first = 0, half = 0; first < across; first += BLOCK, half ^= 1) {
    const long long i = first + threadIdx.x;
    const int u = i < across - 1 ? inside((int)i - radius, width) : -1;
    const total mine = any && u >= 0 ? (total)src[v * src_pitch + u] : (total)0;
    const total sum = carry + before(mine, warps[half]);
    if (i < across) row[i] = sum;
#pragma unroll
    for (int k = 0; k < BLOCK / 32; k++) carry += warps[half][k];
  }
}

// Each row added to the one above; a thread takes a column.
extern "C" __global__ void __launch_bounds__(BLOCK)
    integral_columns(int width, int height, int radius, total *__restrict__ sums) {
  const long long across = width + 2 * radius + 1, down = height + 2 * radius + 1;
  const long long i = (long long)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= across) return;
  total sum = 0;
#pragma unroll 8
  for (long long j = 0; j < down; j++) {
    sum += sums[j * across + i];
    sums[j * across + i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    integral_windows(int width, int height, int radius, const total *__restrict__ sums,
                     value *__restrict__ dst, long long dst_pitch) {
  const long long across = width + 2 * radius + 1;
  const int x = blockIdx.x * BLOCK + threadIdx.x;
  if (x >= width) return;
  for (int y = blockIdx.y; y < height; y += gridDim.y) {
    const total *above = sums + y * across + x, *below = above + (2 * radius + 1) * across;
    const int side = 2 * radius + 1;
    dst[y * dst_pitch + x] = mean_of(below[side] - below[0] - above[side] + above[0],
                                     counted(x, width, radius), counted(y, height, radius));
  }
}
