// vector_add_rows.cu -- c = a + b, of matrices whose rows are ld elements apart: a block of BLOCK_X x BLOCK_Y threads
// adds a tile of BLOCK_Y rows, and of more rows in steps of the grid.
#include "vector_sum.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    vector_add(long long n, long long rows, long long ld, const stored *a, const stored *b,
               stored *c) {
  const long long first = (long long)blockIdx.x * TILE;
  long long row = blockIdx.y * BLOCK_Y + threadIdx.y;
  if constexpr (AHEAD) {
    if (row < rows) fetch_tile(a + row * ld, b + row * ld, first, n);
  }
  const int zero = pdl_wait();
  for (; row < rows; row += gridDim.y * BLOCK_Y) {
    const long long i = row * ld;
    add_tile<BLOCK_X>(a + zero + i, b + zero + i, c + i, first, n);
  }
}
