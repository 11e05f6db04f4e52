/* test_conv.c -- properties of conv1d and conv2d, with small numbers whose sums are exact:
 *   build/tests/test_conv [--device NAME]
 * The elements between rows of x are NaN, and must not reach a result. Those between rows of y must
 * not change. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>

#include "conv_fixture.h"

enum { MOST = 52 * 20, ALIGN = 4, SMUDGE = 12345 };
enum { RX = 2, RY = 1, WIDE = 2 * RX + 1, HIGH = 2 * RY + 1, TAPS = WIDE * HIGH };

#define SLIDE "ALG=register,SUMS=slide,BLOCK_X=32,BLOCK_Y=1,OUT_X=4,OUT_Y=8,VEC=4,UNROLL=2"
#define STAY "ALG=register,SUMS=stay,FILTER=constant,BLOCK_X=32,BLOCK_Y=2,OUT_X=2,OUT_Y=4,VEC=2"

#define WHOLE "ALG=register,SUMS=whole,FILTER=constant,BLOCK_X=32,BLOCK_Y=1,OUT_X=1,OUT_Y=4,VEC=1"
#define STREAM "ALG=stream,FILTER=constant,BLOCK_X=32,BLOCK_Y=1,OUT_X=2,OUT_Y=1,VEC=2,STAGES=3"
#define FFT "ALG=fft,TILE=16,REGISTERS=64" /* 16: compiled soonest */

typedef struct conv { /* a convolution, compiled for images of any size */
  const char *family, *words, *rank;
  const char *property; /* under test, for messages */
  edge border;
  int rx, ry;
  gen_template *t;
  gen_config config;
  rt_loaded *first; /* has the image of the code */
} conv;

typedef struct image {
  int nx, ny, ld;
  float x[MOST];
} image;

/* ---- running --------------------------------------------------------------------------------- */

static bool is_line(const conv *c) {
  return !strcmp(c->family, "conv1d");
}

/* Its results are near the quarters that they stand for. */
static bool is_by_spectra(const conv *c) {
  return !strcmp(c->words, FFT);
}

static gen_instance *instance(bed *b, const conv *c, int nx, int ny) {
  gen_problem p;
  gen_instance *g;
  const char *words = arena_format(&b->a, "nx=%d rx=%d border=%s align=%d", nx, c->rx,
                                   border_names[c->border], ALIGN);
  if (!is_line(c)) {
    words = arena_format(&b->a, "%s ny=%d ry=%d rank=%s accuracy=%s", words, ny, c->ry, c->rank,
                         is_by_spectra(c) ? "fp32" : "strict");
  }
  assert_ok(gen_problem_parse(c->t, words, &p, &b->e), &b->e);
  assert_ok(gen_instance_new(c->t, &p, b->limits, RT_NUMBERS, &g, &b->e), &b->e);
  return g;
}

/* Radii are RX and RY, or 0. */
static conv conv_open(bed *b, const char *family, const char *config, edge border, int rx,
                      const char *rank) {
  conv c = {.family = family, .words = config, .rank = rank, .border = border, .rx = rx};
  c.ry = rx && !is_line(&c) ? RY : 0;
  assert_ok(gen_open(NULL, family, &c.t, &b->e), &b->e);
  assert_ok(gen_config_parse(c.t, config, &c.config, &b->e), &b->e);
  gen_instance *g = instance(b, &c, 40, 20);
  assert_ok(gen_config_check(g, &c.config, &b->e), &b->e);
  assert_ok(bed_load(b, c.t, g, &c.config, &c.first), &b->e);
  gen_instance_free(g);
  return c;
}

static void conv_close(conv *c) {
  rt_loaded_free(c->first);
  gen_close(c->t);
}

static void launch(bed *b, const conv *c, int nx, int ny, const void *const *args) {
  gen_instance *g = instance(b, c, nx, ny);
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

/* ---- images ---------------------------------------------------------------------------------- */

static int at_least_0(int i) {
  return i > 0 ? i : 0;
}

/* Fills rows and the elements between them: rows are aligned, and at least ALIGN elements apart. */
static void image_init(image *a, int nx, int ny, float value) {
  *a = (image){.nx = nx, .ny = ny, .ld = (nx + ALIGN - 1) / ALIGN * ALIGN + ALIGN};
  assert_true(a->ld * ny <= MOST);
  for (int i = 0; i < MOST; i++) {
    a->x[i] = value;
  }
}

/* Elements from the first pixel to the last, with those between rows. */
static size_t image_count(const image *a) {
  return a->nx && a->ny ? (size_t)a->ld * (size_t)(a->ny - 1) + (size_t)a->nx : 0;
}

static float *pixel(image *a, int column, int row) {
  return &a->x[row * a->ld + column];
}

/* An image of the result's size, filled with SMUDGE. */
static void result_init(const conv *c, const image *x, image *y) {
  const bool less = c->border == VALID;
  image_init(y, at_least_0(x->nx - less * 2 * c->rx), at_least_0(x->ny - less * 2 * c->ry), SMUDGE);
}

/* Small whole numbers, and NaN between rows; conv1d has one row. */
static void image_random(bed *b, const conv *c, int nx, int ny, image *a) {
  image_init(a, nx, is_line(c) ? 1 : ny, NAN);
  for (int i = 0; i < a->nx * a->ny; i++) {
    *pixel(a, i % nx, i / nx) = whole_number(b);
  }
}

/* fy: NULL, or the taps along y of a product */
static void convolve_by(bed *b, const conv *c, const image *x, const float *f, const float *fy,
                        image *y) {
  result_init(c, x, y);
  const size_t n_x = image_count(x), n_y = image_count(y);
  const size_t wide = 2 * (size_t)c->rx + 1, high = 2 * (size_t)c->ry + 1;
  const int64_t ldx = x->ld, ldy = y->ld;
  rt_ptr px = bed_put(b, x->x, (n_x ? n_x : 1) * sizeof *x->x);
  rt_ptr py = bed_put(b, y->x, (n_y ? n_y : 1) * sizeof *y->x);
  rt_ptr pf = bed_put(b, f, (fy ? wide : wide * high) * sizeof *f);
  rt_ptr pfy = fy ? bed_put(b, fy, high * sizeof *fy) : 0;
  const void *line[] = {NULL, NULL, &px, &pf, &py};
  const void *rows[] = {NULL, NULL, NULL, NULL, &px, &ldx, &pf, &pfy, &py, &ldy};
  launch(b, c, x->nx, x->ny, is_line(c) ? line : rows);
  bed_get(b, y->x, py, n_y * sizeof *y->x);
  for (int i = 0; is_by_spectra(c) && i < y->nx * y->ny; i++) {
    float *const v = pixel(y, i % y->nx, i / y->nx);
    *v = rintf(4 * *v) / 4;
  }
  bed_free(b, px);
  bed_free(b, py);
  bed_free(b, pf);
  if (fy) {
    bed_free(b, pfy);
  }
}

static void convolve(bed *b, const conv *c, const image *x, const float *f, image *y) {
  convolve_by(b, c, x, f, NULL, y);
}

/* ---- the definition -------------------------------------------------------------------------- */

static float define_one(const conv *c, image *x, const float *f, int column, int row) {
  float sum = 0;
  for (int j = -c->ry; j <= c->ry; j++) {
    for (int i = -c->rx; i <= c->rx; i++, f++) {
      const int from = stands_for(c->border, column + i, x->nx);
      const int of = stands_for(c->border, row + j, x->ny);
      sum += from < 0 || of < 0 ? 0 : *f * *pixel(x, from, of);
    }
  }
  return sum;
}

static void define(const conv *c, image *x, const float *f, image *y) {
  const int skip_x = c->border == VALID ? c->rx : 0, skip_y = c->border == VALID ? c->ry : 0;
  result_init(c, x, y);
  for (int i = 0; i < y->nx * y->ny; i++) {
    *pixel(y, i % y->nx, i / y->nx) = define_one(c, x, f, i % y->nx + skip_x, i / y->nx + skip_y);
  }
}

/* Including the elements between rows. */
static void assert_same(const conv *c, const image *expected, const image *y) {
  assert_int_equal(image_count(expected), image_count(y));
  for (int i = 0; i < (int)image_count(y); i++) {
    const float a = expected->x[i], v = y->x[i];
    if (isnan(a) ? !isnan(v) : a != v) {
      fail_msg("%s --config %s, border %s, %s: y[%d][%d] of %d x %d is %g, not %g", c->family,
               c->words, border_names[c->border], c->property, i / y->ld, i % y->ld, y->ny, y->nx,
               (double)v, (double)a);
    }
  }
}

/* ---- properties ------------------------------------------------------------------------------ */

/* The example of Programming Massively Parallel Processors, ch. 7; in 2-D the taps are the filter's
 * middle row. */
static void golden_holds(bed *b, const conv *c) {
  static const float x[] = {8, 2, 5, 4, 1, 7, 3}, y[] = {51, 53, 52, 47, 46, 51, 37};
  static image from, to, right;
  float f[TAPS] = {0};
  memcpy(&f[c->ry * WIDE], (const float[]){1, 3, 5, 3, 1}, WIDE * sizeof *f);
  image_init(&from, 7, 1, NAN);
  memcpy(from.x, x, sizeof x);
  convolve(b, c, &from, f, &to);
  result_init(c, &from, &right);
  memcpy(right.x, y, sizeof y);
  assert_same(c, &right, &to);
}

/* Includes images smaller than the filter, and an empty one. */
static void definition_holds(bed *b, const conv *c) {
  static const struct {
    int nx, ny;
  } sizes[] = {{45, 19}, {40, 8}, {1, 1}, {2, 2}, {3, 9}, {4, 3}, {5, 3}, {6, 2}, {7, 1}, {0, 3}};
  static image x, y, right;
  float f[TAPS];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    taps_random(b, f, TAPS);
    image_random(b, c, sizes[i].nx, sizes[i].ny, &x);
    define(c, &x, f, &right);
    convolve(b, c, &x, f, &y);
    assert_same(c, &right, &y);
  }
}

/* Copies every number exactly, but for -0, which becomes 0 when zeros are added. */
static void delta_copies(bed *b, const conv *c) {
  static image x, y, right;
  float f[TAPS] = {0};
  f[c->ry * WIDE + RX] = 1;
  image_random(b, c, 37, 11, &x);
  for (int i = 0; i < x.nx * x.ny; i++) {
    *pixel(&x, i % x.nx, i / x.nx) = (float)(1 + random_below(&b->random, 1 << 24)) / 3e7f;
  }
  x.x[0] = -FLT_MAX;
  x.x[9] = FLT_TRUE_MIN;
  convolve(b, c, &x, f, &y);
  result_init(c, &x, &right);
  for (int row = 0; row < x.ny; row++) {
    memcpy(pixel(&right, 0, row), pixel(&x, 0, row), (size_t)x.nx * sizeof *x.x);
  }
  assert_same(c, &right, &y);
}

static void constant_scales(bed *b, const conv *c) {
  static image x, y, right;
  float f[TAPS], sum = 0;
  taps_random(b, f, TAPS);
  image_random(b, c, 38, 10, &x);
  for (int i = 0; i < x.nx * x.ny; i++) {
    *pixel(&x, i % x.nx, i / x.nx) = 7;
  }
  for (int i = 0; i < WIDE * (2 * c->ry + 1); i++) {
    sum += f[i];
  }
  convolve(b, c, &x, f, &y);
  right = y; /* border results are not compared */
  const int skip_x = c->border == ZERO ? c->rx : 0, skip_y = c->border == ZERO ? c->ry : 0;
  for (int row = skip_y; row < y.ny - skip_y; row++) {
    for (int column = skip_x; column < y.nx - skip_x; column++) {
      *pixel(&right, column, row) = 7 * sum;
    }
  }
  assert_same(c, &right, &y);
}

static void sums_add_up(bed *b, const conv *c) {
  static image u, v, w, of_u, of_v, of_w;
  float f[TAPS];
  taps_random(b, f, TAPS);
  image_random(b, c, 35, 9, &u);
  image_random(b, c, 35, 9, &v);
  w = u;
  for (int i = 0; i < MOST; i++) {
    w.x[i] = 3 * u.x[i] - 2 * v.x[i];
  }
  convolve(b, c, &u, f, &of_u);
  convolve(b, c, &v, f, &of_v);
  convolve(b, c, &w, f, &of_w);
  for (int i = 0; i < of_u.nx * of_u.ny; i++) {
    float *to = pixel(&of_u, i % of_u.nx, i / of_u.nx);
    *to = 3 * *to - 2 * *pixel(&of_v, i % of_u.nx, i / of_u.nx);
  }
  assert_same(c, &of_u, &of_w);
}

/* An image moved right and down by one pixel gives the result moved likewise. */
static void shift_shifts(bed *b, const conv *c) {
  static image x, moved, y, of_moved, right;
  float f[TAPS];
  taps_random(b, f, TAPS);
  image_random(b, c, 43, 13, &x);
  image_random(b, c, 43, 13, &moved);
  const int down = !is_line(c);
  for (int row = down; row < x.ny; row++) {
    memcpy(pixel(&moved, 1, row), pixel(&x, 0, row - down), 42 * sizeof *x.x);
  }
  convolve(b, c, &x, f, &y);
  convolve(b, c, &moved, f, &of_moved);
  right = of_moved; /* the first row and column are not compared */
  for (int row = down; row < y.ny; row++) {
    memcpy(pixel(&right, 1, row), pixel(&y, 0, row - down), (size_t)(y.nx - 1) * sizeof *x.x);
  }
  assert_same(c, &right, &of_moved);
}

/* A NaN reaches the results whose windows contain it, and no others. */
static void nan_stays_inside(bed *b, const conv *c) {
  static image x, y, right;
  float f[TAPS];
  int n_nan = 0;
  taps_random(b, f, TAPS);
  image_random(b, c, 41, 12, &x);
  *pixel(&x, 30, x.ny / 2) = NAN;
  define(c, &x, f, &right);
  convolve(b, c, &x, f, &y);
  assert_same(c, &right, &y);
  for (size_t i = 0; i < image_count(&y); i++) {
    n_nan += isnan(y.x[i]) != 0;
  }
  assert_int_equal(n_nan, WIDE * (2 * c->ry + 1));
  *pixel(&x, 0, 0) = INFINITY;
  *pixel(&x, 40, x.ny - 1) = NAN;
  define(c, &x, f, &right);
  convolve(b, c, &x, f, &y);
  assert_same(c, &right, &y);
}

/* A filter of one tap. */
static void one_tap_scales(bed *b, const conv *c) {
  static image x, y, right;
  image_random(b, c, 39, 11, &x);
  convolve(b, c, &x, (const float[]){-3}, &y);
  result_init(c, &x, &right);
  for (int i = 0; i < x.nx * x.ny; i++) {
    *pixel(&right, i % x.nx, i / x.nx) = -3 * *pixel(&x, i % x.nx, i / x.nx);
  }
  assert_same(c, &right, &y);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct {
  const char *words;
  void (*hold)(bed *b, const conv *c);
  unsigned borders; /* a bit for each */
  bool strict;      /* elements outside of a window may not matter, however large */
} properties[] = {
    {"golden example", golden_holds, 1 << ZERO, false},
    {"definition", definition_holds, 1 << ZERO | 1 << REPLICATE | 1 << MIRROR | 1 << VALID, false},
    {"delta filter", delta_copies, 1 << ZERO | 1 << REPLICATE | 1 << MIRROR, true},
    {"constant image", constant_scales, 1 << ZERO | 1 << REPLICATE | 1 << MIRROR | 1 << VALID,
     false},
    {"linearity", sums_add_up, 1 << ZERO, false},
    {"shift", shift_shifts, 1 << VALID, false},
    {"NaN", nan_stays_inside, 1 << ZERO | 1 << MIRROR | 1 << VALID, true},
};

/* All properties of one configuration: a kernel is compiled once, which takes most of the time. */
static void check_all(bed *b, const char *family, const char *config) {
  for (edge border = 0; border < BORDERS; border++) {
    conv c = conv_open(b, family, config, border, RX, "full");
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
      const bool applies = !properties[i].strict || !is_by_spectra(&c);
      if (applies && properties[i].borders >> border & 1) {
        c.property = properties[i].words;
        properties[i].hold(b, &c);
      }
    }
    conv_close(&c);
  }
  conv c = conv_open(b, family, config, VALID, 0, "full");
  c.property = "one tap";
  one_tap_scales(b, &c);
  conv_close(&c);
}

BED_TEST(lines_by_default) {
  check_all(b, "conv1d", "ALG=basic");
}

BED_TEST(lines_in_registers) {
  check_all(b, "conv1d", "ALG=register,BLOCK=32,OUT_X=4,VEC=4,CHUNK=16");
}

BED_TEST(lines_in_registers_from_a_tile) {
  check_all(b, "conv1d", "ALG=tile_register,BLOCK=32,OUT_X=4,VEC=4,CHUNK=16");
}

BED_TEST(images_by_default) {
  check_all(b, "conv2d", "ALG=basic");
}

BED_TEST(sums_slide_through_registers) {
  check_all(b, "conv2d", SLIDE);
}

BED_TEST(sums_stay_in_registers) {
  check_all(b, "conv2d", STAY);
}

BED_TEST(sums_stay_in_registers_without_a_loop) {
  check_all(b, "conv2d", WHOLE);
}

BED_TEST(rows_stream_through_shared_memory) {
  check_all(b, "conv2d", STREAM);
}

BED_TEST(images_by_spectra) {
  check_all(b, "conv2d", FFT);
}

static void separable_is_full(bed *b, const conv *c, const conv *full, int nx, int ny) {
  static image x, y, right;
  float f[WIDE], fy[HIGH], product[TAPS];
  taps_random(b, f, WIDE);
  taps_random(b, fy, HIGH);
  for (int i = 0; i < TAPS; i++) {
    product[i] = f[i % WIDE] * fy[i / WIDE];
  }
  image_random(b, c, nx, ny, &x);
  convolve(b, full, &x, product, &right);
  convolve_by(b, c, &x, f, fy, &y);
  assert_same(c, &right, &y);
}

BED_TEST(separable_filters_are_products) {
  static const char *const separable[] = {
      "ALG=basic", FFT, "ALG=separable,FILTER=constant,BLOCK_X=32,BLOCK_Y=2,OUT_X=4,OUT_Y=4,VEC=4"};
  conv full = conv_open(b, "conv2d", SLIDE, MIRROR, RX, "full");
  for (int i = 0; i < 3; i++) {
    conv c = conv_open(b, "conv2d", separable[i], MIRROR, RX, "separable");
    c.property = "product of two filters";
    separable_is_full(b, &c, &full, 47, 14);
    separable_is_full(b, &c, &full, 3, 2);
    conv_close(&c);
  }
  conv_close(&full);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
