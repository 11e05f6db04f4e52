// spmv_bins.cu -- rows by their lengths: LANES lanes for each of up to LONG entries; the others go to a list, from which a
// second launch takes one a block.
#include "spmv_pack.cuh"
#include "last_block.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_short(long long rows, long long nnz, double alpha, const offset *__restrict__ ptr,
                   const int *__restrict__ idx, const stored *__restrict__ val,
                   const stored *__restrict__ x, double beta, stored *y, unsigned *count,
                   int *list) {
  const int zero = pdl_wait();
  ptr += zero, idx += zero, val += zero, x += zero;
  const long long row = (long long)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
  span s = row < rows ? span{ptr[row], ptr[row + 1]} : span{0, 0};
  const bool is_long = s.end - s.begin > LONG;
  if (is_long) {
    if (threadIdx.x % LANES == 0) list[atomicAdd(count, 1)] = (int)row;
    s.end = s.begin;
  }
  const number sum =
      sum_lanes<LANES>(sum_share<LANES, UNROLL>(s, nnz, idx, val, x, threadIdx.x % LANES));
  if (threadIdx.x % LANES == 0 && row < rows && !is_long) store(y + row, sum, alpha, beta);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_long(long long nnz, double alpha, const offset *__restrict__ ptr,
                  const int *__restrict__ idx, const stored *__restrict__ val,
                  const stored *__restrict__ x, double beta, stored *y, unsigned *count,
                  const int *list, unsigned *arrived) {
  count += pdl_wait();
  const unsigned n = *count;
  for (unsigned i = blockIdx.x; i < n; i += gridDim.x) {
    const int row = list[i];
    const number sum =
        sum_block(sum_share<BLOCK, 4>({ptr[row], ptr[row + 1]}, nnz, idx, val, x, threadIdx.x));
    if (threadIdx.x == 0) store(y + row, sum, alpha, beta);
  }
  if (is_last_block(arrived, gridDim.x) && threadIdx.x == 0) *count = 0;
}
