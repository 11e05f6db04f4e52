// spmv_units.cuh -- a unit is SIDE rows of a matrix, whose entries lie in blocks of SIDE x SIDE: with SIDE 1, a row and
// its entries. The blocks of a unit come in the order of their columns, by merging its rows, whose columns have to ascend.
#pragma once
#include "spmv_slots.cuh"

struct unit_walk {
  offset at[SIDE], end[SIDE];
};

// Without entries if there is no such unit.
__device__ __forceinline__ unit_walk walk(long long unit, long long rows, const offset *ptr) {
  unit_walk w;
#pragma unroll
  for (int r = 0; r < SIDE; r++) {
    const long long row = unit * SIDE + r;
    w.at[r] = row < rows ? ptr[row] : 0;
    w.end[r] = row < rows ? ptr[row + 1] : 0;
  }
  return w;
}

// The column of the next block, or -1 behind the last.
__device__ __forceinline__ int next_block(const unit_walk &w, const int *idx) {
  unsigned column = 0xffffffff;
#pragma unroll
  for (int r = 0; r < SIDE; r++) {
    if (w.at[r] < w.end[r]) column = min(column, (unsigned)(idx[w.at[r]] / SIDE));
  }
  return (int)column;
}

// Goes past the entries of that block; `take` gets where each is in the block, and its position in the matrix. False: the
// columns of a row do not ascend.
template <typename F>
__device__ __forceinline__ bool pass_block(unit_walk &w, int column, const int *idx, F take) {
  if (column < 0) return true;
  if constexpr (SIDE == 1) {
    take(0, w.at[0]++);
    return true;
  }
  bool ascend = true;
#pragma unroll
  for (int r = 0; r < SIDE; r++) {
    while (w.at[r] < w.end[r] && idx[w.at[r]] / SIDE == column) {
      take(r * SIDE + idx[w.at[r]] % SIDE, w.at[r]);
      w.at[r]++;
    }
    ascend = ascend && (w.at[r] == w.end[r] || idx[w.at[r]] / SIDE > column);
  }
  return ascend;
}
