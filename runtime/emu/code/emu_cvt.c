/* emu_cvt.c -- see emu_cvt.h. src: PTX ISA 9.0, 9.7.9.21 (cvt). */
#pragma GCC optimize("rounding-math")
#include "emu_cvt.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

static bool is_float(emu_type t) {
  return emu_type_kind(t) == 'f';
}

bool emu_cvt_can(emu_type to, emu_type from) {
  if (to >= T_COUNT || from >= T_COUNT || to == T_pred || from == T_pred) {
    return false;
  }
  if (emu_type_kind(to) == 'v') {
    bool halves = to == T_f16x2 || to == T_bf16x2;
    return (from == T_f32 && (halves || to == T_e4m3x2 || to == T_e5m2x2)) ||
           (from == T_f16x2 && (to == T_e4m3x2 || to == T_e5m2x2)) ||
           (to == T_f16x2 && (from == T_e4m3x2 || from == T_e5m2x2));
  }
  bool bits = emu_type_kind(to) == 'b' || emu_type_kind(from) == 'b';
  return emu_type_kind(from) != 'v' && !bits && emu_type_bytes(to) && emu_type_bytes(from) &&
         (to != T_tf32 || from == T_f32);
}

emu_pipe emu_cvt_pipe(emu_type to, emu_type from) {
  if (to == T_f64 || from == T_f64) {
    return EMU_PIPE_fp64;
  }
  if (emu_type_kind(to) == 'v' || ((to == T_f16 || to == T_bf16) && from == T_f32) ||
      ((from == T_f16 || from == T_bf16) && to == T_f32)) {
    return EMU_PIPE_half;
  }
  return is_float(to) || is_float(from) ? EMU_PIPE_cvt : EMU_PIPE_alu;
}

static double ftz(double x, bool on) {
  return on && fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* ---- from ---- */

static double float_of(uint64_t bits, emu_type t) {
  switch (t) {
  case T_f16: return emu_f16_value((uint16_t)bits);
  case T_bf16: return emu_bf16_value((uint16_t)bits);
  case T_f64: return emu_f64(bits);
  case T_e4m3: return emu_fp8_value((uint8_t)bits, 0);
  case T_e5m2: return emu_fp8_value((uint8_t)bits, 1);
  default: return emu_f32((uint32_t)bits);
  }
}

static uint64_t extend(uint64_t bits, emu_type t) {
  switch (emu_type_bytes(t) * (emu_type_kind(t) == 's' ? -1 : 1)) {
  case 1: return (uint8_t)bits;
  case 2: return (uint16_t)bits;
  case 4: return (uint32_t)bits;
  case -1: return (uint64_t)(int8_t)bits;
  case -2: return (uint64_t)(int16_t)bits;
  case -4: return (uint64_t)(int32_t)bits;
  default: return bits;
  }
}

/* ---- to ---- */

static int host_mode(int round) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  return round >= ROUND_rn && round <= ROUND_rp ? modes[round] : FE_TONEAREST;
}

static double round_integral(double x, int round) {
  switch (round) {
  case ROUND_rz: return trunc(x);
  case ROUND_rm: return floor(x);
  case ROUND_rp: return ceil(x);
  default: return nearbyint(x);
  }
}

/* Values out of range become the nearest bound. NaN becomes 0, in 64 bits 2^63, as on the hardware.
 */
static uint64_t integer_of(double x, emu_type t, int round) {
  int bits = 8 * emu_type_bytes(t);
  bool is_signed = emu_type_kind(t) == 's';
  double most = ldexp(1, is_signed ? bits - 1 : bits), least = is_signed ? -most : 0;
  if (isnan(x)) {
    return bits == 64 ? UINT64_C(1) << 63 : 0;
  }
  x = round_integral(x, round);
  if (x >= most) {
    return is_signed    ? (UINT64_C(1) << (bits - 1)) - 1
           : bits == 64 ? ~UINT64_C(0)
                        : (UINT64_C(1) << bits) - 1;
  }
  if (x <= least) {
    return is_signed ? ~UINT64_C(0) << (bits - 1) : 0;
  }
  return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static uint64_t saturate(uint64_t value, emu_type from, emu_type to) {
  int bits = 8 * emu_type_bytes(to);
  bool negative = emu_type_kind(from) == 's' && (int64_t)value < 0;
  if (emu_type_kind(to) == 's') {
    int64_t most = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    if (negative) {
      return (int64_t)value < -most - 1 ? (uint64_t)(-most - 1) : value;
    }
    return value > (uint64_t)most ? (uint64_t)most : value;
  }
  uint64_t most = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
  return negative ? 0 : value > most ? most : value;
}

static uint64_t float_bits(double x, emu_type to, int round, bool finite) {
  switch (to) {
  case T_f16:
    if (finite && fabs(x) > 65504) {
      return x < 0 ? 0xfbff : 0x7bff;
    }
    return emu_narrow(x, 5, 10, (emu_round)round);
  case T_bf16: return emu_narrow(x, 8, 7, (emu_round)round);
  case T_tf32: return emu_narrow(x, 8, 10, (emu_round)round) << 13;
  case T_f64: return emu_f64_bits(x);
  case T_e4m3: return emu_fp8(x, 0);
  case T_e5m2: return emu_fp8(x, 1);
  default: break;
  }
  int before = fegetround();
  fesetround(host_mode(round));
  volatile double in = x;
  volatile float out = (float)in;
  fesetround(before);
  return isnan(x) ? 0x7fffffff : emu_f32_bits(out);
}

static uint64_t float_of_integer(uint64_t value, emu_type from, emu_type to, int round) {
  int before = fegetround();
  bool is_signed = emu_type_kind(from) == 's';
  uint64_t bits;
  fesetround(host_mode(round));
  volatile int64_t s = (int64_t)value;
  volatile uint64_t u = value;
  if (to == T_f32) {
    volatile float f = is_signed ? (float)s : (float)u;
    bits = emu_f32_bits(f);
  } else if (to == T_f64) {
    volatile double d = is_signed ? (double)s : (double)u;
    bits = emu_f64_bits(d);
  } else { /* to 16 bits, through a double rounded to odd */
    fesetround(FE_TOWARDZERO);
    volatile double d = is_signed ? (double)s : (double)u;
    bool exact = is_signed ? (int64_t)d == s && fabs(d) < 0x1p63 : d < 0x1p64 && (uint64_t)d == u;
    fesetround(FE_TONEAREST);
    bits = float_bits(exact ? d : emu_f64(emu_f64_bits(d) | 1), to, round, false);
  }
  fesetround(before);
  return bits;
}

static uint64_t one(const emu_insn *in, uint64_t bits, emu_type from, emu_type to) {
  const int *mode = in->more->mode;
  bool flush = in->flags & INSN_FTZ;
  if (!is_float(from)) {
    uint64_t value = extend(bits, from);
    if (!is_float(to)) {
      return in->flags & INSN_SAT ? saturate(value, from, to) : value;
    }
    return float_of_integer(value, from, to, mode[0]);
  }
  double x = ftz(float_of(bits, from), flush && from == T_f32);
  if (!is_float(to)) {
    return integer_of(x, to, mode[0]);
  }
  if (mode[1]) {
    x = copysign(round_integral(x, mode[0]), x);
  }
  if (in->flags & INSN_SAT) {
    x = x > 0 ? (x < 1 ? x : 1) : 0;
  }
  if (mode[3] && x < 0) {
    x = 0;
  }
  uint64_t result = float_bits(x, to, mode[0], mode[2]);
  if (flush && to == T_f32 && (result & 0x7f800000) == 0) {
    result &= 0x80000000;
  }
  return result;
}

static emu_type element(emu_type t) {
  return t == T_f16x2    ? T_f16
         : t == T_bf16x2 ? T_bf16
         : t == T_e4m3x2 ? T_e4m3
         : t == T_e5m2x2 ? T_e5m2
                         : t;
}

/* Packed formats: element 0 is in the low half; when two floats are packed it is operand b. */
static uint64_t packed(const emu_insn *in, uint64_t a, uint64_t b) {
  emu_type to = element((emu_type)in->type), from = element(in->more->from);
  int wide = 8 * emu_type_bytes(to), narrow = 8 * emu_type_bytes(from);
  if (in->more->mode[5]) {
    return one(in, b, from, to) | one(in, a, from, to) << wide;
  }
  return one(in, a & ((1u << narrow) - 1), from, to) | one(in, a >> narrow, from, to) << wide;
}

void emu_cvt_lanes(const emu_insn *in, uint8_t *d, const uint8_t *a, const uint8_t *b) {
  emu_type to = (emu_type)in->type, from = in->more->from;
  size_t width = (size_t)in->more->mode[4];
  for (int i = 0; i < 32; i++) {
    uint64_t x = 0, y = 0, r;
    memcpy(&x, a + (size_t)i * width, width);
    if (in->more->mode[5]) {
      memcpy(&y, b + (size_t)i * width, width);
    }
    r = emu_type_kind(to) == 'v' ? packed(in, x, y) : one(in, x, from, to);
    r = emu_type_kind(to) == 's' ? extend(r, to) : r;
    memcpy(d + (size_t)i * in->dbytes, &r, in->dbytes);
  }
}

/* ---- the common pairs ---- */

static inline float quiet(float v) {
  return v == v ? v : emu_f32(0x7fffffff);
}

#define FAST(name, DT, AT, expr)                                                                   \
  static void name(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) {     \
    DT *d = d_;                                                                                    \
    const AT *as = a_;                                                                             \
    (void)b_, (void)c_, (void)e_;                                                                  \
    for (int i = 0; i < 32; i++) {                                                                 \
      AT a = as[i];                                                                                \
      d[i] = (DT)(expr);                                                                           \
    }                                                                                              \
  }
/* clang-format off */
#define FAST_PAIRS(X)                                                           \
  X(u64, u32, uint64_t, uint32_t, a) X(s64, s32, int64_t, int32_t, a)           \
  X(u32, u64, uint32_t, uint64_t, a) X(s64, u32, int64_t, uint32_t, a)          \
  X(u64, s32, uint64_t, int32_t, a) X(u32, u16, uint32_t, uint16_t, a)          \
  X(s32, s16, int32_t, int16_t, a) X(u16, u32, uint16_t, uint32_t, a)           \
  X(u64, u16, uint64_t, uint16_t, a) X(s64, s16, int64_t, int16_t, a)           \
  X(s32, u16, int32_t, uint16_t, a) X(u32, s16, uint32_t, int16_t, a)           \
  X(u16, u64, uint16_t, uint64_t, a)                                            \
  X(f32, f16, float, uint16_t, quiet(emu_f16_value(a)))                                \
  X(f32, bf16, float, uint16_t, emu_bf16_value(a))
/* clang-format on */
#define FAST_ROUNDED(X)                                                                            \
  X(f16, f32, uint16_t, float, emu_f16_nearest(a))                                                 \
  X(bf16, f32, uint16_t, float, emu_bf16_nearest(a))                                               \
  X(f32, s32, float, int32_t, a)                                                                   \
  X(f32, u32, float, uint32_t, a)                                                                  \
  X(f64, s32, double, int32_t, a)                                                                  \
  X(f64, u32, double, uint32_t, a) X(f64, f32, double, float, a) X(f32, u16, float, uint16_t, a)

#define FUNCTION(to, from, DT, AT, expr) FAST(to##_##from, DT, AT, expr)
FAST_PAIRS(FUNCTION)
FAST_ROUNDED(FUNCTION)

/* signedness does not matter when the result is not wider */
static emu_type plain(emu_type t, emu_type other) {
  return !is_float(t) && emu_type_bytes(t) <= emu_type_bytes(other) ? emu_type_unsigned(t) : t;
}

emu_lane_fn emu_cvt_fast(const emu_insn *in) {
  emu_type from = in->more->from, to = (emu_type)in->type;
  const int *mode = in->more->mode;
  if (in->flags & (INSN_FTZ | INSN_SAT) || mode[1] || mode[2] || mode[3] || mode[5] ||
      in->dbytes != emu_type_bytes(to) || mode[4] != emu_type_bytes(from)) {
    return NULL;
  }
  if (!is_float(to) && !is_float(from) && emu_type_bytes(to) <= emu_type_bytes(from)) {
    from = plain(from, from);
    to = plain(to, to);
  }
#define PICK(t, f, DT, AT, expr)                                                                   \
  if (to == T_##t && from == T_##f) {                                                              \
    return t##_##f;                                                                                \
  }
  FAST_PAIRS(PICK)
  if (mode[0] == ROUND_rn || mode[0] == ROUND_none) {
    FAST_ROUNDED(PICK)
  }
#undef PICK
  return NULL;
}
