// sgemm_swizzled.cuh -- products of tiles that tensor maps brought contiguous along k.
#pragma once
#include "floats.cuh"

// A tile contiguous along k lies there in rows of BK floats; the 16-byte chunks of one change places by
// bits of its number, so that eight neighbouring rows' are in different banks.
__device__ __forceinline__ constexpr int swizzle(int row) {
  return (row * BK * 4 >> 7 & (BK / 4 - 1)) * 16;
}

// Where a thread's part of a tile begins: its first row or column, relative to the stage, in bytes.
template <bool ALONG_K>
__device__ __forceinline__ int beginning(int row) {
  return ALONG_K ? row * BK * 4 + swizzle(row) : row * 4;
}

__device__ __forceinline__ floats<4> shared_floats(unsigned address) {
  floats<4> v;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.e[0]), "=f"(v.e[1]), "=f"(v.e[2]), "=f"(v.e[3])
               : "r"(address));
  return v;
}

// Of row i of a thread, four elements along k.
template <int LANES_ACROSS>
__device__ __forceinline__ floats<4> along_k(unsigned tile, int i, int k) {
  return shared_floats((tile ^ (k * 4 ^ swizzle(i * LANES_ACROSS))) + i * LANES_ACROSS * BK * 4);
}

// Of all N rows of a thread, the element at k.
template <int N, int LANES_ACROSS, int WIDTH>
__device__ __forceinline__ void across_k(float (&fragment)[N], unsigned tile, int k) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const floats<4> v = shared_floats(tile + (k * WIDTH + i * LANES_ACROSS) * 4);
#pragma unroll
    for (int e = 0; e < 4; e++) fragment[i + e] = v.e[e];
  }
}

// Of all rows, four elements along k each.
template <bool ALONG_K, int N, int LANES_ACROSS, int WIDTH>
__device__ __forceinline__ void read_four(float (&fragments)[4][N], unsigned tile, int k) {
  if constexpr (ALONG_K) {
#pragma unroll
    for (int i = 0; i < N; i++) {
      const floats<4> v = along_k<LANES_ACROSS>(tile, i, k);
#pragma unroll
      for (int e = 0; e < 4; e++) fragments[e][i] = v.e[e];
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) across_k<N, LANES_ACROSS, WIDTH>(fragments[e], tile, k + e);
  }
}

// One tile's products. Of one operand four steps are held; the other, if it is contiguous along k, passes row by
// row.
__device__ __forceinline__ void multiply_holding_a(float (&c)[TM][TN], unsigned a_tile,
                                                   unsigned b_tile, int k) {
  float a[4][TM];
  read_four<A_ALONG_K, TM, LM, BM>(a, a_tile, k);
  if constexpr (B_ALONG_K) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const floats<4> b = along_k<LN>(b_tile, j, k);
#pragma unroll
      for (int e = 0; e < 4; e++) {
#pragma unroll
        for (int i = 0; i < TM; i++) c[i][j] += a[e][i] * b.e[e];
      }
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float b[TN];
      across_k<TN, LN, BN>(b, b_tile, k + e);
      multiply(c, a[e], b);
    }
  }
}

__device__ __forceinline__ void multiply_holding_b(float (&c)[TM][TN], unsigned a_tile,
                                                   unsigned b_tile, int k) {
  float b[4][TN];
  read_four<B_ALONG_K, TN, LN, BN>(b, b_tile, k);
  if constexpr (A_ALONG_K) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const floats<4> a = along_k<LM>(a_tile, i, k);
#pragma unroll
      for (int e = 0; e < 4; e++) {
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] += a.e[e] * b[e][j];
      }
    }
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      float a[TM];
      across_k<TM, LM, BM>(a, a_tile, k + e);
      multiply(c, a, b[e]);
    }
  }
}

__device__ __forceinline__ void multiply_tile(float (&c)[TM][TN], unsigned a_tile,
                                              unsigned b_tile) {
#pragma unroll
  for (int k = 0; k < BK; k += 4) {
    if constexpr (ORDER == ORDER_columns) {
      multiply_holding_a(c, a_tile, b_tile, k);
    } else {
      multiply_holding_b(c, a_tile, b_tile, k);
    }
  }
}
