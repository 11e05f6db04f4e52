// gemm_mma.cu -- gemm on tensor cores, by warps: tiles of A and B are copied to shared memory STAGES deep, and each
// warp multiplies its WM x WN part of the block's tile.
#include "ptx.cuh"
#include "mma.cuh"
#include "last_block.cuh"
#include "pdl.cuh"
#include "gemm_result.cuh"
#include "gemm_operand.cuh"
#include "gemm_fragments.cuh"
#include "gemm_sums.cuh"
@ if FINISH == "cluster" then
#include "gemm_cluster.cuh"
@ end

__device__ __forceinline__ void product(sums &c, operand_a &a, operand_b &b, long long depth) {
  stored *const shared = reinterpret_cast<stored *>(memory);
  const position at(threadIdx.x);
  const int tiles = (int)((depth + BK - 1) / BK);
  int next = 0, stage = 0, fill = 0;
  const auto copy = [&] {
    if (next < tiles) {
      const int part = (int)min((long long)BK, depth - (long long)next * BK);
      a.copy(shared + fill * STAGE, part);
      b.copy(shared + fill * STAGE + A_TILE, part);
    }
    cp_async_commit();
    next++;
    fill = fill + 1 == STAGES ? 0 : fill + 1;
  };
  const auto turn = [&] {  // the next tile is there, and no thread reads the one before the last
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    copy();
  };
  fragment_a fa[FRAGMENTS][MI];
  fragment_b fb[FRAGMENTS][NI];
  const auto read = [&](int f, int k) { fetch(fa[f], fb[f], shared + stage * STAGE, at, k); };
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; s++) copy();
  if (FRAGMENTS == 2 && tiles > 0) {
    turn();
    read(0, 0);
  }
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    if (FRAGMENTS == 1) turn();
#pragma unroll
    for (int k = 0; k < BK; k += STEP) {
      const int f = k / STEP % FRAGMENTS;
      const bool last = k + STEP == BK;
      if (FRAGMENTS == 1) read(f, k);
      if (last) stage = stage + 1 == STAGES ? 0 : stage + 1;
      if (FRAGMENTS == 2 && !last) read(1 - f, k + STEP);
      if (FRAGMENTS == 2 && last && t + 1 < tiles) {
        turn();
        read(1 - f, 0);
      }
#pragma unroll
      for (int i = 0; i < MI; i++) {
#pragma unroll
        for (int j = 0; j < NI; j++) mma(c[i][j], fa[f][i], fb[f][j]);
      }
    }
  }
}

// With alpha 0, A and B are not read, as in BLAS.
@ local cluster = FINISH == "cluster" and "__cluster_dims__(1, SPLITK, 1) " or ""
extern "C" __global__ void @{cluster}__launch_bounds__(THREADS, MINBLOCKS)
gemm(int m, int n, int k, double alpha, const stored *__restrict__ A, long long lda,
     const stored *__restrict__ B, long long ldb, double beta, output *C, long long ldc,
     const output *scales, const output *biases, wide *partial, unsigned *arrived) {
  const int zero = pdl_wait();
  const corner tile(blockIdx.x, m, n);
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  const long long all = alpha == 0 ? 0 : k;
  long long begin = 0, depth = all;
  if constexpr (SPLITK > 1) {
    const long long share = ((all + BK - 1) / BK + SPLITK - 1) / SPLITK * BK;
    begin = min(blockIdx.y * share, all);
    depth = min(share, all - begin);
  }
  sums c = {};
  operand_a a(A + zero, lda, tile.row, m, begin);
  operand_b b(B + zero, ldb, tile.column, n, begin);
  product(c, a, b, depth);
  if constexpr (SPLITK == 1) {
    store(c, to, tile);
@ if FINISH == "cluster" then
  } else {
    finish_in_cluster(c, to, tile);
  }
@ else
  } else {
    put_partial(c, partials(partial, blockIdx.y));
    if constexpr (FINISH == FINISH_last_block) {
      if (!is_last_block(arrived + blockIdx.x, SPLITK)) return;
      sums whole = {};
      add_partials(whole, partial);
      store(whole, to, tile);
    }
  }
@ end
}

@ if SPLITK > 1 and FINISH == "two_launch" then
extern "C" __global__ void __launch_bounds__(THREADS)
gemm_finish(int m, int n, double alpha, double beta, output *C, long long ldc,
            const output *scales, const output *biases, wide *partial) {
  const result to = {(wide)alpha, (wide)beta, C, ldc, m, n, scales, biases};
  sums whole = {};
  add_partials(whole, partial);
  store(whole, to, corner(blockIdx.x, m, n));
}
@ end
