/* test_reproducible.c -- the field reproducible: equal bits in every launch (run), and of the same element in problems
 * of other sizes, layouts and alignments, by whatever configuration (shape):
 *   build/tests/test_reproducible [--device NAME]
 * On the emulated device launches differ in the number of host threads that run blocks. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "device_fixture.h"
#include "emu.h"

enum { WINDOW = 64, LAUNCHES_EMU = 4, LAUNCHES_GPU = 20, DRAWN = 2 };

/* ---- numbers -------------------------------------------------------------------------------- */

static size_t size_of(const char *type) {
  return strstr(type, "64") ? 8 : strstr(type, "16") ? 2 : 4;
}

/* Element (i, j) of one of several unbounded matrices, of seven binary digits with 16 bits; its size varies, so that
 * sums are rounded. */
static double number(int matrix, int64_t i, int64_t j, const char *type) {
  uint64_t state =
      (uint64_t)matrix * 0x9e3779b1u + (uint64_t)i * 0x85ebca6bu + (uint64_t)j * 0x100000001b3u;
  const uint64_t r = random_next(&state);
  const int digits = size_of(type) == 8 ? 52 : size_of(type) == 4 ? 23 : 7;
  const double x = 1 + ldexp((double)(r & ((UINT64_C(1) << digits) - 1)), -digits);
  return ldexp(r >> 63 ? -x : x, -(int)(r >> 56 & 7));
}

static void put_number(void *at, double x, const char *type) {
  int e;
  const float f = (float)x;
  const double m = frexp(fabs(x), &e); /* in [1/2, 1) */
  const int bf16 = !strcmp(type, "bf16"), digits = bf16 ? 7 : 10, bias = bf16 ? 126 : 14;
  const uint16_t half = (uint16_t)((unsigned)(x < 0) << 15 | (unsigned)(e + bias) << digits |
                                   ((unsigned)ldexp(m, digits + 1) & ((1u << digits) - 1)));
  const void *from = size_of(type) == 8   ? (const void *)&x
                     : size_of(type) == 4 ? (const void *)&f
                                          : &half;
  memcpy(at, from, size_of(type));
}

/* ---- a launch with arguments by name ---------------------------------------------------------- */

typedef struct given {
  const char *name;
  int64_t word; /* an i32, an i64, or the bits of a float or double */
  rt_ptr buffer;
} given;

typedef struct call {
  const char *family, *problem, *type;
  given args[24];
  size_t n_args;
  rt_ptr out;
  char *before;                    /* of the output, restored ahead of each launch */
  size_t n_out;                    /* elements */
  size_t window[WINDOW], n_window; /* the elements that are compared */
} call;

static given *add(call *c, const char *name) {
  given *g = &c->args[c->n_args++];
  *g = (given){.name = name};
  return g;
}

static void add_int(call *c, const char *name, int64_t v) {
  add(c, name)->word = v;
}

static void add_double(call *c, const char *name, double v) {
  memcpy(&add(c, name)->word, &v, sizeof v);
}

static void add_scalar(call *c, const char *name,
                       double v) { /* sgemm's are floats, others' doubles */
  const float f = (float)v;
  if (strcmp(c->family, "sgemm") != 0) {
    add_double(c, name, v);
  } else {
    memcpy(&add(c, name)->word, &f, sizeof f);
  }
}

static void add_buffer(bed *b, call *c, const char *name, const void *bytes, size_t nbytes) {
  add(c, name)->buffer = bed_put(b, bytes, nbytes ? nbytes : 1);
}

/* The output's elements before a launch. */
static void add_output(bed *b, call *c, const char *name, char *bytes, size_t n) {
  c->before = bytes;
  c->n_out = n;
  add_buffer(b, c, name, bytes, n * size_of(c->type));
  c->out = c->args[c->n_args - 1].buffer;
}

static void call_clear(bed *b, call *c) {
  for (size_t i = 0; i < c->n_args; i++) {
    if (c->args[i].buffer) {
      bed_free(b, c->args[i].buffer);
    }
  }
  free(c->before);
}

static void launch(bed *b, const call *c, const gen_template *t, rt_loaded *l) {
  const void *args[32] = {0};
  const rt_ptr null = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    args[i] = &null;
    for (size_t j = 0; j < c->n_args; j++) {
      const given *g = &c->args[j];
      if (!strcmp(g->name, t->args[i].name)) {
        args[i] = g->buffer ? (const void *)&g->buffer : &g->word;
      }
    }
  }
  OK(b, b->d->ops->copy_in(b->d, c->out, c->before, c->n_out * size_of(c->type), NULL, &b->e));
  OK(b, rt_loaded_launch(l, NULL, args, &b->e));
  OK(b, b->d->ops->stream_sync(b->d, NULL, &b->e));
}

static void get_window(bed *b, const call *c, char *bits) {
  const size_t size = size_of(c->type);
  char *all = malloc(c->n_out * size);
  assert_non_null(all);
  bed_get(b, all, c->out, c->n_out * size);
  for (size_t i = 0; i < c->n_window; i++) {
    memcpy(bits + i * size, all + c->window[i] * size, size);
  }
  free(all);
}

/* ---- configurations ------------------------------------------------------------------------- */

typedef void each_config(bed *b, const call *c, bed_kernel *k, const gen_config *config,
                         void *self);

/* The default, the suggestion and some drawn from the space, or the one given. */
static void for_each_config(bed *b, const call *c, const char *given_config, each_config *f,
                            void *self) {
  bed_kernel k = bed_problem_open(b, NULL, c->family, c->problem);
  gen_config config;
  bool suggested;
  if (given_config) {
    config = bed_config(b, &k, given_config);
    f(b, c, &k, &config, self);
  } else {
    gen_config first;
    gen_config_default(k.t, &first);
    OK(b, gen_config_check(k.g, &first, &b->e));
    f(b, c, &k, &first, self);
    OK(b, gen_config_untuned(k.g, &config, &suggested, &b->e));
    for (int i = 0; i <= DRAWN; i++) {
      if (!gen_config_equal(k.t, &config, &first)) {
        f(b, c, &k, &config, self);
      }
      config = bed_any_config(b, &k, false);
    }
  }
  bed_kernel_close(&k);
}

static void load(bed *b, bed_kernel *k, const gen_config *config) {
  OK(b, bed_load(b, k->t, k->g, config, &k->l));
}

static void unload(bed_kernel *k) {
  rt_loaded_free(k->l);
  k->l = NULL;
}

static const char *words_of(bed *b, const bed_kernel *k, const call *c, const gen_config *config) {
  auto_str words = {0};
  gen_config_text(k->t, config, &words);
  return arena_format(&b->a, "%s %s --config %s", c->family, c->problem, str_text(&words));
}

/* ---- shape: bits expected in every problem that holds the window ----------------------------- */

typedef struct expected {
  char bits[WINDOW * 8];
  const char *words; /* NULL: none yet */
  int differ;        /* configurations or problems with other bits; -1: none may have */
} expected;

static void compare(bed *b, const call *c, bed_kernel *k, const gen_config *config, void *self) {
  expected *x = self;
  char bits[sizeof x->bits];
  const size_t nbytes = c->n_window * size_of(c->type);
  load(b, k, config);
  launch(b, c, k->t, k->l);
  get_window(b, c, bits);
  unload(k);
  if (!x->words) {
    x->words = words_of(b, k, c, config);
    memcpy(x->bits, bits, nbytes);
  } else if (memcmp(x->bits, bits, nbytes) != 0) {
    if (x->differ < 0) {
      fail_msg("other bits by\n%s\nthan by\n%s", words_of(b, k, c, config), x->words);
    }
    x->differ++;
  }
}

enum { NONE_MAY = -1 };

/* ---- products --------------------------------------------------------------------------------- */

typedef struct product { /* C of m x n; the window begins at (row, column) */
  int64_t m, n, row, column;
  const char *ta, *tb, *layout; /* layout: of gemm_batched */
  int pad;                      /* between columns */
  const char *config;           /* NULL: several */
} product;

enum { SIDE = 8 };

static int64_t align_of(int64_t ld, int64_t most) {
  int64_t v = 1;
  while (v < most && ld % (2 * v) == 0) {
    v *= 2;
  }
  return v;
}

/* Columns of a matrix as it lies in memory; its rows are those of `matrix` from `row` on. Element (0, 0) of the windows
 * of A and B is so small that its products vanish: those sums are 0 or -0. */
static char *columns_of(int matrix, int64_t rows, int64_t columns, int64_t ld, int64_t row,
                        int64_t column, const char *transposed, const char *type) {
  const size_t size = size_of(type);
  char *bytes = calloc((size_t)(ld * columns + 1), size);
  assert_non_null(bytes);
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = 0; i < rows; i++) {
      const bool t = transposed[0] == 't';
      const int64_t x = (t ? j : i) - row, y = (t ? i : j) - column;
      double v = number(matrix, x, y, type);
      if (size == 4 && matrix < 2 && (matrix ? y == 0 : x == 0)) {
        v = ldexp(matrix ? -fabs(v) : fabs(v), -90);
      }
      put_number(bytes + (size_t)(i + j * ld) * size, v, type);
    }
  }
  return bytes;
}

static void add_matrix(bed *b, call *c, const char *name, char *bytes, int64_t ld,
                       int64_t columns) {
  add_buffer(b, c, name, bytes, (size_t)(ld * columns) * size_of(c->type));
  free(bytes);
}

static const char *problem_of(bed *b, const char *family, const char *fields, const product *p,
                              int64_t k, const int64_t ld[3]) {
  const char *words = arena_format(&b->a, "m=%lld n=%lld k=%lld ta=%s tb=%s %s", (long long)p->m,
                                   (long long)p->n, (long long)k, p->ta, p->tb, fields);
  const int64_t most = !strcmp(family, "gemm") ? 8 : 4;
  const int64_t a = align_of(ld[0], most), y = align_of(ld[1], most), z = align_of(ld[2], most);
  const int64_t all = a < y ? (a < z ? a : z) : y < z ? y : z;
  if (!strcmp(family, "sgemm")) {
    return arena_format(&b->a, "%s align=%d align_a=%d align_b=%d", words, (int)z, (int)a, (int)y);
  }
  if (!strcmp(family, "gemm_batched")) {
    return arena_format(&b->a, "%s batch=1 layout=%s align=%d", words, p->layout,
                        (int)(p->layout[0] == 'p' ? 4 : all));
  }
  return arena_format(&b->a, "%s align=%d", words, (int)all);
}

static call product_call(bed *b, const char *family, const char *fields, const char *type,
                         int64_t k, double beta, const product *p) {
  call c = {.family = family, .type = type};
  const int64_t rows_a = *p->ta == 'n' ? p->m : k, rows_b = *p->tb == 'n' ? k : p->n;
  const int64_t cols_a = *p->ta == 'n' ? k : p->m, cols_b = *p->tb == 'n' ? p->n : k;
  const int64_t ld[3] = {rows_a + p->pad, rows_b + p->pad, p->m + p->pad};
  c.problem = problem_of(b, family, fields, p, k, ld);
  add_scalar(&c, "alpha", -0.7109375);
  add_scalar(&c, "beta", beta);
  add_matrix(b, &c, "A", columns_of(0, rows_a, cols_a, ld[0], p->row, 0, p->ta, type), ld[0],
             cols_a);
  add_matrix(b, &c, "B", columns_of(1, rows_b, cols_b, ld[1], 0, p->column, p->tb, type), ld[1],
             cols_b);
  add_output(b, &c, "C", columns_of(2, p->m, p->n, ld[2], p->row, p->column, "n", type),
             (size_t)(ld[2] * p->n));
  const char *const names[] = {"lda", "ldb", "ldc"}, *const strides[] = {"stride_a", "stride_b",
                                                                         "stride_c"};
  const int64_t columns[] = {cols_a, cols_b, p->n};
  for (int i = 0; i < 3; i++) {
    add_int(&c, names[i], ld[i]);
    add_int(&c, strides[i], ld[i] * columns[i]);
  }
  for (int64_t j = 0; j < SIDE; j++) {
    for (int64_t i = 0; i < SIDE; i++) {
      c.window[c.n_window++] = (size_t)(p->row + i + (p->column + j) * ld[2]);
    }
  }
  return c;
}

static void compare_products(bed *b, const char *family, const char *fields, const char *type,
                             int64_t k, double beta, const product *products, size_t n,
                             expected *x) {
  for (size_t i = 0; i < n; i++) {
    call c = product_call(b, family, fields, type, k, beta, &products[i]);
    for_each_config(b, &c, products[i].config, compare, x);
    call_clear(b, &c);
  }
}
#define N_OF(list) (sizeof(list) / sizeof *(list))

static const product SINGLE[] = {
    {8, 8, 0, 0, "n", "n"},
    {8, 8, 0, 0, "t", "t", .pad = 3},
    {70, 41, 33, 20, "n", "t", .pad = 4},
    {41, 70, 30, 33, "t", "n"},
    {8, 72, 0, 64, "n", "n", .pad = 1},
    {72, 8, 64, 0, "t", "n", .pad = 4},
};

BED_TEST(elements_of_sgemm_do_not_depend_on_the_other_sizes) {
  for (int zero = 0; zero < 2; zero++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "sgemm", "reproducible=shape", "f32", 75, zero ? 0 : 0.3671875, SINGLE,
                     N_OF(SINGLE), &x);
  }
}

BED_TEST(elements_of_sgemm_have_one_epilogue) {
  static const product some[] = {{8, 8, 0, 0, "n", "n"}, {70, 41, 33, 20, "n", "t", .pad = 4}};
  expected x = {.differ = NONE_MAY};
  compare_products(b, "sgemm", "act=gelu reproducible=shape", "f32", 40, 0.5, some, N_OF(some), &x);
}

BED_TEST(elements_of_gemm_do_not_depend_on_the_other_sizes) {
  static const char *const types[][2] = {{"bf16", "dtype=bf16 ctype=bf16 reproducible=shape"},
                                         {"f16", "dtype=f16 ctype=f16 reproducible=shape"},
                                         {"f64", "dtype=f64 ctype=f64 reproducible=shape"}};
  bed_needs(b, 80);
  for (size_t i = 0; i < N_OF(types); i++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "gemm", types[i][1], types[i][0], 75, 0.3671875, SINGLE + i,
                     N_OF(SINGLE) - 2, &x);
  }
}

BED_TEST(elements_of_gemm_batched_do_not_depend_on_the_other_sizes) {
  static const product small[] = {
      {8, 8, 0, 0, "n", "n", "packed"},     {8, 8, 0, 0, "t", "t", "strided", 3},
      {20, 23, 10, 12, "n", "t", "packed"}, {41, 9, 30, 1, "t", "n", "strided", 4},
      {8, 40, 0, 32, "n", "n", "packed"},
  };
  for (int zero = 0; zero < 2; zero++) {
    expected x = {.differ = NONE_MAY};
    compare_products(b, "gemm_batched", "dtype=f32 reproducible=shape", "f32", 36,
                     zero ? 0 : 0.3671875, small, N_OF(small), &x);
  }
}

BED_TEST(elements_of_products_may_differ_otherwise) {
  static const product splits[] = {
      {8, 8, 0, 0, "n", "n", .config = "ALG=ffma"},
      {8, 8, 0, 0, "n", "n",
       .config = "ALG=ffma,BM=16,BN=16,TM=1,TN=1,BK=16,SPLITK=2,LM=16,EDGE=guarded"}};
  expected x = {0};
  compare_products(b, "sgemm", "", "f32", 75, 0, splits, N_OF(splits), &x);
  assert_int_equal(x.differ, 1);
}

/* ---- gemv ------------------------------------------------------------------------------------- */

typedef struct vector_product { /* the window is of results `first` to first + SIDE - 1 */
  int64_t results, first;
  int pad, incx;
} vector_product;

static call gemv_call(bed *b, const char *trans, const char *type, int64_t depth, const char *value,
                      const vector_product *p) {
  call c = {.family = "gemv", .type = type};
  const bool t = *trans == 't';
  const int64_t m = t ? depth : p->results, n = t ? p->results : depth, ld = m + p->pad;
  c.problem = arena_format(
      &b->a, "m=%lld n=%lld trans=%s dtype=%s unit=%d align=%d reproducible=%s", (long long)m,
      (long long)n, trans, type, p->incx == 1, (int)align_of(ld, 8), value);
  add_scalar(&c, "alpha", -0.7109375);
  add_scalar(&c, "beta", 0.3671875);
  add_matrix(b, &c, "A", columns_of(3, m, n, ld, t ? 0 : p->first, t ? p->first : 0, "n", type), ld,
             n);
  add_matrix(b, &c, "x", columns_of(4, 1, depth, p->incx, 0, 0, "n", type), p->incx, depth);
  add_output(b, &c, "y", columns_of(5, p->results, 1, p->results, p->first, 0, "n", type),
             (size_t)p->results);
  add_int(&c, "lda", ld);
  add_int(&c, "incx", p->incx);
  add_int(&c, "incy", 1);
  for (int64_t i = 0; i < SIDE; i++) {
    c.window[c.n_window++] = (size_t)(p->first + i);
  }
  return c;
}

BED_TEST(elements_of_gemv_do_not_depend_on_the_other_sizes) {
  static const vector_product some[] = {
      {8, 0, 0, 1}, {300, 71, 3, 1}, {64, 40, 4, 2}, {120, 111, 0, 1}};
  static const struct {
    const char *trans, *type;
    int64_t depth;
  } kinds[] = {{"n", "f32", 50},
               {"t", "f32", 2600},
               {"n", "f32", 2600},
               {"t", "bf16", 300},
               {"n", "f64", 530}};
  for (size_t i = 0; i < N_OF(kinds); i++) {
    expected x = {.differ = NONE_MAY};
    for (size_t j = i % 2; j < N_OF(some); j++) {
      call c = gemv_call(b, kinds[i].trans, kinds[i].type, kinds[i].depth, "shape", &some[j]);
      for_each_config(b, &c, NULL, compare, &x);
      call_clear(b, &c);
    }
  }
}

/* ---- reduce, scan ------------------------------------------------------------------------------ */

static char *row_of(int64_t begin, int64_t n, const char *type) {
  return columns_of(6, n, 1, n, begin, 0, "n", type);
}

static call reduce_call(bed *b, const char *fields, const char *type, int64_t n) {
  call c = {.family = "reduce", .type = type};
  c.problem = arena_format(&b->a, "n=%lld dtype=%s %s", (long long)n, type, fields);
  add_matrix(b, &c, "x", row_of(0, n, type), n, 1);
  add_output(b, &c, "y", calloc(1, 8), 1);
  c.window[c.n_window++] = 0;
  return c;
}

BED_TEST(sums_do_not_depend_on_the_alignment) {
  static const char *const fields[] = {"align=4 reproducible=shape", "align=1 reproducible=shape",
                                       "align=2 op=sum reproducible=shape"};
  expected x = {.differ = NONE_MAY};
  for (size_t i = 0; i < N_OF(fields); i++) {
    call c = reduce_call(b, fields[i], "f32", 9001);
    for_each_config(b, &c, NULL, compare, &x);
    call_clear(b, &c);
  }
}

BED_TEST(sums_may_differ_otherwise) {
  static const char *const configs[] = {"BLOCK=64,VEC=1", "BLOCK=256,VEC=2",
                                        "BLOCK=1024,BLOCKS=2,VEC=1"};
  expected x = {0};
  call c = reduce_call(b, "op=product", "f64", 200);
  for (size_t i = 0; i < N_OF(configs); i++) {
    for_each_config(b, &c, configs[i], compare, &x);
  }
  call_clear(b, &c);
  assert_true(x.differ > 0);
}

/* The window: some of the first elements, up to `last`. */
static call scan_call(bed *b, const char *fields, const char *type, int64_t n, int64_t last) {
  call c = {.family = "scan", .type = type};
  c.problem = arena_format(&b->a, "n=%lld dtype=%s %s", (long long)n, type, fields);
  add_matrix(b, &c, "x", row_of(0, n, type), n, 1);
  add_output(b, &c, "y", calloc((size_t)n, 8), (size_t)n);
  for (int64_t i = 0; i < WINDOW; i++) {
    c.window[c.n_window++] = (size_t)(i * last / (WINDOW - 1));
  }
  return c;
}

BED_TEST(prefix_sums_do_not_depend_on_what_follows) {
  static const int64_t n[] = {4000, 4096, 9001, 20011};
  static const char *const fields[] = {"align=16 reproducible=shape", "align=1 reproducible=shape"};
  for (size_t longer = 0; longer < 2; longer++) {
    expected x = {.differ = NONE_MAY};
    for (size_t i = 2 * longer; i < N_OF(n); i++) {
      call c = scan_call(b, fields[i % 2], "f32", n[i], longer ? 8999 : 3999);
      for_each_config(b, &c, NULL, compare, &x);
      call_clear(b, &c);
    }
  }
}

BED_TEST(prefix_sums_may_differ_otherwise) {
  static const char *const configs[] = {"ALG=reduce_scan",
                                        "ALG=chained,BLOCK=64,ITEMS=8,EXCHANGE=warp"};
  expected x = {0};
  call c = scan_call(b, "", "f32", 9001, 8999);
  for (size_t i = 0; i < N_OF(configs); i++) {
    for_each_config(b, &c, configs[i], compare, &x);
  }
  call_clear(b, &c);
  assert_int_equal(x.differ, 1);
}

/* ---- segments ----------------------------------------------------------------------------------- */

/* `before` elements in segments of `length`, then one of n, whose numbers are always the same, then as many again. */
typedef struct surroundings {
  int64_t before, length;
} surroundings;

static call segments_call(bed *b, const char *family, const char *value, int64_t n,
                          const surroundings *p) {
  call c = {.family = family, .type = "f32"};
  const int64_t around = p->length ? p->before / p->length : 0, segments = 2 * around + 1;
  const int64_t all = 2 * around * p->length + n, first = around * p->length;
  int32_t *starts = calloc((size_t)segments, sizeof *starts);
  assert_non_null(starts);
  for (int64_t i = 0; i < segments; i++) {
    starts[i] = (int32_t)(i <= around ? i * p->length : first + n + (i - around - 1) * p->length);
  }
  c.problem = arena_format(&b->a, "n=%lld segments=%lld dtype=f32 reproducible=%s", (long long)all,
                           (long long)segments, value);
  add_buffer(b, &c, "starts", starts, (size_t)segments * sizeof *starts);
  free(starts);
  add_matrix(b, &c, "x", row_of(first, all, "f32"), all, 1);
  const bool scan = !strcmp(family, "segmented_scan");
  add_output(b, &c, "y", calloc((size_t)(scan ? all : segments), 8),
             (size_t)(scan ? all : segments));
  for (int64_t i = 0; i < (scan ? WINDOW : 1); i++) {
    c.window[c.n_window++] = (size_t)(scan ? first + i * (n - 1) / (WINDOW - 1) : around);
  }
  return c;
}

static void compare_segments(bed *b, const char *family, const char *value,
                             const char *const *configs, size_t n_configs, int64_t n, expected *x) {
  static const surroundings some[] = {{0, 0}, {21, 7}, {400, 1}, {1500, 500}, {3000, 1500}};
  for (size_t i = 0; i < N_OF(some); i++) {
    call c = segments_call(b, family, value, n, &some[i]);
    for (size_t j = 0; j < n_configs; j++) {
      for_each_config(b, &c, configs[j], compare, x);
    }
    call_clear(b, &c);
  }
}

BED_TEST(segments_do_not_depend_on_their_surroundings) {
  static const char *const families[] = {"segmented_reduce", "segmented_scan"}, *const several[] = {
                                                                                    NULL};
  static const int64_t n[] = {5, 100, 1024, 2500};
  for (size_t i = 0; i < N_OF(families); i++) {
    for (size_t j = 0; j < N_OF(n); j++) {
      expected x = {.differ = NONE_MAY};
      compare_segments(b, families[i], "shape", several, 1, n[j], &x);
    }
  }
}

BED_TEST(segments_may_differ_otherwise) {
  static const char *const reduce[] = {"ALG=block,BLOCK=128,VEC=4", "ALG=tiles,LANES=8,BLOCK=64"};
  static const char *const scan[] = {"ALG=block,BLOCK=64,ITEMS=4", "ALG=block,BLOCK=256,ITEMS=1"};
  expected x = {0}, y = {0};
  compare_segments(b, "segmented_reduce", "any", reduce, N_OF(reduce), 2500, &x);
  compare_segments(b, "segmented_scan", "any", scan, N_OF(scan), 2500, &y);
  assert_true(x.differ > 0 && y.differ > 0);
}

/* ---- run: every launch ------------------------------------------------------------------------- */

/* Other work between two launches, so that blocks do not meet the same times again. */
static void disturb(bed *b, const call *c, int i) {
  static const int threads[] = {1, 2, 5, 16};
  if (rt_emu_is(b->d)) {
    rt_emu_set_threads(b->d, threads[i % 4]);
    return;
  }
  char *bytes = malloc(c->n_out * size_of(c->type));
  assert_non_null(bytes);
  for (int j = 0; j < i % 3; j++) {
    bed_get(b, bytes, c->out, c->n_out * size_of(c->type));
  }
  free(bytes);
}

static void launch_often(bed *b, const call *c, bed_kernel *k, const gen_config *config,
                         void *self) {
  const size_t nbytes = c->n_out * size_of(c->type);
  char *first = malloc(nbytes), *bits = malloc(nbytes);
  assert_true(first && bits);
  (void)self;
  load(b, k, config);
  for (int i = 0; i < (rt_emu_is(b->d) ? LAUNCHES_EMU : LAUNCHES_GPU); i++) {
    disturb(b, c, i);
    launch(b, c, k->t, k->l);
    bed_get(b, i ? bits : first, c->out, nbytes);
    if (i && memcmp(first, bits, nbytes) != 0) {
      fail_msg("launch %d has other bits: %s", i, words_of(b, k, c, config));
    }
  }
  unload(k);
  free(first);
  free(bits);
  if (rt_emu_is(b->d)) {
    rt_emu_set_threads(b->d, 0);
  }
}

static void check_run(bed *b, call c, const char *const *configs, size_t n) {
  for_each_config(b, &c, NULL, launch_often, NULL);
  for (size_t i = 0; i < n; i++) {
    for_each_config(b, &c, configs[i], launch_often, NULL);
  }
  call_clear(b, &c);
}

BED_TEST(launches_of_products_have_equal_bits) {
  static const product p = {40, 24, 0, 0, "n", "n", "packed"};
  static const char *const sgemm[] = {"ALG=ffma,SPLITK=2", "ALG=ffma,SPLITK=4,FINISH=two_launch"};
  static const char *const gemm[] = {
      "ALG=mma,BM=32,BN=32,WM=16,WN=16,BK=16,SPLITK=3,VEC=8",
      "ALG=wgmma,BM=64,BN=64,GROUPS=1,WGMMA_STAGES=3,SPLITK=2"}; /* the latter for compute capability 9.0 */
  check_run(b, product_call(b, "sgemm", "reproducible=run", "f32", 256, 0.5, &p), sgemm,
            N_OF(sgemm));
  check_run(b, product_call(b, "gemm_batched", "reproducible=run", "f32", 40, 0.5, &p), NULL, 0);
  if (b->d->info.cc >= 80) {
    check_run(
        b, product_call(b, "gemm", "dtype=bf16 ctype=bf16 reproducible=run", "bf16", 256, 0.5, &p),
        gemm, N_OF(gemm) - (b->d->info.cc != 90));
  }
}

BED_TEST(launches_of_gemv_have_equal_bits) {
  static const vector_product p = {100, 0, 0, 1};
  static const char *const splits[] = {"BLOCK=256,LX=32,FINISH=last_block",
                                       "BLOCK=256,LX=32,FINISH=two_launch"};
  check_run(b, gemv_call(b, "n", "f32", 700, "run", &p), splits, N_OF(splits));
  check_run(b, gemv_call(b, "t", "f32", 700, "run", &p), splits, N_OF(splits));
}

BED_TEST(launches_of_sums_have_equal_bits) {
  static const char *const reduce[] = {"FINISH=last_block,BLOCK=64", "FINISH=two_launch,BLOCK=64"};
  static const char *const scan[] = {"ALG=chained,BLOCK=64,ITEMS=8", "ALG=gather,BLOCK=64,ITEMS=8"};
  static const surroundings p = {3000, 750};
  static const char *const tiles[] = {"ALG=tiles,LANES=8,BLOCK=64"};
  check_run(b, reduce_call(b, "reproducible=run", "f32", 90001), reduce, N_OF(reduce));
  check_run(b, scan_call(b, "reproducible=run", "f32", 20011, 0), scan, N_OF(scan));
  check_run(b, segments_call(b, "segmented_reduce", "run", 2500, &p), tiles, N_OF(tiles));
  check_run(b, segments_call(b, "segmented_scan", "run", 2500, &p), NULL, 0);
}

/* ---- what is excluded --------------------------------------------------------------------------- */

static void assert_excluded(bed *b, const char *family, const char *problem, const char *config) {
  static const char *const values[] = {"any", "run", "shape"};
  for (size_t i = 0; i < N_OF(values); i++) {
    gen_config c;
    bed_kernel k = bed_problem_open(b, NULL, family,
                                    arena_format(&b->a, "%s reproducible=%s", problem, values[i]));
    OK(b, gen_config_parse(k.t, config, &c, &b->e));
    const int rc = gen_config_check(k.g, &c, &b->e);
    assert_int_equal(rc != 0, i > 0);
    if (rc) {
      assert_non_null(strstr(b->e.message, "reproducible="));
    }
    err_clear(&b->e);
    bed_kernel_close(&k);
  }
}

BED_TEST(sums_in_the_order_of_arrival_are_excluded) {
  assert_excluded(b, "reduce", "n=9000", "FINISH=atomic");
  assert_excluded(b, "reduce", "n=9000", "FINISH=accumulate");
  assert_excluded(b, "scan", "n=90000 dtype=f32", "ALG=lookback");
  assert_excluded(b, "segmented_scan", "n=9000 segments=10 dtype=f32",
                  "ALG=lookback,BLOCK=256,ITEMS=4");
  assert_excluded(b, "gemv", "m=100 n=700", "FINISH=atomic");
  assert_excluded(b, "sgemm", "m=40 n=24 k=256", "SPLITK=2,FINISH=atomic");
  if (b->d->info.cc >= 90) {
    assert_excluded(b, "scan", "n=90000 dtype=f32",
                    "ALG=pipelined,BLOCK=64,ITEMS=12,VEC=4,BLOCKS=1,LOADS=2,LAG=3");
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
