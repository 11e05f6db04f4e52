// gemv.cu -- y = alpha op(A) x + beta y: "matrix_vectors.cuh" with one vector.
#include "gemv_elements.cuh"
#include "lanes.cuh"
#include "words.cuh"

constexpr bool ALONG_SUM = TRANS == TRANS_t, SIDEWAYS = false;
constexpr int LOADS = ROWS, LOADS_ACROSS = COLS, VECTORS = 1, XVEC = CONTIGUOUS ? VEC : 1;
constexpr int CLUSTER_SPLITS = FINISH == FINISH_cluster ? CLUSTER : 1;

template <typename T>
__device__ __forceinline__ T load_matrix(const T *p) {
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  if constexpr (LOAD == LOAD_second) return load_second(p);
  return load_plain(p);
}

#include "matrix_vectors.cuh"

// A negative increment counts backwards from the end, as in BLAS.
template <typename T>
__device__ __forceinline__ T *first_element(T *v, long long n, long long increment) {
  return increment < 0 ? v - (n - 1) * increment : v;
}

__device__ __forceinline__ results results_of(int n, double alpha, double beta, stored *y,
                                              long long incy, const stored *scales,
                                              const stored *biases) {
  return {(wide)alpha, (wide)beta, first_element(y, n, incy), incy, 0, n, 1, scales, biases};
}

// With alpha 0, A and x are not read, as in BLAS.
@ local cluster = FINISH == "cluster" and "__cluster_dims__(1, CLUSTER, 1) " or ""
extern "C" __global__ void @{cluster}__launch_bounds__(BLOCK)
gemv(int m, int n, double alpha, const stored *__restrict__ A, long long lda,
     const stored *__restrict__ x, long long incx, double beta, stored *y, long long incy,
     const stored *scales, const stored *biases, long long most, wide *partial,
     unsigned *arrived) {
  const int outputs = ALONG_SUM ? n : m, depth = ALONG_SUM ? m : n;
  const long long increment = CONTIGUOUS ? 1 : incx;
  const auto wait = [] {
    if constexpr (OVERLAPS) griddepcontrol_wait();  // until gemv_scale has written y
  };
  multiply_vectors(A, lda, {first_element(x, depth, increment), increment, 0, 1},
                   alpha == 0 ? 0 : depth,
                   results_of(outputs, alpha, beta, y, incy, scales, biases), most, partial, arrived,
                   wait);
}

@ if FINISH == "two_launch" then
// The sums of all splits.
extern "C" __global__ void __launch_bounds__(BLOCK)
gemv_finish(int outputs, int splits, double alpha, double beta, stored *y, long long incy,
            const stored *scales, const stored *biases, const wide *partial) {
  finish(results_of(outputs, alpha, beta, y, incy, scales, biases), splits, partial);
}
@ end

@ if FINISH == "atomic" then
// y = beta y, before splits add to it.
extern "C" __global__ void gemv_scale(int outputs, double beta, stored *y, long long incy) {
  if constexpr (OVERLAPS) griddepcontrol_launch_dependents();
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= outputs) return;
  stored *to = first_element(y, outputs, incy) + i * incy;
  *to = beta == 0 ? 0 : (wide)beta * *to;
}
@ end
