// gemm_batched_direct.cu -- threads read A and B where they lie.
#include "gemm_batched_tile.cuh"

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
  number *sums = reinterpret_cast<number *>(memory);
  const long long step = (long long)gridDim.x * GROUP;
#pragma unroll 1
  for (long long first = (long long)blockIdx.x * GROUP; first < batch; first += step) {
    const bool has_tile = threadIdx.x < THREADS * GROUP && first + thread.matrix < batch;
    number c[TM][TN] = {};
    if (has_tile && alpha != 0) {
      multiply(c, as[first + thread.matrix], as.ld, bs[first + thread.matrix], bs.ld, s.k, s,
               thread);
    }
    store(c, sums, to, first, batch, has_tile, s, thread);
  }
}
