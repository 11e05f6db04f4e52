/* emu_matrix.c -- see emu_matrix.h. */
#include "emu_matrix.h"

#include <math.h>

double emu_element_value(uint64_t bits, emu_type t) {
  switch (t) {
  case T_f16: return emu_f16_value((uint16_t)bits);
  case T_bf16: return emu_bf16_value((uint16_t)bits);
  case T_tf32: return emu_f32((uint32_t)bits & 0xffffe000);
  case T_f32: return emu_f32((uint32_t)bits);
  case T_f64: return emu_f64(bits);
  case T_e4m3: return emu_fp8_value((uint8_t)bits, 0);
  case T_e5m2: return emu_fp8_value((uint8_t)bits, 1);
  case T_s8: return (int8_t)bits;
  case T_u8: return (uint8_t)bits;
  default: return (int32_t)bits;
  }
}

uint64_t emu_element_bits(double v, emu_type t, bool finite) {
  switch (t) {
  case T_f16: {
    uint64_t h = emu_narrow(v, 5, 10, ROUND_rn);
    return finite && (h & 0x7fff) == 0x7c00 ? h - 1 : h;
  }
  case T_f32: return isnan(v) ? 0x7fffffff : emu_f32_bits((float)v);
  case T_f64: return emu_f64_bits(v);
  default:
    if (finite) {
      return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v);
    }
    return (uint32_t)(int64_t)v;
  }
}

double emu_cut(double v) {
  float f = (float)v;
  if (isfinite(v) && fabs((double)f) > fabs(v)) {
    f = emu_f32(emu_f32_bits(f) - 1);
  }
  return f;
}

int emu_matrix_block(const emu_warp *w, emu_type t) {
  int halves = w->launch->cc >= 90 ? 16 : 8;
  return t == T_tf32 ? halves / 2 : emu_type_bytes(t) == 1 ? 2 * halves : halves;
}

emu_position emu_position_of(int matrix, int lane, int r, int e, int each, int m) {
  int g = lane >> 2, t = lane & 3;
  if (matrix == 0) {
    int blocks = m / 8;
    return (emu_position){g + 8 * (r % blocks), r / blocks * 4 * each + t * each + e};
  }
  if (matrix == 1) {
    return (emu_position){r * 4 * each + t * each + e, g};
  }
  int i = r * each + e;
  return (emu_position){g + 8 * (i >> 1), t * 2 + (i & 1)};
}
