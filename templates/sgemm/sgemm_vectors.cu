// sgemm_vectors.cu -- C of a few columns (or rows, with SWAP): a matrix times vectors, without tiles in shared
// memory.
#include "sgemm_launch.cuh"
#include "words.cuh"

using stored = float;
using wide = float;
__device__ __forceinline__ float narrow(float v) { return v; }
constexpr bool ALONG_SUM = SUM_ALONG, SIDEWAYS = SWAP == SWAP_yes;
constexpr int CLUSTER_SPLITS = 1;

template <typename T>
__device__ __forceinline__ T load_matrix(const T *p) {
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

#include "matrix_vectors.cuh"

// With alpha 0, A and B are not read, as in BLAS.
extern "C" __global__ void __launch_bounds__(BLOCK)
sgemm_vectors(int m, int n, int k, float alpha, const float *__restrict__ A, long long lda,
              const float *__restrict__ B, long long ldb, float beta, float *C, long long ldc,
              const float *scales, const float *biases, long long most, float *partial,
              unsigned *arrived) {
  const int depth = alpha == 0 ? 0 : k;
  const auto wait = [] { wait_for_last(); };
  if constexpr (SIDEWAYS) {
    const vectors x = {A, TA == TA_t ? 1 : lda, TA == TA_t ? lda : 1, m};
    multiply_vectors(B, ldb, x, depth, {alpha, beta, C, ldc, 1, n, m, scales, biases}, most, partial,
                     arrived, wait);
  } else {
    const vectors x = {B, TB == TB_n ? 1 : ldb, TB == TB_n ? ldb : 1, n};
    multiply_vectors(A, lda, x, depth, {alpha, beta, C, 1, ldc, m, n, scales, biases}, most, partial,
                     arrived, wait);
  }
}

@ if FINISH == "atomic" then
#include "sgemm_scale.cuh"
@ end
