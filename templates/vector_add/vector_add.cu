// vector_add.cu -- c = a + b: a block adds a tile of TILE elements; if it LOOPS, and more in steps of the grid.
#include "vector_sum.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    vector_add(long long n, const stored *a, const stored *b, stored *c) {
  long long first = (long long)blockIdx.x * TILE;
  if constexpr (AHEAD) fetch_tile(a, b, first, n);
  const int zero = pdl_wait();
  do {
    add_tile<BLOCK>(a + zero, b + zero, c, first, n);
    first += (long long)gridDim.x * TILE;
  } while (LOOPS && first < n);
}
