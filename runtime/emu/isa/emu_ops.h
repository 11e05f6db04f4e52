/* emu_ops.h -- what the arithmetic instructions compute, one row for each operation and type.
 *
 * The lists are expanded twice: into the numbering of operations (emu_op) and, in emu_lanes.h, into
 * loops over the 32 lanes of a warp. A row is (operation, type, C type of the result, C types of
 * the operands..., expression in a, b, c, e). Directed rounding is in emu_round.c; ftz and
 * saturation are applied around an operation (exec_wrapped).
 *
 * src  PTX ISA 9.0, 9.7.1 to 9.7.8 */
#ifndef EMU_OPS_H
#define EMU_OPS_H

/* clang-format off */
#define EMU_OP_NAMES(X)                                                                        \
  X(mov) X(add) X(sub) X(addsat) X(subsat) X(mul) X(mulhi) X(mulwide) X(mad) X(madhi)          \
  X(madhisat) X(madwide) X(mul24) X(mul24hi) X(mad24) X(mad24hi) X(sad) X(div) X(rem) X(abs)   \
  X(neg) X(min) X(max) X(minnan) X(maxnan) X(minrelu) X(maxrelu) X(minxor) X(maxxor) X(and)    \
  X(or) X(xor) X(not) X(cnot) X(shl) X(shr) X(shflw) X(shflc) X(shfrw) X(shfrc) X(lop3) X(bfe) \
  X(bfi) X(bfind) X(bfindshift) X(brev) X(popc) X(clz) X(fns) X(szextwrap) X(szextclamp)       \
  X(bmskwrap) X(bmskclamp) X(prmt) X(prmtf4e) X(prmtb4e) X(prmtrc8) X(prmtecl) X(prmtecr)      \
  X(prmtrc16) X(dp4auu) X(dp4aus) X(dp4asu) X(dp4ass) X(dp2aluu) X(dp2alus) X(dp2alsu)         \
  X(dp2alss) X(dp2ahuu) X(dp2ahus) X(dp2ahsu) X(dp2ahss) X(fma) X(fmarelu) X(rcp) X(sqrt)      \
  X(rsqrt) X(sin) X(cos) X(ex2) X(lg2) X(tanh) X(copysign) X(finite) X(infinite) X(number)     \
  X(notanumber) X(normal) X(subnormal) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(equ) X(neu)       \
  X(ltu) X(leu) X(gtu) X(geu) X(num) X(nan) X(selp) X(slctf) X(slcts) X(satf)          \
  X(packu16) X(packs16) X(packu8) X(packs8) X(packu4) X(packs4) X(packu2) X(packs2)            \
  X(mad24hisat) X(fmaoob) X(fmaoobrelu) X(minnanxor) X(maxnanxor)

typedef enum emu_op {
#define EMU_OP_ENUM(name) OP_##name,
  EMU_OP_NAMES(EMU_OP_ENUM)
#undef EMU_OP_ENUM
      OP_COUNT
} emu_op;

#define EMU_EACH_U(X, op, expr)                               \
  X(op, u16, uint16_t, uint16_t, uint16_t, expr)              \
  X(op, u32, uint32_t, uint32_t, uint32_t, expr)              \
  X(op, u64, uint64_t, uint64_t, uint64_t, expr)
#define EMU_EACH_S(X, op, expr)                               \
  X(op, s16, int16_t, int16_t, int16_t, expr)                 \
  X(op, s32, int32_t, int32_t, int32_t, expr)                 \
  X(op, s64, int64_t, int64_t, int64_t, expr)

#define EMU_UNARY(X)                                                                      \
  X(mov, u16, uint16_t, uint16_t, a)                                                      \
  X(mov, u32, uint32_t, uint32_t, a)                                                      \
  X(mov, u64, uint64_t, uint64_t, a)                                                      \
  X(not, u16, uint16_t, uint16_t, ~a)                                                     \
  X(not, u32, uint32_t, uint32_t, ~a)                                                     \
  X(not, u64, uint64_t, uint64_t, ~a)                                                     \
  X(cnot, u16, uint16_t, uint16_t, a == 0)                                                \
  X(cnot, u32, uint32_t, uint32_t, a == 0)                                                \
  X(cnot, u64, uint64_t, uint64_t, a == 0)                                                \
  X(neg, u16, uint16_t, uint16_t, -(uint32_t)a)                                           \
  X(neg, u32, uint32_t, uint32_t, -a)                                                     \
  X(neg, u64, uint64_t, uint64_t, -a)                                                     \
  X(abs, s16, uint16_t, uint16_t, a & 0x8000 ? -(uint32_t)a : a)                          \
  X(abs, s32, uint32_t, uint32_t, a >> 31 ? -a : a)                                       \
  X(abs, s64, uint64_t, uint64_t, a >> 63 ? -a : a)                                       \
  X(popc, u32, uint32_t, uint32_t, __builtin_popcount(a))                                 \
  X(popc, u64, uint32_t, uint64_t, __builtin_popcountll(a))                               \
  X(clz, u32, uint32_t, uint32_t, a ? __builtin_clz(a) : 32)                              \
  X(clz, u64, uint32_t, uint64_t, a ? __builtin_clzll(a) : 64)                            \
  X(brev, u32, uint32_t, uint32_t, emu_brev(a))                                           \
  X(brev, u64, uint64_t, uint64_t,                                                        \
    (uint64_t)emu_brev((uint32_t)a) << 32 | emu_brev((uint32_t)(a >> 32)))                \
  X(bfind, u32, uint32_t, uint32_t, a ? 31 - __builtin_clz(a) : -1)                       \
  X(bfind, s32, uint32_t, int32_t, emu_bfind32((uint32_t)(a < 0 ? ~a : a)))               \
  X(bfind, u64, uint32_t, uint64_t, a ? 63 - __builtin_clzll(a) : -1)                     \
  X(bfind, s64, uint32_t, int64_t, emu_bfind64((uint64_t)(a < 0 ? ~a : a)))               \
  X(bfindshift, u32, uint32_t, uint32_t, a ? __builtin_clz(a) : -1)                       \
  X(bfindshift, s32, uint32_t, int32_t, emu_shift32((uint32_t)(a < 0 ? ~a : a)))          \
  X(bfindshift, u64, uint32_t, uint64_t, a ? __builtin_clzll(a) : -1)                     \
  X(bfindshift, s64, uint32_t, int64_t, emu_shift64((uint64_t)(a < 0 ? ~a : a)))          \
  X(abs, f32, uint32_t, uint32_t, a & 0x7fffffff)                                         \
  X(neg, f32, uint32_t, uint32_t, a ^ 0x80000000)                                         \
  X(abs, f64, uint64_t, uint64_t, a & UINT64_C(0x7fffffffffffffff))                       \
  X(neg, f64, uint64_t, uint64_t, a ^ UINT64_C(0x8000000000000000))                       \
  X(abs, f16, uint16_t, uint16_t, a & 0x7fff)                                             \
  X(neg, f16, uint16_t, uint16_t, a ^ 0x8000)                                             \
  X(abs, bf16, uint16_t, uint16_t, a & 0x7fff)                                            \
  X(neg, bf16, uint16_t, uint16_t, a ^ 0x8000)                                            \
  X(abs, f16x2, uint32_t, uint32_t, a & 0x7fff7fff)                                       \
  X(neg, f16x2, uint32_t, uint32_t, a ^ 0x80008000)                                       \
  X(abs, bf16x2, uint32_t, uint32_t, a & 0x7fff7fff)                                      \
  X(neg, bf16x2, uint32_t, uint32_t, a ^ 0x80008000)                                      \
  X(rcp, f32, float, float, CANON(1.0f / a))                                              \
  X(rcp, f64, double, double, 1.0 / a)                                                    \
  X(sqrt, f32, float, float, CANON(sqrtf(a)))                                             \
  X(sqrt, f64, double, double, sqrt(a))                                                   \
  X(rsqrt, f32, float, float, CANON((float)(1.0 / sqrt((double)a))))                      \
  X(rsqrt, f64, double, double, 1.0 / sqrt(a))                                            \
  X(sin, f32, float, float, CANON(sinf(a)))                                               \
  X(cos, f32, float, float, CANON(cosf(a)))                                               \
  X(ex2, f32, float, float, CANON(exp2f(a)))                                              \
  X(lg2, f32, float, float, CANON(log2f(a)))                                              \
  X(tanh, f32, float, float, CANON(tanhf(a)))                                             \
  X(satf, f32, float, float, a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f)                     \
  X(satf, f64, double, double, a > 0.0 ? (a < 1.0 ? a : 1.0) : 0.0)                       \
  X(ex2, f16, uint16_t, uint16_t, F16(exp2f(H(a))))                                       \
  X(ex2, f16x2, uint32_t, uint32_t, EACH(F16, H, exp2f(x)))                               \
  X(ex2, bf16, uint16_t, uint16_t, BF16(emu_flush(exp2f(BH(a)))))                                    \
  X(ex2, bf16x2, uint32_t, uint32_t, EACH(BF16, BH, emu_flush(exp2f(x))))                            \
  X(tanh, f16, uint16_t, uint16_t, F16(tanhf(H(a))))                                      \
  X(tanh, f16x2, uint32_t, uint32_t, EACH(F16, H, tanhf(x)))                              \
  X(tanh, bf16, uint16_t, uint16_t, BF16(tanhf(BH(a))))                                   \
  X(tanh, bf16x2, uint32_t, uint32_t, EACH(BF16, BH, tanhf(x)))                           \
  X(satf, f16, uint16_t, uint16_t, F16(SAT(H(a))))                                        \
  X(satf, f16x2, uint32_t, uint32_t, EACH(F16, H, SAT(x)))

/* add-like operations of the four floating-point types of 16 bits; x and y are the operands as
 * float */
#define EMU_EACH_HALF2(X, op, expr)                                      \
  X(op, f16, uint16_t, uint16_t, uint16_t, ONE2(F16, H, expr))           \
  X(op, bf16, uint16_t, uint16_t, uint16_t, ONE2(BF16, BH, expr))        \
  X(op, f16x2, uint32_t, uint32_t, uint32_t, EACH2(F16, H, expr))        \
  X(op, bf16x2, uint32_t, uint32_t, uint32_t, EACH2(BF16, BH, expr))

#define EMU_BINARY(X)                                                                           \
  EMU_EACH_U(X, add, a + b)                                                                     \
  EMU_EACH_U(X, sub, a - b)                                                                     \
  X(packu16, s32, uint32_t, int32_t, int32_t, emu_clamp_pair(a, b, 0, 0xffff, 16)) \
  X(packs16, s32, uint32_t, int32_t, int32_t, emu_clamp_pair(a, b, -0x8000, 0x7fff, 16)) \
  X(addsat, s32, int32_t, int32_t, int32_t, emu_clamp32((int64_t)a + b))                        \
  X(subsat, s32, int32_t, int32_t, int32_t, emu_clamp32((int64_t)a - b))                        \
  X(mul, u16, uint16_t, uint16_t, uint16_t, (uint32_t)a * b)                                    \
  X(mul, u32, uint32_t, uint32_t, uint32_t, a * b)                                              \
  X(mul, u64, uint64_t, uint64_t, uint64_t, a * b)                                              \
  X(mulhi, u16, uint16_t, uint16_t, uint16_t, (uint32_t)a * b >> 16)                            \
  X(mulhi, s16, int16_t, int16_t, int16_t, ((int32_t)a * b) >> 16)                              \
  X(mulhi, u32, uint32_t, uint32_t, uint32_t, (uint64_t)a * b >> 32)                            \
  X(mulhi, s32, int32_t, int32_t, int32_t, ((int64_t)a * b) >> 32)                              \
  X(mulhi, u64, uint64_t, uint64_t, uint64_t, (unsigned __int128)a * b >> 64)                   \
  X(mulhi, s64, int64_t, int64_t, int64_t, ((__int128)a * b) >> 64)                             \
  X(mulwide, u16, uint32_t, uint16_t, uint16_t, (uint32_t)a * b)                                \
  X(mulwide, s16, int32_t, int16_t, int16_t, (int32_t)a * b)                                    \
  X(mulwide, u32, uint64_t, uint32_t, uint32_t, (uint64_t)a * b)                                \
  X(mulwide, s32, int64_t, int32_t, int32_t, (int64_t)a * b)                                    \
  X(mul24, u32, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff))                  \
  X(mul24, s32, uint32_t, int32_t, int32_t, (uint32_t)(S24(a) * S24(b)))                        \
  X(mul24hi, u32, uint32_t, uint32_t, uint32_t, U24(a) * U24(b) >> 16)                          \
  X(mul24hi, s32, uint32_t, int32_t, int32_t, (S24(a) * S24(b)) >> 16)                          \
  X(div, u16, uint16_t, uint16_t, uint16_t, b ? a / b : 0xffff)                                 \
  X(div, u32, uint32_t, uint32_t, uint32_t, b ? a / b : ~0u)                                    \
  X(div, u64, uint64_t, uint64_t, uint64_t, b ? a / b : ~UINT64_C(0))                           \
  X(div, s16, int16_t, int16_t, int16_t, b ? a / b : -1)                                        \
  X(div, s32, int32_t, int32_t, int32_t, b ? (b == -1 ? NEG32(a) : a / b) : -1)                 \
  X(div, s64, int64_t, int64_t, int64_t, b ? (b == -1 ? NEG64(a) : a / b) : -1)                 \
  X(rem, u16, uint16_t, uint16_t, uint16_t, b ? a % b : a)                                      \
  X(rem, u32, uint32_t, uint32_t, uint32_t, b ? a % b : a)                                      \
  X(rem, u64, uint64_t, uint64_t, uint64_t, b ? a % b : a)                                      \
  X(rem, s16, int16_t, int16_t, int16_t, b ? a % b : a)                                         \
  X(rem, s32, int32_t, int32_t, int32_t, b ? (b == -1 ? 0 : a % b) : a)                         \
  X(rem, s64, int64_t, int64_t, int64_t, b ? (b == -1 ? 0 : a % b) : a)                         \
  EMU_EACH_U(X, min, a < b ? a : b)                                                             \
  EMU_EACH_S(X, min, a < b ? a : b)                                                             \
  EMU_EACH_U(X, max, a > b ? a : b)                                                             \
  EMU_EACH_S(X, max, a > b ? a : b)                                                             \
  X(minrelu, s32, int32_t, int32_t, int32_t, RELU(a < b ? a : b))                               \
  X(maxrelu, s32, int32_t, int32_t, int32_t, RELU(a > b ? a : b))                               \
  X(add, u16x2, uint32_t, uint32_t, uint32_t, PACK(LO(a) + LO(b), HI(a) + HI(b)))               \
  X(min, u16x2, uint32_t, uint32_t, uint32_t,                                                   \
    PACK(LO(a) < LO(b) ? LO(a) : LO(b), HI(a) < HI(b) ? HI(a) : HI(b)))                         \
  X(max, u16x2, uint32_t, uint32_t, uint32_t,                                                   \
    PACK(LO(a) > LO(b) ? LO(a) : LO(b), HI(a) > HI(b) ? HI(a) : HI(b)))                         \
  X(min, s16x2, uint32_t, uint32_t, uint32_t,                                                   \
    PACK(SLO(a) < SLO(b) ? LO(a) : LO(b), SHI(a) < SHI(b) ? HI(a) : HI(b)))                     \
  X(max, s16x2, uint32_t, uint32_t, uint32_t,                                                   \
    PACK(SLO(a) > SLO(b) ? LO(a) : LO(b), SHI(a) > SHI(b) ? HI(a) : HI(b)))                     \
  X(minrelu, s16x2, uint32_t, uint32_t, uint32_t,                                               \
    PACK(RELU(SLO(a) < SLO(b) ? SLO(a) : SLO(b)), RELU(SHI(a) < SHI(b) ? SHI(a) : SHI(b))))     \
  X(maxrelu, s16x2, uint32_t, uint32_t, uint32_t,                                               \
    PACK(RELU(SLO(a) > SLO(b) ? SLO(a) : SLO(b)), RELU(SHI(a) > SHI(b) ? SHI(a) : SHI(b))))     \
  EMU_EACH_U(X, and, a & b)                                                                     \
  EMU_EACH_U(X, or, a | b)                                                                      \
  EMU_EACH_U(X, xor, a ^ b)                                                                     \
  X(shl, u16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : (uint32_t)a << b)                      \
  X(shl, u32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << (b & 31))                         \
  X(shl, u64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << (b & 63))                         \
  X(shr, u16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : a >> b)                                \
  X(shr, u32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> (b & 31))                         \
  X(shr, u64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> (b & 63))                         \
  X(shr, s16, int16_t, int16_t, uint32_t, a >> (b > 15 ? 15 : b))                               \
  X(shr, s32, int32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))                               \
  X(shr, s64, int64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))                               \
  X(szextwrap, u32, uint32_t, uint32_t, uint32_t, a & emu_mask(0, b & 31))                      \
  X(szextclamp, u32, uint32_t, uint32_t, uint32_t, a & emu_mask(0, b))                          \
  X(szextwrap, s32, uint32_t, uint32_t, uint32_t, emu_sign_from(a, b & 31))                     \
  X(szextclamp, s32, uint32_t, uint32_t, uint32_t, emu_sign_from(a, b))                         \
  X(bmskwrap, u32, uint32_t, uint32_t, uint32_t, emu_mask(a & 31, b & 31))                      \
  X(bmskclamp, u32, uint32_t, uint32_t, uint32_t, emu_mask(a, b))                               \
  X(add, f32, float, float, float, CANON(a + b))                                                \
  X(sub, f32, float, float, float, CANON(a - b))                                                \
  X(mul, f32, float, float, float, CANON(a * b))                                                \
  X(div, f32, float, float, float, CANON(a / b))                                                \
  X(add, f64, double, double, double, a + b)                                                    \
  X(sub, f64, double, double, double, a - b)                                                    \
  X(mul, f64, double, double, double, a *b)                                                     \
  X(div, f64, double, double, double, a / b)                                                    \
  X(min, f32, float, float, float, emu_minf(a, b))                                              \
  X(max, f32, float, float, float, emu_maxf(a, b))                                              \
  X(minnan, f32, float, float, float, emu_minnan(a, b))                                         \
  X(maxnan, f32, float, float, float, emu_maxnan(a, b))                                         \
  X(minxor, f32, float, float, float, emu_sign_xor(emu_minf(fabsf(a), fabsf(b)), a, b))         \
  X(maxxor, f32, float, float, float, emu_sign_xor(emu_maxf(fabsf(a), fabsf(b)), a, b))         \
  X(min, f64, double, double, double, emu_mind(a, b))                                           \
  X(max, f64, double, double, double, emu_maxd(a, b))                                           \
  X(copysign, f32, uint32_t, uint32_t, uint32_t, (b & 0x7fffffff) | (a & 0x80000000))           \
  X(copysign, f64, uint64_t, uint64_t, uint64_t, (b & ~SIGN64) | (a & SIGN64))                  \
  EMU_EACH_HALF2(X, add, x + y)                                                                 \
  EMU_EACH_HALF2(X, sub, x - y)                                                                 \
  EMU_EACH_HALF2(X, mul, x *y)                                                                  \
  EMU_EACH_HALF2(X, min, emu_minf(x, y))                                                        \
  EMU_EACH_HALF2(X, max, emu_maxf(x, y))                                                        \
  EMU_EACH_HALF2(X, minnan, emu_minnan(x, y))                                                   \
  EMU_EACH_HALF2(X, maxnan, emu_maxnan(x, y))                                                   \
  X(minnanxor, f32, float, float, float, emu_sign_xor(emu_minnan(fabsf(a), fabsf(b)), a, b))    \
  X(maxnanxor, f32, float, float, float, emu_sign_xor(emu_maxnan(fabsf(a), fabsf(b)), a, b))    \
  EMU_EACH_HALF2(X, minxor, emu_sign_xor(emu_minf(fabsf(x), fabsf(y)), x, y))                   \
  EMU_EACH_HALF2(X, maxxor, emu_sign_xor(emu_maxf(fabsf(x), fabsf(y)), x, y))                   \
  EMU_EACH_HALF2(X, minnanxor, emu_sign_xor(emu_minnan(fabsf(x), fabsf(y)), x, y))              \
  EMU_EACH_HALF2(X, maxnanxor, emu_sign_xor(emu_maxnan(fabsf(x), fabsf(y)), x, y))

/* of halves; THEN: KEEP, or RELU of the result */
#define EMU_EACH_FMA_OOB(X, op, THEN)                                                            \
  X(op, f16, uint16_t, uint16_t, uint16_t, uint16_t, OOB(a, b, THEN##_H(FMA_H(a, b, c))))        \
  X(op, bf16, uint16_t, uint16_t, uint16_t, uint16_t, OOB(a, b, THEN##_B(FMA_B(a, b, c))))       \
  X(op, f16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                           \
    PACK(OOB(LO(a), LO(b), THEN##_H(FMA_H(LO(a), LO(b), LO(c)))),                                \
         OOB(HI(a), HI(b), THEN##_H(FMA_H(HI(a), HI(b), HI(c))))))                               \
  X(op, bf16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                          \
    PACK(OOB(LO(a), LO(b), THEN##_B(FMA_B(LO(a), LO(b), LO(c)))),                                \
         OOB(HI(a), HI(b), THEN##_B(FMA_B(HI(a), HI(b), HI(c))))))

#define EMU_TERNARY(X)                                                                           \
  X(mad, u16, uint16_t, uint16_t, uint16_t, uint16_t, (uint32_t)a * b + c)                       \
  X(mad, u32, uint32_t, uint32_t, uint32_t, uint32_t, a *b + c)                                  \
  X(mad, u64, uint64_t, uint64_t, uint64_t, uint64_t, a *b + c)                                  \
  X(madhi, u16, uint16_t, uint16_t, uint16_t, uint16_t, ((uint32_t)a * b >> 16) + c)             \
  X(madhi, s16, uint16_t, int16_t, int16_t, uint16_t, (uint32_t)(((int32_t)a * b) >> 16) + c)    \
  X(madhi, u32, uint32_t, uint32_t, uint32_t, uint32_t, (uint32_t)((uint64_t)a * b >> 32) + c)   \
  X(madhi, s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(((int64_t)a * b) >> 32) + c)    \
  X(madhi, u64, uint64_t, uint64_t, uint64_t, uint64_t,                                          \
    (uint64_t)((unsigned __int128)a * b >> 64) + c)                                              \
  X(madhi, s64, uint64_t, int64_t, int64_t, uint64_t,                                            \
    (uint64_t)(((__int128)a * b) >> 64) + c)                                                     \
  X(madhisat, s32, int32_t, int32_t, int32_t, int32_t,                                           \
    emu_clamp32((((int64_t)a * b) >> 32) + c))                                                   \
  X(packu8, s32, uint32_t, int32_t, int32_t, uint32_t, c << 16 | emu_clamp_pair(a, b, 0, 0xff, 8)) \
  X(packs8, s32, uint32_t, int32_t, int32_t, uint32_t, c << 16 | emu_clamp_pair(a, b, -0x80, 0x7f, 8)) \
  X(packu4, s32, uint32_t, int32_t, int32_t, uint32_t, c << 8 | emu_clamp_pair(a, b, 0, 15, 4)) \
  X(packs4, s32, uint32_t, int32_t, int32_t, uint32_t, c << 8 | emu_clamp_pair(a, b, -8, 7, 4)) \
  X(packu2, s32, uint32_t, int32_t, int32_t, uint32_t, c << 4 | emu_clamp_pair(a, b, 0, 3, 2)) \
  X(packs2, s32, uint32_t, int32_t, int32_t, uint32_t, c << 4 | emu_clamp_pair(a, b, -2, 1, 2)) \
  X(mad24hisat, s32, int32_t, int32_t, int32_t, int32_t, emu_clamp32((S24(a) * S24(b) >> 16) + c)) \
  X(madwide, u16, uint32_t, uint16_t, uint16_t, uint32_t, (uint32_t)a * b + c)                   \
  X(madwide, s16, uint32_t, int16_t, int16_t, uint32_t, (uint32_t)((int32_t)a * b) + c)          \
  X(madwide, u32, uint64_t, uint32_t, uint32_t, uint64_t, (uint64_t)a * b + c)                   \
  X(madwide, s32, uint64_t, int32_t, int32_t, uint64_t, (uint64_t)((int64_t)a * b) + c)          \
  X(mad24, u32, uint32_t, uint32_t, uint32_t, uint32_t, (a & 0xffffff) * (b & 0xffffff) + c)     \
  X(mad24, s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)(S24(a) * S24(b)) + c)           \
  X(mad24hi, u32, uint32_t, uint32_t, uint32_t, uint32_t, (U24(a) * U24(b) >> 16) + c)           \
  X(mad24hi, s32, uint32_t, int32_t, int32_t, uint32_t, (uint32_t)((S24(a) * S24(b)) >> 16) + c) \
  X(sad, u16, uint16_t, uint16_t, uint16_t, uint16_t, c + (a < b ? b - a : a - b))               \
  X(sad, s16, uint16_t, int16_t, int16_t, uint16_t, c + (a < b ? b - a : a - b))                 \
  X(sad, u32, uint32_t, uint32_t, uint32_t, uint32_t, c + (a < b ? b - a : a - b))               \
  X(sad, s32, uint32_t, int32_t, int32_t, uint32_t,                                              \
    c + (a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b))                         \
  X(sad, u64, uint64_t, uint64_t, uint64_t, uint64_t, c + (a < b ? b - a : a - b))               \
  X(sad, s64, uint64_t, int64_t, int64_t, uint64_t,                                              \
    c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))                         \
  X(shflw, u32, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(a, b) << (c & 31) >> 32)            \
  X(shflc, u32, uint32_t, uint32_t, uint32_t, uint32_t,                                          \
    c > 31 ? a : (uint32_t)(JOIN(a, b) << (c & 31) >> 32))                                       \
  X(shfrw, u32, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(a, b) >> (c & 31))                  \
  X(shfrc, u32, uint32_t, uint32_t, uint32_t, uint32_t,                                          \
    c > 31 ? b : (uint32_t)(JOIN(a, b) >> (c & 31)))                                             \
  X(bfe, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_bfe(a, b & 255, c & 255, 31, 0))       \
  X(bfe, s32, uint32_t, uint32_t, uint32_t, uint32_t, emu_bfe(a, b & 255, c & 255, 31, 1))       \
  X(bfe, u64, uint64_t, uint64_t, uint32_t, uint32_t, emu_bfe(a, b & 255, c & 255, 63, 0))       \
  X(bfe, s64, uint64_t, uint64_t, uint32_t, uint32_t, emu_bfe(a, b & 255, c & 255, 63, 1))       \
  X(fns, u32, uint32_t, uint32_t, uint32_t, int32_t, emu_fns(a, b, c))                           \
  X(prmt, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_prmt(a, b, c))                        \
  X(prmtf4e, u32, uint32_t, uint32_t, uint32_t, uint32_t, JOIN(a, b) >> (8 * (c & 3)))           \
  X(prmtb4e, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_prmt(a, b, EMU_B4E(c & 3)))        \
  X(prmtrc8, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_prmt(a, b, (c & 3) * 0x1111)) \
  X(prmtecl, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_prmt(a, b, EMU_ECL(c & 3)))        \
  X(prmtecr, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_prmt(a, b, EMU_ECR(c & 3)))        \
  X(prmtrc16, u32, uint32_t, uint32_t, uint32_t, uint32_t,                                       \
    emu_prmt(a, b, c & 1 ? 0x3232 : 0x1010))                                                     \
  X(dp4auu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp4a(a, b, c, 0, 0))                \
  X(dp4aus, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp4a(a, b, c, 0, 1))                \
  X(dp4asu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp4a(a, b, c, 1, 0))                \
  X(dp4ass, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp4a(a, b, c, 1, 1))                \
  X(dp2aluu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b & 0xffff, c, 0, 0))      \
  X(dp2alus, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b & 0xffff, c, 0, 1))      \
  X(dp2alsu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b & 0xffff, c, 1, 0))      \
  X(dp2alss, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b & 0xffff, c, 1, 1))      \
  X(dp2ahuu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b >> 16, c, 0, 0))         \
  X(dp2ahus, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b >> 16, c, 0, 1))         \
  X(dp2ahsu, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b >> 16, c, 1, 0))         \
  X(dp2ahss, u32, uint32_t, uint32_t, uint32_t, uint32_t, emu_dp2a(a, b >> 16, c, 1, 1))         \
  X(fma, f32, float, float, float, float, CANON(fmaf(a, b, c)))                                  \
  X(fma, f64, double, double, double, double, fma(a, b, c))                                      \
  X(fma, f16, uint16_t, uint16_t, uint16_t, uint16_t, FMA_H(a, b, c))                            \
  X(fma, bf16, uint16_t, uint16_t, uint16_t, uint16_t, FMA_B(a, b, c))                           \
  X(fma, f16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                          \
    PACK(FMA_H(LO(a), LO(b), LO(c)), FMA_H(HI(a), HI(b), HI(c))))                                \
  X(fma, bf16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                         \
    PACK(FMA_B(LO(a), LO(b), LO(c)), FMA_B(HI(a), HI(b), HI(c))))                                \
  X(fmarelu, f16, uint16_t, uint16_t, uint16_t, uint16_t, RELU_H(FMA_H(a, b, c)))                \
  X(fmarelu, bf16, uint16_t, uint16_t, uint16_t, uint16_t, RELU_B(FMA_B(a, b, c)))               \
  X(fmarelu, f16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                      \
    PACK(RELU_H(FMA_H(LO(a), LO(b), LO(c))), RELU_H(FMA_H(HI(a), HI(b), HI(c)))))                \
  X(fmarelu, bf16x2, uint32_t, uint32_t, uint32_t, uint32_t,                                     \
    PACK(RELU_B(FMA_B(LO(a), LO(b), LO(c))), RELU_B(FMA_B(HI(a), HI(b), HI(c)))))                \
  EMU_EACH_FMA_OOB(X, fmaoob, KEEP) EMU_EACH_FMA_OOB(X, fmaoobrelu, RELU)                            \
  X(slcts, u16, uint16_t, uint16_t, uint16_t, int32_t, c >= 0 ? a : b)                           \
  X(slcts, u32, uint32_t, uint32_t, uint32_t, int32_t, c >= 0 ? a : b)                           \
  X(slcts, u64, uint64_t, uint64_t, uint64_t, int32_t, c >= 0 ? a : b)                           \
  X(slctf, u16, uint16_t, uint16_t, uint16_t, float, c >= 0.0f ? a : b)                          \
  X(slctf, u32, uint32_t, uint32_t, uint32_t, float, c >= 0.0f ? a : b)                          \
  X(slctf, u64, uint64_t, uint64_t, uint64_t, float, c >= 0.0f ? a : b)

#define EMU_QUATERNARY(X)                                                                \
  X(lop3, u32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, emu_lop3(a, b, c, e))   \
  X(bfi, u32, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,                          \
    emu_bfi(a, b, c & 255, e & 255, 32))                                                 \
  X(bfi, u64, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t,                          \
    emu_bfi(a, b, c & 255, e & 255, 64))

#define EMU_COMPARE_INT(X, T, CT)                                             \
  X(eq, T, CT, a == b) X(ne, T, CT, a != b) X(lt, T, CT, a < b) X(le, T, CT, a <= b) \
  X(gt, T, CT, a > b) X(ge, T, CT, a >= b)
#define EMU_COMPARE_FLOAT(X, T, CT, V)                                        \
  X(eq, T, CT, V(a) == V(b)) X(lt, T, CT, V(a) < V(b)) X(le, T, CT, V(a) <= V(b))    \
  X(gt, T, CT, V(a) > V(b)) X(ge, T, CT, V(a) >= V(b))                        \
  X(ne, T, CT, V(a) < V(b) || V(a) > V(b)) X(neu, T, CT, V(a) != V(b))        \
  X(equ, T, CT, !(V(a) < V(b) || V(a) > V(b))) X(ltu, T, CT, !(V(a) >= V(b))) \
  X(leu, T, CT, !(V(a) > V(b))) X(gtu, T, CT, !(V(a) <= V(b)))                \
  X(geu, T, CT, !(V(a) < V(b))) X(num, T, CT, V(a) == V(a) && V(b) == V(b))   \
  X(nan, T, CT, V(a) != V(a) || V(b) != V(b))

/* (operation, type, C type of both operands, truth of the comparison) */
#define EMU_COMPARE(X)                                                                    \
  EMU_COMPARE_INT(X, u16, uint16_t) EMU_COMPARE_INT(X, s16, int16_t)                      \
  EMU_COMPARE_INT(X, u32, uint32_t) EMU_COMPARE_INT(X, s32, int32_t)                      \
  EMU_COMPARE_INT(X, u64, uint64_t) EMU_COMPARE_INT(X, s64, int64_t)                      \
  EMU_COMPARE_FLOAT(X, f32, float, ) EMU_COMPARE_FLOAT(X, f64, double, )                  \
  EMU_COMPARE_FLOAT(X, f16, uint16_t, H) EMU_COMPARE_FLOAT(X, bf16, uint16_t, BH)

/* testp: (operation, type, C type, truth) */
#define EMU_TEST(X)                                                               \
  X(finite, f32, float, fabsf(a) < INFINITY) X(infinite, f32, float, fabsf(a) == INFINITY) \
  X(number, f32, float, a == a) X(notanumber, f32, float, a != a)                 \
  X(normal, f32, float, fabsf(a) >= 0x1p-126f && fabsf(a) < INFINITY)             \
  X(subnormal, f32, float, fabsf(a) < 0x1p-126f)                                  \
  X(finite, f64, double, fabs(a) < INFINITY) X(infinite, f64, double, fabs(a) == INFINITY) \
  X(number, f64, double, a == a) X(notanumber, f64, double, a != a)               \
  X(normal, f64, double, fabs(a) >= 0x1p-1022 && fabs(a) < INFINITY)              \
  X(subnormal, f64, double, fabs(a) < 0x1p-1022)

/* c is a predicate: (type, C type) */
#define EMU_SELECT(X) X(selp, u16, uint16_t) X(selp, u32, uint32_t) X(selp, u64, uint64_t)

#endif
