// rgb_to_grey_level.cuh -- the grey level of a pixel, whose colours are the low three bytes of a word.
#pragma once

struct weights {
  double r, g, b;
  bool in_range;  // sums are from 0 to less than 256
  float unsure;  // ARITH_filtered: distance to a step within which single precision does not decide
};

constexpr double SLACK = 0x1p-20 + (ROUND == ROUND_nearest ? 0.5 : 0.0);

__device__ __forceinline__ weights weights_of(double r, double g, double b) {
  // Three products, three sums and the weights themselves are rounded: less than 2^-14 of their sum.
  const bool in_range = r >= 0 && g >= 0 && b >= 0 && (r + g + b) * 255 + SLACK < 255.99;
  return {r, g, b, in_range, 0x1p-13f * fmaxf(2.f, (float)(fabs(r) + fabs(g) + fabs(b)))};
}

template <int I>
__device__ __forceinline__ unsigned colour(unsigned pixel) {
  return pixel >> 8 * I & 0xff;
}

// Without a conversion, which is slow: 2^52 + v has v in its low word.
__device__ __forceinline__ double widen(unsigned v) {
  return __hiloint2double(0x43300000, (int)v) - 0x1p52;
}

template <bool IN_RANGE>
__device__ __forceinline__ unsigned level_double(unsigned pixel, const weights &w) {
  double sum = fma(w.b, widen(colour<2>(pixel)),
                   fma(w.g, widen(colour<1>(pixel)), fma(w.r, widen(colour<0>(pixel)), SLACK)));
  if constexpr (!IN_RANGE) sum = fmin(fmax(sum, 0.0), 255.0);
  return (unsigned)__double2loint(__dadd_rd(sum, 0x1p52));
}

template <bool IN_RANGE>
__device__ __forceinline__ unsigned level_filtered(unsigned pixel, const weights &w) {
  const float sum = fmaf((float)w.b, (float)colour<2>(pixel),
                         fmaf((float)w.g, (float)colour<1>(pixel),
                              fmaf((float)w.r, (float)colour<0>(pixel), (float)SLACK)));
  if (!(fabsf(sum - rintf(sum)) >= w.unsure)) return level_double<IN_RANGE>(pixel, w);  // NaN too
  return IN_RANGE ? __float2uint_rz(sum) : min(__float2uint_rz(sum), 255u);
}

__device__ __forceinline__ unsigned sum_fixed(unsigned pixel) {
  constexpr unsigned HALF = ROUND == ROUND_nearest ? 1u << 15 : 0;
  return colour<0>(pixel) * 13763 + colour<1>(pixel) * 47186 + colour<2>(pixel) * 4588 + HALF;
}

// Up to 25550 hundredths; 167773 / 2^24 exceeds 1 / 100 by less than 2^-24.
__device__ __forceinline__ unsigned sum_hundredths(unsigned pixel) {
  constexpr unsigned OF_COLOURS = 21 | 72 << 8 | 7 << 16, HALF = ROUND == ROUND_nearest ? 50 : 0;
  return __dp4a(pixel, OF_COLOURS, HALF) * 167773u;
}

// A word with the level in byte LEVEL_BYTE.
constexpr int LEVEL_BYTE = ARITH == ARITH_hundredths ? 3 : ARITH == ARITH_fixed ? 2 : 0;
template <bool IN_RANGE>
__device__ __forceinline__ unsigned sum_of(unsigned pixel, const weights &w) {
  if constexpr (ARITH == ARITH_hundredths) return sum_hundredths(pixel);
  if constexpr (ARITH == ARITH_fixed) return sum_fixed(pixel);
  if constexpr (ARITH == ARITH_filtered) return level_filtered<IN_RANGE>(pixel, w);
  return level_double<IN_RANGE>(pixel, w);
}

__device__ __forceinline__ unsigned level(unsigned pixel, const weights &w) {
  return sum_of<false>(pixel, w) >> 8 * LEVEL_BYTE;
}

__device__ __forceinline__ unsigned char level_at(const unsigned char *p, const weights &w) {
  return (unsigned char)level(p[0] | p[1] << 8 | p[2] << 16, w);
}
