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

// A tile, from registers; some columns of C are read together: no read passes a store to C.
__device__ __forceinline__ void store_tile(const number (&c)[TM][TN], const result &to,
                                           long long matrix, shape s, place thread) {
  constexpr int IN_COLUMN = TM / MV, COLUMNS = TM >= 16 ? 1 : TN < 16 / TM ? TN : 16 / TM;
  const auto row_of = [&](int i) { return index_of<MV, PM>(thread.row, i * MV); };
  const auto column_of = [&](int j) { return index_of<NV, PN>(thread.column, j); };
  const auto is_inside = [&](int i, int j) {
    return j < TN && column_of(j) < s.n && row_of(i) < s.m;
  };
#pragma unroll
  for (int first = 0; first < TN; first += COLUMNS) {
    vector<MV> before[COLUMNS * IN_COLUMN];
#pragma unroll
    for (int r = 0; r < COLUMNS * IN_COLUMN; r++) {
      const int i = r % IN_COLUMN, j = first + r / IN_COLUMN;
      before[r] = vector<MV>();
      if (is_inside(i, j)) before[r] = to.before<MV>(matrix, row_of(i), column_of(j));
    }
#pragma unroll
    for (int r = 0; r < COLUMNS * IN_COLUMN; r++) {
      const int i = r % IN_COLUMN, j = first + r / IN_COLUMN;
      if (!is_inside(i, j)) continue;
      number v[MV];
#pragma unroll
      for (int e = 0; e < MV; e++) v[e] = c[i * MV + e][j];
      to.put(v, before[r], matrix, row_of(i), column_of(j));
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

constexpr int AT_A_TIME =
    4;  // vectors of C that a thread reads together: no read passes a store to C

// Where C is packed too, elements of the group from `begin` to `end` in vectors, which may cross columns and matrices.
template <int V>
__device__ __forceinline__ void put_runs(const number *sums, const result &to, number *group,
                                         int begin, int end, shape s) {
  const int size = s.m * s.n;
  for (int first = begin + threadIdx.x * V; first < end; first += BLOCK * V * AT_A_TIME) {
    vector<V> v[AT_A_TIME];
#pragma unroll
    for (int x = 0; x < AT_A_TIME; x++) {
      const int i = first + x * BLOCK * V;
      v[x] = vector<V>();
      if (to.beta != 0 && i < end) v[x] = *reinterpret_cast<const vector<V> *>(group + i);
    }
#pragma unroll
    for (int x = 0; x < AT_A_TIME; x++) {
      const int i = first + x * BLOCK * V;
      if (i >= end) break;
      const vector<V> sum = *reinterpret_cast<const vector<V> *>(sums + i);
#pragma unroll
      for (int e = 0; e < V; e++) {
        const int at = (i + e) % size;
        v[x].e[e] = epilogue(scaled(to.alpha, sum.e[e], to.beta, v[x].e[e]), at % s.m, at / s.m,
                             to.scales, to.biases);
      }
      *reinterpret_cast<vector<V> *>(group + i) = v[x];
    }
  }
}

// The group, from shared memory.
__device__ __forceinline__ void store_group(const number *sums, const result &to, long long first,
                                            int matrices, shape s) {
  const int all = matrices * s.m * s.n;
  if constexpr (LAYOUT == LAYOUT_packed) {
    constexpr int V = GROUP * EXACT_M * EXACT_N % VEC == 0 ? VEC : 1;
    const int whole = all / V * V;
    number *group = to.C[first];
    put_runs<V>(sums, to, group, 0, whole, s);
    if (V > 1) put_runs<1>(sums, to, group, whole, all, s);
  } else {
    const int size = s.m * s.n;
    for (int begin = threadIdx.x; begin < all; begin += BLOCK * AT_A_TIME) {
      vector<1> v[AT_A_TIME];
#pragma unroll
      for (int x = 0; x < AT_A_TIME; x++) {
        const int i = begin + x * BLOCK;
        if (i < all) v[x] = to.before<1>(first + i / size, i % size % s.m, i % size / s.m);
      }
#pragma unroll
      for (int x = 0; x < AT_A_TIME; x++) {
        const int i = begin + x * BLOCK;
        if (i >= all) break;
        const number sum[1] = {sums[i]};
        to.put(sum, v[x], first + i / size, i % size % s.m, i % size / s.m);
      }
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
