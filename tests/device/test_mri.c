/* test_mri.c -- properties of fhd and mri_q, and the quality of images that fhd reconstructs:
 *   build/tests/test_mri [--device NAME] */
#define _GNU_SOURCE
#include <complex.h>
#include <math.h>

#include "device_fixture.h"

enum { SIDE = 12, PIXELS = SIDE * SIDE, MOST = 160 };
static const double pi = 3.14159265358979323846;

/* ---- running --------------------------------------------------------------------------------- */

typedef struct scan { /* samples, and what is at voxels */
  int m, n;
  float k[3][MOST], mu[2][MOST], x[3][MOST], f[2][MOST];
  float origin[3], spacing[3];
} scan;

static void run(bed *b, const char *family, const char *fields, const char *config, scan *s) {
  const char *words = arena_format(&b->a, "m=%d %s", s->m, fields);
  const bool q = !strcmp(family, "mri_q");
  bed_kernel l = bed_kernel_open(b, family, words, config);
  rt_ptr at[10], none = 0;
  const void *args[22] = {NULL};
  float *const arrays[10] = {s->k[0], s->k[1], s->k[2], s->mu[0], s->mu[1],
                             s->x[0], s->x[1], s->x[2], s->f[0],  s->f[1]};
  size_t n = 4;
  for (int i = 0; i < 10; i++) {
    at[i] = bed_put(b, arrays[i], sizeof s->x[0]);
    if (i == 5 && !q) { /* D, which is not given */
      args[n] = args[n + 1] = &none;
      n += 2;
    }
    n += i == 8 ? 6 : 0;
    args[n++] = &at[i];
  }
  for (size_t i = 0; i < 3; i++) {
    args[n - 8 + i] = &s->origin[i];
    args[n - 5 + i] = &s->spacing[i];
  }
  assert_ok(rt_loaded_launch(l.l, NULL, args, &b->e), &b->e);
  assert_ok(b->d->ops->stream_sync(b->d, NULL, &b->e), &b->e);
  bed_get(b, s->f[0], at[8], sizeof s->f[0]);
  bed_get(b, s->f[1], at[9], sizeof s->f[1]);
  for (int i = 0; i < 10; i++) {
    bed_free(b, at[i]);
  }
  bed_kernel_close(&l);
}

static float evenly(bed *b, float most) {
  return most * ((float)random_below(&b->random, 2001) / 1000 - 1);
}

static void points_random(bed *b, scan *s, int m, int n) {
  *s = (scan){.m = m, .n = n};
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < MOST; i++) {
      s->k[d][i] = (float)random_below(&b->random, 21) - 10;
      s->x[d][i] = evenly(b, 1);
      s->mu[d % 2][i] = evenly(b, 1);
    }
  }
}

static void run_points(bed *b, const char *family, scan *s) {
  run(b, family, arena_format(&b->a, "nx=%d", s->n), "", s);
}

static void assert_near(float value, double right) {
  if (!(fabs(value - right) < 1e-4)) {
    fail_msg("%g is not near %g", (double)value, right);
  }
}

/* ---- properties ------------------------------------------------------------------------------ */

/* Where all phases are 0: at a voxel in the origin, and of samples in the middle of k-space. */
BED_TEST(without_phases_it_is_a_sum) {
  static scan s;
  double sum[2] = {0};
  points_random(b, &s, 20, 3);
  for (int d = 0; d < 3; d++) {
    s.x[d][1] = 0;
  }
  for (int i = 0; i < s.m; i++) {
    sum[0] += s.mu[0][i];
    sum[1] += s.mu[1][i];
  }
  s.f[0][1] = 5;
  run_points(b, "fhd", &s);
  assert_near(s.f[0][1], 5 + sum[0]);
  assert_near(s.f[1][1], sum[1]);
  memset(s.k, 0, sizeof s.k);
  memset(s.f, 0, sizeof s.f);
  run_points(b, "fhd", &s);
  for (int i = 0; i < s.n; i++) {
    assert_near(s.f[0][i], sum[0]);
    assert_near(s.f[1][i], sum[1]);
  }
}

BED_TEST(twice_the_data_are_twice_the_sums) {
  static scan s, twice;
  points_random(b, &s, 20, 5);
  twice = s;
  for (int i = 0; i < s.m; i++) {
    twice.mu[0][i] *= 2;
    twice.mu[1][i] *= 2;
  }
  run_points(b, "fhd", &s);
  run_points(b, "fhd", &twice);
  for (int i = 0; i < s.n; i++) {
    assert_true(twice.f[0][i] == 2 * s.f[0][i] && twice.f[1][i] == 2 * s.f[1][i]);
  }
}

/* k has whole numbers of cycles. */
BED_TEST(sums_repeat_from_unit_to_unit) {
  static scan s, shifted;
  points_random(b, &s, 20, 5);
  shifted = s;
  for (int i = 0; i < s.n; i++) {
    shifted.x[i % 3][i] += 1;
  }
  run_points(b, "fhd", &s);
  run_points(b, "fhd", &shifted);
  for (int i = 0; i < s.n; i++) {
    assert_near(shifted.f[0][i], s.f[0][i]);
    assert_near(shifted.f[1][i], s.f[1][i]);
  }
}

BED_TEST(q_is_hermitian) {
  static scan s;
  points_random(b, &s, 20, 4);
  for (int d = 0; d < 3; d++) {
    s.x[d][1] = -s.x[d][0];
    s.x[d][2] = 0;
  }
  double sum = 0;
  for (int i = 0; i < s.m; i++) {
    sum += s.mu[0][i] * s.mu[0][i] + s.mu[1][i] * s.mu[1][i];
  }
  s.f[0][2] = 7; /* is overwritten */
  run_points(b, "mri_q", &s);
  assert_near(s.f[0][1], s.f[0][0]);
  assert_near(s.f[1][1], -s.f[1][0]);
  assert_near(s.f[0][2], sum);
}

/* ---- images ---------------------------------------------------------------------------------- */

static double truth(int pixel) {
  const double x = pixel % SIDE - 5.5, y = pixel / SIDE - 5.5;
  return x * x / 25 + y * y / 16 > 1 ? 0 : x * x + y * y < 4 ? 1 : 0.4;
}

/* Decibels that the peak's square is above the mean square of the error. */
static double quality(const double *image) {
  double sum = 0;
  for (int i = 0; i < PIXELS; i++) {
    sum += (image[i] - truth(i)) * (image[i] - truth(i));
  }
  return 10 * log10(PIXELS / sum);
}

/* All samples that an image of SIDE * SIDE has, with noise. */
static void image_scan(bed *b, scan *s) {
  *s = (scan){.m = PIXELS, .n = PIXELS, .origin = {-0.5f, -0.5f}};
  s->spacing[0] = s->spacing[1] = 1.0f / SIDE;
  for (int i = 0; i < PIXELS; i++) {
    double complex d = 0;
    s->k[0][i] = (float)(i % SIDE - SIDE / 2);
    s->k[1][i] = (float)(i / SIDE - SIDE / 2);
    for (int p = 0; p < PIXELS; p++) {
      const double x = (p % SIDE) * (double)s->spacing[0] - 0.5;
      const double y = (p / SIDE) * (double)s->spacing[1] - 0.5;
      d += truth(p) * cexp(-2 * pi * I * (s->k[0][i] * x + s->k[1][i] * y));
    }
    s->mu[0][i] = (float)creal(d) + evenly(b, 0.87f);
    s->mu[1][i] = (float)cimag(d) + evenly(b, 0.87f);
  }
}

static double exact_quality(const scan *s) {
  double image[PIXELS];
  for (int p = 0; p < PIXELS; p++) {
    const double x = (p % SIDE) * (double)s->spacing[0] - 0.5;
    const double y = (p / SIDE) * (double)s->spacing[1] - 0.5;
    double complex sum = 0;
    for (int i = 0; i < s->m; i++) {
      sum += (s->mu[0][i] + I * s->mu[1][i]) * cexp(2 * pi * I * (s->k[0][i] * x + s->k[1][i] * y));
    }
    image[p] = creal(sum) / PIXELS;
  }
  return quality(image);
}

/* PMPP 17.3.3: of an image of 27.6 dB in double precision the hardware's sines cost 0.1 dB. */
BED_TEST(images_are_as_good_as_those_of_doubles) {
  static const char *const configs[][2] = {
      {"full", "TRIG=software,VOXELS=1"},
      {"full", "ALG=factors,TRIG=polynomial,BLOCK=32,VOXELS=4,CHUNK=128"},
      {"fast", "TRIG=hardware,MU=cartesian,SAMPLES=constant,LAYOUT=aos,CHUNK=128,UNROLL=1"},
      {"fast", "TRIG=mixed,VOXELS=2,BLOCK=64"},
      {"fast", "TRIG=rotate,VOXELS=4,BLOCK=32,UNROLL=1"}};
  static scan s, result;
  image_scan(b, &s);
  const double exact = exact_quality(&s);
  assert_true(exact > 26.5 && exact < 28.5);
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    double image[PIXELS];
    result = s;
    run(b, "fhd",
        arena_format(&b->a, "places=grid nx=%d ny=%d nz=1 accuracy=%s", SIDE, SIDE, configs[i][0]),
        configs[i][1], &result);
    for (int p = 0; p < PIXELS; p++) {
      image[p] = result.f[0][p] / (double)PIXELS;
    }
    if (!(quality(image) > exact - 0.1)) {
      fail_msg("%s: %.2f dB, not %.2f", configs[i][1], quality(image), exact);
    }
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
