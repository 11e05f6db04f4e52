// mri_trig.cuh -- e^(i phase), by TRIG. A phase is in radians (RADIANS) or in turns.
#pragma once

constexpr float TURN = 6.28318531f;            // radians
constexpr float UNIT = RADIANS ? 1.0f : TURN;  // of a phase, in radians
constexpr float ROUND =
    0x1.8p23f;  // added and subtracted: rounds to an integer, which stays in the lowest bits

// "sin" and "cos", .approx: within 2^-20.5 up to a turn, then as exact as the phase in radians is.
__device__ __forceinline__ float2 hardware_wave(float radians) {
  float2 w;
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(w.x) : "f"(radians));
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(w.y) : "f"(radians));
  return w;
}

// The wave but for its sign, which is that of the lowest bit of `sign`: v is the phase from the nearest half turn. The
// cosine is within 2^-24, the sine within 2^-28, or 2^-20.6 with accuracy=fast.
struct half_wave {
  float2 w;
  unsigned sign;
};
__device__ __forceinline__ half_wave polynomial_wave(float phase) {
  constexpr float HALVES = 2 * UNIT / TURN;
  const float n = fmaf(phase, HALVES, ROUND), v = fmaf(phase, HALVES, -(n - ROUND)), u = v * v;
  float c = fmaf(0.220080651f, u, -1.33209386f), s;
  c = fmaf(c, u, 4.05845134f);
  c = fmaf(c, u, -4.93479552f);
  c = fmaf(c, u, 1.0f);
  if constexpr (ACCURACY == ACCURACY_fast) {
    s = fmaf(-0.554636195f, u, 2.54189903f);
    s = fmaf(s, u, -5.1671428f);
    s = fmaf(s, u, 3.14158202f);
  } else {
    s = fmaf(0.0772201289f, u, -0.598045141f);
    s = fmaf(s, u, 2.55003138f);
    s = fmaf(s, u, -5.16770688f);
    s = fmaf(s, u, 3.14159258f);
  }
  return {{c, v * s}, __float_as_uint(n)};
}
__device__ __forceinline__ float flip(float x, unsigned sign) {
  return __uint_as_float(__float_as_uint(x) ^ sign << 31);
}

// How the voxels of a thread take turns with TRIG=mixed: SHARE of VOXELS by polynomials.
__device__ constexpr bool by_polynomial(int voxel) {
  return TRIG == TRIG_polynomial || ACCURACY == ACCURACY_full && TRIG == TRIG_rotate ||
         TRIG == TRIG_mixed && (voxel + 1) * SHARE / VOXELS > voxel * SHARE / VOXELS;
}

template <bool POLYNOMIAL>
__device__ __forceinline__ float2 wave(float phase) {
  if constexpr (POLYNOMIAL) {
    const half_wave h = polynomial_wave(phase);
    return {flip(h.w.x, h.sign), flip(h.w.y, h.sign)};
  } else if constexpr (TRIG == TRIG_software) {
    float2 w;
    sincosf(phase * UNIT, &w.y, &w.x);
    return w;
  } else {
    if constexpr (REDUCE == 1) phase -= (phase + ROUND) - ROUND;
    return hardware_wave(phase * UNIT);
  }
}

// Adds a e^(i phase).
template <bool POLYNOMIAL>
__device__ __forceinline__ void add_wave(float2 &sum, float a, float phase) {
  float2 w;
  if constexpr (POLYNOMIAL) {
    const half_wave h = polynomial_wave(phase);
    a = flip(a, h.sign);
    w = h.w;
  } else {
    w = wave<false>(phase);
  }
  sum.x = fmaf(a, w.x, sum.x);
  sum.y = fmaf(a, w.y, sum.y);
}

// Adds (a + i b) e^(i phase).
template <bool POLYNOMIAL>
__device__ __forceinline__ void add_product(float2 &sum, float a, float b, float phase) {
  const float2 w = wave<POLYNOMIAL>(phase);
  sum.x = fmaf(a, w.x, fmaf(-b, w.y, sum.x));
  sum.y = fmaf(b, w.x, fmaf(a, w.y, sum.y));
}
