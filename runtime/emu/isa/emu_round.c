/* emu_round.c -- arithmetic with directed rounding.
 *
 * It is rare (the slow paths of division and of the mathematical library), so the host's rounding
 * mode is set around the 32 lanes. The operands are volatile so that the compiler does not move
 * arithmetic across the changes of mode. */
#pragma GCC optimize("rounding-math")
#include <fenv.h>
#include <math.h>
#include <stddef.h>

#include "emu_isa.h"

enum { MODE_rz = FE_TOWARDZERO, MODE_rm = FE_DOWNWARD, MODE_rp = FE_UPWARD };

static inline void canonical_f32(float *v) {
  *v = *v == *v ? *v : emu_f32(0x7fffffff);
}
static inline void canonical_f64(double *v) {
  (void)v; /* NaNs of f64 keep their payload */
}

#define ROUNDED(op, T, CT, mode, expr)                                                             \
  static void op##_##T##_##mode(void *d_, const void *a_, const void *b_, const void *c_,          \
                                const void *e_) {                                                  \
    CT *d = d_;                                                                                    \
    const CT *as = a_, *bs = b_ ? b_ : a_, *cs = c_ ? c_ : a_;                                     \
    int before = fegetround();                                                                     \
    (void)e_;                                                                                      \
    fesetround(MODE_##mode);                                                                       \
    for (int i = 0; i < 32; i++) {                                                                 \
      volatile CT a = as[i], b = bs[i], c = cs[i], r;                                              \
      (void)b, (void)c;                                                                            \
      r = (expr);                                                                                  \
      d[i] = r;                                                                                    \
      canonical_##T(&d[i]);                                                                        \
    }                                                                                              \
    fesetround(before);                                                                            \
  }
#define MODES(op, T, CT, expr)                                                                     \
  ROUNDED(op, T, CT, rz, expr) ROUNDED(op, T, CT, rm, expr) ROUNDED(op, T, CT, rp, expr)
#define BOTH(op, f32_expr, f64_expr)                                                               \
  MODES(op, f32, float, f32_expr) MODES(op, f64, double, f64_expr)

BOTH(add, a + b, a + b)
BOTH(sub, a - b, a - b)
BOTH(mul, a *b, a *b)
BOTH(div, a / b, a / b)
BOTH(fma, fmaf(a, b, c), fma(a, b, c))
BOTH(rcp, 1.0f / a, 1.0 / a)
BOTH(sqrt, sqrtf(a), sqrt(a))

#define ROWS(op)                                                                                   \
  [OP_##op] = {{op##_f32_rz, op##_f32_rm, op##_f32_rp}, {op##_f64_rz, op##_f64_rm, op##_f64_rp}},

static const emu_lane_fn rounded[OP_COUNT][2][3] = {ROWS(add) ROWS(sub) ROWS(mul) ROWS(div)
                                                        ROWS(fma) ROWS(rcp) ROWS(sqrt)};

emu_lane_fn emu_rounded(emu_op op, emu_type t, emu_round mode) {
  if ((t != T_f32 && t != T_f64) || mode < ROUND_rz || mode > ROUND_rp) {
    return NULL;
  }
  return rounded[op][t == T_f64][mode - ROUND_rz];
}

const emu_lane_fn (*emu_lanes(void))[T_COUNT] {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) {
    return emu_lanes_avx2;
  }
#endif
  return emu_lanes_base;
}
