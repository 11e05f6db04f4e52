// ripple.cu -- waves around the middle of a square image: all of its pixels, or those of a quadrant or an octant,
// and the others by symmetry.
#include "pdl.cuh"
#include "words.cuh"

constexpr float TURN = 6.28318531f;  // radians

struct alignas(4 * VEC) pixels {
  unsigned e[VEC];
};

// ticks / 7 radians in turns, whole turns left out: 2^64 times it wraps around as turns do, so no ticks are too many.
__device__ __forceinline__ float phase_of(int ticks) {
  const unsigned long long turns = (unsigned long long)ticks * 419412929040285889ull;  // 2^64 / (14 pi)
  return (int)(turns >> 32) * 0x1p-32f;
}

// "sqrt.approx" and "rcp.approx": within 1 ulp.
__device__ __forceinline__ float sqrt_approx(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Of x turns. The polynomial, of x^2 up to 1/4, is within 2^-22, and 1 at 0.
__device__ __forceinline__ float cosine_of_turns(float x) {
  if constexpr (COSINE == COSINE_library) return cospif(2.0f * x);
  x -= (x + 0x1.8p23f) - 0x1.8p23f;  // the nearest whole number of turns
  if constexpr (COSINE == COSINE_hardware) return __cosf(TURN * x);
  const float u = x * x;
  float y = fmaf(6.71318531f, u, -26.1001987f);
  y = fmaf(y, u, 60.2029305f);
  y = fmaf(y, u, -85.4543915f);
  y = fmaf(y, u, 64.9393387f);
  y = fmaf(y, u, -19.7392082f);
  return fmaf(y, u, 1.0f);
}

__device__ __forceinline__ float cosine(float x) {
  if constexpr (COSINE == COSINE_hardware) return __cosf(x);
  return cosf(x);
}

// The pixel (x, y) from the middle: three bytes of its grey level, and 255.
__device__ __forceinline__ unsigned pixel(float x, float y, float phase) {
  if constexpr (TERMS == TERMS_printed) {
    const float d = sqrtf(x * x + y * y);
    const unsigned char grey =
        (unsigned char)(128.0f + 127.0f * cosine(d / 10.0f - TURN * phase) / (d / 10.0f + 1.0f));
    return __byte_perm(grey, 255, 0x4000);
  }
  const float d = sqrt_approx(fmaf(x, x, y * y));
  const float wave = cosine_of_turns(fmaf(d, 1 / (10 * TURN), -phase)) * rcp_approx(fmaf(d, 0.1f, 1.0f));
  // Added to 2^23 and rounded down, 128 + 127 * wave is an integer in the lowest byte.
  return __byte_perm(__float_as_uint(__fmaf_rz(127.0f, wave, 0x1p23f + 128.0f)), 255, 0x4000);
}

template <typename T>
__device__ __forceinline__ void store(T *p, const T &v) {
  if constexpr (STORE == STORE_second) {
    store_second(p, v);
  } else if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

// A pixel and its mirror images, x and y from 0 to the middle. An even number of columns has one more before the
// middle than behind it.
__device__ __forceinline__ void store_mirrored(int dim, int x, int y, unsigned v, unsigned *out) {
  const int middle = dim / 2, most = dim - 1 - middle;
  if (x > middle || y > middle) return;
#pragma unroll
  for (int side = -1; side <= 1; side += 2) {
    if (side > 0 && (y == 0 || y > most)) continue;
    unsigned *const row = out + (long long)(middle + side * y) * dim + middle;
    store(row - x, v);
    if (x > 0 && x <= most) store(row + x, v);
  }
}

// The tile (i, j) of the triangle j <= i, whose rows follow each other.
__device__ __forceinline__ int2 tile_of(int t) {
  int i = (int)((sqrtf(8.0f * t + 1.0f) - 1.0f) / 2.0f);
  while (i * (i + 1) / 2 > t) i--;
  while ((i + 1) * (i + 2) / 2 <= t) i++;
  return {i, t - i * (i + 1) / 2};
}

@ if ALG == "direct" then
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y) ripple(int dim, int ticks, unsigned *out) {
  const int x = (blockIdx.x * BLOCK_X + threadIdx.x) * VEC, middle = dim / 2;
  int y = blockIdx.y * (BLOCK_Y * ROWS) + threadIdx.y;
  const float phase = phase_of(ticks);
  pdl_wait();
  if (x >= dim) return;
#pragma unroll
  for (int r = 0; r < ROWS; r++, y += BLOCK_Y) {
    if (y >= dim) return;
    const float from = x - middle, down = y - middle;
    pixels v;
#pragma unroll
    for (int e = 0; e < VEC; e++) v.e[e] = pixel(from + e, down, phase);
    store(reinterpret_cast<pixels *>(out + (long long)y * dim + x), v);
  }
}
@ elseif ALG == "quadrants" then
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y) ripple(int dim, int ticks, unsigned *out) {
  const int x = blockIdx.x * BLOCK_X + threadIdx.x;
  int y = blockIdx.y * (BLOCK_Y * ROWS) + threadIdx.y;
  const float phase = phase_of(ticks);
  pdl_wait();
#pragma unroll
  for (int r = 0; r < ROWS; r++, y += BLOCK_Y) store_mirrored(dim, x, y, pixel(x, y, phase), out);
}
@ else
// 32 x 32 pixels, which shared memory transposes for the other octants.
extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y) ripple(int dim, int ticks, unsigned *out) {
  __shared__ unsigned tile[32][33];
  const int2 at = tile_of(blockIdx.x);
  const int column = threadIdx.x;
  const float phase = phase_of(ticks);
  pdl_wait();
#pragma unroll
  for (int row = threadIdx.y; row < 32; row += BLOCK_Y) {
    const int x = at.x * 32 + column, y = at.y * 32 + row;
    const unsigned v = pixel(x, y, phase);
    tile[row][column] = v;
    store_mirrored(dim, x, y, v, out);
  }
  if (at.x == at.y) return;
  __syncthreads();
#pragma unroll
  for (int row = threadIdx.y; row < 32; row += BLOCK_Y) {
    store_mirrored(dim, at.y * 32 + column, at.x * 32 + row, tile[column][row], out);
  }
}
@ end
