// gemm_plain.cu -- the textbook's tiled kernel, which any device runs: a thread per element of C, tiles of 16 x 16.
// With BY_MMA two warps multiply, by the instruction that gemm_mma.cu uses.
#include "mma.cuh"
#include "gemm_result.cuh"

using column_of_16 = wide[17];

__device__ __forceinline__ unsigned pair(wide low, wide high) {
  return (unsigned)element<DTYPE>::narrow(low) | (unsigned)element<DTYPE>::narrow(high) << 16;
}

// Adds 16 steps along k of the warp's 16 rows and 8 columns, from `column` on.
__device__ __forceinline__ void multiply_16(float (&c)[4], const column_of_16 *a,
                                            const column_of_16 *b, int column) {
  const int quad = threadIdx.x % 32 / 4, first = threadIdx.x % 4 * 2;
  const auto rows = [&](int k, int row) { return pair(a[k][row], a[k + 1][row]); };
  const auto columns = [&](int k) { return pair(b[k][column + quad], b[k + 1][column + quad]); };
  const unsigned as[4] = {rows(first, quad), rows(first, quad + 8), rows(first + 8, quad),
                          rows(first + 8, quad + 8)};
  const unsigned bs[2] = {columns(first), columns(first + 8)};
  if constexpr (DTYPE == DTYPE_f16) {
    mma_f16(c, as, bs);
  } else {
    mma_bf16(c, as, bs);
  }
}

__device__ __forceinline__ void multiply_16(double (&c)[4], const column_of_16 *a,
                                            const column_of_16 *b, int column) {
  const int quad = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
#pragma unroll
  for (int k = 0; k < 16; k += 4) {
    const double as[2] = {a[k + place][quad], a[k + place][quad + 8]};
    const double bs[1] = {b[k + place][column + quad]};
    mma_f64(c, as, bs);
  }
}

// With alpha 0, A and B are not read, as in BLAS.
extern "C" __global__ void __launch_bounds__(256)
    gemm(int m, int n, int k, double alpha, const stored *A, long long lda, const stored *B,
         long long ldb, double beta, output *C, long long ldc, const output *scales,
         const output *biases) {
  const corner tile(blockIdx.x, m, n);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int row = tile.row + x, column = tile.column + y;
  wide(*a)[17] = reinterpret_cast<wide(*)[17]>(memory), (*b)[17] = a + 16;  // by k first
  const int warp = threadIdx.x / 32;
  wide sum = 0, sums[4] = {};  // of a thread; of a lane
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
    if constexpr (BY_MMA) {
      if (warp < 2) multiply_16(sums, a, b, 8 * warp);
    } else {
#pragma unroll
      for (int q = 0; q < 16; q++) sum += a[q][x] * b[q][y];
    }
    __syncthreads();
  }
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  if constexpr (!BY_MMA) {
    to.put(sum, row, column);
  } else if (warp < 2) {
    const int quad = threadIdx.x % 32 / 4, first = threadIdx.x % 4 * 2;
#pragma unroll
    for (int e = 0; e < 4; e++)
      to.put(sums[e], tile.row + quad + e / 2 * 8, tile.column + 8 * warp + first + e % 2);
  }
}
