/* test_conv3d.c -- properties of conv3d, with small numbers whose sums are exact:
 *   build/tests/test_conv3d [--device NAME]
 * The elements between rows of x are NaN, and must not reach a result. Those between rows of y must
 * not change. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>

#include "conv_fixture.h"

enum { MOST = 48 * 11 * 9, ALIGN = 4, SMUDGE = 12345 };
enum { RX = 2, RY = 1, RZ = 1, WIDE = 2 * RX + 1, HIGH = 2 * RY + 1, DEEP = 2 * RZ + 1 };
enum { TAPS = WIDE * HIGH * DEEP };

#define WHOLE                                                                                      \
  "ALG=register,FILTER=constant,BLOCK_X=8,BLOCK_Y=4,OUT_X=4,OUT_Y=2,VEC=4,UNROLL=4,PREFETCH=2"
#define LOOPS                                                                                      \
  "ALG=register,FILTER=shared,BLOCK_X=16,BLOCK_Y=2,OUT_X=2,OUT_Y=3,VEC=1,UNROLL=1,PREFETCH=1,"     \
  "Z_DEPTH=16"

typedef struct conv { /* a convolution, compiled for volumes of any size */
  const char *words, *rank;
  const char *property; /* under test, for messages */
  edge border;
  gen_template *t;
  gen_config config;
  rt_loaded *first; /* has the image of the code */
} conv;

typedef struct volume {
  int nx, ny, nz, ld;
  float x[MOST];
} volume;

/* ---- running --------------------------------------------------------------------------------- */

static gen_instance *instance(bed *b, const conv *c, int nx, int ny, int nz) {
  gen_problem p;
  gen_instance *g;
  const char *words =
      arena_format(&b->a, "nx=%d ny=%d nz=%d rx=%d ry=%d rz=%d border=%s rank=%s align=%d", nx, ny,
                   nz, RX, RY, RZ, border_names[c->border], c->rank, ALIGN);
  assert_ok(gen_problem_parse(c->t, words, &p, &b->e), &b->e);
  assert_ok(gen_instance_new(c->t, &p, b->limits, RT_NUMBERS, &g, &b->e), &b->e);
  return g;
}

static conv conv_open(bed *b, const char *config, edge border, const char *rank) {
  conv c = {.words = config, .rank = rank, .border = border};
  assert_ok(gen_open(NULL, "conv3d", &c.t, &b->e), &b->e);
  assert_ok(gen_config_parse(c.t, config, &c.config, &b->e), &b->e);
  gen_instance *g = instance(b, &c, 36, 9, 7);
  assert_ok(gen_config_check(g, &c.config, &b->e), &b->e);
  assert_ok(bed_load(b, c.t, g, &c.config, &c.first), &b->e);
  gen_instance_free(g);
  return c;
}

static void conv_close(conv *c) {
  rt_loaded_free(c->first);
  gen_close(c->t);
}

static void launch(bed *b, const conv *c, const volume *x, const void *const *args) {
  gen_instance *g = instance(b, c, x->nx, x->ny, x->nz);
  const gen_plan *plan;
  rt_loaded *l;
  assert_ok(gen_config_check(g, &c->config, &b->e), &b->e);
  assert_ok(gen_plan_make(g, &c->config, &b->a, &plan, &b->e), &b->e);
  assert_ok(rt_loaded_new_from(c->first, c->t, plan, &l, &b->e), &b->e);
  assert_ok(rt_loaded_launch(l, NULL, args, &b->e), &b->e);
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
  rt_loaded_free(l);
  gen_instance_free(g);
}

/* ---- volumes --------------------------------------------------------------------------------- */

/* Fills rows and the elements between them: rows are aligned, and at least ALIGN elements apart. */
static void volume_init(volume *v, int nx, int ny, int nz, float value) {
  *v = (volume){.nx = nx, .ny = ny, .nz = nz, .ld = (nx + ALIGN - 1) / ALIGN * ALIGN + ALIGN};
  assert_true(v->ld * ny * nz <= MOST);
  for (int i = 0; i < MOST; i++) {
    v->x[i] = value;
  }
}

/* Elements from the first to the last, with those between rows. */
static size_t volume_count(const volume *v) {
  const size_t rows = (size_t)v->ny * (size_t)v->nz;
  return v->nx && rows ? (size_t)v->ld * (rows - 1) + (size_t)v->nx : 0;
}

static float *element(volume *v, int column, int row, int plane) {
  return &v->x[(plane * v->ny + row) * v->ld + column];
}

/* The i-th, row by row. */
static float *nth(volume *v, int i) {
  return element(v, i % v->nx, i / v->nx % v->ny, i / v->nx / v->ny);
}

static int less(int n, int by) {
  return n > by ? n - by : 0;
}

/* A volume of the result's size, filled with SMUDGE. */
static void result_init(const conv *c, const volume *x, volume *y) {
  const bool valid = c->border == VALID;
  volume_init(y, less(x->nx, valid * 2 * RX), less(x->ny, valid * 2 * RY),
              less(x->nz, valid * 2 * RZ), SMUDGE);
}

/* Small whole numbers, and NaN between rows. */
static void volume_random(bed *b, int nx, int ny, int nz, volume *v) {
  volume_init(v, nx, ny, nz, NAN);
  for (int i = 0; i < nx * ny * nz; i++) {
    *nth(v, i) = whole_number(b);
  }
}

/* axes: NULL, or the taps along y and z of a product */
static void convolve_by(bed *b, const conv *c, const volume *x, const float *f,
                        const float *const axes[2], volume *y) {
  result_init(c, x, y);
  const size_t n_x = volume_count(x), n_y = volume_count(y);
  const int64_t ldx = x->ld, ldy = y->ld;
  rt_ptr px = bed_put(b, x->x, (n_x ? n_x : 1) * sizeof *x->x);
  rt_ptr py = bed_put(b, y->x, (n_y ? n_y : 1) * sizeof *y->x);
  rt_ptr pf = bed_put(b, f, (axes ? WIDE : TAPS) * sizeof *f);
  rt_ptr pfy = axes ? bed_put(b, axes[0], HIGH * sizeof *f) : 0;
  rt_ptr pfz = axes ? bed_put(b, axes[1], DEEP * sizeof *f) : 0;
  const void *args[] = {NULL, NULL, NULL, NULL, NULL, NULL, &px, &ldx, &pf, &pfy, &pfz, &py, &ldy};
  launch(b, c, x, args);
  bed_get(b, y->x, py, n_y * sizeof *y->x);
  const rt_ptr all[] = {px, py, pf, pfy, pfz};
  for (int i = 0; i < (axes ? 5 : 3); i++) {
    bed_free(b, all[i]);
  }
}

static void convolve(bed *b, const conv *c, const volume *x, const float *f, volume *y) {
  convolve_by(b, c, x, f, NULL, y);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* The result whose filter is around an element of x. */
static float define_one(const conv *c, volume *x, const float *f, int column, int row, int plane) {
  float sum = 0;
  for (int t = 0; t < TAPS; t++) {
    const int i = stands_for(c->border, column + t % WIDE - RX, x->nx);
    const int j = stands_for(c->border, row + t / WIDE % HIGH - RY, x->ny);
    const int k = stands_for(c->border, plane + t / WIDE / HIGH - RZ, x->nz);
    sum += i < 0 || j < 0 || k < 0 ? 0 : f[t] * *element(x, i, j, k);
  }
  return sum;
}

static void define(const conv *c, volume *x, const float *f, volume *y) {
  const int skips = c->border == VALID;
  result_init(c, x, y);
  for (int i = 0; i < y->nx * y->ny * y->nz; i++) {
    *nth(y, i) = define_one(c, x, f, i % y->nx + skips * RX, i / y->nx % y->ny + skips * RY,
                            i / y->nx / y->ny + skips * RZ);
  }
}

/* Including the elements between rows. */
static void assert_same(const conv *c, const volume *expected, const volume *y) {
  assert_int_equal(volume_count(expected), volume_count(y));
  for (int i = 0; i < (int)volume_count(y); i++) {
    const float a = expected->x[i], v = y->x[i];
    if (isnan(a) ? !isnan(v) : a != v) {
      const int row = i / y->ld;
      fail_msg("--config %s, border %s, %s: y[%d][%d][%d] of %d x %d x %d is %g, not %g", c->words,
               border_names[c->border], c->property, row / y->ny, row % y->ny, i % y->ld, y->nz,
               y->ny, y->nx, (double)v, (double)a);
    }
  }
}

/* ---- properties ------------------------------------------------------------------------------ */

/* Includes volumes smaller than the filter, and an empty one. */
static void definition_holds(bed *b, const conv *c) {
  static const int sizes[][3] = {{41, 10, 8}, {36, 9, 7}, {1, 1, 1}, {2, 1, 9}, {4, 3, 2},
                                 {5, 3, 3},   {6, 9, 1},  {0, 3, 2}, {9, 0, 2}};
  static volume x, y, right;
  float f[TAPS];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    taps_random(b, f, TAPS);
    volume_random(b, sizes[i][0], sizes[i][1], sizes[i][2], &x);
    define(c, &x, f, &right);
    convolve(b, c, &x, f, &y);
    assert_same(c, &right, &y);
  }
}

/* Copies every number exactly. */
static void delta_copies(bed *b, const conv *c) {
  static volume x, y, right;
  float f[TAPS] = {0};
  f[TAPS / 2] = 1;
  volume_random(b, 37, 9, 5, &x);
  for (int i = 0; i < x.nx * x.ny * x.nz; i++) {
    *nth(&x, i) = (float)(1 + random_below(&b->random, 1 << 24)) / 3e7f;
  }
  x.x[0] = -FLT_MAX;
  x.x[9] = FLT_TRUE_MIN;
  convolve(b, c, &x, f, &y);
  result_init(c, &x, &right);
  for (int i = 0; i < y.nx * y.ny * y.nz; i++) {
    *nth(&right, i) = *nth(&x, i);
  }
  assert_same(c, &right, &y);
}

static void sums_add_up(bed *b, const conv *c) {
  static volume u, v, w, of_u, of_v, of_w;
  float f[TAPS];
  taps_random(b, f, TAPS);
  volume_random(b, 35, 9, 5, &u);
  volume_random(b, 35, 9, 5, &v);
  w = u;
  for (int i = 0; i < MOST; i++) {
    w.x[i] = 3 * u.x[i] - 2 * v.x[i];
  }
  convolve(b, c, &u, f, &of_u);
  convolve(b, c, &v, f, &of_v);
  convolve(b, c, &w, f, &of_w);
  for (int i = 0; i < of_u.nx * of_u.ny * of_u.nz; i++) {
    *nth(&of_u, i) = 3 * *nth(&of_u, i) - 2 * *nth(&of_v, i);
  }
  assert_same(c, &of_u, &of_w);
}

/* Copies `from` to `to` one element further along every axis. */
static void move(volume *from, volume *to) {
  for (int i = 0; i < to->nx * to->ny * to->nz; i++) {
    const int column = i % to->nx, row = i / to->nx % to->ny, plane = i / to->nx / to->ny;
    if (column && row && plane) {
      *nth(to, i) = *element(from, column - 1, row - 1, plane - 1);
    }
  }
}

/* A volume moved by one element along every axis gives the result moved likewise. */
static void shift_shifts(bed *b, const conv *c) {
  static volume x, moved, y, of_moved, right;
  float f[TAPS];
  taps_random(b, f, TAPS);
  volume_random(b, 39, 9, 7, &x);
  volume_random(b, 39, 9, 7, &moved);
  move(&x, &moved);
  convolve(b, c, &x, f, &y);
  convolve(b, c, &moved, f, &of_moved);
  right = of_moved; /* the first column, row and plane are not compared */
  move(&y, &right);
  assert_same(c, &right, &of_moved);
}

/* A NaN reaches the results whose windows contain it, and no others. */
static void nan_stays_inside(bed *b, const conv *c) {
  static volume x, y, right;
  float f[TAPS];
  int n_nan = 0;
  taps_random(b, f, TAPS);
  volume_random(b, 41, 9, 7, &x);
  *element(&x, 30, 4, 3) = NAN;
  define(c, &x, f, &right);
  convolve(b, c, &x, f, &y);
  assert_same(c, &right, &y);
  for (size_t i = 0; i < volume_count(&y); i++) {
    n_nan += isnan(y.x[i]) != 0;
  }
  assert_int_equal(n_nan, TAPS);
  *element(&x, 0, 0, 0) = INFINITY;
  *element(&x, 40, 8, 6) = NAN;
  define(c, &x, f, &right);
  convolve(b, c, &x, f, &y);
  assert_same(c, &right, &y);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct {
  const char *words;
  void (*hold)(bed *b, const conv *c);
  unsigned borders; /* a bit for each */
} properties[] = {
    {"definition", definition_holds, 1 << ZERO | 1 << REPLICATE | 1 << MIRROR | 1 << VALID},
    {"delta filter", delta_copies, 1 << ZERO | 1 << REPLICATE | 1 << MIRROR},
    {"linearity", sums_add_up, 1 << REPLICATE | 1 << MIRROR},
    {"shift", shift_shifts, 1 << VALID},
    {"NaN", nan_stays_inside, 1 << ZERO | 1 << MIRROR | 1 << VALID},
};

/* All properties of one configuration: a kernel is compiled once, which takes most of the time. */
static void check_all(bed *b, const char *config, unsigned borders) {
  for (edge border = 0; border < BORDERS; border++) {
    if (!(borders >> border & 1)) {
      continue;
    }
    conv c = conv_open(b, config, border, "full");
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
      if (properties[i].borders >> border & 1) {
        c.property = properties[i].words;
        properties[i].hold(b, &c);
      }
    }
    conv_close(&c);
  }
}

BED_TEST(volumes_by_default) {
  check_all(b, "ALG=basic", 1 << ZERO | 1 << REPLICATE | 1 << MIRROR | 1 << VALID);
}

BED_TEST(sums_slide_through_registers) {
  check_all(b, WHOLE, 1 << ZERO | 1 << MIRROR | 1 << VALID);
}

BED_TEST(rows_of_the_filter_in_a_loop) {
  check_all(b, LOOPS, 1 << ZERO | 1 << REPLICATE);
}

static void separable_is_full(bed *b, const conv *c, const conv *full, int nx, int ny, int nz) {
  static volume x, y, right;
  float f[WIDE], fy[HIGH], fz[DEEP], product[TAPS];
  taps_random(b, f, WIDE);
  taps_random(b, fy, HIGH);
  taps_random(b, fz, DEEP);
  for (int i = 0; i < TAPS; i++) {
    product[i] = f[i % WIDE] * fy[i / WIDE % HIGH] * fz[i / WIDE / HIGH];
  }
  volume_random(b, nx, ny, nz, &x);
  convolve(b, full, &x, product, &right);
  convolve_by(b, c, &x, f, (const float *const[]){fy, fz}, &y);
  assert_same(c, &right, &y);
}

BED_TEST(separable_filters_are_products) {
  static const char *const separable[] = {
      "ALG=basic", "ALG=separable,FILTER=constant,BLOCK_X=8,BLOCK_Y=4,OUT_X=4,OUT_Y=2,VEC=4"};
  conv full = conv_open(b, "ALG=basic", MIRROR, "full");
  for (int i = 0; i < 2; i++) {
    conv c = conv_open(b, separable[i], MIRROR, "separable");
    c.property = "product of three filters";
    separable_is_full(b, &c, &full, 41, 9, 7);
    separable_is_full(b, &c, &full, 3, 2, 1);
    conv_close(&c);
  }
  conv_close(&full);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
