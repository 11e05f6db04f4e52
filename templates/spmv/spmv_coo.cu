// spmv_coo.cu -- entries with their rows: y is scaled first, then products are added to it.
#include "spmv_entries.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(256)
    scale(long long rows, double beta, stored *y) {
  y += pdl_wait();
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  if (row < rows) y[row] = beta == 0 ? 0 : (stored)((number)beta * (number)y[row]);
}

@ if ALG == "coo_atomic" then
extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_entries(long long nnz, double alpha, const offset *__restrict__ row_of,
                     const int *__restrict__ idx, const stored *__restrict__ val,
                     const stored *__restrict__ x, stored *y) {
  const int zero = pdl_wait();
  row_of += zero, idx += zero, val += zero, x += zero;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = ((long long)blockIdx.x * ITEMS + i) * BLOCK + threadIdx.x;
    if (at < nnz) atomicAdd(y + row_of[at], (stored)((number)alpha * (number)val[at] * (number)x[idx[at]]));
  }
}
@ else

extern "C" __global__ void __launch_bounds__(BLOCK)
    multiply_segments(long long nnz, double alpha, const offset *__restrict__ row_of, const int *__restrict__ idx,
                      const stored *__restrict__ val, const stored *__restrict__ x, stored *y, carry *carries) {
  const int zero = pdl_wait();
  add_entries<ITEMS>(nnz, alpha, row_of + zero, idx + zero, val + zero, x + zero, y, carries);
}

extern "C" __global__ void __launch_bounds__(256)
    multiply_carries(long long count, double alpha, const carry *carries, stored *y) {
  carries += pdl_wait();
  add_carries(count, carries, alpha, y);
}
@ end
