// gemm_sums.cuh -- a block's accumulators to C, and partial sums of blocks that share a tile's k.
#pragma once
#include "gemm_fragments.cuh"

struct alignas(CV * sizeof(output)) vector {
  output e[CV];
};
struct alignas((CV * SUM_NBYTES) < 16 ? (CV * SUM_NBYTES) : 16) vector_sum {
  wide e[CV];
};

// CV elements of a column of C as they were, all inside or none; with beta 0, C is not read.
__device__ __forceinline__ vector vector_before(const result &to, int row, int column) {
  if (to.beta == 0 || to.excludes(row, column)) return vector();
  return *reinterpret_cast<const vector *>(to.C + row + column * to.ld);
}

__device__ __forceinline__ void put_vector(const result &to, const wide *from, vector v, int row,
                                           int column) {
  if (to.excludes(row, column)) return;
  const vector_sum sum = *reinterpret_cast<const vector_sum *>(from);
#pragma unroll
  for (int e = 0; e < CV; e++) v.e[e] = rounded(to.finished(sum.e[e], v.e[e], row + e, column));
  *reinterpret_cast<vector *>(to.C + row + column * to.ld) = v;
}

// Some of C is read at a time: no read passes a store to C.
__device__ __forceinline__ void store(const sums &c, const result &to, corner tile) {
  const position at(threadIdx.x);
  const int quad = at.lane / 4, place = at.lane % 4;
  const int row = tile.row + at.row, column = tile.column + at.column;
  if constexpr (STORE == STORE_direct) {
#pragma unroll
    for (int j = 0; j < NI; j++) {
      const auto row_of = [&](int r) { return row + r / 4 * 16 + quad + r % 4 / 2 * 8; };
      const auto column_of = [&](int r) { return column + 8 * j + 2 * place + r % 2; };
      output before[4 * MI];
#pragma unroll
      for (int r = 0; r < 4 * MI; r++) before[r] = to.before(row_of(r), column_of(r));
#pragma unroll
      for (int r = 0; r < 4 * MI; r++)
        to.put(c[r / 4][j][r % 4], before[r], row_of(r), column_of(r));
    }
  } else {
    // A warp transposes 8 * STORED_NI columns at a time in its own part of shared memory.
    constexpr int ALL = 8 * STORED_NI * WM / CV, AT_A_TIME = ALL < 4 * 32 ? (ALL + 31) / 32 : 4;
    wide *slice = reinterpret_cast<wide *>(memory) + threadIdx.x / 32 * STORED_SIZE;
    __syncthreads();  // tiles were there
#pragma unroll
    for (int first = 0; first < NI; first += STORED_NI) {
#pragma unroll
      for (int r = 0; r < STORED_NI * MI * 4; r++) {
        const int j = r / (4 * MI), i = r / 4 % MI, e = r % 4;
        slice[(8 * j + 2 * place + e % 2) * (WM + 4) + 16 * i + quad + e / 2 * 8] =
            c[i][first + j][e];
      }
      __syncwarp();
#pragma unroll 1
      for (int v = at.lane; v < ALL; v += 32 * AT_A_TIME) {
        const auto x = [&](int r) { return (v + 32 * r) % (WM / CV) * CV; };
        const auto y = [&](int r) { return (v + 32 * r) / (WM / CV); };
        vector before[AT_A_TIME];
#pragma unroll
        for (int r = 0; r < AT_A_TIME; r++) {
          if (v + 32 * r < ALL)
            before[r] = vector_before(to, row + x(r), column + 8 * first + y(r));
        }
#pragma unroll
        for (int r = 0; r < AT_A_TIME; r++) {
          if (v + 32 * r >= ALL) break;
          put_vector(to, slice + y(r) * (WM + 4) + x(r), before[r], row + x(r),
                     column + 8 * first + y(r));
        }
      }
      __syncwarp();
    }
  }
}

// ---- partial sums, in the order in which threads write them --------------------------------------

struct alignas(16) quarter {
  wide e[16 / sizeof(wide)];
};
constexpr int QUARTERS = MI * NI * 4 * SUM_NBYTES / 16;  // of a thread

__device__ __forceinline__ quarter *partials(wide *partial, int split) {
  return reinterpret_cast<quarter *>(partial) +
         ((long long)blockIdx.x * SPLITK + split) * (QUARTERS * THREADS) + threadIdx.x;
}

__device__ __forceinline__ void put_partial(const sums &c, quarter *to) {
#pragma unroll
  for (int q = 0; q < QUARTERS; q++) {
    quarter v;
#pragma unroll
    for (int e = 0; e < 16 / SUM_NBYTES; e++) {
      const int i = q * 16 / SUM_NBYTES + e;
      v.e[e] = c[i / (4 * NI)][i / 4 % NI][i % 4];
    }
    to[q * THREADS] = v;
  }
}

// The sum over all splits, always in the same order.
__device__ __forceinline__ void add_partials(sums &c, wide *partial) {
#pragma unroll 1
  for (int s = 0; s < SPLITK; s++) {
    const quarter *from = partials(partial, s);
#pragma unroll
    for (int q = 0; q < QUARTERS; q++) {
      const quarter v = from[q * THREADS];
#pragma unroll
      for (int e = 0; e < 16 / SUM_NBYTES; e++) {
        const int i = q * 16 / SUM_NBYTES + e;
        c[i / (4 * NI)][i / 4 % NI][i % 4] += v.e[e];
      }
    }
  }
}
