// gemm_reference.cu -- the reference of gemm: reference_product.cuh, rounded to an element of C at the end.
#include "gemm_elements.cuh"

using scalar = double;

__device__ void put(double sum, double alpha, double beta, long long i, long long j, output *c,
                    const output *scales, const output *biases) {
  const double v = alpha * sum + (beta == 0 ? 0 : beta * widen(*c));
  *c = rounded((wide)epilogue(v, i, j, scales, biases));
}

#include "reference_product.cuh"
