// gemm_batched_shared.cu -- a block copies A and B of its group to shared memory, SLICE elements along k at a time,
// STAGES deep.
#include "gemm_batched_tile.cuh"
#include "ptx.cuh"

// A slice of each of `count` matrices, COLS columns of ROWS elements that begin at `offset` in the matrix. In
// shared memory columns are LD and matrices SIZE elements apart.
template <int ROWS, int COLS, int LD, int SIZE>
__device__ __forceinline__ void copy(number *to, const matrices<const number> &all, long long first,
                                     int count, long long offset) {
  constexpr bool RUN =
      LAYOUT == LAYOUT_packed && SLICE == 0;                 // one run of vectors in global memory
  constexpr bool DENSE = LD == ROWS && SIZE == ROWS * COLS;  // and in shared memory
  constexpr int ALL = GROUP * ROWS * COLS;
  const int end = count * ROWS * COLS;
  const number *group = all[first];
#pragma unroll
  for (int c = 0; c < (ALL + BLOCK * VEC - 1) / (BLOCK * VEC); c++) {
    const int i = (c * BLOCK + threadIdx.x) * VEC;
    if (i >= end) break;
    const int matrix = GROUP == 1 ? 0 : i / (ROWS * COLS), row = i % ROWS;
    const int column = GROUP == 1 ? i / ROWS : i / ROWS % COLS;
    const number *from = RUN ? group + i : all[first + matrix] + column * all.ld + row + offset;
    number *put = to + (DENSE ? i : matrix * SIZE + column * LD + row);
    if (i + VEC > end) {  // the last matrix ends within this vector
      for (int e = 0; i + e < end; e++) put[e] = from[e];
      break;
    }
    if constexpr (LOADER == LOADER_cp_async) {
      cp_async<VEC * sizeof(number)>(shared_address(put), from, VEC * sizeof(number));
    } else {
      *reinterpret_cast<vector<VEC> *>(put) = *reinterpret_cast<const vector<VEC> *>(from);
    }
  }
}

// With alpha 0 A and B are not read, as in BLAS.
extern "C" __global__ void __launch_bounds__(BLOCK)
    gemm_batched(int m, int n, int k, double alpha, const number *__restrict__ A, long long lda,
                 long long stride_a, const number *__restrict__ B, long long ldb,
                 long long stride_b, double beta, number *C, long long ldc, long long stride_c,
                 long long batch, const long long *offsets_a, const long long *offsets_b,
                 const long long *offsets_c, const number *scales, const number *biases) {
  const shape s(m, n, k);
  const auto as = operands_of<A_ALONG_K>(A, s.m, s.k, lda, stride_a, offsets_a);
  const auto bs = operands_of<B_ALONG_K>(B, s.n, s.k, ldb, stride_b, offsets_b);
  const auto cs = matrices_of(C, s.m, s.n, ldc, stride_c, offsets_c);
  const result to = {(number)alpha, (number)beta, cs, scales, biases};
  const place thread;
  number *shared = reinterpret_cast<number *>(memory);
  constexpr int SLICES = SLICE == 0 ? 1 : EXACT_K / DEPTH;
  const long long step = (long long)gridDim.x * GROUP;
  long long next = (long long)blockIdx.x * GROUP;  // the group and slice that are copied next
  int slice = 0;
  const auto load = [&](int stage) {
    const int count = (int)min((long long)GROUP, batch - next);
    number *at = shared + stage * STAGE;
    if (count > 0 && alpha != 0 && s.k > 0) {
      copy<A_HIGH, A_ALONG_K ? EXACT_M : DEPTH, A_LD, A_SIZE>(
          at, as, next, count, slice * DEPTH * (A_ALONG_K ? 1 : as.ld));
      copy<B_HIGH, B_ALONG_K ? EXACT_N : DEPTH, B_LD, B_SIZE>(
          at + B_AT, bs, next, count, slice * DEPTH * (B_ALONG_K ? 1 : bs.ld));
    }
    if (++slice == SLICES) {
      slice = 0;
      next += step;
    }
  };
  if constexpr (PAD > 0 || SKEW > 0 || EXACT_M * DEPTH % 4 > 0 || DEPTH * EXACT_N % 4 > 0) {
    // Vectors may read the gaps between columns and matrices too, which are never copied to.
    for (int i = threadIdx.x; i < STAGES * STAGE; i += BLOCK) shared[i] = 0;
    __syncthreads();
  }
  int stage = 0, fill = STAGES - 1;
#pragma unroll
  for (int ahead = 0; ahead < STAGES - 1; ahead++) {
    load(ahead);
    cp_async_commit();
  }
#pragma unroll 1
  for (long long first = (long long)blockIdx.x * GROUP; first < batch; first += step) {
    const bool has_tile = threadIdx.x < THREADS * GROUP && first + thread.matrix < batch;
    number c[TM][TN] = {};
#pragma unroll 1
    for (int part = 0; part < SLICES; part++) {
      const number *at = shared;
      if constexpr (STAGES > 1) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        load(fill);
        cp_async_commit();
        at = shared + stage * STAGE;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        fill = fill + 1 == STAGES ? 0 : fill + 1;
      } else {
        load(0);
        if constexpr (LOADER == LOADER_cp_async) {
          cp_async_commit();
          cp_async_wait<0>();
        }
        __syncthreads();
      }
      if (has_tile && alpha != 0) {
        multiply(c, at + thread.matrix * A_SIZE, A_LD, at + B_AT + thread.matrix * B_SIZE, B_LD,
                 DEPTH, s, thread);
      }
      if (STAGES == 1 && (BLOCKS > 0 || SLICE > 0))
        __syncthreads();  // before the stage is filled again
    }
    store(c, shared + STAGES * STAGE, to, first, batch, has_tile, s, thread);
  }
}
