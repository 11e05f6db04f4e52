// gemm_fragments.cuh -- a warp's part of tiles of A and B, from shared memory to registers, and its products. There
// are two forms: 16-bit numbers are read as matrices, doubles one by one.
#pragma once
#include "gemm_operand.cuh"
#include "mma.cuh"

constexpr int MI = WM / 16, NI = WN / 8;  // accumulators of a warp
constexpr int KQ = STEP / 4;  // elements along k that a thread holds of a row, of doubles

using fragment_a = choose<DTYPE == DTYPE_f64, double[2 * KQ], unsigned[4]>;
using fragment_b = choose<DTYPE == DTYPE_f64, double[KQ], unsigned[2]>;
using sums = wide[MI][NI][4];

struct position {  // of the warp in the block's tile, of the lane in the warp
  int row, column, lane;
  __device__ explicit position(int thread) {
    lane = thread % 32;
    row = thread / 32 % (BM / WM) * WM;
    column = thread / 32 / (BM / WM) * WN;
  }
};

__device__ __forceinline__ void fetch(double (&a)[MI][2 * KQ], double (&b)[NI][KQ],
                                      const double *stage, position at, int k) {
  const int quad = at.lane / 4, place = at.lane % 4;
#pragma unroll
  for (int q = 0; q < KQ; q++) {
    const int p = k + 4 * q + place;
#pragma unroll
    for (int i = 0; i < 2 * MI; i++) {
      const int row = at.row + 8 * i + quad;
      a[i / 2][2 * q + i % 2] =
          stage[A_ALONG_K ? operand_a::place(row, p) : operand_a::place(p, row)];
    }
#pragma unroll
    for (int j = 0; j < NI; j++) {
      const int column = at.column + 8 * j + quad;
      b[j][q] =
          stage[A_TILE + (B_ALONG_K ? operand_b::place(column, p) : operand_b::place(p, column))];
    }
  }
}

__device__ __forceinline__ void fetch(unsigned (&a)[MI][4], unsigned (&b)[NI][2],
                                      const unsigned short *stage, position at, int k) {
  const int in = at.lane % 8, second = at.lane / 8 % 2, third = at.lane / 16;
#pragma unroll
  for (int i = 0; i < MI; i++) {
    const int row = at.row + 16 * i;
    if (A_ALONG_K) {
      load_matrices(a[i],
                    shared_address(stage + operand_a::place(row + in + 8 * second, k + 8 * third)));
    } else {
      load_transposed(
          a[i], shared_address(stage + operand_a::place(k + in + 8 * third, row + 8 * second)));
    }
  }
#pragma unroll
  for (int j = 0; j < NI; j += 2) {
    const int column = at.column + 8 * j;
    unsigned both[4];
    if (B_ALONG_K) {
      load_matrices(both,
                    shared_address(stage + A_TILE +
                                   operand_b::place(column + in + 8 * third, k + 8 * second)));
    } else {
      load_transposed(both,
                      shared_address(stage + A_TILE +
                                     operand_b::place(k + in + 8 * second, column + 8 * third)));
    }
#pragma unroll
    for (int e = 0; e < 4; e++) b[j + e / 2][e % 2] = both[e];
  }
}

__device__ __forceinline__ void mma(double (&c)[4], const double (&a)[2 * KQ],
                                    const double (&b)[KQ]) {
  mma_f64(c, a, b);
}
__device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (DTYPE == DTYPE_f16) {
    mma_f16(c, a, b);
  } else {
    mma_bf16(c, a, b);
  }
}
