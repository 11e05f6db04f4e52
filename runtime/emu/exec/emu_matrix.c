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
  case T_s4: return (double)(bits & 7) - (double)(bits & 8);
  case T_u4: return (double)(bits & 15);
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

/* A double truncated to f32, as in tensor cores. */
static double cut(double v) {
  float f = (float)v;
  if (isfinite(v) && fabs((double)f) > fabs(v)) {
    f = emu_f32(emu_f32_bits(f) - 1);
  }
  return f;
}

/* How many products are added at once: 16 of halves from Hopper on, 8 before; in proportion for
 * other widths. */
static int group_of(const emu_warp *w, emu_type t) {
  int halves = w->launch->cc >= 90 ? 16 : 8;
  return t == T_tf32 ? halves / 2 : emu_type_bytes(t) < 2 ? 2 * halves : halves;
}

void emu_multiply(const emu_warp *w, const emu_insn *in, const emu_product *x) {
  int m = in->more->mode[0], n = in->more->mode[1], k = in->more->mode[2];
  emu_type td = (emu_type)in->type;
  int group = group_of(w, (emu_type)in->more->mode[3]);
  for (int i = 0; i < m; i++) {
    double *restrict c = emu_product_at(x, 2, i, 0);
    for (int p = 0; p < k; p++) {
      double a = *emu_product_at(x, 0, i, p);
      const double *restrict b = emu_product_at(x, 1, p, 0);
      for (int j = 0; j < n; j++) {
        c[j] = td == T_f64 ? fma(a, b[j], c[j]) : c[j] + a * b[j];
      }
      for (int j = 0; (p + 1) % group == 0 && td == T_f32 && j < n; j++) {
        c[j] = cut(c[j]);
      }
    }
  }
}

/* ---- the layouts of PTX ---- */

/* Of element e of register r; each: elements in a register; m: rows of a. */
static emu_position position_of(int matrix, int lane, int r, int e, int each, int m) {
  int g = lane >> 2, t = lane & 3, i = r * each + e;
  if (matrix == 0) {
    int blocks = m / 8;
    return (emu_position){g + 8 * (r % blocks), r / blocks * 4 * each + t * each + e};
  }
  if (matrix == 1) {
    return (emu_position){r * 4 * each + t * each + e, g};
  }
  return (emu_position){g + 8 * (i / 2 % 2), i / 4 * 8 + t * 2 + i % 2};
}

/* bits of an element; there is no b1 here */
static int bits_of(emu_type t) {
  return t == T_s4 || t == T_u4 ? 4 : 8 * emu_type_bytes(t);
}

static int each_of(emu_type t) {
  return t == T_f64 ? 1 : 32 / bits_of(t);
}

void emu_matrix_load(const emu_warp *w, const emu_insn *in, int at, int n, int matrix, emu_type t,
                     double sign, const emu_product *x) {
  int each = each_of(t), bits = bits_of(t);
  for (int r = 0; r < n; r++) {
    const void *s = emu_src(w, in->more->ops[at + r]);
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      uint64_t reg = emu_get(s, lane, in->more->bytes[at + r]);
      for (int e = 0; e < each; e++) {
        emu_position p = position_of(matrix, lane, r, e, each, in->more->mode[0]);
        uint64_t one = bits == 64 ? reg : reg >> (bits * e) & ((UINT64_C(1) << bits) - 1);
        *emu_product_at(x, matrix, p.row, p.column) = sign * emu_element_value(one, t);
      }
    }
  }
}

void emu_matrix_store(emu_warp *w, const emu_insn *in, int n, const emu_product *x) {
  emu_type t = (emu_type)in->type;
  int each = each_of(t), bits = bits_of(t);
  for (int r = 0; r < n; r++) {
    for (int lane = 0; lane < EMU_LANES_N; lane++) {
      uint64_t reg = 0;
      for (int e = 0; e < each; e++) {
        emu_position p = position_of(2, lane, r, e, each, in->more->mode[0]);
        double v = *emu_product_at(x, 2, p.row, p.column);
        reg |= emu_element_bits(v, t, in->flags & INSN_SAT) << (bits * e % 64);
      }
      emu_put(emu_reg(w, in->more->ops[r]), lane, in->more->bytes[r], reg);
    }
  }
}
