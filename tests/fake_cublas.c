/* fake_cublas.c -- cuBLAS's routines as its documentation defines them, on the host's memory; built
 * as libcublas.so.13 by test_cublas.sh, so that peer_cublas.c is tested without a GPU. */
#include <stddef.h>

int fake_types[4]; /* of the last cublasGemmEx: A, B, C, and what it is computed in */

int cublasCreate_v2(void **handle);
int cublasCreate_v2(void **handle) {
  *handle = fake_types;
  return 0;
}
int cublasDestroy_v2(void *handle);
int cublasDestroy_v2(void *handle) {
  return handle != fake_types;
}
int cublasSetStream_v2(void *handle, void *stream);
int cublasSetStream_v2(void *handle, void *stream) {
  return handle != fake_types || stream;
}
int cublasSetMathMode(void *handle, int mode);
int cublasSetMathMode(void *handle, int mode) {
  return handle != fake_types || mode != 3;
}
int cublasGetVersion_v2(void *handle, int *version);
int cublasGetVersion_v2(void *handle, int *version) {
  *version = 130100;
  return handle != fake_types;
}

#define GEMM(name, T)                                                                              \
  static void name(int ta, int tb, int m, int n, int k, T alpha, const T *A, long lda, const T *B, \
                   long ldb, T beta, T *C, long ldc) {                                             \
    for (int i = 0; i < m; i++) {                                                                  \
      for (int j = 0; j < n; j++) {                                                                \
        T sum = 0;                                                                                 \
        for (int l = 0; l < k; l++) {                                                              \
          sum += (ta ? A[i * lda + l] : A[l * lda + i]) * (tb ? B[l * ldb + j] : B[j * ldb + l]);  \
        }                                                                                          \
        C[j * ldc + i] = alpha * sum + (beta != 0 ? beta * C[j * ldc + i] : 0);                    \
      }                                                                                            \
    }                                                                                              \
  }
GEMM(gemm_f, float)
GEMM(gemm_d, double)

#define ROUTINES(T, gemm, gemm_name, batched, gemv, geam)                                          \
  int gemm_name(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *A, int lda, \
                const T *B, int ldb, const T *beta, T *C, int ldc);                                \
  int gemm_name(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *A, int lda, \
                const T *B, int ldb, const T *beta, T *C, int ldc) {                               \
    gemm(ta, tb, m, n, k, *alpha, A, lda, B, ldb, *beta, C, ldc);                                  \
    return h != fake_types;                                                                        \
  }                                                                                                \
  int batched(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *A, int lda,   \
              long long sa, const T *B, int ldb, long long sb, const T *beta, T *C, int ldc,       \
              long long sc, int count);                                                            \
  int batched(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *A, int lda,   \
              long long sa, const T *B, int ldb, long long sb, const T *beta, T *C, int ldc,       \
              long long sc, int count) {                                                           \
    for (int i = 0; i < count; i++) {                                                              \
      gemm(ta, tb, m, n, k, *alpha, A + i * sa, lda, B + i * sb, ldb, *beta, C + i * sc, ldc);     \
    }                                                                                              \
    return h != fake_types;                                                                        \
  }                                                                                                \
  int gemv(void *h, int trans, int m, int n, const T *alpha, const T *A, int lda, const T *x,      \
           int incx, const T *beta, T *y, int incy);                                               \
  int gemv(void *h, int trans, int m, int n, const T *alpha, const T *A, int lda, const T *x,      \
           int incx, const T *beta, T *y, int incy) {                                              \
    gemm(trans, 1, trans ? n : m, 1, trans ? m : n, *alpha, A, lda, x, incx, *beta, y, 1);         \
    return h != fake_types || incy != 1;                                                           \
  }                                                                                                \
  int geam(void *h, int ta, int tb, int m, int n, const T *alpha, const T *A, int lda,             \
           const T *beta, const T *B, int ldb, T *C, int ldc);                                     \
  int geam(void *h, int ta, int tb, int m, int n, const T *alpha, const T *A, int lda,             \
           const T *beta, const T *B, int ldb, T *C, int ldc) {                                    \
    for (int i = 0; i < m; i++) {                                                                  \
      for (int j = 0; j < n; j++) {                                                                \
        C[(size_t)j * ldc + i] = *alpha * A[ta ? (size_t)i * lda + j : (size_t)j * lda + i];       \
      }                                                                                            \
    }                                                                                              \
    return h != fake_types || *beta != 0 || tb || B != C || ldb != ldc;                            \
  }
ROUTINES(float, gemm_f, cublasSgemm_v2, cublasSgemmStridedBatched, cublasSgemv_v2, cublasSgeam)
ROUTINES(double, gemm_d, cublasDgemm_v2, cublasDgemmStridedBatched, cublasDgemv_v2, cublasDgeam)

/* Doubles are multiplied; of other types it is enough to be told them. */
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *A,
                 int atype, int lda, const void *B, int btype, int ldb, const void *beta, void *C,
                 int ctype, int ldc, int compute, int algorithm);
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *A,
                 int atype, int lda, const void *B, int btype, int ldb, const void *beta, void *C,
                 int ctype, int ldc, int compute, int algorithm) {
  fake_types[0] = atype;
  fake_types[1] = btype;
  fake_types[2] = ctype;
  fake_types[3] = compute;
  if (compute == 70) {
    gemm_d(ta, tb, m, n, k, *(const double *)alpha, A, lda, B, ldb, *(const double *)beta, C, ldc);
  }
  return h != fake_types || algorithm != -1;
}
