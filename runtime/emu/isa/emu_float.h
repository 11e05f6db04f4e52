/* emu_float.h -- exact conversions between the floating-point formats of PTX.
 *
 * Every function rounds once. The narrow formats (f16, bf16, tf32, fp8) are converted from a double
 * that holds the exact value, or the exact value rounded to odd in its last bit, which a second
 * rounding to at most 50 bits cannot distinguish from the exact one (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums", IEEE Trans. Computers 57(4), 2008).
 */
#ifndef EMU_FLOAT_H
#define EMU_FLOAT_H

#include <stdint.h>
#include <string.h>

/* The NaN of elements outside a tensor: of 16 bits, repeated in wider types. It is not documented;
 * fma.oob and tensor copies agree on it. */
enum { EMU_OOB_NAN = 0x7ff7 };

typedef enum emu_round { ROUND_rn, ROUND_rz, ROUND_rm, ROUND_rp, ROUND_rna, ROUND_none } emu_round;

static inline float emu_f32(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static inline uint32_t emu_f32_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}
static inline double emu_f64(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}
static inline uint64_t emu_f64_bits(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

/* emu_f16_value -- exact. A NaN keeps its sign and payload. */
static inline float emu_f16_value(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, body = (uint32_t)(h & 0x7fff) << 13;
  if (body >= 0x0f800000) { /* infinity or NaN? */
    return emu_f32(sign | body | 0x7f800000);
  }
  /* 2^112 moves the exponent's bias from 15 to 127, subnormals included */
  return emu_f32(sign | emu_f32_bits(emu_f32(body) * 0x1p112f));
}
static inline float emu_bf16_value(uint16_t h) {
  return emu_f32((uint32_t)h << 16);
}

/* emu_f16_nearest -- to nearest even; a NaN becomes 0x7fff, as on the hardware */
uint16_t emu_f16_nearest(float f);
uint16_t emu_bf16_nearest(float f);

/* emu_narrow -- x in a binary format with `ebits` exponent and `mbits` fraction bits and IEEE
 * infinities; overflow follows the rounding mode */
uint64_t emu_narrow(double x, int ebits, int mbits, emu_round mode);
/* emu_fp8 -- x as e4m3 (no infinity, maximum 448) or e5m2, to nearest even; larger values become
 * the largest finite value (.satfinite) */
uint8_t emu_fp8(double x, int e5m2);
double emu_fp8_value(uint8_t v, int e5m2);
/* emu_odd -- a double as float, rounded to odd */
static inline float emu_odd(double x) {
  float f = (float)x;
  uint32_t bits = emu_f32_bits(f);
  if ((double)f == x || (bits & 1) || x != x) {
    return f;
  }
  return emu_f32(((double)f < x) == (x > 0) ? bits + 1 : bits - 1);
}
/* emu_fma_odd -- a * b + c rounded to odd; a * b must be exact in double */
double emu_fma_odd(double a, double b, double c);

#endif
