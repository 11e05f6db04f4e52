// gemm_batched_reference.cu -- one thread per element of C, accumulating in double.
#include "elements.cuh"

using number = element<DTYPE>::stored;

__device__ number widen(number v) { return v; }

#include "epilogue.cuh"

// Matrix i of those that begin at `first`.
template <typename T>
__device__ T *matrix_at(T *first, long long i, long long stride, const long long *offsets) {
  if (LAYOUT != LAYOUT_pointers) return first + i * stride;
  return (T *)((unsigned long long)first + offsets[i]);
}

extern "C" __global__ void reference(int m, int n, int k, double alpha, const number *A,
                                     long long lda, long long stride_a, const number *B,
                                     long long ldb, long long stride_b, double beta, number *C,
                                     long long ldc, long long stride_c, long long batch,
                                     const long long *offsets_a, const long long *offsets_b,
                                     const long long *offsets_c, const number *scales,
                                     const number *biases) {
  const long long all = batch * m * n;
  for (long long t = blockIdx.x * 256ll + threadIdx.x; t < all; t += gridDim.x * 256ll) {
    const long long matrix = t / (m * n), i = t % m, j = t / m % n;
    const number *a = matrix_at(A, matrix, stride_a, offsets_a);
    const number *b = matrix_at(B, matrix, stride_b, offsets_b);
    number *c = matrix_at(C, matrix, stride_c, offsets_c) + i + j * ldc;
    double sum = 0;
    for (long long p = 0; alpha != 0 && p < k; p++) {
      sum += (double)a[TA == TA_n ? i + p * lda : p + i * lda] *
             b[TB == TB_n ? p + j * ldb : j + p * ldb];
    }
    const double before = beta == 0 ? 0 : beta * *c;
    *c = (number)epilogue(alpha * sum + before, i, j, scales, biases);
  }
}
