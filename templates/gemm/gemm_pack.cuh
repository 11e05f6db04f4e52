// gemm_pack.cuh -- copies matrices of 16-bit numbers, whose addresses or leading dimensions are no multiples of 16
// bytes, for tensor maps, which need that: columns one after the other, each from a multiple of 16 bytes on.
#pragma once
#include "lanes.cuh"
#include "pdl.cuh"

struct packing {
  int rows, columns;
  const stored *from;
  long long ld;
  stored *to;
};

// Eight elements of a column, zeros behind its end; one by one where words would reach beyond it.
__device__ __forceinline__ uint4 eight(const stored *column, int row, int rows) {
  unsigned v[4] = {};
  if (row > 0 && row + 8 < rows) {
    const stored *const from = column + row;
    const unsigned odd = (unsigned)(unsigned long long)from / 2 % 2;
    const unsigned *const words = reinterpret_cast<const unsigned *>(from - odd);
    unsigned w[5] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = __ldg(words + i);
    if (odd) w[4] = __ldg(words + 4);
#pragma unroll
    for (int i = 0; i < 4; i++) v[i] = __funnelshift_r(w[i], w[i + 1], 16 * odd);
  } else {
#pragma unroll
    for (int e = 0; e < 8; e++) {
      if (row + e < rows) v[e / 2] |= (unsigned)column[row + e] << 16 * (e % 2);
    }
  }
  return {v[0], v[1], v[2], v[3]};
}

// A block copies 256 elements of each of 8 columns, of A or of B.
extern "C" __global__ void __launch_bounds__(256)
    gemm_pack(int a_rows, int a_columns, const stored *A, long long lda, stored *packed_a,
              int b_rows, int b_columns, const stored *B, long long ldb, stored *packed_b) {
  griddepcontrol_launch_dependents();
  const int zero = pdl_wait();
  const packing x = blockIdx.z == 0 ? packing{a_rows, a_columns, A + zero, lda, packed_a}
                                    : packing{b_rows, b_columns, B + zero, ldb, packed_b};
  const int row = (blockIdx.x * 32 + threadIdx.x % 32) * 8;
  const long long ld = (x.rows + 7ll) / 8 * 8;
  if (row >= x.rows) return;
#pragma unroll 1
  for (long long j = blockIdx.y * 8ll + threadIdx.x / 32; j < x.columns; j += gridDim.y * 8ll) {
    *reinterpret_cast<uint4 *>(x.to + row + j * ld) = eight(x.from + j * x.ld, row, x.rows);
  }
}
