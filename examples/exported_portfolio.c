/* exported_portfolio.c -- an exported portfolio of sgemm: any size, by the CUDA driver API alone.
 *
 *   autotune export sgemm --portfolio --header sgemm_portfolio.h --embed sgemm_portfolio.c
 *   cc -I. -I/usr/local/cuda/include *portfolio.c -lcuda -lm -o portfolio
 *   ./portfolio 150 100 70  1024 16 1000 ...
 *
 * Every three numbers are m, n and k. Told are the configuration that the tree chose and what it is
 * expected to lose; the result is compared with the host's own product. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sgemm_portfolio.h"

static const float alpha = 0.5f, beta = -2;

static void must(CUresult rc, const char *what) {
  if (rc != CUDA_SUCCESS) {
    fprintf(stderr, "exported_portfolio: %s failed with CUDA error %d\n", what, (int)rc);
    exit(1);
  }
}

typedef struct matrix {
  float *host;
  CUdeviceptr at;
  size_t nbytes;
} matrix;

static matrix matrix_new(int64_t rows, int64_t columns) {
  matrix x = {.nbytes = (size_t)(rows * columns) * sizeof(float)};
  x.host = malloc(x.nbytes + 1);
  if (!x.host) {
    exit(1);
  }
  for (int64_t i = 0; i < rows * columns; i++) {
    x.host[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  }
  must(cuMemAlloc(&x.at, x.nbytes + 1), "cuMemAlloc");
  must(cuMemcpyHtoD(x.at, x.host, x.nbytes), "cuMemcpyHtoD");
  return x;
}

static void matrix_free(matrix *x) {
  cuMemFree(x->at);
  free(x->host);
}

static double difference(const sgemm_problem *p, const matrix *a, const matrix *b,
                         const matrix *before, const float *c) {
  double worst = 0;
  for (int64_t j = 0; j < p->n; j++) {
    for (int64_t i = 0; i < p->m; i++) {
      double sum = 0;
      for (int64_t l = 0; l < p->k; l++) {
        sum += (double)a->host[i + l * p->m] * b->host[l + j * p->k];
      }
      const int64_t at = i + j * p->m;
      worst = fmax(worst, fabs(c[at] - (alpha * sum + (double)beta * before->host[at])));
    }
  }
  return worst;
}

/* Elements to which columns of so many rows are aligned. */
static int64_t alignment(int64_t rows) {
  return rows % 4 == 0 ? 4 : rows % 2 == 0 ? 2 : 1;
}

static int run(const sgemm_portfolio *kernels, int64_t m, int64_t n, int64_t k) {
  const sgemm_problem p = {.m = m,
                           .n = n,
                           .k = k,
                           .ta = SGEMM_TEXT_n,
                           .tb = SGEMM_TEXT_n,
                           .align = alignment(m),
                           .align_a = alignment(m),
                           .align_b = alignment(k),
                           .scale = SGEMM_TEXT_none,
                           .bias = SGEMM_TEXT_none,
                           .act = SGEMM_TEXT_none,
                           .accuracy = SGEMM_TEXT_strict,
                           .alpha_is = SGEMM_TEXT_any,
                           .beta_is = SGEMM_TEXT_any,
                           .reproducible = SGEMM_TEXT_any};
  matrix a = matrix_new(m, k), b = matrix_new(k, n), c = matrix_new(m, n);
  float *out = malloc(c.nbytes + 1);
  const size_t nbytes = sgemm_workspace_nbytes(kernels, &p);
  CUdeviceptr workspace = 0;
  const int chosen = sgemm_choose(kernels, &p);
  if (chosen < 0 || !out) {
    fprintf(stderr, "exported_portfolio: nothing for %d x %d x %d\n", (int)m, (int)n, (int)k);
    exit(1);
  }
  if (nbytes) {
    must(cuMemAlloc(&workspace, nbytes), "cuMemAlloc");
    must(cuMemsetD8(workspace, 0, nbytes), "cuMemsetD8");
  }
  must(sgemm_run(kernels, NULL, &p, workspace, alpha, a.at, m, b.at, k, beta, c.at, m, 0, 0),
       "sgemm_run");
  must(cuMemcpyDtoH(out, c.at, c.nbytes), "cuMemcpyDtoH");
  const double worst = difference(&p, &a, &b, &c, out), bound = 1e-6 * ((double)k + 16);
  const double loss = sgemm_expected_loss(kernels, &p);
  printf("%d x %d x %d: off by %.2g of %.2g, %s; expected to lose %.1f %%%s; %s\n", (int)m, (int)n,
         (int)k, worst, bound, worst <= bound ? "ok" : "WRONG", loss < 0 ? 0 : 100 * loss,
         loss < 0 ? " (not known: the default)" : "", sgemm_configs[chosen]);
  matrix_free(&a);
  matrix_free(&b);
  matrix_free(&c);
  cuMemFree(workspace);
  free(out);
  return worst <= bound;
}

int main(int argc, char **argv) {
  static sgemm_portfolio kernels;
  CUdevice device;
  CUcontext context;
  int ok = 1;
  if (argc < 4 || argc % 3 != 1) {
    fprintf(stderr, "usage: exported_portfolio M N K ...\n");
    return 2;
  }
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(sgemm_open(&kernels, device), "loading the kernels");
  for (int i = 1; i < argc; i += 3) {
    ok = run(&kernels, atoll(argv[i]), atoll(argv[i + 1]), atoll(argv[i + 2])) && ok;
  }
  sgemm_close(&kernels);
  return ok ? 0 : 1;
}
