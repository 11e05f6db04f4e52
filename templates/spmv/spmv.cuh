// spmv.cuh -- a sparse matrix by rows: its types, where a row's entries are, and how a result is stored.
#pragma once
#include "elements.cuh"
#include "words.cuh"

using stored = element<DTYPE>::stored;
using number = choose<SUMS == SUMS_f64, double, stored>;  // of products and sums
using offset = element<PTYPE>::stored;

struct span {
  offset begin, end;
};

// Of entries sorted by row, the first in this row or a later one.
__device__ __forceinline__ offset first_entry(long long row, offset nnz, const offset *row_of) {
  offset low = 0, high = nnz;
  while (low < high) {
    const offset middle = low + (high - low) / 2;
    if (row_of[middle] < row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The entries of a row: `ptr` says where each begins; with FORMAT_coo, `row_of` has the row of each entry.
__device__ __forceinline__ span span_of(long long row, long long nnz, const offset *ptr,
                                        const offset *row_of) {
  if constexpr (FORMAT == FORMAT_csr) return {ptr[row], ptr[row + 1]};
  return {first_entry(row, (offset)nnz, row_of), first_entry(row + 1, (offset)nnz, row_of)};
}

// y = alpha sum + beta y; with beta 0, y is not read.
__device__ __forceinline__ void store(stored *y, number sum, double alpha, double beta) {
  number v = (number)alpha * sum;
  if (beta != 0) v += (number)beta * (number)*y;
  *y = (stored)v;
}

// Across LANES lanes of a warp, all of which have the result.
template <int LANES>
__device__ __forceinline__ number sum_lanes(number v) {
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
