// gemv_reference.cu -- one thread per element of y, which adds up in f64.
#include "gemv_elements.cuh"

extern "C" __global__ void reference(int m, int n, double alpha, const stored *A, long long lda,
                                     const stored *x, long long incx, double beta, stored *y,
                                     long long incy, const stored *scales, const stored *biases) {
  constexpr bool TRANSPOSED = TRANS == TRANS_t;
  const int outputs = TRANSPOSED ? n : m, depth = TRANSPOSED ? m : n;
  const long long i = blockIdx.x * 128 + threadIdx.x;
  if (i >= outputs) return;
  if (incx < 0) x -= (depth - 1) * incx;
  if (incy < 0) y -= (outputs - 1) * incy;
  double sum = 0;
  for (long long p = 0; alpha != 0 && p < depth; p++) {
    const double a = widen(A[TRANSPOSED ? p + i * lda : i + p * lda]);
    sum += a * widen(x[p * incx]);
  }
  const double before = beta == 0 ? 0 : beta * widen(y[i * incy]);
  y[i * incy] = narrow((wide)epilogue(alpha * sum + before, i, 0, scales, biases));
}
