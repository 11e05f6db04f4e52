// spmv_sell.cu -- slices of SLICE units next to each other, each padded to its longest and stored column by column, so
// that lanes of a warp, which take VEC units each, read what lies next to each other. Sorting units by length within
// windows of SIGMA makes slices even. Columns take 2 bytes, counted from the least of a slice's column, with COLUMNS=u16.
// src: Kreutzer and others, A unified sparse matrix data format, SELL-C-sigma; with SIDE > 1 units of dense blocks
#include "spmv_pack.cuh"
#include "spmv_units.cuh"
#include "spmv_scan.cuh"
@ if ALG == "jds_sections" then
#include "spmv_lengths.cuh"
@ end
#include "pdl.cuh"

using column_type = choose<COLUMNS == COLUMNS_u16, unsigned short, int>;

constexpr int BLOCK_VALUES = SIDE * SIDE;

__device__ __forceinline__ long long unit_at(long long slot, long long units, const int *order) {
  return slot < units ? SORTED ? order[slot] : slot : units;
}

// ---- preparation ---------------------------------------------------------------------------------

@ if SIDE > 1 or SIGMA > 1 or ALG == "jds_sections" then
extern "C" __global__ void __launch_bounds__(256)
    unit_lengths(long long rows, long long units, const offset *ptr, const int *idx, int *length,
                 unsigned long long *totals) {
  const long long unit = blockIdx.x * 256ll + threadIdx.x;
  if (unit >= units) return;
  unit_walk w = walk(unit, rows, ptr);
  int n = 0;
  bool ascend = true;
  if constexpr (SIDE == 1) {
    n = (int)(w.end[0] - w.at[0]);
  } else {
    for (int column; (column = next_block(w, idx)) >= 0; n++) {
      ascend = pass_block(w, column, idx, [](int, offset) {}) && ascend;
    }
  }
  length[unit] = n;
  if (!ascend) atomicMax(totals + 2, 1);
}
@ end

@ if SIGMA > 1 then
// A block sorts a window of units, the longest first; of equal ones, as they were.
extern "C" __global__ void __launch_bounds__(512)
    sort_window(long long units, const int *length, int *order) {
  __shared__ unsigned long long keys[SIGMA];
  const long long first = (long long)blockIdx.x * SIGMA;
  for (int i = threadIdx.x; i < SIGMA; i += 512) {
    keys[i] = first + i < units ? (unsigned long long)(0x7fffffff - length[first + i]) << 32 | i : ~0ull;
  }
  for (int size = 2; size <= SIGMA; size *= 2) {
    for (int far = size / 2; far > 0; far /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < SIGMA / 2; i += 512) {
        const int low = i / far * 2 * far + i % far, high = low + far;
        const unsigned long long a = keys[low], b = keys[high];
        if ((a > b) == ((low & size) == 0)) keys[low] = b, keys[high] = a;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < SIGMA && first + i < units; i += 512) {
    order[first + i] = (int)first + (int)(unsigned)keys[i];
  }
}
@ end

// A warp for each slice: how many slots it has.
extern "C" __global__ void __launch_bounds__(256)
    slice_slots(long long rows, long long units, long long slices, const offset *ptr, const int *length,
                const int *order, long long *starts) {
  const long long slice = blockIdx.x * 8ll + threadIdx.x / 32;
  if (slice >= slices) return;
  int longest = 0;
  for (int i = threadIdx.x % 32; i < SLICE; i += 32) {
    const long long unit = unit_at(slice * SLICE + i, units, order);
    if (unit < units) {
      longest = max(longest, SIDE > 1 || SORTED ? length[unit] : (int)(ptr[unit + 1] - ptr[unit]));
    }
  }
#pragma unroll
  for (int d = 16; d > 0; d /= 2) longest = max(longest, __shfl_xor_sync(0xffffffff, longest, d));
  if (threadIdx.x % 32 == 0) starts[slice] = (long long)longest * SLICE;
}

// A warp goes through the columns of 32 slots of a slice; `take` gets the position of its first slot in each, and a walk
// whose block it passes.
template <typename F>
__device__ __forceinline__ void each_column(long long rows, long long units, long long slices, const offset *ptr,
                                            const int *order, const long long *starts, F take) {
  const long long slot = blockIdx.x * 256ll + threadIdx.x, slice = slot / SLICE;
  if (slice >= slices) return;
  unit_walk w = walk(unit_at(slot, units, order), rows, ptr);
  const long long end = starts[slice + 1];
  for (long long at = starts[slice]; at < end; at += SLICE) take(at + slot % SLICE / 32 * 32, w);
}

// The column of the walk's block, which it passes, and the least and the largest of the warp.
struct column_range {
  int own, least, most;
};

__device__ __forceinline__ column_range pass_column(unit_walk &w, const int *idx) {
  const int own = next_block(w, idx);
  column_range r = {own, (int)min((unsigned)own, 0x7fffffffu), own};
  pass_block(w, own, idx, [](int, offset) {});
#pragma unroll
  for (int d = 16; d > 0; d /= 2) {
    r.least = min(r.least, __shfl_xor_sync(0xffffffff, r.least, d));
    r.most = max(r.most, __shfl_xor_sync(0xffffffff, r.most, d));
  }
  return r;
}

@ if COLUMNS == "u16" then
extern "C" __global__ void __launch_bounds__(256)
    slice_spans(long long rows, long long units, long long slices, const offset *ptr, const int *idx, const int *order,
                const long long *starts, unsigned long long *totals) {
  int span = 0;
  each_column(rows, units, slices, ptr, order, starts, [&](long long, unit_walk &w) {
    const column_range r = pass_column(w, idx);
    span = max(span, r.most - r.least);
  });
  if (threadIdx.x % 32 == 0 && span > 0) atomicMax(totals + 1, (unsigned long long)span);
}
@ end

extern "C" __global__ void __launch_bounds__(256)
    slice_columns(long long rows, long long units, long long slices, const offset *ptr, const int *idx,
                  const int *order, const long long *starts, column_type *columns, int *bases) {
  const int lane = threadIdx.x % 32;
  each_column(rows, units, slices, ptr, order, starts, [&](long long at, unit_walk &w) {
    const column_range r = pass_column(w, idx);
    const int base = COLUMNS == COLUMNS_u16 && r.most >= 0 ? r.least : 0;
    if (COLUMNS == COLUMNS_u16 && lane == 0) bases[at / 32] = base;
    columns[at + lane] = (column_type)(r.own < 0 ? 0 : r.own - base);
  });
}

extern "C" __global__ void __launch_bounds__(256)
    slice_values(long long rows, long long units, long long slices, const offset *ptr, const int *idx,
                 const stored *val, const int *order, const long long *starts, stored *values) {
  each_column(rows, units, slices, ptr, order, starts, [&](long long at, unit_walk &w) {
    stored block[BLOCK_VALUES];
#pragma unroll
    for (int k = 0; k < BLOCK_VALUES; k++) block[k] = padding();
    pass_block(w, next_block(w, idx), idx, [&](int at, offset i) {
#pragma unroll
      for (int k = 0; k < BLOCK_VALUES; k++) {  // not block[at]: they stay in registers
        if (k == at) block[k] = is_padding(block[k]) ? entry(val[i]) : entry(block[k] + val[i]);
      }
    });
    // At a multiple of SLICE * SIDE^2 a block's first values, then their second ...
    stored *to = values + at / SLICE * SLICE * BLOCK_VALUES + at % SLICE + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < BLOCK_VALUES; k++) to[k * SLICE] = block[k];
  });
}

// ---- the product ---------------------------------------------------------------------------------

struct sums {
  number of[VEC][SIDE];
};

// What the warps of a slice, SPLIT of them, have added up; the first has the result.
__device__ __forceinline__ void combine(sums &s, int part) {
  if constexpr (SPLIT > 1) {
    __shared__ number all[SPLIT][BLOCK / SPLIT][VEC * SIDE + 1];
    const int group = threadIdx.x / (32 * SPLIT), at = group * 32 + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < VEC * SIDE; i++) all[part][at][i] = s.of[i / SIDE][i % SIDE];
    __syncthreads();
#pragma unroll
    for (int p = 1; p < SPLIT; p++) {
#pragma unroll
      for (int i = 0; i < VEC * SIDE; i++) s.of[i / SIDE][i % SIDE] += part == 0 ? all[p][at][i] : 0;
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_slices(long long rows, long long cols, long long units, double alpha, const long long *__restrict__ starts,
                    const int *__restrict__ order, const column_type *__restrict__ columns,
                    const int *__restrict__ bases, const stored *__restrict__ values,
                    const stored *__restrict__ x, double beta, stored *y) {
  const int zero = pdl_wait();
  starts += zero, columns += zero, bases += zero, values += zero, x += zero, order += zero;
  const int warp = threadIdx.x / 32, part = warp % SPLIT;
  const long long first = ((long long)blockIdx.x * (BLOCK / 32 / SPLIT) + warp / SPLIT) * 32 * VEC;
  const long long slice = first / SLICE;
  const int own = (int)(first % SLICE) + threadIdx.x % 32 * VEC;  // in the slice
  sums s = {};
  if (first < units) {
    const long long begin = starts[slice];
    const int width = (int)((starts[slice + 1] - begin) / SLICE);
    columns += begin + own;
    values += begin * BLOCK_VALUES + own;
    bases += (begin + own) / 32;
    for (int j = part * UNROLL; j < width; j += SPLIT * UNROLL) {
      pack<column_type> at[UNROLL];
      pack<stored> a[UNROLL][BLOCK_VALUES];
      int base[UNROLL];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        if (j + u < width) {
          at[u] = load_pack(columns + (long long)(j + u) * SLICE);
          base[u] = COLUMNS == COLUMNS_u16 ? bases[(long long)(j + u) * (SLICE / 32)] : 0;
#pragma unroll
          for (int k = 0; k < BLOCK_VALUES; k++) {
            a[u][k] = load_pack(values + ((long long)(j + u) * BLOCK_VALUES + k) * SLICE);
          }
        } else {
          base[u] = 0;
#pragma unroll
          for (int k = 0; k < BLOCK_VALUES * VEC; k++) a[u][k / VEC].e[k % VEC] = padding();
        }
      }
      stored b[UNROLL][VEC][SIDE];
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
          const int column = j + u < width ? base[u] + (int)at[u].e[e] : 0;
#pragma unroll
          for (int c = 0; c < SIDE; c++) {
            const bool is = SIDE == 1 ? !is_padding(a[u][0].e[e]) : j + u < width && (long long)column * SIDE + c < cols;
            b[u][e][c] = is ? x[(long long)column * SIDE + c] : 0;
          }
        }
      }
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
#pragma unroll
        for (int e = 0; e < VEC; e++) {
#pragma unroll
          for (int k = 0; k < BLOCK_VALUES; k++) {
            if (SIDE == 1 || !is_padding(a[u][k].e[e])) {
              s.of[e][k / SIDE] += (number)a[u][k].e[e] * (number)b[u][e][k % SIDE];
            }
          }
        }
      }
    }
  }
  combine(s, part);
#pragma unroll
  for (int e = 0; e < VEC; e++) {
    const long long slot = first + threadIdx.x % 32 * VEC + e;
    const long long unit = part == 0 ? unit_at(slot, units, order) : units;
#pragma unroll
    for (int r = 0; r < SIDE; r++) {
      if (unit < units && unit * SIDE + r < rows) store(y + unit * SIDE + r, s.of[e][r], alpha, beta);
    }
  }
}
