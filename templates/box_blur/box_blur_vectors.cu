// box_blur_vectors.cu -- as box_blur_separable.cu does, with a vector of four columns a thread, and the radius a
// constant: windows are added in registers.
#include "elements.cuh"
#include "pdl.cuh"
#include "box_blur_border.cuh"

constexpr int HALO = (R + 3) / 4;  // vectors on either side

struct image {
  const float *src;
  long long pitch;
  int width, height;
};

__device__ __forceinline__ void add(float4 &a, const float4 &b) {
  a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
}
__device__ __forceinline__ void add(float &a, float b) { a += b; }

// Four pixels of row y from x on, which may be outside.
__device__ __forceinline__ float4 load(const image &m, int x, int y) {
  float4 v = {};
  const int row = inside(y, m.height);
  if (row < 0) return v;
  const float *from = m.src + row * m.pitch;
  if (x >= 0 && x + 4 <= m.width) {
    if constexpr (WORD == 16) return __ldg(reinterpret_cast<const float4 *>(from + x));
    return {__ldg(from + x), __ldg(from + x + 1), __ldg(from + x + 2), __ldg(from + x + 3)};
  }
  const int a = inside(x, m.width), b = inside(x + 1, m.width), c = inside(x + 2, m.width),
            d = inside(x + 3, m.width);
  if (a >= 0) v.x = __ldg(from + a);
  if (b >= 0) v.y = __ldg(from + b);
  if (c >= 0) v.z = __ldg(from + c);
  if (d >= 0) v.w = __ldg(from + d);
  return v;
}

// Sums of N windows of 2 R + 1 numbers, at(i) is number i; window k begins with number k. Wide windows share what all
// have in common.
template <int N, typename T, typename At>
__device__ __forceinline__ void add_windows(T (&sums)[N], At at) {
  if constexpr (2 * R + 1 < N) {
#pragma unroll
    for (int i = 0; i < N + 2 * R; i++) {
      const T v = at(i);
#pragma unroll
      for (int k = 0; k < N; k++) {
        if (i == k) sums[k] = v;
        if (i > k && i <= k + 2 * R) add(sums[k], v);
      }
    }
  } else {
    T common = at(N - 1), after = {};
#pragma unroll
    for (int i = 0; i < N - 1; i++) sums[i] = at(i);
    sums[N - 1] = {};
#pragma unroll
    for (int i = N - 2; i >= 0; i--) add(sums[i], sums[i + 1]);
#pragma unroll
    for (int i = N; i <= 2 * R; i++) add(common, at(i));
#pragma unroll
    for (int k = 0; k < N; k++) {
      if (k > 0) add(after, at(2 * R + k));
      add(sums[k], common);
      add(sums[k], after);
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    box_blur(int width, int height, int radius, const float *__restrict__ src, long long src_pitch,
             float *__restrict__ dst, long long dst_pitch) {
  __shared__ float4 lines[2][OUT][BLOCK];
  src += pdl_wait();
  const image m = {src, src_pitch, width, height};
  const int t = threadIdx.x, x = (blockIdx.x * (BLOCK - 2 * HALO) + t - HALO) * 4;
  const bool writes = t >= HALO && t < BLOCK - HALO && x < width;
  const int top = blockIdx.y * STRIP, bottom = min(top + STRIP, height);
  float inverse[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    inverse[i] = 1.f / (float)max(1, counted(min(x + i, width - 1), width, R));
#pragma unroll 1
  for (int y = top, half = 0; y < bottom; y += OUT, half ^= 1) {
    float4 sums[OUT];
    add_windows<OUT>(sums, [&](int i) { return load(m, x, y - R + i); });
#pragma unroll
    for (int k = 0; k < OUT; k++) lines[half][k][t] = sums[k];
    __syncthreads();  // one is enough: the other half is written before the next
    if (!writes) continue;
#pragma unroll
    for (int k = 0; k < OUT; k++) {
      if (y + k >= bottom) break;
      alignas(16) float near[8 * HALO + 4], means[4];
#pragma unroll
      for (int i = 0; i <= 2 * HALO; i++)
        reinterpret_cast<float4 *>(near)[i] = lines[half][k][t - HALO + i];
      add_windows<4>(means, [&](int i) { return near[4 * HALO - R + i]; });
      const float down = 1.f / (float)counted(y + k, height, R);
#pragma unroll
      for (int i = 0; i < 4; i++) means[i] *= inverse[i] * down;
      float *to = dst + (y + k) * dst_pitch + x;
      if (WORD == 16 && x + 4 <= width) {
        *reinterpret_cast<float4 *>(to) = *reinterpret_cast<float4 *>(means);
      } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
          if (x + i < width) to[i] = means[i];
        }
      }
    }
  }
}
