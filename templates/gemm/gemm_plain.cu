// gemm_plain.cu -- the textbook's tiled kernel, which any device runs: a thread per element of C, tiles of 16 x 16.
#include "gemm_result.cuh"

// With alpha 0, A and B are not read, as in BLAS.
extern "C" __global__ void __launch_bounds__(256)
    gemm(int m, int n, int k, double alpha, const stored *A, long long lda, const stored *B,
         long long ldb, double beta, output *C, long long ldc, const output *scales,
         const output *biases) {
  const corner tile(blockIdx.x, m, n);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int row = tile.row + x, column = tile.column + y;
  wide(*a)[17] = reinterpret_cast<wide(*)[17]>(memory), (*b)[17] = a + 16;  // by k first
  wide sum = 0;
  for (int p = 0; alpha != 0 && p < k; p += 16) {
    if constexpr (TA == TA_n) {
      a[y][x] = row < m && p + y < k ? widen(A[row + (p + y) * lda]) : 0;
    } else {
      a[x][y] = tile.row + y < m && p + x < k ? widen(A[p + x + (tile.row + y) * lda]) : 0;
    }
    if constexpr (TB == TB_n) {
      b[x][y] = column < n && p + x < k ? widen(B[p + x + column * ldb]) : 0;
    } else {
      b[y][x] = tile.column + x < n && p + y < k ? widen(B[tile.column + x + (p + y) * ldb]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 16; q++) sum += a[q][x] * b[q][y];
    __syncthreads();
  }
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  to.put(sum, row, column);
}
