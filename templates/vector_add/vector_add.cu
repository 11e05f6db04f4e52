// vector_add.cu -- c = a + b: a block adds STEP vectors of VEC elements; if it LOOPS, and more in steps of the grid.
#include "vector_sum.cuh"
#include "pdl.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    vector_add(long long n, const stored *a, const stored *b, stored *c) {
  const long long vectors = n / VEC;
  long long at = (long long)blockIdx.x * STEP + threadIdx.x;
  const int zero = pdl_wait();
  const behind rest(n, a + zero, b + zero, gridDim.x - 1);
  do {
    add_vectors<BLOCK>(reinterpret_cast<const vector *>(a + zero) + at,
                       reinterpret_cast<const vector *>(b + zero) + at,
                       reinterpret_cast<vector *>(c) + at, vectors - at);
    at += (long long)gridDim.x * STEP;
  } while (LOOPS && at < vectors);
  rest.put(c);
}
