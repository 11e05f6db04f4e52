// box_blur_sliding.cu -- a thread keeps the sums of VEC columns, and moves down: a row enters, another leaves. The
// block's columns become prefix sums in shared memory, and a window's sum is the difference of two.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"
#include "box_blur_mean.cuh"
#include "box_blur_scan.cuh"

// Bytes of VEC columns of row y, both of which may be outside.
struct columns {
  unsigned v[VEC];
};

__device__ __forceinline__ columns load(const value *src, long long pitch, int x, int y, int width,
                                        int height) {
  columns c = {};
  const int v = inside(y, height);
  if (v < 0) return c;
  const value *row = src + v * pitch;
  if (WORD % 4 == 0 && x >= 0 && x + VEC <= width) {
#pragma unroll
    for (int i = 0; i < VEC; i += 4) {
      const unsigned word = *reinterpret_cast<const unsigned *>(row + x + i);
#pragma unroll
      for (int k = 0; k < 4; k++) c.v[i + k] = word >> 8 * k & 255;
    }
    return c;
  }
#pragma unroll
  for (int i = 0; i < VEC; i++) {
    const int u = inside(x + i, width);
    c.v[i] = u >= 0 ? row[u] : 0;
  }
  return c;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    box_blur(int width, int height, int radius, const value *__restrict__ src, long long src_pitch,
             value *__restrict__ dst, long long dst_pitch) {
  __shared__ alignas(16) unsigned lines[2][BLOCK * VEC + 4];  // sums of the columns before
  __shared__ unsigned warps[2][BLOCK / 32];
  src += pdl_wait();
  const int halo = (radius + VEC - 1) / VEC * VEC, outputs = BLOCK * VEC - 2 * halo;
  const int left = blockIdx.x * outputs, n = min(outputs, width - left),
            x = left - halo + (int)threadIdx.x * VEC;
  const int top = blockIdx.y * STRIP, bottom = min(top + STRIP, height);
  unsigned sums[VEC] = {};
  for (int y = top - radius; y < top + radius; y++) {
    const columns in = load(src, src_pitch, x, y, width, height);
#pragma unroll
    for (int i = 0; i < VEC; i++) sums[i] += in.v[i];
  }
  columns in = load(src, src_pitch, x, top + radius, width, height);
  for (int y = top, half = 0; y < bottom; y++, half ^= 1) {
    unsigned own = 0, prefix[VEC];
#pragma unroll
    for (int i = 0; i < VEC; i++) {
      prefix[i] = own;
      own += sums[i] += in.v[i];
    }
    const columns out = load(src, src_pitch, x, y - radius, width, height);
    in = load(src, src_pitch, x, y + 1 + radius, width, height);
    const unsigned base = before(own, warps[half]);
#pragma unroll
    for (int i = 0; i < VEC; i++) lines[half][threadIdx.x * VEC + i] = base + prefix[i];
    if (threadIdx.x == BLOCK - 1) lines[half][BLOCK * VEC] = base + own;
    __syncthreads();  // the other half is read before the next
    const int ny = counted(y, height, radius);
    value *to = dst + y * dst_pitch + left;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
      const int first = i + halo - radius;
      const unsigned sum = lines[half][first + 2 * radius + 1] - lines[half][first];
      to[i] = mean_of(sum, counted(left + i, width, radius), ny);
    }
#pragma unroll
    for (int i = 0; i < VEC; i++) sums[i] -= out.v[i];
  }
}
