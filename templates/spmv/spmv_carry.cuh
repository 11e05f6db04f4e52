// spmv_carry.cuh -- parts of rows that tiles of entries cut: a row and a number each, sorted by row. A second launch adds
// them to y in order.
#pragma once
#include "spmv.cuh"

struct carry {
  number sum;
  long long row;  // -1: none
};

// Warp-wide: what the carries from `at` on, which a row's first is, add up to.
__device__ __forceinline__ number sum_run(long long at, long long row, long long count,
                                          const carry *all) {
  number sum = 0;
  for (long long i = at + threadIdx.x % 32;; i += 32) {
    const bool same = i < count && all[i].row == row;
    if (same) sum += all[i].sum;
    if (__any_sync(0xffffffff, !same)) break;
  }
  return sum_lanes<32>(sum);
}

// A thread for each carry. The first of a row adds up those behind it, or its warp does if there are many.
__device__ __forceinline__ void add_carries(long long count, const carry *all, double alpha,
                                            stored *y) {
  constexpr int FEW = 4;
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = at < count ? all[at].row : -1;
  const bool leads = row >= 0 && (at == 0 || all[at - 1].row != row);
  const bool many = leads && at + FEW < count && all[at + FEW].row == row;
  number sum = 0;
  if (leads && !many) {
    for (long long i = at; i < count && all[i].row == row; i++) sum += all[i].sum;
  }
  for (unsigned rest = __ballot_sync(0xffffffff, many); rest; rest &= rest - 1) {
    const int lane = __ffs(rest) - 1;
    const number v =
        sum_run(__shfl_sync(0xffffffff, at, lane), __shfl_sync(0xffffffff, row, lane), count, all);
    if (threadIdx.x % 32 == lane) sum = v;
  }
  if (leads) y[row] = (stored)((number)y[row] + (number)alpha * sum);
}
