// gemm_sums.cuh -- a block's accumulators to C, and partial sums of blocks that share a tile's k.
#pragma once
#include "gemm_fragments.cuh"

struct alignas(CV * sizeof(output)) vector {
  output e[CV];
};
struct alignas((CV * SUM_NBYTES) < 16 ? (CV * SUM_NBYTES) : 16) vector_sum {
  wide e[CV];
};

// CV elements of a column, all inside or none; with beta 0, C is not read.
__device__ __forceinline__ void put_vector(const result &to, const wide *from, int row,
                                           int column) {
  if (to.excludes(row, column)) return;
  const vector_sum sum = *reinterpret_cast<const vector_sum *>(from);
  vector *at = reinterpret_cast<vector *>(to.C + row + column * to.ld);
  vector v = vector();
  if (to.beta != 0) v = *at;
#pragma unroll
  for (int e = 0; e < CV; e++) v.e[e] = rounded(to.finished(sum.e[e], v.e[e], row + e, column));
  *at = v;
}

__device__ __forceinline__ void store(const sums &c, const result &to, corner tile) {
  const position at(threadIdx.x);
  const int quad = at.lane / 4, place = at.lane % 4;
  const int row = tile.row + at.row, column = tile.column + at.column;
  if constexpr (STORE == STORE_direct) {
#pragma unroll
    for (int j = 0; j < NI; j++) {
#pragma unroll
      for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          to.put(c[i][j][e], row + 16 * i + quad + e / 2 * 8, column + 8 * j + 2 * place + e % 2);
        }
      }
    }
  } else {
    // A warp transposes 8 * STORED_NI columns at a time in its own part of shared memory.
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
#pragma unroll 2
      for (int v = at.lane; v < 8 * STORED_NI * WM / CV; v += 32) {
        const int x = v % (WM / CV) * CV, y = v / (WM / CV);
        put_vector(to, slice + y * (WM + 4) + x, row + x, column + 8 * first + y);
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
