/* emu_lanes.h -- the loops over 32 lanes, expanded from emu_ops.h.
 *
 * The including .c file defines EMU_LANES, the name of the table, and sets the target that the
 * loops are compiled for: emu_lanes_base.c for every processor, emu_lanes_avx2.c for those with
 * AVX2 and FMA. The loops are plain C, which the compiler vectorises. */
/* clang-format off */
#include <math.h>
#include <stdint.h>

#include "emu_float.h"
#include "emu_ops.h"
#include "emu_type.h"

#define H(v) emu_f16_value((uint16_t)(v))
#define BH(v) emu_bf16_value((uint16_t)(v))
#define F16(v) emu_f16_nearest(v)
#define BF16(v) emu_bf16_nearest(v)
#define LO(v) ((uint32_t)(v) & 0xffff)
#define HI(v) ((uint32_t)(v) >> 16)
#define SLO(v) ((int16_t)LO(v))
#define SHI(v) ((int16_t)HI(v))
#define PACK(lo, hi) (((uint32_t)(lo) & 0xffff) | (uint32_t)(hi) << 16)
#define JOIN(a, b) ((uint64_t)(b) << 32 | (a))
#define RELU(v) ((v) < 0 ? 0 : (v))
#define U24(v) ((uint64_t)((v) & 0xffffff))
#define S24(v) (((int64_t)((uint64_t)(uint32_t)(v) << 40)) >> 40)
#define NEG32(v) ((int32_t)(0u - (uint32_t)(v)))
#define NEG64(v) ((int64_t)(UINT64_C(0) - (uint64_t)(v)))
#define SIGN64 UINT64_C(0x8000000000000000)
#define SAT(v) ((v) > 0.0f ? ((v) < 1.0f ? (v) : 1.0f) : 0.0f)
#define CANON(v) emu_canon(v)
/* the selectors that the modes of prmt stand for (PTX ISA, prmt) */
#define EMU_B4E(c) (0x3456456756706701 >> (16 * (3 - (c))) & 0xffff)
#define EMU_ECL(c) (UINT64_C(0x3333322232103210) >> (16 * (3 - (c))) & 0xffff)
#define EMU_ECR(c) (UINT64_C(0x0000111022103210) >> (16 * (3 - (c))) & 0xffff)
#define FMA_H(a, b, c) (uint16_t) emu_f16_nearest(emu_odd(emu_fma_odd(H(a), H(b), H(c))))
#define FMA_B(a, b, c) (uint16_t) emu_bf16_nearest(emu_odd(emu_fma_odd(BH(a), BH(b), BH(c))))
#define RELU_H(v) emu_relu16(v, 0x7c00)
#define RELU_B(v) emu_relu16(v, 0x7f80)
#define KEEP_H(v) (v)
#define KEEP_B(v) (v)
/* 0 when an operand is the NaN that bulk copies fill in outside a tensor */
#define OOB(a, b, v) ((a) == EMU_OOB_NAN || (b) == EMU_OOB_NAN ? 0 : (v))

/* Halves: the expression sees its operands x and y as float, and its result is rounded once more.
 * For + - and * that equals a single rounding, because float has more than twice the precision of a
 * half plus two bits. */
#define ONE2(TO, FROM, expr)                 \
  ({                                         \
    float x = FROM(a), y = FROM(b);          \
    TO(expr);                                \
  })
#define EACH(TO, FROM, expr)                 \
  ({                                         \
    float x = FROM(LO(a));                   \
    uint32_t lo = TO(expr);                  \
    x = FROM(HI(a));                         \
    PACK(lo, TO(expr));                      \
  })
#define EACH2(TO, FROM, expr)                \
  ({                                         \
    float x = FROM(LO(a)), y = FROM(LO(b));  \
    uint32_t lo = TO(expr);                  \
    x = FROM(HI(a));                         \
    y = FROM(HI(b));                         \
    PACK(lo, TO(expr));                      \
  })

static inline float emu_canon(float v) {
  return v == v ? v : emu_f32(0x7fffffff); /* the only NaN that arithmetic produces */
}
static inline uint32_t emu_brev(uint32_t v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(v);
}
static inline uint32_t emu_shift32(uint32_t v) {
  return v ? (uint32_t)__builtin_clz(v) : ~0u;
}
static inline uint32_t emu_shift64(uint64_t v) {
  return v ? (uint32_t)__builtin_clzll(v) : ~0u;
}
static inline uint32_t emu_bfind32(uint32_t v) {
  return v ? 31 - (uint32_t)__builtin_clz(v) : ~0u;
}
static inline uint32_t emu_bfind64(uint64_t v) {
  return v ? 63 - (uint32_t)__builtin_clzll(v) : ~0u;
}
static inline int32_t emu_clamp32(int64_t v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
static inline float emu_flush(float v) {
  return __builtin_fabsf(v) < 0x1p-126f ? 0 : v;
}
/* two numbers, each clamped to its range, b in the lower of the fields */
static inline uint32_t emu_clamp_pair(int32_t a, int32_t b, int32_t least, int32_t most, int bits) {
  const uint32_t mask = (1u << bits) - 1;
  a = a < least ? least : a > most ? most : a;
  b = b < least ? least : b > most ? most : b;
  return ((uint32_t)a & mask) << bits | ((uint32_t)b & mask);
}
static inline uint32_t emu_mask(uint32_t from, uint32_t n) {
  uint32_t bits = n > 31 ? ~0u : (1u << n) - 1;
  return from > 31 ? 0 : bits << from;
}
static inline uint32_t emu_sign_from(uint32_t v, uint32_t n) {
  if (n == 0 || n > 31) {
    return n ? v : 0;
  }
  return (uint32_t)((int32_t)(v << (32 - n)) >> (32 - n));
}
static inline uint64_t emu_bfe(uint64_t a, uint32_t pos, uint32_t len, uint32_t msb,
                               int is_signed) {
  uint32_t last = pos + len - 1 > msb ? msb : pos + len - 1;
  int sign = is_signed && len && (a >> last & 1);
  uint64_t body = pos > msb ? 0 : a >> pos;
  uint32_t have = pos > msb ? 0 : msb + 1 - pos, n = len < have ? len : have;
  uint64_t keep = n > 63 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
  return (body & keep) | (sign ? ~keep : 0);
}
static inline uint64_t emu_bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, uint32_t width) {
  if (pos >= width || len == 0) {
    return b;
  }
  uint64_t keep = (len > 63 ? ~UINT64_C(0) : (UINT64_C(1) << len) - 1) << pos;
  return (b & ~keep) | (a << pos & keep);
}
static inline uint32_t emu_fns(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) {
    return ~0u;
  }
  if (offset == 0) {
    return mask >> base & 1 ? base : ~0u;
  }
  int step = offset > 0 ? 1 : -1;
  uint32_t left = offset > 0 ? (uint32_t)offset : 0u - (uint32_t)offset;
  for (int i = (int)base; i >= 0 && i < 32; i += step) {
    if ((mask >> i & 1) && --left == 0) {
      return (uint32_t)i;
    }
  }
  return ~0u;
}
static inline uint32_t emu_prmt(uint32_t a, uint32_t b, uint64_t c) {
  uint64_t both = JOIN(a, b);
  uint32_t d = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t pick = (uint32_t)(c >> (4 * i)) & 15;
    uint32_t byte = (uint32_t)(both >> (8 * (pick & 7))) & 255;
    d |= (pick & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * i);
  }
  return d;
}
static inline uint32_t emu_byte(uint32_t v, int i, int is_signed) {
  uint32_t byte = v >> (8 * i) & 255;
  return is_signed ? (uint32_t)(int32_t)(int8_t)byte : byte;
}
static inline uint32_t emu_dp4a(uint32_t a, uint32_t b, uint32_t c, int sa, int sb) {
  for (int i = 0; i < 4; i++) {
    c += emu_byte(a, i, sa) * emu_byte(b, i, sb);
  }
  return c;
}
static inline uint32_t emu_dp2a(uint32_t a, uint32_t b, uint32_t c, int sa, int sb) {
  for (int i = 0; i < 2; i++) {
    uint32_t half = a >> (16 * i) & 0xffff;
    c += (sa ? (uint32_t)(int32_t)(int16_t)half : half) * emu_byte(b, i, sb);
  }
  return c;
}
static inline uint32_t emu_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t lut) {
  uint32_t d = 0;
  for (int k = 0; k < 8; k++) {
    uint32_t on = 0u - (lut >> k & 1);
    d |= on & (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  }
  return d;
}
/* Minimum and maximum order -0 below +0 and return the operand that is not NaN. */
static inline float emu_minf(float a, float b) {
  float less = a < b ? a : b < a ? b : emu_f32(emu_f32_bits(a) | emu_f32_bits(b));
  return a != a ? CANON(b) : b != b ? a : less;
}
static inline float emu_maxf(float a, float b) {
  float more = a > b ? a : b > a ? b : emu_f32(emu_f32_bits(a) & emu_f32_bits(b));
  return a != a ? CANON(b) : b != b ? a : more;
}
static inline float emu_minnan(float a, float b) {
  return a != a || b != b ? emu_f32(0x7fffffff) : emu_minf(a, b);
}
static inline float emu_maxnan(float a, float b) {
  return a != a || b != b ? emu_f32(0x7fffffff) : emu_maxf(a, b);
}
static inline float emu_sign_xor(float v, float a, float b) {
  return v != v ? v : emu_f32(emu_f32_bits(v) | ((emu_f32_bits(a) ^ emu_f32_bits(b)) & 0x80000000));
}
static inline double emu_mind(double a, double b) {
  double less = a < b ? a : b < a ? b : emu_f64(emu_f64_bits(a) | emu_f64_bits(b));
  return a != a ? b : b != b ? a : less;
}
static inline double emu_maxd(double a, double b) {
  double more = a > b ? a : b > a ? b : emu_f64(emu_f64_bits(a) & emu_f64_bits(b));
  return a != a ? b : b != b ? a : more;
}
static inline uint16_t emu_relu16(uint16_t v, uint16_t infinity) {
  return (v & 0x7fff) > infinity ? 0x7fff : v & 0x8000 ? 0 : v;
}

/* 32 truth values of a byte each as a predicate */
static inline uint32_t emu_pack(const uint8_t *truth) {
  uint32_t mask = 0;
  for (int i = 0; i < 4; i++) {
    uint64_t eight;
    memcpy(&eight, truth + 8 * i, 8);
    mask |= (uint32_t)(eight * UINT64_C(0x0102040810204080) >> 56) << (8 * i);
  }
  return mask;
}

#define EMU_LOOP(statement)   \
  _Pragma("GCC ivdep")        \
  for (int i = 0; i < 32; i++) { \
    statement                 \
  }

#define UNARY(op, T, DT, AT, expr)                                                             \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    DT *d = d_;                                                                                \
    const AT *as = a_;                                                                         \
    (void)b_, (void)c_, (void)e_;                                                              \
    EMU_LOOP(AT a = as[i]; d[i] = (DT)(expr);)                                                 \
  }
#define BINARY(op, T, DT, AT, BT, expr)                                                        \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    DT *d = d_;                                                                                \
    const AT *as = a_;                                                                         \
    const BT *bs = b_;                                                                         \
    (void)c_, (void)e_;                                                                        \
    EMU_LOOP(AT a = as[i]; BT b = bs[i]; d[i] = (DT)(expr);)                                   \
  }
#define TERNARY(op, T, DT, AT, BT, CT, expr)                                                   \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    DT *d = d_;                                                                                \
    const AT *as = a_;                                                                         \
    const BT *bs = b_;                                                                         \
    const CT *cs = c_;                                                                         \
    (void)e_;                                                                                  \
    EMU_LOOP(AT a = as[i]; BT b = bs[i]; CT c = cs[i]; d[i] = (DT)(expr);)                     \
  }
#define QUATERNARY(op, T, DT, AT, BT, CT, ET, expr)                                            \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    DT *d = d_;                                                                                \
    const AT *as = a_;                                                                         \
    const BT *bs = b_;                                                                         \
    const CT *cs = c_;                                                                         \
    const ET *es = e_;                                                                         \
    EMU_LOOP(AT a = as[i]; BT b = bs[i]; CT c = cs[i]; ET e = es[i]; d[i] = (DT)(expr);)       \
  }
#define COMPARE(op, T, CT, truth)                                                              \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    const CT *as = a_, *bs = b_;                                                               \
    uint8_t truths[32];                                                                        \
    (void)c_, (void)e_;                                                                        \
    for (int i = 0; i < 32; i++) {                                                             \
      CT a = as[i], b = bs[i];                                                                 \
      truths[i] = (truth) ? 1 : 0;                                                             \
    }                                                                                          \
    *(uint32_t *)d_ = emu_pack(truths);                                                        \
  }
#define TEST(op, T, CT, truth)                                                                 \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    const CT *as = a_;                                                                         \
    uint8_t truths[32];                                                                        \
    (void)b_, (void)c_, (void)e_;                                                              \
    for (int i = 0; i < 32; i++) {                                                             \
      CT a = as[i];                                                                            \
      truths[i] = (truth) ? 1 : 0;                                                             \
    }                                                                                          \
    *(uint32_t *)d_ = emu_pack(truths);                                                        \
  }
#define SELECT(op, T, CT)                                                                      \
  static void op##_##T(void *d_, const void *a_, const void *b_, const void *c_, const void *e_) { \
    CT *d = d_;                                                                                \
    const CT *as = a_, *bs = b_;                                                               \
    uint32_t pick = *(const uint32_t *)c_;                                                     \
    (void)e_;                                                                                  \
    EMU_LOOP(d[i] = pick >> i & 1 ? as[i] : bs[i];)                                            \
  }

EMU_UNARY(UNARY)
EMU_BINARY(BINARY)
EMU_TERNARY(TERNARY)
EMU_QUATERNARY(QUATERNARY)
EMU_COMPARE(COMPARE)
EMU_TEST(TEST)
EMU_SELECT(SELECT)

#define ROW(op, T, ...) [OP_##op][T_##T] = op##_##T,
const emu_lane_fn EMU_LANES[OP_COUNT][T_COUNT] = {
    EMU_UNARY(ROW) EMU_BINARY(ROW) EMU_TERNARY(ROW) EMU_QUATERNARY(ROW) EMU_COMPARE(ROW)
        EMU_TEST(ROW) EMU_SELECT(ROW)};
#undef ROW
