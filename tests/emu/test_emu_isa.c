/* test_emu_isa.c -- single PTX instructions compared with C written from the PTX manual: each form
 * runs on 512 triples of operands, a mix of edge cases and random bits. */
#include <fenv.h>
#include <math.h>

#include "emu_isa.h"
#include "emu_fixture.h"

enum { N = 512 };

typedef uint64_t u64;
typedef u64 (*reference)(u64 a, u64 b, u64 c);

typedef struct form {
  const char *opcode;
  const char *types; /* of the result and the operands: b h r d x = pred 16 32 64, f16 in h */
  const char *tail;  /* after the operands: ", 0x1" */
  reference expected;
  u64 mask; /* bits of the result that are defined */
} form;

static float f(u64 v) {
  uint32_t bits = (uint32_t)v;
  float r;
  memcpy(&r, &bits, 4);
  return r;
}
static u64 fb(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  return v == v ? bits : 0x7fffffff;
}
static double d(u64 v) {
  double r;
  memcpy(&r, &v, 8);
  return r;
}
static u64 db(double v) {
  u64 bits;
  memcpy(&bits, &v, 8);
  return v == v ? bits : 0x7ff8000000000000u; /* any NaN: compared by is_nan below */
}
static double h(u64 v) {
  return dtype_decode(DTYPE_f16, v & 0xffff);
}
static u64 hb(double v) {
  return v == v ? dtype_encode(DTYPE_f16, v) & 0xffff : 0x7fff;
}
static float ftz(float v) {
  return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v;
}
static float rounded(int mode, float a, float b, char op) {
  volatile float x = a, y = b, r;
  int before = fegetround();
  fesetround(mode);
  r = op == '+' ? x + y : op == '*' ? x * y : x / y;
  fesetround(before);
  return r;
}
static int32_t clamp(double v, double least, double most) {
  return v != v ? 0 : v < least ? (int32_t)least : v > most ? (int32_t)most : (int32_t)v;
}

#define REF(name, expr)                                                                            \
  static u64 name(u64 a, u64 b, u64 c) {                                                           \
    (void)a, (void)b, (void)c;                                                                     \
    return (u64)(expr);                                                                            \
  }
#define A32 ((uint32_t)a)
#define B32 ((uint32_t)b)
#define C32 ((uint32_t)c)
#define SA32 ((int32_t)A32)
#define SB32 ((int32_t)B32)
#define SA64 ((int64_t)a)
#define SB64 ((int64_t)b)
REF(add32, A32 + B32)
REF(sub64, a - b)
REF(addsat, clamp((double)SA32 + SB32, INT32_MIN, INT32_MAX))
REF(mulhi32, (u64)A32 *B32 >> 32)
REF(mulhis32, (u64)(((int64_t)SA32 * SB32) >> 32))
REF(mulwide, (int64_t)SA32 *SB32)
REF(mulhi64, (unsigned __int128)a *b >> 64)
REF(madlo, A32 *B32 + C32)
REF(madwide, (u64)A32 *B32 + c)
REF(div32, B32 ? A32 / B32 : ~0u)
REF(divs32, SB32 == 0 ? -1 : (int64_t)SA32 / SB32)
REF(rem64, b ? a % b : a)
REF(mins32, SA32 < SB32 ? SA32 : SB32)
REF(maxu64, a > b ? a : b)
REF(abs32, SA32 < 0 ? 0u - A32 : A32)
REF(and16, a &b & 0xffff)
REF(shl32, B32 > 31 ? 0 : A32 << B32)
REF(shr32, B32 > 31 ? 0 : A32 >> B32)
REF(shrs64, SA64 >> (B32 > 63 ? 63 : B32))
REF(shfl, (uint32_t)((((u64)B32 << 32 | A32) << (C32 & 31)) >> 32))
REF(shfr, C32 > 31 ? B32 : (uint32_t)(((u64)B32 << 32 | A32) >> C32))
REF(lop3, (A32 & B32) | (~A32 & C32))
REF(popc64, __builtin_popcountll(a))
REF(clz32, A32 ? __builtin_clz(A32) : 32)
REF(bfind64, a ? 63 - __builtin_clzll(a) : -1)
static u64 brev32(u64 a, u64 b, u64 c) {
  u64 r = 0;
  (void)b, (void)c;
  for (int i = 0; i < 32; i++) {
    r |= (a >> i & 1) << (31 - i);
  }
  return r;
}
/* loops as in the manual */
static u64 bfes32(u64 a, u64 b, u64 c) {
  int pos = b & 255, len = c & 255;
  int last = pos + len - 1 < 31 ? pos + len - 1 : 31, sign = len == 0 ? 0 : A32 >> last & 1;
  uint32_t r = 0;
  for (int i = 0; i <= 31; i++) {
    r |= (uint32_t)(i < len && pos + i <= 31 ? A32 >> (pos + i) & 1 : (uint32_t)sign) << i;
  }
  return r;
}
static u64 bfi64(u64 a, u64 b, u64 c) {
  int pos = c & 255, len = 17;
  u64 r = b;
  for (int i = 0; i < len && pos + i <= 63; i++) {
    r = (r & ~((u64)1 << (pos + i))) | (a >> i & 1) << (pos + i);
  }
  return r;
}
static u64 prmt(u64 a, u64 b, u64 c) {
  uint8_t bytes[8];
  u64 both = (u64)B32 << 32 | A32, r = 0;
  memcpy(bytes, &both, 8);
  for (int i = 0; i < 4; i++) {
    int pick = c >> (4 * i) & 15;
    u64 byte = bytes[pick & 7];
    r |= (pick & 8 ? (byte >> 7 ? 0xff : 0) : byte) << (8 * i);
  }
  return r;
}
static u64 dp4a(u64 a, u64 b, u64 c) {
  int32_t r = (int32_t)C32;
  for (int i = 0; i < 4; i++) {
    r = (int32_t)((uint32_t)r + (uint32_t)((int8_t)(a >> (8 * i)) * (int)(uint8_t)(b >> (8 * i))));
  }
  return (uint32_t)r;
}
REF(fadd, fb(f(a) + f(b)))
REF(fmul, fb(f(a) * f(b)))
REF(ffma, fb(fmaf(f(a), f(b), f(c))))
REF(faddftz, fb(ftz(ftz(f(a)) + ftz(f(b)))))
REF(fmulsat, fb(f(a) * f(b) > 0 ? (f(a) * f(b) < 1 ? f(a) * f(b) : 1) : 0))
REF(faddrz, fb(rounded(FE_TOWARDZERO, f(a), f(b), '+')))
REF(fmulrp, fb(rounded(FE_UPWARD, f(a), f(b), '*')))
REF(fdivrm, fb(rounded(FE_DOWNWARD, f(a), f(b), '/')))
REF(fdiv, fb(f(a) / f(b)))
REF(fsqrt, fb(sqrtf(f(a))))
REF(fneg, A32 ^ 0x80000000u)
static u64 fmin_ref(u64 a, u64 b, u64 c) {
  float x = f(a), y = f(b);
  (void)c;
  if (x == 0 && y == 0) {
    return signbit(x) || signbit(y) ? 0x80000000u : 0;
  }
  return x != x ? fb(y) : y != y ? fb(x) : fb(x < y ? x : y);
}
REF(dadd, db(d(a) + d(b)))
REF(dfma, db(fma(d(a), d(b), d(c))))
REF(ddiv, db(d(a) / d(b)))
REF(hadd, hb(h(a) + h(b)))
REF(hmul, hb(h(a) * h(b)))
static u64 hfma(u64 a, u64 b,
                u64 c) { /* exact in long double: 22 bits and 11, exponents -48 to 32 */
  long double v = (long double)h(a) * h(b) + (long double)h(c);
  double s = (double)v;
  if ((long double)s != v && s == s &&
      !isinf(s)) { /* round to odd, so that rounding twice is harmless */
    u64 bits;
    memcpy(&bits, &s, 8);
    if (!(bits & 1)) {
      bits = ((long double)s < v) == (s > 0) ? bits + 1 : bits - 1;
      memcpy(&s, &bits, 8);
    }
  }
  return hb(s);
}
REF(hadd2, hadd(a, b, c) | hadd(a >> 16, b >> 16, c) << 16)
REF(f2h, hb(f(a)))
REF(h2f, fb((float)h(a)))
REF(f2s, clamp(truncf(f(a)), INT32_MIN, INT32_MAX) & 0xffffffff)
REF(f2u_rni, f(a) != f(a) || f(a) <= 0     ? 0
             : nearbyintf(f(a)) >= 0x1p32f ? ~0u
                                           : (uint32_t)nearbyintf(f(a)))
REF(s2f, fb((float)SA32))
REF(u642f, fb((float)a))
REF(d2f, fb((float)d(a)))
REF(f2d, db(f(a)))
REF(s8ext, (uint32_t)(int8_t)a)
REF(sat8, SA32<-128 ? 0xffffff80u : SA32> 127 ? 127 : A32)
REF(lt, SA32 < SB32)
REF(gtu, !(f(a) <= f(b)))
REF(eqf, f(a) == f(b))
REF(nanp, f(a) != f(a) || f(b) != f(b))
REF(dlt, d(a) < d(b))
REF(hge, h(a) >= h(b))
REF(sad, (SA32 < SB32 ? B32 - A32 : A32 - B32) + C32)
REF(mul24, (uint32_t)(((int32_t)(A32 << 8) >> 8) * (int64_t)((int32_t)(B32 << 8) >> 8)))
REF(cvtpack, hb(f(b)) | hb(f(a)) << 16)
REF(tf32, f(a) != f(a) ? 0x7fffe000u : isinf(f(a)) ? A32 : (A32 + 0x1000) & 0xffffe000u)
REF(rint_f, fb(nearbyintf(f(a))))
REF(floor_d, db(floor(d(a))))
REF(cpsgn, (A32 & 0x80000000u) | (B32 & 0x7fffffff))

#define ALL (~UINT64_C(0))
#define S24_OF(v) ((int64_t)((int32_t)((uint32_t)(v) << 8) >> 8))
REF(mad24hisat, clamp((double)((S24_OF(a) * S24_OF(b)) >> 16) + (int32_t)C32, INT32_MIN, INT32_MAX))
REF(packu16, (uint32_t)clamp(SA32, 0, 65535) << 16 | (uint32_t)clamp(SB32, 0, 65535))
REF(packs16,
    (uint32_t)clamp(SA32, -32768, 32767) << 16 | ((uint32_t)clamp(SB32, -32768, 32767) & 0xffff))
REF(packu8, C32 << 16 | (uint32_t)clamp(SA32, 0, 255) << 8 | (uint32_t)clamp(SB32, 0, 255))
REF(packs8, C32 << 16 | ((uint32_t)clamp(SA32, -128, 127) & 0xff) << 8 |
                ((uint32_t)clamp(SB32, -128, 127) & 0xff))
static const form forms[] = {
    {"add.s32", "rrr", "", add32, ALL},
    {"sub.u64", "ddd", "", sub64, ALL},
    {"add.sat.s32", "rrr", "", addsat, 0xffffffff},
    {"mul.hi.u32", "rrr", "", mulhi32, ALL},
    {"mul.hi.s32", "rrr", "", mulhis32, 0xffffffff},
    {"mul.wide.s32", "drr", "", mulwide, ALL},
    {"mul.hi.u64", "ddd", "", mulhi64, ALL},
    {"mad.lo.s32", "rrrr", "", madlo, ALL},
    {"mad.wide.u32", "drrd", "", madwide, ALL},
    {"div.u32", "rrr", "", div32, ALL},
    {"div.s32", "rrr", "", divs32, 0xffffffff},
    {"rem.u64", "ddd", "", rem64, ALL},
    {"min.s32", "rrr", "", mins32, 0xffffffff},
    {"max.u64", "ddd", "", maxu64, ALL},
    {"abs.s32", "rr", "", abs32, ALL},
    {"and.b16", "hhh", "", and16, ALL},
    {"shl.b32", "rrr", "", shl32, ALL},
    {"shr.u32", "rrr", "", shr32, ALL},
    {"shr.s64", "ddr", "", shrs64, ALL},
    {"shf.l.wrap.b32", "rrrr", "", shfl, ALL},
    {"shf.r.clamp.b32", "rrrr", "", shfr, ALL},
    {"lop3.b32", "rrrr", ", 0xCA", lop3, ALL},
    {"popc.b64", "rd", "", popc64, ALL},
    {"clz.b32", "rr", "", clz32, ALL},
    {"bfind.u64", "rd", "", bfind64, 0xffffffff},
    {"brev.b32", "rr", "", brev32, ALL},
    {"bfe.s32", "rrrr", "", bfes32, ALL},
    {"bfi.b64", "dddr", ", 17", bfi64, ALL},
    {"prmt.b32", "rrrr", "", prmt, ALL},
    {"dp4a.s32.u32", "rrrr", "", dp4a, ALL},
    {"add.f32", "rrr", "", fadd, ALL},
    {"mul.rn.f32", "rrr", "", fmul, ALL},
    {"fma.rn.f32", "rrrr", "", ffma, ALL},
    {"add.ftz.f32", "rrr", "", faddftz, ALL},
    {"mul.sat.f32", "rrr", "", fmulsat, ALL},
    {"add.rz.f32", "rrr", "", faddrz, ALL},
    {"mul.rp.f32", "rrr", "", fmulrp, ALL},
    {"div.rm.f32", "rrr", "", fdivrm, ALL},
    {"div.rn.f32", "rrr", "", fdiv, ALL},
    {"sqrt.rn.f32", "rr", "", fsqrt, ALL},
    {"neg.f32", "rr", "", fneg, ALL},
    {"min.f32", "rrr", "", fmin_ref, ALL},
    {"add.f64", "ddd", "", dadd, ALL},
    {"fma.rn.f64", "dddd", "", dfma, ALL},
    {"div.rn.f64", "ddd", "", ddiv, ALL},
    {"add.f16", "hhh", "", hadd, ALL},
    {"mul.f16", "hhh", "", hmul, ALL},
    {"fma.rn.f16", "hhhh", "", hfma, ALL},
    {"add.f16x2", "rrr", "", hadd2, ALL},
    {"cvt.rn.f16.f32", "hr", "", f2h, ALL},
    {"cvt.f32.f16", "rh", "", h2f, ALL},
    {"cvt.rzi.s32.f32", "rr", "", f2s, 0xffffffff},
    {"cvt.rni.u32.f32", "rr", "", f2u_rni, 0xffffffff},
    {"cvt.rn.f32.s32", "rr", "", s2f, ALL},
    {"cvt.rn.f32.u64", "rd", "", u642f, ALL},
    {"cvt.rn.f32.f64", "rd", "", d2f, ALL},
    {"cvt.f64.f32", "dr", "", f2d, ALL},
    {"cvt.s32.s8", "rr", "", s8ext, ALL},
    {"cvt.sat.s8.s32", "rr", "", sat8, 0xff},
    {"setp.lt.s32", "brr", "", lt, ALL},
    {"setp.gtu.f32", "brr", "", gtu, ALL},
    {"setp.eq.f32", "brr", "", eqf, ALL},
    {"setp.nan.f32", "brr", "", nanp, ALL},
    {"setp.lt.f64", "bdd", "", dlt, ALL},
    {"setp.ge.f16", "bhh", "", hge, ALL},
    {"sad.s32", "rrrr", "", sad, ALL},
    {"mul24.lo.s32", "rrr", "", mul24, 0xffffffff},
    {"cvt.rn.f16x2.f32", "rrr", "", cvtpack, ALL},
    {"cvt.rna.tf32.f32", "rr", "", tf32, ALL},
    {"cvt.rni.f32.f32", "rr", "", rint_f, ALL},
    {"cvt.rmi.f64.f64", "dd", "", floor_d, ALL},
    {"copysign.f32", "rrr", "", cpsgn, ALL},
    {"mad24.hi.sat.s32", "rrrr", "", mad24hisat, 0xffffffff},
    {"cvt.pack.sat.u16.s32", "rrr", "", packu16, 0xffffffff},
    {"cvt.pack.sat.s16.s32", "rrr", "", packs16, 0xffffffff},
    {"cvt.pack.sat.u8.s32.b32", "rrrr", "", packu8, 0xffffffff},
    {"cvt.pack.sat.s8.s32.b32", "rrrr", "", packs8, 0xffffffff},
};

static const u64 edges[] = {0,
                            1,
                            2,
                            31,
                            32,
                            63,
                            64,
                            0x7f,
                            0x80,
                            0xff,
                            0x7fff,
                            0x8000,
                            0xffff,
                            0x7fffffff,
                            0x80000000,
                            0xffffffff,
                            0x3f800000,
                            0xbf800000,
                            0x7f800000,
                            0xff800000,
                            0x7fc00000,
                            0x00800000,
                            0x00000001,
                            0x007fffff,
                            0x7f7fffff,
                            0x4f000000,
                            0x33800000,
                            0x3f8000003f800000,
                            0x7ff0000000000000,
                            0xfff8000000000000,
                            0x3ff0000000000000,
                            0x8000000000000000,
                            0x000fffffffffffff,
                            0x7fffffffffffffff,
                            0xffffffffffffffff,
                            0x3c00,
                            0x7bff,
                            0x7c00,
                            0x7e00,
                            0x0400,
                            0x03ff,
                            0xbc003c00};

static void fill(u64 *x) {
  u64 state = 88172645463325252u;
  int n_edges = (int)(sizeof edges / sizeof *edges);
  for (int i = 0; i < 3 * N; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    int pick = (int)(state >> 40) % (2 * n_edges);
    x[i] = pick < n_edges ? edges[pick]
           : i % 5        ? state
                          : state >> (state & 63); /* also small numbers */
  }
}

/* A kernel that loads a, b, c as 64 bits, narrows them, computes, widens the result and stores
 * it. */
static void write_kernel(str *out, const form *x) {
  static const char letters[] = "bhrd";
  static const char *const classes[] = {"%p", "%h", "%r", "%d"};
  const char *result = classes[strchr(letters, x->types[0]) - letters];
  str_reset(out);
  str_add(out,
          ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u64 x, "
          ".param .u64 y)\n{\n"
          ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %d<16>;\n"
          "ld.param.u64 %d4, [x]; ld.param.u64 %d5, [y];\n"
          "mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, 64, %tid.x; \n"
          "mad.wide.u32 %d6, %r4, 24, %d4; mad.wide.u32 %d7, %r4, 8, %d5;\n"
          "ld.global.u64 %d1, [%d6]; ld.global.u64 %d2, [%d6+8]; ld.global.u64 %d3, [%d6+16];\n");
  for (int i = 1; i <= 3; i++) {
    str_addf(out, "cvt.u32.u64 %%r%d, %%d%d; cvt.u16.u64 %%h%d, %%d%d;\n", i, i, i, i);
  }
  str_addf(out, "%s %s0", x->opcode, result);
  for (int i = 1; x->types[i]; i++) {
    str_addf(out, ", %s%d", classes[strchr(letters, x->types[i]) - letters], i);
  }
  str_addf(out, "%s;\n", x->tail);
  str_add(out, x->types[0] == 'b'   ? "selp.u64 %d8, 1, 0, %p0;\n"
               : x->types[0] == 'h' ? "cvt.u64.u16 %d8, %h0;\n"
               : x->types[0] == 'r' ? "cvt.u64.u32 %d8, %r0;\n"
                                    : "mov.u64 %d8, %d0;\n");
  str_add(out, "st.global.u64 [%d7], %d8;\nret;\n}\n");
}

static bool same(const form *x, u64 got, u64 expected) {
  bool f64_nan = x->types[0] == 'd' && d(got) != d(got) && d(expected) != d(expected) &&
                 strstr(x->opcode, "f64");
  return f64_nan || ((got ^ expected) & x->mask) == 0;
}

static void check(fixture *k, const form *x, const u64 *in, rt_ptr px, rt_ptr py) {
  u64 out[N];
  auto_str text = {0};
  write_kernel(&text, x);
  fixture_ptx(k, str_text(&text));
  void *args[] = {&px, &py};
  fixture_ok(k, fixture_launch(k, "one", N / 64, 64, 0, args));
  fixture_read(k, out, py, sizeof out);
  for (int i = 0; i < N; i++) {
    u64 expected = x->expected(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
    if (!same(x, out[i], expected)) {
      fail_msg("%s of %016llx %016llx %016llx is %016llx, not %016llx", x->opcode,
               (unsigned long long)in[3 * i], (unsigned long long)in[3 * i + 1],
               (unsigned long long)in[3 * i + 2], (unsigned long long)out[i],
               (unsigned long long)expected);
    }
  }
  k->d->ops->module_unload(k->d, k->m);
}

ON_EMU(every_form) {
  static u64 in[3 * N];
  fill(in);
  rt_ptr px = fixture_copy(k, in, sizeof in), py = fixture_alloc(k, N * sizeof(u64));
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    check(k, &forms[i], in, px, py);
  }
}

/* the test itself: does it notice a wrong result? */
TEST(a_wrong_reference_is_noticed) {
  form wrong = {"sub.s32", "rrr", "", add32, ALL};
  assert_false(same(&wrong, 5, 6));
  assert_true(same(&wrong, 5, 5));
}

/* The loops for this processor agree with the portable ones. */
TEST(both_tables_agree) {
  static u64 in[3 * N];
  const emu_lane_fn(*fast)[T_COUNT] = emu_lanes();
  fill(in);
  for (int op = 0; op < OP_COUNT; op++) {
    for (int t = 0; t < T_COUNT; t++) {
      u64 x[64] = {0}, y[64] = {0};
      assert_int_equal(fast[op][t] == NULL, emu_lanes_base[op][t] == NULL);
      for (int at = 0; fast[op][t] && at + 128 <= 3 * N; at += 32) {
        fast[op][t](x, in + at, in + at + 32, in + at + 64, in + at + 96);
        emu_lanes_base[op][t](y, in + at, in + at + 32, in + at + 64, in + at + 96);
        bool f64 = t == T_f64;
        for (int i = 0; i < 64; i++) {
          bool nans = f64 && d(x[i]) != d(x[i]) && d(y[i]) != d(y[i]);
          if (x[i] != y[i] && !nans) {
            fail_msg("operation %d of type %d differs: %016llx, %016llx", op, t,
                     (unsigned long long)x[i], (unsigned long long)y[i]);
          }
        }
      }
    }
  }
}

/* Instructions with a second result, and forms that take no triples of operands. */
ON_EMU(second_results) {
  static const struct {
    const char *code;
    uint32_t expected;
  } all[] = {
      /* halves: 1 < 2 above, 2 < 1 below */
      {"setp.lt.f16x2 %p1|%p2, 0x3c004000, 0x40003c00;", 2},
      {"setp.lt.bf16x2 %p1|%p2, 0x3f804000, 0x40003f80;", 2},
      {"setp.gt.and.f16x2 %p1|%p2, 0x3c004000, 0x40003c00, %p0;", 1},
      {"setp.gt.and.f16x2 %p1|%p2, 0x3c004000, 0x40003c00, !%p0;", 0},
      {"lop3.or.b32 %r2|%p1, 12, 10, 0, 0xc0, !%p0; setp.eq.u32 %p2, %r2, 8;", 3},
      {"lop3.or.b32 _|%p1, 4, 10, 0, 0xc0, %p0;", 1},
      {"lop3.or.b32 _|%p1, 4, 10, 0, 0xc0, !%p0;", 0},
      {"lop3.and.b32 _|%p1, 12, 10, 0, 0xc0, !%p0;", 0},
      {"lop3.and.b32 _|%p1, 12, 10, 0, 0xc0, %p0;", 1},
      {"ex2.approx.ftz.bf16x2 %r2, 0x40404000; setp.eq.u32 %p1, %r2, 0x41004080;", 1},
      {"ex2.approx.ftz.bf16x2 %r2, 0xc3020000; setp.eq.u32 %p1, %r2, 0x00003f80;", 1},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    uint32_t out = 99;
    auto_str text = {0};
    str_addf(&text,
             ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x)\n{\n"
             ".reg .b32 %%r<4>; .reg .b64 %%d1; .reg .pred %%p<3>; setp.eq.u32 %%p0, 0, 0;\n"
             "setp.ne.u32 %%p1, 0, 0; setp.ne.u32 %%p2, 0, 0; ld.param.u64 %%d1, [x];\n"
             "%s\nselp.u32 %%r0, 1, 0, %%p1; @%%p2 add.u32 %%r0, %%r0, 2;\n"
             "st.global.u32 [%%d1], %%r0;\nret;\n}\n",
             all[i].code);
    fixture_ptx(k, str_text(&text));
    rt_ptr p = fixture_copy(k, &out, sizeof out);
    void *args[] = {&p};
    fixture_ok(k, fixture_launch(k, "k", 1, 1, 0, args));
    fixture_read(k, &out, p, sizeof out);
    if (out != all[i].expected) {
      fail_msg("%s gives %u, expected %u", all[i].code, out, all[i].expected);
    }
    k->d->ops->module_unload(k->d, k->m);
  }
}

int main(void) {
  return tests_run();
}
