// spmv_rows.cu -- WIDTH threads for each row: one, some lanes of a warp, or a block.
#include "spmv_pack.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_rows(long long rows, long long nnz, double alpha, const offset *__restrict__ ptr,
                  const offset *__restrict__ row_of, const int *__restrict__ idx,
                  const stored *__restrict__ val, const stored *__restrict__ x, double beta,
                  stored *y) {
  const int zero = pdl_wait();
  ptr += zero, row_of += zero, idx += zero, val += zero, x += zero;
  const long long row = (long long)blockIdx.x * (BLOCK / WIDTH) + threadIdx.x / WIDTH;
  const int thread = threadIdx.x % WIDTH;
  const span s = row < rows ? span_of(row, nnz, ptr, row_of) : span{0, 0};
  number sum = sum_share<WIDTH, UNROLL>(s, nnz, idx, val, x, thread);
  if constexpr (WIDTH > 32) {
    sum = sum_block(sum);
  } else {
    sum = sum_lanes<WIDTH>(sum);
  }
  if (thread == 0 && row < rows) store(y + row, sum, alpha, beta);
}
