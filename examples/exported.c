/* exported.c -- an exported sgemm kernel, launched by the CUDA driver API alone.
 *
 *   autotune export sgemm m=150 n=100 k=70 --cubin sgemm.cubin --header sgemm_kernel.h
 *   cc -I. -I/usr/local/cuda/include exported.c -lcuda -lm -o exported
 *   ./exported sgemm.cubin
 *
 * Neither libtuned nor autotune is there any more: the header says how to launch what the image
 * holds. The result is compared with the host's own product. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sgemm_kernel.h"

enum { M = SGEMM_m, N = SGEMM_n, K = SGEMM_k };
static const float alpha = 0.5f, beta = -2;

static void must(CUresult rc, const char *what) {
  if (rc != CUDA_SUCCESS) {
    fprintf(stderr, "exported: %s failed with CUDA error %d\n", what, (int)rc);
    exit(1);
  }
}

static CUdeviceptr device_new(size_t nbytes) {
  CUdeviceptr p;
  must(cuMemAlloc(&p, nbytes ? nbytes : 1), "cuMemAlloc");
  return p;
}

/* The kernel wants its workspaces zeroed once. */
static void workspaces_new(CUdeviceptr *list) {
  for (int i = 0; i < SGEMM_N_WORKSPACES; i++) {
    list[i] = device_new(sgemm_workspace_nbytes(i));
    must(cuMemsetD8(list[i], 0, sgemm_workspace_nbytes(i)), "cuMemsetD8");
  }
}

static CUdeviceptr matrix_new(float *host, size_t n) {
  for (size_t i = 0; i < n; i++) {
    host[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  }
  CUdeviceptr p = device_new(n * sizeof *host);
  must(cuMemcpyHtoD(p, host, n * sizeof *host), "cuMemcpyHtoD");
  return p;
}

/* Element i, j of op(A); a transposed A has K rows. */
static double a_at(const float *a, int i, int l) {
  return SGEMM_ta[0] == 'n' ? a[i + (size_t)l * M] : a[l + (size_t)i * K];
}

static double b_at(const float *b, int l, int j) {
  return SGEMM_tb[0] == 'n' ? b[l + (size_t)j * K] : b[j + (size_t)l * N];
}

static double difference(const float *a, const float *b, const float *before, const float *c) {
  double worst = 0;
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < M; i++) {
      double sum = 0;
      for (int l = 0; l < K; l++) {
        sum += a_at(a, i, l) * b_at(b, l, j);
      }
      const size_t at = i + (size_t)j * M;
      worst = fmax(worst, fabs(c[at] - (alpha * sum + (double)beta * before[at])));
    }
  }
  return worst;
}

static float a[(size_t)M * K + 1], b[(size_t)K * N + 1], before[(size_t)M * N + 1],
    c[(size_t)M * N + 1];

static void run(CUmodule module) {
  sgemm_kernels kernels;
  CUdeviceptr workspaces[SGEMM_N_WORKSPACES + 1];
  must(sgemm_load(module, &kernels), "finding the kernels");
  workspaces_new(workspaces);
  const CUdeviceptr da = matrix_new(a, (size_t)M * K), db = matrix_new(b, (size_t)K * N),
                    dc = matrix_new(before, (size_t)M * N);
  const CUdeviceptr none = 0; /* no scales, no biases */
  must(sgemm_launch(&kernels, NULL, workspaces, alpha, da, SGEMM_ta[0] == 'n' ? M : K, db,
                    SGEMM_tb[0] == 'n' ? K : N, beta, dc, M, none, none),
       "launching");
  must(cuMemcpyDtoH(c, dc, (size_t)M * N * sizeof *c), "cuMemcpyDtoH");
}

int main(int argc, char **argv) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  if (argc != 2) {
    fprintf(stderr, "usage: exported IMAGE\n");
    return 2;
  }
  must(cuInit(0), "cuInit");
  must(cuDeviceGet(&device, 0), "cuDeviceGet");
  must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  must(cuModuleLoad(&module, argv[1]), "loading the image");
  run(module);
  const double worst = difference(a, b, before, c), bound = 1e-6 * (K + 16);
  printf("largest difference from the host's product: %.2g, at most %.2g allowed: %s\n", worst,
         bound, worst <= bound ? "ok" : "WRONG");
  return worst <= bound ? 0 : 1;
}
