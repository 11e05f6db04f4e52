/* test_generate.c -- inputs with a structure (generate.cu) on a device:
 *   build/tests/test_generate [--device NAME]
 * Images are compared with plain C, places and paths by their properties, and all with the digests of
 * what they were first: samples of other times are of the same inputs. */
#define _GNU_SOURCE
#include <math.h>

#include "checker.h"
#include "device_fixture.h"
#include "hash.h"

enum {
  WIDTH = 7,
  HEIGHT = 5,
  DEPTH = 2,
  CHANNELS = 3,
  PITCH = 24,
  N_IMAGE = PITCH * HEIGHT * DEPTH
};

static void generate(bed *b, dtype type, const gen_generator *g, uint64_t seed, uint64_t n,
                     void *out) {
  const gen_datum d = {.type = type, .count = n, .fill = GEN_FILL_PATTERN, .generator = *g};
  const rt_ptr p = bed_alloc(b, n * dtype_nbytes(type));
  OK(b, rt_checker_fill(bed_checker(b), &d, seed, p, &b->e));
  bed_get(b, out, p, n * dtype_nbytes(type));
  bed_free(b, p);
}

/* ---- images -------------------------------------------------------------------------------- */

static gen_generator image(gen_pattern pattern, double pitch, double least, double most) {
  return (gen_generator){{WIDTH, HEIGHT, DEPTH, CHANNELS, pitch, least, most, 2}, pattern, -1, ""};
}

/* A pixel's share of the way from least to most, of the patterns without random numbers. */
static void share(gen_pattern pattern, int x, int y, int z, int c, int *of, int *in) {
  const int far = WIDTH + HEIGHT + DEPTH - 3, near = x + y + z;
  *in = pattern == GEN_IMAGE_RAMP ? far : 1;
  *of = pattern == GEN_IMAGE_RAMP      ? (c % 2 ? far - near : near)
        : pattern == GEN_IMAGE_CHECKER ? (x / 2 + y / 2 + z / 2 + c) % 2
                                       : x == WIDTH / 2 && y == HEIGHT / 2 && z == DEPTH / 2;
}

BED_TEST(images_are_as_described) {
  static uint8_t whole[N_IMAGE];
  static float real[N_IMAGE];
  for (int p = GEN_IMAGE_RAMP; p <= GEN_IMAGE_BRIGHT_PIXEL; p++) {
    const gen_generator bytes = image((gen_pattern)p, PITCH, 10, 250);
    const gen_generator floats = image((gen_pattern)p, PITCH, -1, 1);
    generate(b, DTYPE_u8, &bytes, 1, N_IMAGE, whole);
    generate(b, DTYPE_f32, &floats, 1, N_IMAGE, real);
    for (int i = 0; i < N_IMAGE; i++) {
      const int x = i % PITCH / CHANNELS, row = i / PITCH;
      int of, in;
      share((gen_pattern)p, x, row % HEIGHT, row / HEIGHT, i % PITCH % CHANNELS, &of, &in);
      const bool pad = x >= WIDTH;
      assert_int_equal(whole[i], pad ? 255 : 10 + 240 * of / in);
      assert_true(pad ? isnan(real[i]) : fabsf(real[i] - (-1 + 2 * (float)of / (float)in)) < 1e-6f);
    }
  }
}

BED_TEST(noise_is_the_same_at_any_pitch) {
  static uint8_t one[N_IMAGE], two[N_IMAGE];
  static float real[N_IMAGE];
  const gen_generator wide = image(GEN_IMAGE_NOISE, PITCH, 0, 255),
                      dense = image(GEN_IMAGE_NOISE, WIDTH * CHANNELS, 0, 255),
                      floats = image(GEN_IMAGE_NOISE, WIDTH * CHANNELS, 0, 1);
  const int n = WIDTH * CHANNELS * HEIGHT * DEPTH;
  double sum = 0;
  generate(b, DTYPE_u8, &wide, 1, N_IMAGE, one);
  generate(b, DTYPE_u8, &dense, 1, (uint64_t)n, two);
  generate(b, DTYPE_f32, &floats, 1, (uint64_t)n, real);
  for (int i = 0; i < n; i++) {
    assert_int_equal(two[i], one[i / (WIDTH * CHANNELS) * PITCH + i % (WIDTH * CHANNELS)]);
    assert_true(real[i] >= 0 && real[i] <= 1);
    sum += (double)real[i];
  }
  assert_true(fabs(sum / n - 0.5) < 0.1);
  generate(b, DTYPE_u8, &dense, 2, (uint64_t)n, one);
  assert_memory_not_equal(one, two, (size_t)n);
}

/* ---- places -------------------------------------------------------------------------------- */

enum { POINTS = 900 };
static const double size[3] = {10, 20, 40};

static gen_generator places(gen_pattern pattern, const char *parts, double dims, double four,
                            double five, double six) {
  gen_generator g = {{size[0], size[1], size[2], dims, four, five, six}, pattern, 0, ""};
  strcpy(g.parts, parts);
  return g;
}

static void check_inside(const float *xyz, int stride) {
  for (int i = 0; i < POINTS; i++) {
    for (int k = 0; k < 3; k++) {
      assert_true(xyz[stride * i + k] >= 0 && (double)xyz[stride * i + k] < size[k]);
    }
  }
}

BED_TEST(points_are_in_the_box) {
  static float xyz[3 * POINTS], y[POINTS];
  for (int p = GEN_POINTS_UNIFORM; p <= GEN_POINTS_EQUAL; p++) {
    const gen_generator all = places((gen_pattern)p, "xyz", 3, 4, 0.01, 0),
                        one = places((gen_pattern)p, "y", 3, 4, 0.01, 0);
    generate(b, DTYPE_f32, &all, 1, 3 * POINTS, xyz);
    generate(b, DTYPE_f32, &one, 1, POINTS, y);
    check_inside(xyz, 3);
    for (int i = 0; i < POINTS; i++) {
      assert_true(y[i] == xyz[3 * i + 1]); /* buffers of parts belong together */
      assert_true(p != GEN_POINTS_EQUAL || (xyz[3 * i] == xyz[0] && y[i] == y[0]));
    }
  }
}

/* Of four clusters of a deviation of 0.01: more than half of the points are near another of the
 * first twenty, of points anywhere hardly any. */
BED_TEST(clusters_are_dense) {
  static float x[POINTS];
  for (int p = GEN_POINTS_UNIFORM; p <= GEN_POINTS_CLUSTER; p++) {
    const gen_generator g = places((gen_pattern)p, "x", 3, 4, 0.01, 0);
    int near = 0;
    generate(b, DTYPE_f32, &g, 1, POINTS, x);
    for (int i = 0; i < POINTS; i++) {
      double least = 1;
      for (int k = 1; k <= 4; k++) { /* by tenths of the size */
        least = fmin(least, fabs(fmod((double)x[i] - (double)x[k] + 15, 10) - 5));
      }
      near += least < 0.3;
    }
    assert_true(p == GEN_POINTS_CLUSTER ? near > POINTS / 3 : near < POINTS / 3);
  }
}

static double distance(const float *p, const float *q) {
  double sum = 0;
  for (int k = 0; k < 3; k++) { /* the box is periodic */
    const double d = fabs((double)p[k] - (double)q[k]), least = fmin(d, size[k] - d);
    sum += least * least;
  }
  return sqrt(sum);
}

BED_TEST(water_has_molecules) {
  static float atoms[4 * POINTS];
  const gen_generator g = places(GEN_ATOMS_WATER, "xyzq", 3, 5, 8, 10);
  double charge = 0;
  generate(b, DTYPE_f32, &g, 1, 4 * POINTS, atoms);
  check_inside(atoms, 4);
  for (int i = 0; i < 4 * POINTS; i += 12) {
    const float *oxygen = &atoms[i], *one = oxygen + 4, *two = oxygen + 8;
    assert_true(fabs(distance(oxygen, one) - 0.9572) < 1e-3);
    assert_true(fabs(distance(oxygen, two) - 0.9572) < 1e-3);
    assert_true(fabs(distance(one, two) - 1.5139) < 1e-3);
    assert_true(oxygen[3] == -0.834f && one[3] == 0.417f && two[3] == 0.417f);
    for (int k = 0; k < i; k += 12) {
      assert_true(distance(oxygen, &atoms[k]) > 0.9);
    }
    charge += (double)oxygen[3] + (double)one[3] + (double)two[3];
  }
  assert_true(fabs(charge) < 1e-6);
}

/* ---- paths --------------------------------------------------------------------------------- */

enum { LINES = 30, PER = POINTS / LINES };

static void shares(const float *xyz, double out[3]) {
  for (int k = 0; k < 3; k++) {
    out[k] = (double)xyz[k] / size[k];
    assert_true(fabs(out[k]) <= 0.5);
  }
}

static double length(const double v[3]) {
  return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

BED_TEST(radial_lines_are_straight) {
  static float xyz[3 * POINTS];
  for (int dims = 2; dims <= 3; dims++) {
    const gen_generator g = places(GEN_KSPACE_RADIAL, "xyz", dims, LINES, 0, 0);
    generate(b, DTYPE_f32, &g, 1, 3 * POINTS, xyz);
    for (int i = 0; i < POINTS; i++) {
      double v[3], first[3];
      shares(&xyz[3 * i], v);
      shares(&xyz[3 * (i / PER * PER)], first);
      const double along = (i % PER + 0.5) / PER - 0.5;
      assert_true(fabs(length(v) - fabs(along)) < 1e-6);
      assert_true(dims == 3 || v[2] == 0);
      for (int k = 0; k < 3; k++) { /* it is on the line of the first */
        assert_true(fabs(v[k] - first[k] * along / (0.5 / PER - 0.5)) < 1e-6);
      }
    }
  }
}

BED_TEST(spirals_wind_outwards) {
  static float xyz[3 * POINTS];
  for (int dims = 2; dims <= 3; dims++) {
    const gen_generator g = places(GEN_KSPACE_SPIRAL, "xyz", dims, LINES, 4, 0);
    generate(b, DTYPE_f32, &g, 1, 3 * POINTS, xyz);
    for (int i = 0; i < POINTS; i++) {
      double v[3];
      shares(&xyz[3 * i], v);
      const double along = (i % PER + 0.5) / PER, line = i / PER;
      const double first = dims == 2 ? line / LINES : line * 0.6180339887498949;
      assert_true(fabs(v[0] - 0.5 * along * cos(2 * M_PI * (4 * along + first))) < 1e-6);
      assert_true(fabs(v[1] - 0.5 * along * sin(2 * M_PI * (4 * along + first))) < 1e-6);
      assert_true(fabs(v[2] - (dims == 2 ? 0 : (line + 0.5) / LINES - 0.5)) < 1e-6);
    }
  }
}

BED_TEST(random_samples_fill_the_box) {
  static float xyz[3 * POINTS];
  const gen_generator g = places(GEN_KSPACE_RANDOM, "xyz", 3, LINES, 4, 0);
  double sum[3] = {0, 0, 0};
  generate(b, DTYPE_f32, &g, 1, 3 * POINTS, xyz);
  for (int i = 0; i < POINTS; i++) {
    double v[3];
    shares(&xyz[3 * i], v);
    for (int k = 0; k < 3; k++) {
      sum[k] += v[k] / POINTS;
    }
  }
  assert_true(length(sum) < 0.05);
}

/* ---- the phantom --------------------------------------------------------------------------- */

enum { SIDE = 24, VOXELS = SIDE * SIDE * SIDE };

BED_TEST(phantoms_are_heads) {
  static uint8_t pixels[SIDE * SIDE];
  const gen_generator g = {{SIDE, SIDE, 1, 1, SIDE, 0, 200, 1}, GEN_IMAGE_PHANTOM, -1, ""};
  generate(b, DTYPE_u8, &g, 1, SIDE * SIDE, pixels);
  for (int i = 0; i < SIDE * SIDE; i++) {
    const double x = (2 * (i % SIDE) + 1.0) / SIDE - 1, y = (2 * (i / SIDE) + 1.0) / SIDE - 1;
    const double skull = pow(x / 0.69, 2) + pow(y / 0.92, 2);
    const double inside = pow(x / 0.6624, 2) + pow((y + 0.0184) / 0.874, 2);
    assert_true(skull <= 1 || pixels[i] == 0);
    assert_true(skull > 1 || inside <= 1 || pixels[i] == 200);
    assert_true(inside > 1 || pixels[i] <= 80);
  }
}

/* The sum of the voxels' waves; it is not exact, since voxels have edges. */
static void transform(const float *voxels, const float *k, double out[2]) {
  out[0] = out[1] = 0;
  for (int i = 0; i < VOXELS; i++) {
    const int at[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
    double turns = 0;
    for (int j = 0; j < 3; j++) {
      turns += (double)k[j] * ((at[j] + 0.5) / SIDE - 0.5);
    }
    out[0] += (double)voxels[i] * cos(2 * M_PI * turns) / VOXELS;
    out[1] -= (double)voxels[i] * sin(2 * M_PI * turns) / VOXELS;
  }
}

BED_TEST(samples_are_of_the_phantom) {
  enum { SAMPLES = 60 };
  static float voxels[VOXELS], samples[5 * SAMPLES];
  const gen_generator image = {{SIDE, SIDE, SIDE, 1, SIDE, 0, 1, 1}, GEN_IMAGE_PHANTOM, -1, ""},
                      path = {{8, 8, 8, 3, 6}, GEN_KSPACE_RADIAL, 0, "xyzri"};
  generate(b, DTYPE_f32, &image, 1, VOXELS, voxels);
  generate(b, DTYPE_f32, &path, 1, 5 * SAMPLES, samples);
  for (int i = 0; i < SAMPLES; i++) {
    const float *s = &samples[5 * i];
    double sum[2];
    transform(voxels, s, sum);
    assert_true(fabs((double)s[3] - sum[0]) < 0.004 && fabs((double)s[4] - sum[1]) < 0.004);
    assert_true(fabs(sum[0]) < 0.1);
  }
}

/* ---- all of them --------------------------------------------------------------------------- */

BED_TEST(bytes_stay_the_same) {
  static const char *const digests[GEN_PATTERNS + 1] = {
      [GEN_IMAGE_NOISE] = "4726b9b47dae853b659e5d6a19f9aad0",
      [GEN_IMAGE_RAMP] = "64a7f0596bffd4b6b784c8c5df91d24b",
      [GEN_IMAGE_CHECKER] = "61b20673551cabfba9858b58743cb5d5",
      [GEN_IMAGE_BRIGHT_PIXEL] = "ce9698025f813de0031e10ef847d7858",
      [GEN_IMAGE_PHANTOM] = "8f28569782d2ff9a883be10e91cae23d",
      [GEN_POINTS_UNIFORM] = "d0ce4711396b82b325565be2f6ad570e",
      [GEN_POINTS_CLUSTER] = "de9ffd7f893f5db86926ec26625b3448",
      [GEN_POINTS_EQUAL] = "ccfb99008d459c178faaf356ff6d45eb",
      [GEN_ATOMS_WATER] = "21627dc567269975e45baac9ff46bde5",
      [GEN_KSPACE_RADIAL] = "005a06dd7b5e7cf5b185c1bf58314806",
      [GEN_KSPACE_SPIRAL] = "6e3a0bbc81c82b32e00fe9a248dabcb6",
      [GEN_KSPACE_RANDOM] = "f7f8d0f5e0418908708ce15df50c1fad",
      [GEN_PATTERNS] = "3c6ca126b441f97f56920a34b4241f05", /* the phantom's transform */
  };
  static double bytes[3 * POINTS];
  for (int p = 0; p <= GEN_PATTERNS; p++) {
    const bool is_image = p < GEN_POINTS_UNIFORM;
    const gen_generator g = p == GEN_PATTERNS ? places(GEN_KSPACE_RADIAL, "ri", 3, 5, 8, 10)
                            : is_image        ? image((gen_pattern)p, PITCH, 0, 1)
                                              : places((gen_pattern)p, "xyz", 3, 5, 8, 10);
    const uint64_t n = p == GEN_PATTERNS ? 200 : is_image ? N_IMAGE : 3 * POINTS;
    char digest[HASH_TEXT];
    generate(b, DTYPE_f64, &g, 1, n, bytes);
    hash_bytes(bytes, n * sizeof *bytes, digest);
    assert_string_equal(digest, digests[p]);
  }
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
