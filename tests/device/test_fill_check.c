/* test_fill_check.c -- the runtime's own kernels (fill_check.cu) on a device, against plain C:
 *   build/tests/test_fill_check [--device NAME]
 * They check every other kernel. For every element type, right results pass and wrong ones fail. */
#define _GNU_SOURCE
#include <math.h>

#include "device_fixture.h"
#include "fake_device.h"
#include "checker.h"

/* ---- filling ------------------------------------------------------------------------------- */

enum { N = 3000 };

static void fill(bed *b, const gen_datum *m, uint64_t seed, uint64_t *out) {
  size_t size = dtype_nbytes(m->type);
  char *bytes = malloc(m->count * size);
  rt_ptr p = bed_alloc(b, m->count * size);
  OK(b, rt_checker_fill(bed_checker(b), m, seed, p, &b->e));
  bed_get(b, bytes, p, m->count * size);
  for (uint64_t i = 0; i < m->count; i++) {
    out[i] = 0;
    memcpy(&out[i], bytes + i * size, size);
  }
  bed_free(b, p);
  free(bytes);
}

static double mean_of(dtype t, const uint64_t *bits, double *deviation) {
  double sum = 0, squares = 0;
  for (int i = 0; i < N; i++) {
    sum += dtype_decode(t, bits[i]);
  }
  for (int i = 0; i < N; i++) {
    squares += pow(dtype_decode(t, bits[i]) - sum / N, 2);
  }
  *deviation = sqrt(squares / N);
  return sum / N;
}

BED_TEST(test_uniform) {
  static uint64_t one[N], two[N];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    const bool sign = dtype_is_signed((dtype)t);
    gen_datum m = {
        .type = (dtype)t, .count = N, .fill = GEN_FILL_UNIFORM, .a = sign ? -50 : 10, .b = 90};
    double deviation, middle = (m.a + m.b) / 2, least = 1e9, most = -1e9;
    fill(b, &m, 1, one);
    for (int i = 0; i < N; i++) {
      double v = dtype_decode((dtype)t, one[i]);
      least = v < least ? v : least;
      most = v > most ? v : most;
    }
    assert_true(least >= m.a && most <= m.b);
    assert_true(least < m.a + 2 && most > m.b - 2);
    assert_true(fabs(mean_of((dtype)t, one, &deviation) - middle) < 4);
    fill(b, &m, 2, two);
    assert_memory_not_equal(one, two, sizeof one);
    m.count = N / 2; /* element i does not depend on the count */
    fill(b, &m, 1, two);
    assert_memory_equal(one, two, N / 2 * sizeof *one);
  }
}

BED_TEST(test_normal) {
  static uint64_t bits[N];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    gen_datum m = {.type = (dtype)t, .count = N, .fill = GEN_FILL_NORMAL, .a = 64, .b = 8};
    double deviation;
    fill(b, &m, 3, bits);
    assert_true(fabs(mean_of((dtype)t, bits, &deviation) - 64) < 0.8);
    assert_true(fabs(deviation - 8) < 0.6);
  }
}

BED_TEST(test_constant) {
  uint64_t bits[70];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    gen_datum m = {.type = (dtype)t, .count = 70, .fill = GEN_FILL_CONSTANT, .a = 3};
    fill(b, &m, 3, bits);
    assert_int_equal(bits[0], dtype_encode((dtype)t, 3));
    assert_int_equal(bits[69], dtype_encode((dtype)t, 3));
  }
}

/* Each bit is 1 with a probability of 2^-words, independently of the others. */
BED_TEST(test_bits) {
  static uint64_t bits[N], again[N];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    const size_t width = 8 * dtype_nbytes((dtype)t);
    for (int words = 1; words <= 3; words++) {
      gen_datum m = {.type = (dtype)t, .count = N, .fill = GEN_FILL_BITS, .a = words};
      fill(b, &m, 5, bits);
      for (size_t bit = 0; bit < width; bit++) {
        size_t ones = 0, pairs = 0;
        for (size_t i = 0; i < N; i++) {
          ones += bits[i] >> bit & 1;
          pairs += bits[i] >> bit & bits[i] >> (bit + 1) % width & 1;
        }
        const double p = ldexp(1, -words), slack = 5 * sqrt(p / N); /* five deviations */
        assert_true(fabs((double)ones / N - p) < slack);
        assert_true(fabs((double)pairs / N - p * p) < slack);
      }
      fill(b, &m, 6, again);
      assert_memory_not_equal(bits, again, sizeof bits);
    }
  }
}

BED_TEST(test_ramp) {
  static uint64_t bits[N];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    const bool sign = dtype_is_signed((dtype)t), real = dtype_is_float((dtype)t);
    gen_datum m = {.type = (dtype)t,
                   .count = N,
                   .fill = GEN_FILL_RAMP,
                   .a = 5,
                   .b = real   ? 0.5
                        : sign ? -3
                               : 2};
    const size_t size = dtype_nbytes((dtype)t);
    fill(b, &m, 5, bits);
    for (size_t i = 0; i < N; i++) {
      const uint64_t whole = (uint64_t)(5 + (int64_t)i * (int64_t)m.b);
      const uint64_t wanted = real ? dtype_encode((dtype)t, 5 + 0.5 * (double)i) : whole;
      assert_memory_equal(&bits[i], &wanted, size); /* integers wrap */
    }
  }
}

static bool in_order(dtype t, uint64_t a, uint64_t b) {
  unsigned unused = 64 - 8 * (unsigned)dtype_nbytes(t);
  return dtype_is_float(t)    ? dtype_decode(t, a) <= dtype_decode(t, b)
         : dtype_is_signed(t) ? (int64_t)(a << unused) <= (int64_t)(b << unused)
                              : a <= b;
}

/* Sorted, and distributed like uniform numbers. */
BED_TEST(test_sorted) {
  static uint64_t bits[N], few[N];
  for (int t = 0; t < DTYPE_COUNT; t++) {
    const bool sign = dtype_is_signed((dtype)t);
    gen_datum m = {
        .type = (dtype)t, .count = N, .fill = GEN_FILL_SORTED, .a = sign ? -50 : 10, .b = 90};
    double deviation, width = m.b - m.a;
    fill(b, &m, 5, bits);
    for (int i = 1; i < N; i++) {
      assert_true(in_order((dtype)t, bits[i - 1], bits[i]));
    }
    assert_true(dtype_decode((dtype)t, bits[0]) >= m.a);
    assert_true(dtype_decode((dtype)t, bits[N - 1]) <= m.b);
    assert_true(fabs(mean_of((dtype)t, bits, &deviation) - (m.a + m.b) / 2) < width / 20);
    assert_true(fabs(deviation - width / sqrt(12)) < width / 20);
    m.count = 1;
    fill(b, &m, 5, few);
    assert_true(dtype_decode((dtype)t, few[0]) >= m.a && dtype_decode((dtype)t, few[0]) <= m.b);
  }
}

/* The gaps between neighbours are those of uniform numbers, not of a grid: about a third is longer
 * than the mean. */
BED_TEST(test_sorted_gaps) {
  static uint64_t bits[N];
  gen_datum m = {.type = DTYPE_f64, .count = N, .fill = GEN_FILL_SORTED, .a = 0, .b = N};
  int longer = 0, twice = 0;
  fill(b, &m, 6, bits);
  for (int i = 1; i < N; i++) {
    double gap = dtype_decode(DTYPE_f64, bits[i]) - dtype_decode(DTYPE_f64, bits[i - 1]);
    longer += gap > 1;
    twice += gap > 2;
  }
  assert_in_range(longer, N * 3 / 10, N * 45 / 100);
  assert_in_range(twice, N * 7 / 100, N * 20 / 100);
}

/* Keys over the whole range of a type use every bit. */
BED_TEST(test_whole_range) {
  static uint64_t bits[N];
  static const dtype types[] = {DTYPE_u64, DTYPE_u32, DTYPE_u8, DTYPE_i64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t n = 8 * dtype_nbytes(types[i]);
    double top = dtype_is_signed(types[i]) ? 0x1p63 : ldexp(1, (int)n) - (n < 64);
    gen_datum m = {.type = types[i],
                   .count = N,
                   .fill = GEN_FILL_UNIFORM,
                   .a = dtype_is_signed(types[i]) ? -top : 0,
                   .b = top};
    uint64_t any = 0, all = UINT64_MAX;
    fill(b, &m, 4, bits);
    for (int j = 0; j < N; j++) {
      any |= bits[j];
      all &= bits[j];
    }
    assert_int_equal(any, n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1);
    assert_int_equal(all, 0);
  }
}

/* ---- comparing ----------------------------------------------------------------------------- */

static rt_finding compare(bed *b, rt_comparison v, const void *x, const void *ref) {
  size_t n = v.count * dtype_nbytes(v.type);
  rt_finding f = RT_FINDING_NONE;
  rt_ptr out = bed_put(b, &f, sizeof f);
  v.x = bed_put(b, x, n);
  v.ref = bed_put(b, ref, n);
  OK(b, rt_checker_compare(bed_checker(b), &v, out, &b->e));
  bed_get(b, &f, out, sizeof f);
  bed_free(b, v.x);
  bed_free(b, v.ref);
  bed_free(b, out);
  return f;
}

static double worst(const rt_finding *f) {
  double v;
  memcpy(&v, &f->worst, sizeof v);
  return v;
}

static rt_finding compare_one(bed *b, dtype t, uint64_t x, uint64_t ref, double abs_, double rel) {
  return compare(
      b, (rt_comparison){.count = 1, .type = t, .tolerance_abs = abs_, .tolerance_rel = rel}, &x,
      &ref);
}

/* Pairs of values that every type holds exactly; the error in units of abs = 2, rel = 1/4. */
BED_TEST(test_errors) {
  static const double pairs[][2] = {{5, 5}, {6, 5}, {0, 8}, {8, 0}, {120, 4}, {4, 120}, {100, 99}};
  for (int t = 0; t < DTYPE_COUNT; t++) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
      const double x = pairs[i][0], ref = pairs[i][1];
      double error = fake_error(x, ref, 2, 0.25);
      rt_finding f =
          compare_one(b, (dtype)t, dtype_encode((dtype)t, x), dtype_encode((dtype)t, ref), 2, 0.25);
      assert_true(fabs(worst(&f) - error) <= 1e-12 * error);
      assert_int_equal(f.n, error > 1);
      assert_int_equal(f.first, error > 1 ? 0 : UINT64_MAX);
    }
  }
}

BED_TEST(test_negative) {
  for (int t = 0; t < DTYPE_COUNT; t++) {
    if (dtype_is_signed((dtype)t)) {
      uint64_t x = dtype_encode((dtype)t, -100), ref = dtype_encode((dtype)t, 20);
      rt_finding f = compare_one(b, (dtype)t, x, ref, 0, 1);
      assert_true(worst(&f) == 6);
      f = compare_one(b, (dtype)t, ref, x, 0, 1);
      assert_true(fabs(worst(&f) - 1.2) < 1e-12);
    }
  }
}

/* Integers that a double cannot distinguish. */
BED_TEST(test_large_integers) {
  rt_finding f = compare_one(b, DTYPE_u64, UINT64_MAX, UINT64_MAX - 3, 1, 0);
  assert_true(worst(&f) == 3);
  f = compare_one(b, DTYPE_u64, 0, UINT64_MAX, 0, 1);
  assert_true(worst(&f) == 1);
  f = compare_one(b, DTYPE_i64, (uint64_t)INT64_MIN, (uint64_t)INT64_MAX, 1, 0);
  assert_true(worst(&f) == 0x1p64);
  f = compare_one(b, DTYPE_i64, (uint64_t)INT64_MIN + 1, (uint64_t)INT64_MIN, 0, 0);
  assert_true(worst(&f) == INFINITY && f.n == 1);
}

BED_TEST(test_special_floats) {
  static const dtype types[] = {DTYPE_f16, DTYPE_bf16, DTYPE_f32, DTYPE_f64};
  static const struct {
    double x, ref, error;
  } cases[] = {{NAN, NAN, 0},
               {NAN, 1, INFINITY},
               {1, NAN, INFINITY},
               {INFINITY, INFINITY, 0},
               {-INFINITY, INFINITY, INFINITY},
               {INFINITY, 1, INFINITY},
               {1, INFINITY, INFINITY},
               {-0.0, 0.0, 0},
               {NAN, INFINITY, INFINITY},
               {INFINITY, NAN, INFINITY}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      uint64_t x = dtype_encode(types[t], cases[i].x), ref = dtype_encode(types[t], cases[i].ref);
      rt_finding f = compare_one(b, types[t], x, ref, 1, 1);
      assert_true(worst(&f) == cases[i].error);
      assert_int_equal(f.n, cases[i].error > 1);
    }
  }
  uint64_t quiet = 0x7fc00001, other = 0xffffffff; /* NaNs with different bits are NaNs */
  assert_int_equal(compare_one(b, DTYPE_f32, quiet, other, 0, 0).n, 0);
}

static rt_finding compare_bound(bed *b, double ref, double x, dtype type, double bound) {
  const uint64_t bits = dtype_encode(type, bound), xs[] = {dtype_encode(DTYPE_f32, x)},
                 refs[] = {dtype_encode(DTYPE_f32, ref)};
  rt_comparison v = {.count = 1, .type = DTYPE_f32, .tolerance_abs = 1, .tolerance_rel = 0.5};
  v.bound = bed_put(b, &bits, sizeof bits);
  v.bound_type = type;
  const rt_finding f = compare(b, v, xs, refs);
  bed_free(b, v.bound);
  return f;
}

/* In units of 1 + bound / 2. Without a bound that is a number nothing is right, but what the
 * reference makes no number either. */
BED_TEST(test_bounds) {
  static const struct {
    double ref, x, bound, error;
  } cases[] = {{100, 106, 4, 2},
               {100, 101, 0, 1},
               {100, 103, 4, 1},
               {-5, -5, 0, 0},
               {5, 5, NAN, INFINITY},
               {5, 5, -1, INFINITY},
               {5, 5, INFINITY, INFINITY},
               {NAN, NAN, NAN, 0},
               {INFINITY, INFINITY, INFINITY, 0},
               {NAN, 5, 4, INFINITY},
               {5, NAN, 4, INFINITY}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int wide = 0; wide < 2; wide++) {
      const rt_finding f =
          compare_bound(b, cases[i].ref, cases[i].x, wide ? DTYPE_f64 : DTYPE_f32, cases[i].bound);
      assert_true(worst(&f) == cases[i].error);
      assert_int_equal(f.n, cases[i].error > 1);
    }
  }
}

/* Elements that the reference left poisoned must stay so; those it wrote must not be poison. */
BED_TEST(test_poison) {
  const uint32_t poison = 0xffffffff, x[] = {poison, 1, poison, 0x7fc00000},
                 ref[] = {poison, 1, 1, poison};
  rt_comparison v = {.count = 4, .type = DTYPE_f32, .poisoned = true, .poison = poison};
  rt_finding f = compare(b, v, x, ref);
  assert_int_equal(f.n, 2);
  assert_int_equal(f.first, 2);
  assert_int_equal(f.last, 3);
  v.poisoned = false; /* then a NaN is a NaN */
  assert_int_equal(compare(b, v, x, ref).n, 1);
}

static rt_finding sum(bed *b, rt_comparison v, const void *x, const void *ref) {
  const size_t n = v.count * dtype_nbytes(v.type);
  rt_finding f = RT_FINDING_NONE;
  const rt_ptr out = bed_put(b, &f, sizeof f);
  v.x = bed_put(b, x, n);
  v.ref = bed_put(b, ref, n);
  OK(b, rt_checker_sum(bed_checker(b), &v, out, &b->e));
  bed_get(b, &f, out, sizeof f);
  bed_free(b, v.x);
  bed_free(b, v.ref);
  bed_free(b, out);
  return f;
}

/* Errors of all elements together: 2-norm 5 of 1000, root of the mean square 5 / 50. */
BED_TEST(test_sums) {
  enum { MANY = 2500 };
  static float x[MANY], ref[MANY];
  for (int i = 0; i < MANY; i++) {
    x[i] = ref[i] = i % 2 ? 20 : -20;
  }
  x[77] += 3;
  x[2400] -= 4;
  const rt_comparison v = {.count = MANY, .type = DTYPE_f32};
  rt_finding f = sum(b, v, x, ref);
  assert_int_equal(f.n, 0);
  assert_true(fabs(rt_sums_error(&f, GEN_ERROR_NORM2, MANY, 0, 1e-3) - 5) < 1e-9);
  assert_true(fabs(rt_sums_error(&f, GEN_ERROR_PSNR, MANY, 10, 40) - 1) < 1e-9);
  assert_true(fabs(rt_sums_error(&f, GEN_ERROR_PSNR, MANY, 10, 60) - 10) < 1e-9);
  f = sum(b, v, ref, ref);
  assert_true(rt_sums_error(&f, GEN_ERROR_NORM2, MANY, 0, 0) == 0);
  x[5] = ref[5] = NAN; /* in both */
  x[6] = ref[6] = INFINITY;
  f = sum(b, v, x, ref);
  assert_int_equal(f.n, 0);
  x[1000] = NAN;
  x[900] = INFINITY;
  f = sum(b, v, x, ref);
  assert_int_equal(f.n, 2);
  assert_int_equal(f.first, 900);
  assert_true(rt_sums_error(&f, GEN_ERROR_NORM2, MANY, 0, 1) == INFINITY);
  const int32_t whole[] = {3, -4, 7}, other[] = {3, 0, 7};
  f = sum(b, (rt_comparison){.count = 3, .type = DTYPE_i32}, whole, other);
  assert_true(fabs(rt_sums_error(&f, GEN_ERROR_NORM2, 3, 0, 1) - 4 / sqrt(58)) < 1e-9);
}

/* Many blocks find errors; count, first, last and worst are combined. */
BED_TEST(test_many) {
  enum { MANY = 100000 };
  static float x[MANY], ref[MANY];
  for (int i = 0; i < MANY; i++) {
    ref[i] = 1;
    x[i] = i % 1000 == 777 ? 2 + (float)i : 1;
  }
  rt_comparison v = {.count = MANY, .type = DTYPE_f32, .tolerance_abs = 1};
  rt_finding f = compare(b, v, x, ref);
  assert_int_equal(f.n, 100);
  assert_int_equal(f.first, 777);
  assert_int_equal(f.last, 99777);
  assert_true(worst(&f) == 99778);
  v.count = 0;
  assert_int_equal(compare(b, v, x, ref).n, 0);
}

/* ---- bytes --------------------------------------------------------------------------------- */

BED_TEST(test_differ) {
  uint8_t one[40], two[40];
  for (uint64_t n = 0; n <= 40; n += n < 17 ? 1 : 7) {
    for (uint64_t at = 0; at <= n && at < 40; at++) { /* at == n: just outside */
      rt_finding f = RT_FINDING_NONE;
      memset(one, 3, sizeof one);
      memset(two, 3, sizeof two);
      two[at] = 4;
      rt_ptr p = bed_put(b, one, 40), q = bed_put(b, two, 40), out = bed_put(b, &f, sizeof f);
      OK(b, rt_checker_differ(bed_checker(b), p, q, n, out, &b->e));
      bed_get(b, &f, out, sizeof f);
      assert_int_equal(f.n, at < n);
      assert_int_equal(f.first, at < n ? at : UINT64_MAX);
      bed_free(b, p);
      bed_free(b, q);
      bed_free(b, out);
    }
  }
}

BED_TEST(test_canaries) {
  uint8_t bytes[2000];
  memset(bytes, 0xcb, sizeof bytes);
  memset(bytes + 300, 1, 700); /* the buffer between */
  bytes[299] = 0, bytes[1500] = 0, bytes[1503] = 0;
  rt_ptr p = bed_put(b, bytes, sizeof bytes);
  rt_zone zones[3] = {{p, 300}, {p + 1000, 1000}, {p + 5, 0}};
  rt_finding f[3] = {RT_FINDING_NONE, RT_FINDING_NONE, RT_FINDING_NONE};
  rt_ptr z = bed_put(b, zones, sizeof zones), out = bed_put(b, f, sizeof f);
  OK(b, rt_checker_canaries(bed_checker(b), z, 3, 0xcb, out, &b->e));
  bed_get(b, f, out, sizeof f);
  assert_true(f[0].n == 1 && f[0].first == 299 && f[0].last == 299);
  assert_true(f[1].n == 2 && f[1].first == 500 && f[1].last == 503);
  assert_int_equal(f[2].n, 0);
  bed_free(b, p);
  bed_free(b, z);
  bed_free(b, out);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
