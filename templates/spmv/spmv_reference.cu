// spmv_reference.cu -- a warp for each row, which adds up in f64.
#include "elements.cuh"

using stored = element<DTYPE>::stored;
using offset = element<PTYPE>::stored;

// How many entries are in rows before this one.
__device__ long long entries_before(long long row, long long nnz, const offset *ptr,
                                    const offset *row_of) {
  if (FORMAT == FORMAT_csr) return ptr[row];
  long long few = -1, many = nnz;  // entries up to `few` are, from `many` on are not
  while (many - few > 1) {
    const long long i = (few + many) / 2;
    (row_of[i] < row ? few : many) = i;
  }
  return many;
}

extern "C" __global__ void reference(long long rows, long long nnz, double alpha, const offset *ptr,
                                     const offset *row_of, const int *idx, const stored *val,
                                     const stored *x, double beta, stored *y, double *bound) {
  const long long row = blockIdx.x;
  const long long begin = entries_before(row, nnz, ptr, row_of),
                  end = entries_before(row + 1, nnz, ptr, row_of);
  double sum = 0, size = 0;
  for (long long i = begin + threadIdx.x; i < end; i += 32) {
    const double v = (double)val[i] * (double)x[idx[i]];
    sum += v;
    size += fabs(v);
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_xor_sync(0xffffffff, sum, d);
    size += __shfl_xor_sync(0xffffffff, size, d);
  }
  if (threadIdx.x > 0) return;
  const double before = beta == 0 ? 0 : beta * (double)y[row];
  y[row] = (stored)(alpha * sum + before);
  bound[row] = (double)(end - begin + 3) * fabs(alpha) * size + 2 * fabs(before);
}
