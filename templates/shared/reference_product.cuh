// reference_product.cuh -- the reference of a matrix product. The file that includes this one defines the
// types of an element of A and B (stored), of C (output) and of alpha (scalar), widen, and put, which
// stores a sum to C.
#pragma once

// Where row i of op(A), or column j of op(B), has element p along k.
__device__ long long place_in_a(long long i, long long p, long long lda) {
  return TA == TA_n ? i + p * lda : p + i * lda;
}
__device__ long long place_in_b(long long p, long long j, long long ldb) {
  return TB == TB_n ? p + j * ldb : j + p * ldb;
}

// The sums over k of a block's 64 x 16 results, in double and in order of p. 256 threads; each has row
// i0 + threadIdx.x % 64 and the columns j0 + threadIdx.x / 64 + 4 c. Operands pass through shared memory
// in slices of 16, so that a product of thousands cubed takes milliseconds.
__device__ void reference_sums(int m, int n, int k, const stored *A, long long lda, const stored *B,
                               long long ldb, int i0, int j0, double (&sum)[4]) {
  __shared__ double a[16][65], b[16][17];
  const int row = threadIdx.x % 64, column = threadIdx.x / 64;
  for (int p0 = 0; p0 < k; p0 += 16) {
    __syncthreads();
    for (int e = threadIdx.x; e < 64 * 16; e += 256) {
      const int i = TA == TA_n ? e % 64 : e / 16, p = TA == TA_n ? e / 64 : e % 16;
      a[p][i] = i0 + i < m && p0 + p < k ? (double)widen(A[place_in_a(i0 + i, p0 + p, lda)]) : 0;
    }
    const int near = threadIdx.x % 16, far = threadIdx.x / 16;
    const int j = TB == TB_n ? far : near, q = TB == TB_n ? near : far;
    b[q][j] = j0 + j < n && p0 + q < k ? (double)widen(B[place_in_b(p0 + q, j0 + j, ldb)]) : 0;
    __syncthreads();
    for (int p = 0; p < 16 && p0 + p < k; p++) {
#pragma unroll
      for (int c = 0; c < 4; c++) sum[c] += a[p][row] * b[p][column + 4 * c];
    }
  }
}

// One thread per output element, accumulating in double.
extern "C" __global__ void reference(int m, int n, int k, scalar alpha, const stored *A,
                                     long long lda, const stored *B, long long ldb, scalar beta,
                                     output *C, long long ldc, const output *scales,
                                     const output *biases) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= m) return;
  for (int j = blockIdx.y; j < n; j += gridDim.y) {
    double sum = 0;
    for (long long p = 0; alpha != 0 && p < k; p++) {
      const double a = widen(A[place_in_a(i, p, lda)]);
      sum += a * widen(B[place_in_b(p, j, ldb)]);
    }
    put(sum, alpha, beta, i, j, C + i + j * ldc, scales, biases);
  }
}

// The same sums, without reading every operand from memory once for each.
extern "C" __global__ void reference_large(int m, int n, int k, scalar alpha, const stored *A,
                                           long long lda, const stored *B, long long ldb,
                                           scalar beta, output *C, long long ldc,
                                           const output *scales, const output *biases) {
  const int i0 = blockIdx.x * 64, i = i0 + threadIdx.x % 64;
  for (long long j0 = blockIdx.y * 16; j0 < n; j0 += gridDim.y * 16) {
    double sum[4] = {};
    if (alpha != 0) reference_sums(m, n, k, A, lda, B, ldb, i0, j0, sum);
    for (int c = 0; c < 4; c++) {
      const long long j = j0 + threadIdx.x / 64 + 4 * c;
      if (i < m && j < n) put(sum[c], alpha, beta, i, j, C + i + j * ldc, scales, biases);
    }
  }
}
