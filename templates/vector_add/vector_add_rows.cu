// vector_add_rows.cu -- c = a + b, of matrices whose rows are ld elements apart: a block of BLOCK_X x BLOCK_Y threads
// adds COARSE vectors a thread of BLOCK_Y rows, and of more rows in steps of the grid.
#include "vector_sum.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    vector_add(long long n, long long rows, long long ld, const stored *a, const stored *b,
               stored *c) {
  const long long vectors = n / VEC;
  const long long at = (long long)blockIdx.x * (BLOCK_X * COARSE) + threadIdx.x;
  const int zero = pdl_wait();
  a += zero, b += zero;
  for (long long row = blockIdx.y * BLOCK_Y + threadIdx.y; row < rows; row += gridDim.y * BLOCK_Y) {
    const long long i = row * ld;
    const behind rest(n, a + i, b + i, gridDim.x - 1);
    add_vectors<BLOCK_X>(reinterpret_cast<const vector *>(a + i) + at,
                         reinterpret_cast<const vector *>(b + i) + at,
                         reinterpret_cast<vector *>(c + i) + at, vectors - at);
    rest.put(c + i);
  }
}
