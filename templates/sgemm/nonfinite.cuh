// nonfinite.cuh -- results that the parts of split.cuh cannot represent: infinities, and sums that overflow.
// Include it behind tensor.cuh or tensor80.cuh.
//
// An infinity less its high part is a NaN, and a number from 2^128 - 2^116 on has infinity for its high
// part: either leaves a sum that is not finite, which ordinary numbers never do. Such sums are formed
// again as single precision forms them, one product after the other; where these overflow, or meet a
// NaN, that is the result. A warp adds up one element of C at a time, so that a row of NaNs in a large
// matrix costs little.
#pragma once

// The sum of `depth` products, by all lanes of a warp.
__device__ __forceinline__ float plain_sum(const float *a, long long a_stride, const float *b,
                                           long long b_stride, long long depth) {
  float sum = 0;
#pragma unroll 1
  for (long long first = 0; first < depth; first += 128) {
#pragma unroll
    for (int i = 0; i < 128; i += 32) {
      const long long p = first + i + threadIdx.x % 32;
      if (p < depth) sum = fmaf(a[p * a_stride], b[p * b_stride], sum);
    }
    if (__any_sync(0xffffffff, sum != sum)) break;  // a NaN remains one
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lane);
  return sum;
}

// A truncated sum that overflows may be the largest number.
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) < 0x1.fffffep127f; }

// Forms again those of a tile's sums, of `depth` products from the k-th on, that are not finite.
__device__ __forceinline__ void restore(float (&c)[CM][CN], int m, int n, const float *A,
                                        long long lda, const float *B, long long ldb, corner tile,
                                        long long k, long long depth) {
  bool finite = true;
#pragma unroll
  for (int r = 0; r < CM * CN; r++) finite &= is_finite(c[r / CN][r % CN]);
  if (__all_sync(0xffffffff, finite)) return;
  const position at(threadIdx.x);
  constexpr bool A_RUNS = TA == TA_t, B_RUNS = TB == TB_n;  // along k
  A += A_RUNS ? k : k * lda;
  B += B_RUNS ? k : k * ldb;
#pragma unroll 1
  for (int r = 0; r < CM * CN; r++) {
    const int i = tile.row + at.row + position::row_offset(r / CN, r % CN);
    const int j = tile.column + at.column + position::column_offset(r / CN, r % CN);
    float own = 0;
#pragma unroll
    for (int e = 0; e < CM * CN; e++) own = e == r ? c[e / CN][e % CN] : own;
    unsigned left = __ballot_sync(0xffffffff, i < m && j < n && !is_finite(own));
    for (; left > 0; left &= left - 1) {
      const int lane = __ffs(left) - 1;
      const long long its_row = __shfl_sync(0xffffffff, i, lane);
      const long long its_column = __shfl_sync(0xffffffff, j, lane);
      const float sum = plain_sum(A + its_row * (A_RUNS ? lda : 1), A_RUNS ? 1 : lda,
                                  B + its_column * (B_RUNS ? ldb : 1), B_RUNS ? 1 : ldb, depth);
      if (threadIdx.x % 32 == lane) own = sum;
    }
#pragma unroll
    for (int e = 0; e < CM * CN; e++) c[e / CN][e % CN] = e == r ? own : c[e / CN][e % CN];
  }
}
