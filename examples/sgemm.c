/* sgemm.c -- C = alpha A B' + beta C on the device by libtuned, compared with the host's own
 * product.
 *
 *   cc sgemm.c $(pkg-config --cflags --libs tuned) -lm -o sgemm
 *   ./sgemm             # 160 x 96 x 64
 *   ./sgemm 4096 4096 4096
 *
 * The kernel is the tuned one if `autotune sgemm m=... n=... k=... tb=t` has been here before, else
 * one for such sizes, from what is tuned here and what ships. TUNED_DEVICE=emu runs it without a
 * GPU. Also compiles as C++. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tuned.h>

typedef struct matrix { /* column-major, on both sides */
  int64_t rows, columns;
  float *host;
  void *device;
} matrix;

static tuned_error err;

/* Any failure ends the program with libtuned's own words. */
static void must(int rc) {
  if (rc) {
    fprintf(stderr, "sgemm: %s\n", err.message);
    exit(1);
  }
}

static size_t count(const matrix *a) {
  return (size_t)(a->rows * a->columns);
}

static matrix matrix_new(tuned_context *ctx, int64_t rows, int64_t columns) {
  matrix a = {rows, columns, NULL, NULL};
  a.host = (float *)malloc(count(&a) * sizeof(float) + 1);
  if (!a.host) {
    fprintf(stderr, "sgemm: out of memory\n");
    exit(1);
  }
  for (size_t i = 0; i < count(&a); i++) {
    a.host[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  }
  must(tuned_alloc(ctx, count(&a) * sizeof(float), &a.device, &err));
  must(tuned_copy_to_device(ctx, a.device, a.host, count(&a) * sizeof(float), &err));
  return a;
}

static void matrix_free(tuned_context *ctx, matrix *a) {
  must(tuned_free(ctx, a->device, &err));
  free(a->host);
}

/* Which kernel will it be? */
static void describe(tuned_context *ctx, int64_t m, int64_t n, int64_t k) {
  char problem[120];
  tuned_kernel *kernel;
  tuned_kernel_info info;
  snprintf(problem, sizeof problem, "sgemm m=%lld n=%lld k=%lld tb=t", (long long)m, (long long)n,
           (long long)k);
  must(tuned_find(ctx, problem, &kernel, &err));
  must(tuned_info(kernel, &info, &err));
  printf("%s\n%s: %s\n%d registers, %lld bytes of shared memory", info.problem,
         tuned_origin_name(info.origin), info.config, info.registers,
         (long long)info.shared_nbytes);
  if (info.measured) {
    printf(", %.3g TFLOP/s expected",
           2e-12 * (double)m * (double)n * (double)k / info.expected_sec);
  }
  printf("\n");
}

/* One element of alpha A B' + beta C, in double. */
static double element(const matrix *a, const matrix *b, double alpha, double beta, double before,
                      int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < a->columns; l++) {
    sum += (double)a->host[i + l * a->rows] * b->host[j + l * b->rows];
  }
  return alpha * sum + beta * before;
}

/* The largest difference over all elements, or over a sample of a large product. */
static double compare(const matrix *a, const matrix *b, const matrix *c, const float *result,
                      double alpha, double beta) {
  const int64_t work = c->rows * c->columns * a->columns;
  const int64_t step = 1 + work / 500000000;
  double worst = 0;
  for (int64_t i = 0; i < c->rows * c->columns; i += step) {
    const double expected = element(a, b, alpha, beta, c->host[i], i % c->rows, i / c->rows);
    worst = fmax(worst, fabs(result[i] - expected));
  }
  return worst;
}

int main(int argc, char **argv) {
  const int64_t m = argc > 3 ? atoll(argv[1]) : 160, n = argc > 3 ? atoll(argv[2]) : 96,
                k = argc > 3 ? atoll(argv[3]) : 64;
  const float alpha = 0.5f, beta = -2;
  tuned_context *ctx;
  must(tuned_open(&ctx, NULL, &err));
  describe(ctx, m, n, k);

  matrix a = matrix_new(ctx, m, k), b = matrix_new(ctx, n, k), c = matrix_new(ctx, m, n);
  must(tuned_sgemm(ctx, NULL, 'N', 'T', m, n, k, alpha, (float *)a.device, m, (float *)b.device, n,
                   beta, (float *)c.device, m, &err));
  float *result = (float *)malloc(count(&c) * sizeof(float) + 1);
  if (!result) {
    return 1;
  }
  must(tuned_copy_to_host(ctx, result, c.device, count(&c) * sizeof(float), &err));

  /* k products of at most 1/4 each, rounded to 24 bits: far below, when all is well */
  const double worst = compare(&a, &b, &c, result, alpha, beta), bound = 1e-6 * ((double)k + 16);
  printf("largest difference from the host's product: %.2g, at most %.2g allowed: %s\n", worst,
         bound, worst <= bound ? "ok" : "WRONG");
  free(result);
  matrix_free(ctx, &a);
  matrix_free(ctx, &b);
  matrix_free(ctx, &c);
  tuned_close(ctx);
  return worst <= bound ? 0 : 1;
}
