// gemm_batched_matrices.cuh -- where the matrices of a batch lie, their sizes, and how sums become elements of C.
#pragma once
#include "elements.cuh"

using number = element<DTYPE>::stored;

__device__ __forceinline__ number widen(number v) { return v; }

#include "epilogue.cuh"
#include "scaled_sum.cuh"

template <int LENGTH>
struct alignas(LENGTH * sizeof(number)) vector {
  number e[LENGTH];
};

// The sizes of a matrix: with EXACT constants, so that loops unroll and divisions become multiplications.
struct exact_shape {
  static constexpr int m = EXACT_M, n = EXACT_N, k = EXACT_K;
  __device__ exact_shape(int, int, int) {}
};

struct any_shape {
  int m, n, k;
  __device__ any_shape(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {}
};

using shape = choose<EXACT == 1, exact_shape, any_shape>;

extern __shared__ __align__(16) unsigned char memory[];

// The matrices of A, B or C.
template <typename T>
struct matrices {
  T *first;
  long long ld, stride;
  const long long *offsets;

  __device__ __forceinline__ T *operator[](long long i) const {
    if constexpr (LAYOUT == LAYOUT_pointers) {
      // As integers: `first` may be null.
      return reinterpret_cast<T *>(reinterpret_cast<unsigned long long>(first) + offsets[i]);
    } else {
      return first + i * stride;
    }
  }
};

// Packed matrices of constant sizes have constant distances.
template <typename T>
__device__ __forceinline__ matrices<T> matrices_of(T *first, int rows, int columns, long long ld,
                                                   long long stride, const long long *offsets) {
  constexpr bool CONSTANT = LAYOUT == LAYOUT_packed && EXACT == 1;
  return {first, CONSTANT ? rows : ld, CONSTANT ? (long long)rows * columns : stride, offsets};
}

// Those of A or B: op(A) has `across` rows, op(B) as many columns.
template <bool ALONG_K>
__device__ __forceinline__ matrices<const number> operands_of(const number *first, int across,
                                                              int k, long long ld, long long stride,
                                                              const long long *offsets) {
  return matrices_of(first, ALONG_K ? k : across, ALONG_K ? across : k, ld, stride, offsets);
}

struct result {
  number alpha, beta;
  matrices<number> C;
  const number *scales, *biases;

  template <int V>
  __device__ __forceinline__ vector<V> *at(long long matrix, int row, int column) const {
    return reinterpret_cast<vector<V> *>(C[matrix] + column * C.ld + row);
  }
  // V elements of a column as they were; with beta 0, C is not read.
  template <int V>
  __device__ __forceinline__ vector<V> before(long long matrix, int row, int column) const {
    return beta == 0 ? vector<V>() : *at<V>(matrix, row, column);
  }
  template <int V>
  __device__ __forceinline__ void put(const number (&sum)[V], vector<V> v, long long matrix,
                                      int row, int column) const {
#pragma unroll
    for (int e = 0; e < V; e++) {
      v.e[e] = epilogue(scaled(alpha, sum[e], beta, v.e[e]), row + e, column, scales, biases);
    }
    *at<V>(matrix, row, column) = v;
  }
};
