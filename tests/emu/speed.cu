// Kernels that bench_emu measures: products of fragments, and code that diverges.
#include <mma.h>

using namespace nvcuda;
#define GLOBAL extern "C" __global__ void

GLOBAL fragments(const __half *a, const __half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int i = 0; i < n; i++) {
    wmma::load_matrix_sync(fa, a + i % 4 * 256, 16);
    wmma::load_matrix_sync(fb, b + i % 4 * 256, 16);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 256, fc, 16, wmma::mem_row_major);
}

__device__ float step(float x, int k) {
  for (int i = 0; i < 8; i++) x = x * 1.0001f + k;
  return x;
}

// `parts` groups of lanes take branches of their own; 1: uniform
GLOBAL branches(float *y, int n, int parts) {
  float x = threadIdx.x;
  const int part = threadIdx.x % 32 % parts;
  for (int i = 0; i < n; i++) {
    if (part == 0) x = step(x, i);
    else if (part == 1) x = step(x, 2 * i) - 1;
    else if (part == 2) x = step(x, 3 * i) * 2;
    else x = step(x, 5 * i) + 3;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
