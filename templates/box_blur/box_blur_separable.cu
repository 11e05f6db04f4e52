// box_blur_separable.cu -- sums along columns, then along rows. A thread has a column, and adds OUT windows of it that
// begin a pixel apart: what all have in common once, and the rest as sums of more and more pixels. The block's
// sums meet in shared memory, where a thread adds OUT windows of a row likewise. Nothing is subtracted, so that
// single precision loses nothing and a NaN stays in its windows.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"

// Sums of OUT windows of 2 r + 1 >= OUT numbers, at(i) is number i; window k begins with number k.
template <typename At>
__device__ __forceinline__ void add_windows(total (&sums)[OUT], int r, At at) {
  total before[OUT], common = 0, after = 0;
#pragma unroll
  for (int i = 0; i < OUT - 1; i++) before[i] = at(i);
  before[OUT - 1] = 0;
#pragma unroll
  for (int i = OUT - 2; i >= 0; i--) before[i] += before[i + 1];
#pragma unroll 8
  for (int i = OUT - 1; i <= 2 * r; i++) common += at(i);
#pragma unroll
  for (int k = 0; k < OUT; k++) {
    if (k > 0) after += at(2 * r + k);
    sums[k] = before[k] + common + after;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    box_blur(int width, int height, int radius, const value *__restrict__ src, long long src_pitch,
             value *__restrict__ dst, long long dst_pitch) {
  constexpr int PITCH = BLOCK + 1;  // odd: a warp reads OUT rows
  __shared__ total lines[2][OUT][PITCH];
  src += pdl_wait();
  const int outputs = BLOCK - 2 * radius, left = blockIdx.x * outputs,
            groups = (outputs + OUT - 1) / OUT;
  const int top = blockIdx.y * STRIP, bottom = min(top + STRIP, height);
  const int u = inside(left - radius + (int)threadIdx.x, width);
  const value *column = src + max(u, 0);
  for (int y = top, half = 0; y < bottom; y += OUT, half ^= 1) {
    total sums[OUT];
    add_windows(sums, radius, [&](int i) {
      const int v = inside(y - radius + i, height);
      return u >= 0 && v >= 0 ? (total)column[v * src_pitch] : (total)0;
    });
#pragma unroll
    for (int k = 0; k < OUT; k++) lines[half][k][threadIdx.x] = sums[k];
    __syncthreads();  // one is enough: the other half is written before the next
    for (int item = threadIdx.x; item < groups * OUT; item += BLOCK) {
      const int row = item % OUT, first = item / OUT * OUT,
                n = min(min(outputs, width - left) - first, OUT);
      if (y + row >= bottom || n <= 0) continue;
      total results[OUT];
      const total *line = lines[half][row];
      add_windows(results, radius, [&](int i) { return line[min(first + i, BLOCK - 1)]; });
      value *to = dst + (y + row) * dst_pitch + left + first;
      const int ny = counted(y + row, height, radius);
#pragma unroll
      for (int k = 0; k < OUT; k++) {
        if (k < n) to[k] = mean_of(results[k], counted(left + first + k, width, radius), ny);
      }
    }
  }
}
