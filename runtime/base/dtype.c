#include "dtype.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  size_t nbytes;
  char kind;
  const char *cuda;
} table[] = {
#define DTYPE_ROW(name, nbytes, cuda, kind) {#name, nbytes, kind, cuda},
    DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

bool dtype_parse(const char *name, dtype *out) {
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if (!strcmp(name, table[i].name)) {
      *out = (dtype)i;
      return true;
    }
  }
  return false;
}

const char *dtype_name(dtype t) {
  return table[t].name;
}
const char *dtype_cuda_name(dtype t) {
  return table[t].cuda;
}
const char *dtype_c_name(dtype t) {
  static const char *const names[DTYPE_COUNT] = {
      [DTYPE_i8] = "int8_t",     [DTYPE_u8] = "uint8_t",   [DTYPE_i16] = "int16_t",
      [DTYPE_u16] = "uint16_t",  [DTYPE_i32] = "int32_t",  [DTYPE_u32] = "uint32_t",
      [DTYPE_i64] = "int64_t",   [DTYPE_u64] = "uint64_t", [DTYPE_f16] = "uint16_t",
      [DTYPE_bf16] = "uint16_t", [DTYPE_f32] = "float",    [DTYPE_f64] = "double"};
  return names[t];
}
size_t dtype_nbytes(dtype t) {
  return table[t].nbytes;
}
bool dtype_is_float(dtype t) {
  return table[t].kind == 'f';
}
bool dtype_is_signed(dtype t) {
  return table[t].kind != 'u';
}

/* Any binary format of at most 16 bits: `mantissa` stored bits, exponent bias `bias`. Rounds once,
 * from the double, so that no value is rounded twice. */
static uint64_t encode16(double value, int mantissa, int bias) {
  uint64_t sign = signbit(value) ? 0x8000u : 0;
  uint64_t infinity = (uint64_t)(2 * bias + 1) << mantissa;
  if (isnan(value)) {
    return sign | infinity | (1u << (mantissa - 1));
  }
  double a = fabs(value);
  int exponent;
  frexp(a, &exponent);   /* a = f * 2^exponent, f in [0.5, 1) */
  int lowest = 1 - bias; /* exponent of the smallest normal number */
  int e = a == 0 || exponent - 1 < lowest ? lowest : exponent - 1;
  double units = nearbyint(ldexp(a, mantissa - e)); /* a in units of the last place */
  if (!(units < ldexp(1.0, 12))) {                  /* infinite */
    return sign | infinity;
  }
  uint64_t bits = (uint64_t)units + ((uint64_t)(e - lowest) << mantissa);
  return sign | (bits > infinity ? infinity : bits);
}

static double decode16(uint64_t bits, int mantissa, int bias) {
  int exponent = (int)((bits & 0x7fff) >> mantissa);
  double fraction = (double)(bits & ((1u << mantissa) - 1));
  double value;
  if (exponent == 2 * bias + 1) {
    value = fraction != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = ldexp(fraction, 1 - bias - mantissa);
  } else {
    value = ldexp(fraction + (double)(1u << mantissa), exponent - bias - mantissa);
  }
  return bits & 0x8000 ? -value : value;
}

uint64_t dtype_encode(dtype t, double value) {
  uint64_t bits = 0;
  float single = (float)value;
  switch (t) {
  case DTYPE_f16: return encode16(value, 10, 15);
  case DTYPE_bf16: return encode16(value, 7, 127);
  case DTYPE_f32: memcpy(&bits, &single, sizeof single); return bits;
  case DTYPE_f64: memcpy(&bits, &value, sizeof value); return bits;
  case DTYPE_u64: return (uint64_t)value;
  default: bits = (uint64_t)(int64_t)value; break;
  }
  size_t nbits = 8 * table[t].nbytes;
  return nbits == 64 ? bits : bits & ((1ull << nbits) - 1);
}

double dtype_decode(dtype t, uint64_t bits) {
  float single;
  double value;
  uint32_t low = (uint32_t)bits;
  switch (t) {
  case DTYPE_f16: return decode16(bits, 10, 15);
  case DTYPE_bf16: return decode16(bits, 7, 127);
  case DTYPE_f32: memcpy(&single, &low, sizeof single); return (double)single;
  case DTYPE_f64: memcpy(&value, &bits, sizeof value); return value;
  case DTYPE_i8: return (int8_t)bits;
  case DTYPE_i16: return (int16_t)bits;
  case DTYPE_i32: return (int32_t)bits;
  case DTYPE_i64: return (double)(int64_t)bits;
  default: break;
  }
  size_t nbits = 8 * table[t].nbytes;
  return (double)(nbits == 64 ? bits : bits & ((1ull << nbits) - 1));
}
