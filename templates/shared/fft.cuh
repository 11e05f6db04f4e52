// fft.cuh -- a Fourier transform of N numbers in the registers of a thread, N a power of two up to 64.
// src: Duhamel and Vetterli, Fast Fourier transforms: a tutorial review, 1990, section 4.3: radix 4, decimation in
// frequency.
#pragma once

// cos(2 pi k / 64), for any k.
__device__ __forceinline__ constexpr float cosine_of_64th(int k) {
  constexpr float quarter[17] = {
@ for k = 0, 16 do
      @{string.format("%.9ff", k == 16 and 0 or math.cos(2 * math.pi * k / 64))},
@ end
  };
  k &= 63;
  return k <= 16 ? quarter[k] : k <= 32 ? -quarter[32 - k] : k <= 48 ? -quarter[k - 32] : quarter[64 - k];
}

__device__ __forceinline__ float2 add(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ __forceinline__ float2 subtract(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ __forceinline__ float2 multiply(float2 a, float2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ __forceinline__ float2 exchange(float2 a) { return {a.y, a.x}; }

// a exp(-2 pi i k / 64)
__device__ __forceinline__ float2 turn(float2 a, int k) {
  if (k % 64 == 0) return a;
  return multiply(a, {cosine_of_64th(k), cosine_of_64th(k + 16)});
}

__device__ __forceinline__ constexpr int fft_radix(int n) { return n % 4 == 0 ? 4 : 2; }

// Where `fft` leaves the k-th sum.
template <int N>
__device__ __forceinline__ constexpr int fft_place(int k) {
  int place = 0;
  for (int m = N; m > 1; m /= fft_radix(m)) {
    place += k % fft_radix(m) * (m / fft_radix(m));
    k /= fft_radix(m);
  }
  return place;
}

// Stages of M numbers, STEP apart in 64ths of a turn, and those below.
template <int N, int M>
__device__ __forceinline__ void fft_stages(float2 (&v)[N]) {
  if constexpr (M > 1) {
    constexpr int R = fft_radix(M), L = M / R, STEP = 64 / M;
#pragma unroll
    for (int group = 0; group < N; group += M) {
#pragma unroll
      for (int j = 0; j < L; j++) {
        float2 *const a = v + group + j;
        if constexpr (R == 4) {
          const float2 even = add(a[0], a[2 * L]), odd = add(a[L], a[3 * L]);
          const float2 s = subtract(a[0], a[2 * L]), t = subtract(a[L], a[3 * L]);
          a[0] = add(even, odd);
          a[L] = turn({s.x + t.y, s.y - t.x}, j * STEP);
          a[2 * L] = turn(subtract(even, odd), 2 * j * STEP);
          a[3 * L] = turn({s.x - t.y, s.y + t.x}, 3 * j * STEP);
        } else {
          const float2 s = subtract(a[0], a[L]);
          a[0] = add(a[0], a[L]);
          a[L] = turn(s, j * STEP);
        }
      }
    }
    fft_stages<N, L>(v);
  }
}

// sums over n of v[n] exp(-2 pi i k n / N), for each k
template <int N>
__device__ __forceinline__ void fft(float2 (&v)[N]) {
  fft_stages<N, N>(v);
}
