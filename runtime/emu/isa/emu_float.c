/* emu_float.c -- see emu_float.h. */
#include "emu_float.h"

#include <math.h>

uint16_t emu_f16_nearest(float f) {
  uint32_t bits = emu_f32_bits(f), sign = bits >> 16 & 0x8000, body = bits & 0x7fffffff;
  if (body > 0x7f800000) {
    return 0x7fff;
  }
  if (body >= 0x477ff000) { /* would round to more than 65504? */
    return (uint16_t)(sign | 0x7c00);
  }
  if (body < 0x38800000) { /* subnormal: adding 0.5 moves the fraction into the low bits */
    return (uint16_t)(sign | (emu_f32_bits(emu_f32(body) + 0.5f) - 0x3f000000));
  }
  return (uint16_t)(sign | ((body - 0x38000000 + 0xfff + (body >> 13 & 1)) >> 13));
}

uint16_t emu_bf16_nearest(float f) {
  uint32_t bits = emu_f32_bits(f);
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return 0x7fff;
  }
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int round_up(emu_round mode, int negative, uint64_t kept, uint64_t rest, uint64_t half) {
  switch (mode) {
  case ROUND_rz: return 0;
  case ROUND_rm: return negative && rest;
  case ROUND_rp: return !negative && rest;
  case ROUND_rna: return rest >= half;
  default: return rest > half || (rest == half && (kept & 1));
  }
}

static uint64_t overflow(int ebits, int mbits, int negative, emu_round mode) {
  uint64_t infinity = ((UINT64_C(1) << ebits) - 1) << mbits;
  int finite =
      mode == ROUND_rz || (mode == ROUND_rm && !negative) || (mode == ROUND_rp && negative);
  return ((uint64_t)negative << (ebits + mbits)) | (infinity - (finite ? 1 : 0));
}

uint64_t emu_narrow(double x, int ebits, int mbits, emu_round mode) {
  int negative = signbit(x) != 0, bias = (1 << (ebits - 1)) - 1;
  uint64_t sign = (uint64_t)negative << (ebits + mbits);
  if (isnan(x)) {
    return (UINT64_C(1) << (ebits + mbits)) - 1;
  }
  if (isinf(x)) {
    return sign | ((UINT64_C(1) << ebits) - 1) << mbits;
  }
  if (x == 0) {
    return sign;
  }
  int exponent;
  uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53); /* 53 bits, the top one set */
  exponent += bias - 1;                                        /* biased, of the leading bit */
  int shift = 52 - mbits + (exponent < 1 ? 1 - exponent : 0);
  if (shift > 62) {
    shift = 62; /* far below the smallest subnormal: only the direction matters */
  }
  uint64_t kept = m >> shift, rest = m & ((UINT64_C(1) << shift) - 1);
  kept += (uint64_t)round_up(mode, negative, kept, rest, UINT64_C(1) << (shift - 1));
  uint64_t body = exponent < 1 ? kept : kept + ((uint64_t)(exponent - 1) << mbits);
  if (body >> mbits >= (UINT64_C(1) << ebits) - 1) {
    return overflow(ebits, mbits, negative, mode);
  }
  return sign | body;
}

uint8_t emu_fp8(double x, int e5m2) {
  if (isnan(x)) {
    return 0x7f;
  }
  double most = e5m2 ? 57344 : 448;
  if (fabs(x) > most) {
    return (uint8_t)((signbit(x) ? 0x80 : 0) | (e5m2 ? 0x7b : 0x7e));
  }
  /* e4m3 uses the top exponent for numbers: convert with one exponent bit more */
  if (e5m2) {
    return (uint8_t)emu_narrow(x, 5, 2, ROUND_rn);
  }
  uint64_t wide = emu_narrow(x * 0x1p-8, 5, 3, ROUND_rn); /* a bias of 15 instead of 7 */
  return (uint8_t)((wide >> 1 & 0x80) | (wide & 0x7f));
}

double emu_fp8_value(uint8_t v, int e5m2) {
  int mbits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
  int exponent = (v & 0x7f) >> mbits, fraction = v & ((1 << mbits) - 1);
  double sign = v & 0x80 ? -1.0 : 1.0;
  if (e5m2 && exponent == 31) {
    return fraction ? NAN : sign * INFINITY;
  }
  if (!e5m2 && (v & 0x7f) == 0x7f) {
    return NAN;
  }
  if (!exponent) {
    return sign * ldexp(fraction, 1 - bias - mbits);
  }
  return sign * ldexp(fraction + (1 << mbits), exponent - bias - mbits);
}

double emu_fma_odd(double a, double b, double c) {
  double p = a * b, s = p + c;
  if (!isfinite(s)) {
    return s;
  }
  double back = s - p, error = (p - (s - back)) + (c - back); /* Knuth's two-sum */
  uint64_t bits = emu_f64_bits(s);
  if (error == 0 || (bits & 1)) {
    return s;
  }
  /* the exact value lies between s and its neighbour towards the error; one of the two is odd */
  return emu_f64((error > 0) == (s > 0) ? bits + 1 : bits - 1);
}
