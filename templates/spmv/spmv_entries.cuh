// spmv_entries.cuh -- products of entries with their rows, sorted by row, which are added to y.
#pragma once
#include "spmv_carry.cuh"

// A warp takes 32 * ITEMS entries. Rows that begin and end among them are added at once, its first and its last row are
// carried.
template <int ITEMS, typename R>
__device__ __forceinline__ void add_entries(long long nnz, double alpha, const R *row_of,
                                            const int *idx, const stored *val, const stored *x,
                                            stored *y, carry *carries) {
  const int lane = threadIdx.x % 32;
  const long long warp = ((long long)blockIdx.x * BLOCK + threadIdx.x) / 32,
                  begin = warp * 32 * ITEMS;
  if (begin >= nnz) return;
  const long long last = min(begin + 32 * ITEMS, nnz) - 1;
  const long long first_row = row_of[begin];
  long long row[ITEMS];
  number sum[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = min(begin + i * 32 + lane, last);
    row[i] = row_of[at];
    sum[i] = begin + i * 32 + lane > last ? 0 : (number)val[at] * (number)x[idx[at]];
  }
  long long open_row = first_row;  // the row of the step before, and its sum so far
  number open_sum = 0, head = 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    number v = sum[i];
    if (lane == 0) {
      // The row of the step before ends where another one begins.
      if (row[i] == open_row) {
        v += open_sum;
      } else if (open_row != first_row) {
        y[open_row] = (stored)((number)y[open_row] + (number)alpha * open_sum);
      } else {
        head = open_sum;
      }
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const number left = __shfl_up_sync(0xffffffff, v, d);
      const long long at = __shfl_up_sync(0xffffffff, row[i], d);
      if (lane >= d && at == row[i]) v += left;
    }
    const long long next = __shfl_down_sync(0xffffffff, row[i], 1);
    const bool ends = lane < 31 && next != row[i];
    if (ends && row[i] != first_row) y[row[i]] = (stored)((number)y[row[i]] + (number)alpha * v);
    const unsigned ends_first = __ballot_sync(0xffffffff, ends && row[i] == first_row);
    const number first_sum = __shfl_sync(0xffffffff, v, ends_first ? __ffs(ends_first) - 1 : 0);
    if (ends_first && lane == 0) head = first_sum;
    open_row = __shfl_sync(0xffffffff, row[i], 31);
    open_sum = __shfl_sync(0xffffffff, v, 31);
  }
  if (lane == 0) {
    const bool one = open_row == first_row;
    carries[2 * warp].sum = one ? open_sum : head;
    carries[2 * warp].row = first_row;
    // Behind the carry of the same row comes none of its own, so that a row's carries stay next to each other.
    carries[2 * warp + 1].sum = one ? 0 : open_sum;
    carries[2 * warp + 1].row = open_row;
  }
}
