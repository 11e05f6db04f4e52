/* test_emu_video.c -- video instructions: random valid forms on random and extreme operands, compared
 * with the manual's pseudocode, or with what ptxas makes of the scalar forms (see emu_exec_video.c).
 * `--device 0` runs the same forms on a GPU. */
#include <math.h>

#include "emu_fixture.h"
#include "open_device.h"

static const char *device = "emu";

enum { FORMS = 120, KERNELS = 4, THREADS = 64 };

typedef struct form {
  char op[12]; /* without the number of elements */
  int n;       /* elements: 1, 2, 4 */
  bool sd, sa, sb, sat, wrap, po, minus_a, minus_b, minus_c;
  char d[8], a[8], b[8]; /* parts: "b0", "h10", or empty */
  const char *second, *cmp;
  int scale;
} form;

/* ---- random forms ---- */

static uint64_t seed = 88172645463325252u;

static int draw(int n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (int)(seed >> 33) % n;
}

static void draw_part(char *to) {
  to[0] = 0;
  if (draw(2)) {
    sprintf(to, draw(2) ? "b%d" : "h%d", draw(2));
  } else if (draw(3) == 0) {
    sprintf(to, "b%d", draw(4));
  }
}

static void draw_digits(char *to, int n) {
  to[0] = 0;
  if (draw(2)) {
    *to++ = n == 4 ? 'b' : 'h';
    for (int i = 0; i < n; i++) {
      *to++ = (char)('0' + draw(2 * n));
    }
    *to = 0;
  }
}

static void draw_mask(char *to, int n) {
  int bits = draw(1 << n);
  if (bits) {
    *to++ = n == 4 ? 'b' : 'h';
    for (int i = n - 1; i >= 0; i--) {
      if (bits >> i & 1) {
        *to++ = (char)('0' + i);
      }
    }
  }
  *to = 0;
}

static void draw_scalar(form *f) {
  static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax",
                                    "vshl", "vshr", "vset",     "vmad"};
  static const char *const seconds[] = {"add", "min", "max"};
  strcpy(f->op, ops[draw(9)]);
  draw_part(f->a);
  draw_part(f->b);
  if (!strcmp(f->op, "vmad")) {
    f->po = draw(4) == 0;
    f->minus_a = !f->po && draw(3) == 0;
    f->minus_b = !f->po && draw(4) == 0;
    f->minus_c = !f->po && f->minus_a == f->minus_b && draw(3) == 0;
    f->scale = draw(3) * 7 + (f->scale == 14);
    f->scale = f->scale == 14 ? 15 : f->scale;
    return;
  }
  if (draw(2)) {
    draw_part(f->d);
  } else if (draw(2)) {
    f->second = seconds[draw(3)];
  }
}

static void draw_vector(form *f) {
  static const char *const ops[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"};
  strcpy(f->op, ops[draw(7)]);
  draw_digits(f->a, f->n);
  draw_digits(f->b, f->n);
  draw_mask(f->d, f->n);
  if (!f->sat && draw(2)) {
    f->second = "add";
  }
}

static form draw_form(void) {
  static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  form f = {.n = 1 << draw(3), .sd = draw(2), .sa = draw(2), .sb = draw(2), .sat = draw(2)};
  f.cmp = cmps[draw(6)];
  f.wrap = draw(2);
  if (f.n == 1) {
    draw_scalar(&f);
  } else {
    draw_vector(&f);
  }
  if (!strcmp(f.op, "vset")) {
    f.sat = f.sd = false;
  }
  f.sb = f.sb && strncmp(f.op, "vsh", 3) != 0;
  return f;
}

static void add_operand(str *s, bool minus, const char *name, const char *part) {
  str_addf(s, ", %s%s%s%s", minus ? "-" : "", name, *part ? "." : "", part);
}

static void add_form(str *s, const form *f) {
  static const char *const type[] = {"u32", "s32"};
  const bool set = !strcmp(f->op, "vset"), shift = !strncmp(f->op, "vsh", 3);
  const bool mad = !strcmp(f->op, "vmad");
  str_addf(s, "%s", f->op);
  str_addf(s, f->n > 1 ? "%d" : "", f->n);
  str_addf(s, set ? "" : ".%s", type[f->sd]);
  str_addf(s, ".%s.%s%s", type[f->sa], type[f->sb], f->po ? ".po" : "");
  str_addf(s, "%s%s", set ? "." : "", set ? f->cmp : "");
  str_addf(s, "%s%s", f->sat ? ".sat" : "", shift ? (f->wrap ? ".wrap" : ".clamp") : "");
  str_addf(s, f->scale ? ".shr%d" : "", f->scale);
  str_addf(s, "%s%s %%r0%s%s", f->second ? "." : "", f->second ? f->second : "", *f->d ? "." : "",
           f->d);
  add_operand(s, f->minus_a, "%r1", f->a);
  add_operand(s, f->minus_b, "%r2", f->b);
  if (f->n > 1 || mad || f->second || *f->d) {
    add_operand(s, f->minus_c, "%r3", "");
  }
  str_add(s, ";\n");
}

/* ---- the manual's pseudocode ---- */

static int64_t extend(uint32_t v, int bits, bool is_signed) {
  int64_t r = (int64_t)(v & (uint32_t)((UINT64_C(1) << bits) - 1));
  return is_signed && r >> (bits - 1) ? r - (INT64_C(1) << bits) : r;
}

static int64_t select_part(uint32_t v, const char *part, bool is_signed) {
  const int bits = *part == 'b' ? 8 : *part == 'h' ? 16 : 32;
  return extend(*part ? v >> (bits * (part[1] - '0')) : v, bits, is_signed);
}

static double saturate(double v, int bits, bool is_signed) {
  const double most = is_signed ? ldexp(1, bits - 1) - 1 : ldexp(1, bits) - 1;
  const double least = is_signed ? -ldexp(1, bits - 1) : 0;
  return v > most ? most : v < least ? least : v;
}

static bool holds(const char *cmp, int64_t a, int64_t b) {
  return !strcmp(cmp, "eq")   ? a == b
         : !strcmp(cmp, "ne") ? a != b
         : !strcmp(cmp, "lt") ? a < b
         : !strcmp(cmp, "le") ? a <= b
         : !strcmp(cmp, "gt") ? a > b
                              : a >= b;
}

/* a shift to the left by up to 32 bits is exact as a double: 33 significant bits at most */
static double operate(const form *f, int64_t a, int64_t b) {
  const char *op = f->op + 1;
  const int shift = (int)(f->wrap ? b % 32 : b > 32 ? 32 : b);
  return !strcmp(op, "add")       ? (double)(a + b)
         : !strcmp(op, "sub")     ? (double)(a - b)
         : !strcmp(op, "absdiff") ? fabs((double)(a - b))
         : !strcmp(op, "min")     ? (double)(a < b ? a : b)
         : !strcmp(op, "max")     ? (double)(a > b ? a : b)
         : !strcmp(op, "shl")     ? ldexp((double)a, shift)
         : !strcmp(op, "shr")     ? floor(ldexp((double)a, -shift))
         : !strcmp(op, "set")     ? holds(f->cmp, a, b)
         : a + b >= 0             ? floor((double)(a + b + 1) / 2)
                                  : floor((double)(a + b) / 2);
}

static uint32_t low_bits(double v) { /* of a whole number below 2^65 */
  const double low = fmod(v, 0x1p32);
  return (uint32_t)(int64_t)low;
}

/* whole registers are signed */
static uint32_t expected_mad(const form *f, uint32_t x, uint32_t y, uint32_t z) {
  const bool minus = f->minus_a != f->minus_b, is_signed = f->sa || f->sb || minus || f->minus_c;
  const int64_t a = select_part(x, f->a, f->sa || !*f->a),
                b = select_part(y, f->b, f->sb || !*f->b);
  const __int128 c = (int32_t)z;
  __int128 v = (__int128)a * b;
  v = (minus ? -v : v) + (f->minus_c ? -c : c) + f->po;
  v = !is_signed && f->scale && v < 0 ? v + ((__int128)1 << 64) : v;
  v >>= f->scale;
  return f->sat ? low_bits(saturate((double)v, 32, is_signed)) : (uint32_t)v;
}

static double wrap(double v, int bits) { /* to a signed number */
  v = fmod(v, ldexp(1, bits));
  return v - (v >= ldexp(1, bits - 1) ? ldexp(1, bits) : 0) +
         (v < -ldexp(1, bits - 1) ? ldexp(1, bits) : 0);
}

/* .sat of a scalar form as ptxas writes it */
static double saturate_scalar(const form *f, double v, int bits) {
  if (!strncmp(f->op, "vsh", 3)) {
    return saturate(wrap(v, 34), 32, f->sd);
  }
  if (bits < 32) {
    return saturate(v < 0 ? 0x1p40 : v, bits, f->sd);
  }
  return f->sd ? saturate(v, 32, true) : v < 0 ? 0 : fmod(v, 0x1p32);
}

static uint32_t expected_second(const form *f, double exact, double v, uint32_t z) {
  const bool is_signed = !strcmp(f->op, "vset") ? f->sa : f->sd;
  const uint32_t low = low_bits(v);
  const bool by_bit_31 =
      !strcmp(f->op, "vadd") || !strcmp(f->op, "vsub") || (f->sat && !strncmp(f->op, "vsh", 3));
  double w = by_bit_31 ? (double)(int32_t)low : f->sat && !is_signed ? fmax(exact, 0) : v;
  w = is_signed ? wrap(w, 64) : w < 0 ? 0x1p64 : w;
  const bool less = w < (is_signed ? (double)(int32_t)z : (double)z);
  return *f->second == 'a' ? low + z : less == (f->second[1] == 'i') ? low : z;
}

static uint32_t expected_scalar(const form *f, uint32_t x, uint32_t y, uint32_t z) {
  const int bits = *f->d == 'b' ? 8 : *f->d == 'h' ? 16 : 32;
  const double exact = operate(f, select_part(x, f->a, f->sa), select_part(y, f->b, f->sb));
  const double v = f->sat ? saturate_scalar(f, exact, bits) : exact;
  if (f->second) {
    return expected_second(f, exact, v, z);
  }
  if (bits == 32) {
    return low_bits(v);
  }
  const uint32_t mask = (uint32_t)((1 << bits) - 1), at = (uint32_t)(bits * (f->d[1] - '0'));
  const uint32_t part = !strcmp(f->d, "h1") ? low_bits(v) >> 16 : low_bits(v);
  return (z & ~(mask << at)) | (part & mask) << at;
}

static int64_t element(uint32_t x, uint32_t y, int n, int which, bool is_signed) {
  const uint32_t from = which < n ? x : y;
  return extend(from >> (32 / n * (which % n)), 32 / n, is_signed);
}

static uint32_t expected_vector(const form *f, uint32_t x, uint32_t y, uint32_t z) {
  const int n = f->n, bits = 32 / n;
  uint32_t d = z;
  for (int i = 0; i < n; i++) {
    const int pick_a = *f->a ? f->a[n - i] - '0' : i, pick_b = *f->b ? f->b[n - i] - '0' : n + i;
    double t = operate(f, element(x, y, n, pick_a, f->sa), element(x, y, n, pick_b, f->sb));
    t = f->sat ? saturate(t, bits, f->sd) : t;
    const uint32_t mask = ((1u << bits) - 1) << (bits * i);
    if (!*f->d || strchr(f->d, '0' + i)) {
      d = f->second ? d + low_bits(t) : (d & ~mask) | (low_bits(t) << (bits * i) & mask);
    }
  }
  return d;
}

static uint32_t expected(const form *f, const uint32_t *x) {
  return !strcmp(f->op, "vmad") ? expected_mad(f, x[0], x[1], x[2])
         : f->n == 1            ? expected_scalar(f, x[0], x[1], x[2])
                                : expected_vector(f, x[0], x[1], x[2]);
}

/* ---- the forms run ---- */

static void write_kernel(str *s, const char *const *forms, int n) {
  str_add(s, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry all(.param .u64 x, "
             ".param .u64 y)\n{\n.reg .b32 %r<8>; .reg .b64 %d<8>;\n"
             "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];\nmov.u32 %r4, %tid.x;\n"
             "mad.wide.u32 %d1, %r4, 12, %d1; mad.wide.u32 %d2, %r4, 4, %d2;\n"
             "ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+4]; ld.global.u32 %r3, [%d1+8];\n");
  for (int i = 0; i < n; i++) {
    str_addf(s, "%s\nst.global.u32 [%%d2+%d], %%r0;\n", forms[i], i * THREADS * 4);
  }
  str_add(s, "ret;\n}\n");
}

/* y[form][thread] is made of x[thread] */
static void run_forms(fixture *k, const char *const *forms, int n, uint32_t x[][3], int n_threads,
                      uint32_t y[][THREADS]) {
  auto_str text = {0};
  const size_t nbytes = (size_t)n * sizeof *y;
  write_kernel(&text, forms, n);
  fixture_ptx(k, str_text(&text));
  rt_ptr px = fixture_copy(k, x, (size_t)n_threads * sizeof *x), py = fixture_alloc(k, nbytes);
  void *args[] = {&px, &py};
  fixture_ok(k, fixture_launch(k, "all", 1, (uint32_t)n_threads, 0, args));
  fixture_read(k, y, py, nbytes);
  k->d->ops->module_unload(k->d, k->m);
}

/* Prints the first difference of a form; says whether there is one. */
static bool differs(const form *f, const char *text, uint32_t x[][3], const uint32_t *got) {
  for (int i = 0; i < THREADS; i++) {
    const uint32_t want = expected(f, x[i]);
    if (got[i] != want) {
      print_error("%08x %08x %08x: %08x, not %08x: %s", x[i][0], x[i][1], x[i][2], got[i], want,
                  text);
      return true;
    }
  }
  return false;
}

static uint32_t draw_value(void) {
  static const uint32_t edges[] = {0,          1,          31,         32,         33,
                                   0x7f,       0x80,       0xff,       0x7fff,     0x8000,
                                   0x7fffffff, 0x80000000, 0xffffffff, 0x7f80ff01, 0x80007fff};
  const uint32_t v = (uint32_t)draw(1 << 16) | (uint32_t)draw(1 << 16) << 16;
  return draw(3) ? v : edges[draw(15)];
}

TEST(video_forms) {
  fixture k = {0};
  int n_wrong = 0;
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  for (int round = 0; round < KERNELS; round++) {
    form forms[FORMS];
    str texts[FORMS] = {0};
    const char *lines[FORMS];
    uint32_t x[THREADS][3], y[FORMS][THREADS];
    for (int i = 0; i < FORMS; i++) {
      forms[i] = draw_form();
      add_form(&texts[i], &forms[i]);
      lines[i] = str_text(&texts[i]);
    }
    for (int i = 0; i < THREADS * 3; i++) {
      x[i / 3][i % 3] = draw_value();
    }
    run_forms(&k, lines, FORMS, x, THREADS, y);
    for (int i = 0; i < FORMS; i++) {
      n_wrong += differs(&forms[i], lines[i], x, y[i]);
      str_clear(&texts[i]);
    }
  }
  fixture_close(&k);
  assert_int_equal(n_wrong, 0);
}

/* ---- what an H200 gave where it departs from the manual ---- */

static const struct observation {
  uint32_t x[3], result;
  const char *form;
} observed[] = {
    {{0x80000000, 0xab383d76, 0xb7425830},
     0x00000000,
     "vsub.u32.u32.s32.sat.min %r0, %r1.b1, %r2.b2, %r3;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0x00000000,
     "vshl.u32.u32.u32.sat.clamp %r0.b0, %r1.b1, %r2.b1, %r3;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0x00000000,
     "vshl.u32.s32.u32.sat.wrap %r0, %r1.b3, %r2.b2;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0x0054007f,
     "vshl.u32.u32.u32.sat.wrap %r0.h1, %r1.b0, %r2, %r3;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f}, 0x5cf8aa3b, "vadd.u32.u32.u32.sat %r0, %r1, %r2;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0x0000007f,
     "vadd.s32.u32.s32.sat %r0.h1, %r1.b1, %r2.b1, %r3;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0xe47c331e,
     "vmad.s32.s32.u32.po.shr7 %r0, %r1.b0, %r2, %r3;"},
    {{0xdd420dd7, 0x0000007f, 0x2f12e6e0},
     0x2f12e6d7,
     "vshr.u32.u32.u32.sat.clamp %r0.b0, %r1, %r2.b3, %r3;"},
    {{0xb0d37c2a, 0xac252e11, 0x0000007f},
     0x0000007f,
     "vsub.u32.u32.s32 %r0.h1, %r1.b0, %r2.b3, %r3;"},
    {{0x80007fff, 0x8f1fc335, 0xfcf93254},
     0xfcf93254,
     "vmax.u32.s32.s32.sat.add %r0, %r1.b3, %r2.h0, %r3;"},
    {{0x23545bcd, 0xd2a55cb4, 0xc91e4c4f},
     0xc91e4c7f,
     "vmin.s32.s32.s32.sat %r0.b0, %r1, %r2, %r3;"},
    {{0x23545bcd, 0xd2a55cb4, 0xc91e4c4f},
     0x00000000,
     "vadd.u32.u32.s32.sat.min %r0, %r1.h1, %r2.h1, %r3;"},
    {{0x23545bcd, 0xd2a55cb4, 0xc91e4c4f},
     0xc9004c4f,
     "vshl.u32.s32.u32.sat.clamp %r0.b2, %r1.b1, %r2.b1, %r3;"},
    {{0x941edd3a, 0x1269c98d, 0x80007fff},
     0x80007fff,
     "vshl.s32.s32.u32.sat.wrap.min %r0, %r1, %r2.b1, %r3;"},
    {{0x941edd3a, 0x1269c98d, 0x80007fff},
     0x00000000,
     "vshr.u32.s32.u32.sat.clamp %r0, %r1, %r2.h1;"},
    {{0x941edd3a, 0x1269c98d, 0x80007fff},
     0x2e8e42f9,
     "vmad.u32.u32.s32.po.shr15 %r0, %r1, %r2, %r3;"},
    {{0x3edc8cd9, 0x8ec958b1, 0x00000020},
     0x01180020,
     "vshl.s32.u32.u32.sat.wrap %r0.h1, %r1.b1, %r2, %r3;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3},
     0x0000d4d3,
     "vmax.u32.s32.u32 %r0.h1, %r1.b3, %r2, %r3;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3}, 0x80000000, "vshl.s32.s32.u32.sat.wrap %r0, %r1, %r2;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3},
     0x497fd4ff,
     "vshl.s32.u32.u32.sat.clamp %r0.b0, %r1.h1, %r2.b0, %r3;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3},
     0x0000d4d3,
     "vadd.s32.u32.u32.sat %r0.h1, %r1, %r2.b0, %r3;"},
    {{0x3edc8cd9, 0x8ec958b1, 0x00000020}, 0x00000020, "vset.u32.u32.lt %r0.h1, %r1.h0, %r2, %r3;"},
    {{0x3edc8cd9, 0x8ec958b1, 0x00000020}, 0x00000000, "vmax.u32.s32.s32.sat %r0, %r1.h0, %r2.b3;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3},
     0x00000000,
     "vshr.u32.s32.u32.sat.wrap %r0, %r1.b2, %r2;"},
    {{0x47bd7bf7, 0x0000007f, 0x497fd4d3},
     0x8000d4d3,
     "vshl.s32.u32.u32.sat.clamp %r0.h1, %r1.h0, %r2, %r3;"},
    {{0x00000001, 0x7fffffff, 0x00000021},
     0x00000000,
     "vsub.u32.u32.s32.sat.min %r0, %r1.h1, %r2.h1, %r3;"},
    {{0x8ad5dda3, 0x5b6feec8, 0x00000080},
     0x00000000,
     "vmax.u32.s32.s32.sat.min %r0, %r1.b1, %r2.h0, %r3;"},
    {{0x50beac2e, 0x6219433b, 0x502d2dee},
     0x502d2d00,
     "vshl.u32.u32.u32.sat.clamp %r0.b0, %r1, %r2.h0, %r3;"},
    {{0x50beac2e, 0x6219433b, 0x502d2dee},
     0x00002dee,
     "vshl.u32.u32.u32.sat.clamp %r0.h1, %r1.h1, %r2, %r3;"},
    {{0x80007fff, 0x00000000, 0x00000000},
     0x00000000,
     "vshr.u32.s32.u32.sat.wrap.max %r0, %r1, %r2.h0, %r3;"},
    {{0x00000001, 0x20f0aeaa, 0x377a39d5},
     0x000039d5,
     "vmin.s32.u32.u32 %r0.h1, %r1, %r2.h1, %r3;"},
    {{0x50beac2e, 0x6219433b, 0x502d2dee}, 0x00000000, "vsub.u32.s32.s32.sat %r0, %r1.h0, %r2.b1;"},
    {{0x00000020, 0x6c31e250, 0xf8b53df3},
     0xf8b53df3,
     "vset.s32.u32.ge.min %r0, %r1, %r2.b0, %r3;"},
};

TEST(departures_from_the_manual) {
  enum { N = sizeof observed / sizeof *observed };
  fixture k = {0};
  uint32_t x[N][3], y[N][THREADS];
  const char *forms[N];
  int n_wrong = 0;
  for (int i = 0; i < N; i++) {
    memcpy(x[i], observed[i].x, sizeof *x);
    forms[i] = observed[i].form;
  }
  fixture_ok(&k, rt_device_open(device, &k.d, &k.e));
  run_forms(&k, forms, N, x, N, y);
  for (int i = 0; i < N; i++) {
    if (y[i][i] != observed[i].result) {
      print_error("%08x, not %08x: %s\n", y[i][i], observed[i].result, forms[i]);
    }
    n_wrong += y[i][i] != observed[i].result;
  }
  fixture_close(&k);
  assert_int_equal(n_wrong, 0);
}

int main(int argc, char **argv) {
  device = argc == 3 && !strcmp(argv[1], "--device") ? argv[2] : device;
  return tests_run();
}
