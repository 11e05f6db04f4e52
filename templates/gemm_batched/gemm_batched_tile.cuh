// gemm_batched_tile.cuh -- what two algorithms share: a thread's tile of a matrix of C, and how it is stored.
#pragma once
#include "gemm_batched_matrices.cuh"

// ---- a thread's tile of C -----------------------------------------------------------------------

// A thread: its matrix in the block's group, and its place among the PM x PN threads of that matrix.
struct place {
  int matrix, row, column;
  __device__ __forceinline__ place()
      : matrix(threadIdx.x / THREADS),
        row(threadIdx.x % THREADS % PM),
        column(threadIdx.x % THREADS / PM) {}
};

// Row or column i of a thread's tile: V neighbours, then the V that are V * SIDE further on, behind those of
// the other threads.
template <int V, int SIDE>
__device__ __forceinline__ int index_of(int thread, int i) {
  return (i / V * SIDE + thread) * V + i % V;
}

// The tile's rows of A or columns of B at steps p to p + KV - 1 along k; zeros beyond `end`.
template <bool ALONG_K, int T, int V, int SIDE, typename L>
__device__ __forceinline__ void fetch(number (&to)[KV][T], const number *from, L ld, int p,
                                      int thread, int end) {
  constexpr int STEP = ALONG_K ? 1 : V;
#pragma unroll
  for (int i = 0; i < T; i += STEP) {
    const int at = index_of<V, SIDE>(thread, i);
    if (at >= end) {
#pragma unroll
      for (int q = 0; q < KV * STEP; q++) to[q / STEP][i + q % STEP] = 0;
    } else if constexpr (ALONG_K) {
      const vector<KV> v = *reinterpret_cast<const vector<KV> *>(from + at * ld + p);
#pragma unroll
      for (int q = 0; q < KV; q++) to[q][i] = v.e[q];
    } else {
#pragma unroll
      for (int q = 0; q < KV; q++) {
        const vector<V> v = *reinterpret_cast<const vector<V> *>(from + (p + q) * ld + at);
#pragma unroll
        for (int e = 0; e < V; e++) to[q][i + e] = v.e[e];
      }
    }
  }
}

// Adds the product of `depth` columns of op(A) and rows of op(B).
template <typename L>
__device__ __forceinline__ void multiply(number (&c)[TM][TN], const number *a, L lda,
                                         const number *b, L ldb, int depth, shape s, place thread) {
#pragma unroll(UNROLL / KV)
  for (int p = 0; p < depth; p += KV) {
    number as[KV][TM], bs[KV][TN];
    fetch<A_ALONG_K, TM, MV, PM>(as, a, lda, p, thread.row, s.m);
    fetch<B_ALONG_K, TN, NV, PN>(bs, b, ldb, p, thread.column, s.n);
#pragma unroll
    for (int q = 0; q < KV; q++) {
#pragma unroll
      for (int i = 0; i < TM; i++) {
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] += as[q][i] * bs[q][j];
      }
    }
  }
}

// ---- storing C ----------------------------------------------------------------------------------

// A tile, from registers.
__device__ __forceinline__ void store_tile(const number (&c)[TM][TN], const result &to,
                                           long long matrix, shape s, place thread) {
#pragma unroll
  for (int j = 0; j < TN; j++) {
    const int y = index_of<NV, PN>(thread.column, j);
#pragma unroll
    for (int i = 0; i < TM; i += MV) {
      const int x = index_of<MV, PM>(thread.row, i);
      number v[MV];
#pragma unroll
      for (int e = 0; e < MV; e++) v[e] = c[i + e][j];
      if (y < s.n && x < s.m) to.put(v, matrix, x, y);
    }
  }
}

// A tile to shared memory, in which the matrices of the group are packed.
__device__ __forceinline__ void share_tile(const number (&c)[TM][TN], number *sums, shape s,
                                           place thread) {
#pragma unroll
  for (int j = 0; j < TN; j++) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const int x = index_of<MV, PM>(thread.row, i), y = index_of<NV, PN>(thread.column, j);
      if (x < s.m && y < s.n) sums[y * s.m + x] = c[i][j];
    }
  }
}

// Elements i to i + V - 1 of the group, where C is packed too: vectors may cross columns and matrices.
template <int V>
__device__ __forceinline__ void put_run(const number *sums, const result &to, number *group, int i,
                                        shape s) {
  const int size = s.m * s.n;
  vector<V> v = vector<V>(), *there = reinterpret_cast<vector<V> *>(group + i);
  const vector<V> sum = *reinterpret_cast<const vector<V> *>(sums + i);
  if (to.beta != 0) v = *there;
#pragma unroll
  for (int e = 0; e < V; e++) {
    const int at = (i + e) % size;
    v.e[e] = epilogue(scaled(to.alpha, sum.e[e], to.beta, v.e[e]), at % s.m, at / s.m, to.scales,
                      to.biases);
  }
  *there = v;
}

// The group, from shared memory.
__device__ __forceinline__ void store_group(const number *sums, const result &to, long long first,
                                            int matrices, shape s) {
  if constexpr (LAYOUT == LAYOUT_packed) {
    constexpr int V = GROUP * EXACT_M * EXACT_N % VEC == 0 ? VEC : 1;
    const int all = matrices * s.m * s.n, whole = all / V * V;
    number *group = to.C[first];
    for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) put_run<V>(sums, to, group, i, s);
    for (int i = whole + threadIdx.x; i < all; i += BLOCK) put_run<1>(sums, to, group, i, s);
  } else {
    const int size = s.m * s.n;
    for (int i = threadIdx.x; i < matrices * size; i += BLOCK) {
      const number v[1] = {sums[i]};
      to.put(v, first + i / size, i % size % s.m, i % size / s.m);
    }
  }
}

// What the block's threads have of the group that begins with matrix `first`.
__device__ __forceinline__ void store(const number (&c)[TM][TN], number *sums, const result &to,
                                      long long first, long long batch, bool has_tile, shape s,
                                      place thread) {
  if constexpr (STORE == STORE_direct) {
    if (has_tile) store_tile(c, to, first + thread.matrix, s, thread);
  } else {
    if (has_tile) share_tile(c, sums + thread.matrix * s.m * s.n, s, thread);
    __syncthreads();
    store_group(sums, to, first, (int)min((long long)GROUP, batch - first), s);
    if (BLOCKS > 0) __syncthreads();  // the next group's sums go to the same place
  }
}
