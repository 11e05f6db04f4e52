// gemm_cluster.cuh -- the blocks of a cluster, which share a tile's k, add up through each other's shared memory.
#pragma once
#include "cluster.cuh"
#include "gemm_sums.cuh"

// Where a thread's i-th sum belongs in C.
struct element_of_c {
  int row, column;
  __device__ __forceinline__ element_of_c(const position &at, corner tile, int i)
      : row(tile.row + at.row + i / (4 * NI) * 16 + at.lane / 4 + i % 4 / 2 * 8),
        column(tile.column + at.column + i / 4 % NI * 8 + at.lane % 4 * 2 + i % 2) {}
};

// Each block finishes every SPLITK-th quarter of the threads' sums, and reads C while the others arrive.
__device__ __forceinline__ void finish_in_cluster(const sums &c, const result &to, corner tile) {
  constexpr int EACH = 16 / SUM_NBYTES, MINE = (QUARTERS + SPLITK - 1) / SPLITK;
  quarter *const own = reinterpret_cast<quarter *>(memory) + threadIdx.x;
  const position at(threadIdx.x);
  output before[MINE][EACH] = {};
  __syncthreads();  // tiles were there
  put_partial(c, own);
  cluster_arrive_own();
#pragma unroll
  for (int x = 0; x < MINE * EACH; x++) {
    const int q = x / EACH * SPLITK + (int)blockIdx.y;
    const element_of_c y(at, tile, q * EACH + x % EACH);
    if (to.beta != 0 && q < QUARTERS && !to.excludes(y.row, y.column)) {
      before[x / EACH][x % EACH] = to.C[y.row + y.column * to.ld];
    }
  }
  cluster_wait();
#pragma unroll
  for (int x = 0; x < MINE; x++) {
    const int q = x * SPLITK + (int)blockIdx.y;
    if (q >= QUARTERS) break;
    wide sum[EACH] = {};
#pragma unroll
    for (int s = 0; s < SPLITK; s++) {
      const quarter v = in_block(own, s)[q * THREADS];
#pragma unroll
      for (int e = 0; e < EACH; e++) sum[e] += v.e[e];
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      const element_of_c y(at, tile, q * EACH + e);
      if (to.excludes(y.row, y.column)) continue;
      to.C[y.row + y.column * to.ld] = rounded(to.finished(sum[e], before[x][e], y.row, y.column));
    }
  }
  cluster_barrier();  // other blocks may still read this one's shared memory
}
