/* test_nonfinite.c -- sgemm on infinities, NaNs, denormals and numbers that round to infinity:
 *   build/tests/test_nonfinite [--device NAME]
 * Tensor cores get operands in parts. The result is that of single-precision FMAs: a NaN, an
 * infinity of the same sign, or a number as close to the sum in double. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "device_fixture.h"

enum { M = 71, N = 67, K = 515 };

/* ---- numbers --------------------------------------------------------------------------------- */

static float uniform(uint64_t *state) {
  return (float)(2 * random_unit(state) - 1);
}

static float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* op(A) by rows: the first eleven are special, the others uniform in [-1, 1]. */
static void fill_a(float a[M][K]) {
  uint64_t state = 1;
  for (int i = 0; i < M; i++) {
    for (int p = 0; p < K; p++) {
      a[i][p] = uniform(&state);
    }
  }
  a[0][3] = INFINITY;
  a[1][3] = INFINITY;
  a[1][400] = -INFINITY;
  a[2][100] = of_bits(0x7fffffff); /* rounding would make it a number */
  a[3][100] = of_bits(0xff800001); /* truncation would make it an infinity */
  a[4][7] = FLT_MAX;
  a[5][7] = -0x1.fff002p127f; /* just rounds to infinity */
  a[6][0] = a[6][1] = 0x1p127f;
  for (int p = 0; p < K; p++) {
    a[7][p] = 0;
    a[8][p] *= 0x1p117f;
    a[9][p] *= 0x1p-130f;
    a[10][p] *= 0x1p-112f;
  }
}

/* op(B) by columns. */
static void fill_b(float b[N][K]) {
  uint64_t state = 2;
  for (int j = 0; j < N; j++) {
    for (int p = 0; p < K; p++) {
      b[j][p] = uniform(&state);
    }
  }
  b[0][0] = b[0][1] = 1;
  b[1][9] = -INFINITY;
  b[2][9] = NAN;
  b[3][7] = 0; /* FLT_MAX times 0 */
  b[4][3] = 0; /* infinity times 0 */
}

/* Transposes contiguous rows to the layout of op(A) or op(B) in memory. */
static float *laid_out(const float *rows, int n, bool along_k) {
  float *x = calloc((size_t)n * K, sizeof *x);
  assert_non_null(x);
  for (int i = 0; i < n; i++) {
    for (int p = 0; p < K; p++) {
      x[along_k ? i * K + p : p * n + i] = rows[i * K + p];
    }
  }
  return x;
}

typedef struct sum {
  double value, size; /* size: of the sum of |a b| */
  double cut;         /* loss of parts below 2^-113, of which multiples of 2^-136 remain */
} sum;

static sum in_double(const float *a, const float *b) {
  sum s = {0};
  for (int p = 0; p < K; p++) {
    const double product = (double)a[p] * b[p];
    s.value += product;
    s.size += fabs(product);
    s.cut += (fabsf(a[p]) < 0x1p-112f) * fabs(b[p]) * 0x1p-136;
  }
  return s;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

typedef struct variant {
  const char *problem, *config;
  double unit; /* rounding of a factor; 0: parts lose nothing */

} variant;

static bool as_it_should_be(const variant *v, float c, sum s) {
  if (isnan(s.value)) {
    return isnan(c);
  }
  if (fabs(s.value) >= 0x1p128) { /* of one part and truncated, it is the largest number */
    return (isinf(c) || (v->unit > 0 && fabsf(c) == FLT_MAX)) && !signbit(c) == !signbit(s.value);
  }
  /* the device's atomics flush denormal numbers to zero */
  const double least = strstr(v->config, "atomic") ? 0x1p-124 : K * 0x1p-149;
  return fabs(c - s.value) <= (0x1p-22 + v->unit) * s.size + s.cut + least;
}

static void compare(const variant *v, float a[M][K], float b[N][K], const float *c) {
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      const sum s = in_double(a[i], b[j]);
      const float x = c[i + j * M];
      /* one part alone turns some NaNs into infinities, and some numbers round to infinity */
      if (v->unit > 0 && i >= 3 && i <= 5) {
        assert_false(isfinite(x));
      } else if (!as_it_should_be(v, x, s)) {
        fail_msg("%s %s: C[%d, %d] is %g, not %g", v->problem, v->config, i, j, x, s.value);
      }
    }
  }
}

static void multiply(bed *b, const bed_kernel *k, bool ta, bool tb, float am[M][K], float bm[N][K],
                     float *c) {
  const int32_t m = M, n = N, depth = K;
  const int64_t lda = ta ? K : M, ldb = tb ? N : K, ldc = M;
  const float one = 1, zero = 0;
  float *a_there = laid_out(am[0], M, ta), *b_there = laid_out(bm[0], N, !tb);
  const rt_ptr none = 0, ap = bed_put(b, a_there, 4 * M * K), bp = bed_put(b, b_there, 4 * N * K),
               cp = bed_put(b, c, 4 * M * N);
  const void *args[] = {&m, &n, &depth, &one, &ap, &lda, &bp, &ldb, &zero, &cp, &ldc, &none, &none};
  assert_ok(rt_loaded_launch(k->l, NULL, args, &b->e), &b->e);
  bed_get(b, c, cp, 4 * M * N);
  bed_free(b, ap);
  bed_free(b, bp);
  bed_free(b, cp);
  free(a_there);
  free(b_there);
}

static void check_variant(bed *b, const variant *v) {
  static float am[M][K], bm[N][K], c[M * N];
  if (strstr(v->config, "_mma")) {
    bed_needs(b, 80);
  } else {
    bed_needs_sm90a(b);
  }
  const char *const problem = arena_format(&b->a, "m=%d n=%d k=%d %s", M, N, K, v->problem);
  fill_a(am);
  fill_b(bm);
  memset(c, 0xff, sizeof c);
  bed_kernel k = bed_kernel_open(b, "sgemm", problem, v->config);
  multiply(b, &k, strstr(v->problem, "ta=t"), strstr(v->problem, "tb=t"), am, bm, c);
  compare(v, am, bm, c);
  bed_kernel_close(&k);
}

#define BY_WARPGROUPS "ALG=tf32x3,GROUPS=1,TILE=64,QUEUE=2,PROMOTE=1,VEC=1"
#define BY_WARPS "ALG=tf32x3_mma,GROUPS=1,TILE=64,QUEUE=2,VEC=1"

BED_TEST(parts_by_warpgroups) {
  static const variant all[] = {
      {"accuracy=fp32", BY_WARPGROUPS},
      {"accuracy=fp32 ta=t tb=t", BY_WARPGROUPS},
      {"accuracy=fp32 tb=t", BY_WARPGROUPS ",SWAP=yes"},
      {"accuracy=fp32", BY_WARPGROUPS ",SPLITK=2,FINISH=two_launch"},
      {"accuracy=fp32 ta=t", BY_WARPGROUPS ",SPLITK=3,FINISH=atomic"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_variant(b, &all[i]);
  }
}

BED_TEST(parts_by_warps) {
  static const variant all[] = {
      {"accuracy=fp32", BY_WARPS},
      {"accuracy=fp32 ta=t tb=t", BY_WARPS ",SWAP=yes"},
      {"accuracy=fp32 tb=t", BY_WARPS ",SPLITK=2,FINISH=last_block"},
      {"accuracy=fp32 ta=t", BY_WARPS ",SPLITK=3,FINISH=atomic"},
      {"accuracy=fp32", BY_WARPS ",SPLITK=4,FINISH=two_launch"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    check_variant(b, &all[i]);
  }
}

/* One part: infinities and NaNs keep their values, the largest numbers round to infinity. */
BED_TEST(one_part) {
  check_variant(
      b, &(variant){"accuracy=tf32", "ALG=tf32,GROUPS=1,TILE=64,QUEUE=2,VEC=1", .unit = 0x1p-10});
}

BED_TEST(single_precision) {
  check_variant(b, &(variant){"", "BM=16,BN=16,TM=1,TN=1"});
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
