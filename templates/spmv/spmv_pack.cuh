// spmv_pack.cuh -- VEC neighbouring columns or values in one or two loads, and the product of a row by them.
#pragma once
#include "spmv.cuh"

template <typename T>
struct alignas(VEC * sizeof(T) < 16 ? VEC * sizeof(T) : 16) pack {
  T e[VEC];
};

template <typename T>
__device__ __forceinline__ pack<T> load_pack(const T *p) {
  constexpr int NBYTES = sizeof(pack<T>) < 16 ? sizeof(pack<T>) : 16;
  using part = typename word_of<NBYTES>::type;
  const part *from = reinterpret_cast<const part *>(p);
  pack<T> v;
#pragma unroll
  for (int i = 0; i < (int)sizeof v / NBYTES; i++) {
    reinterpret_cast<part *>(&v)[i] = LOAD == LOAD_streaming ? __ldcs(from + i) : from[i];
  }
  return v;
}

// VEC elements of which some lie behind the `left` that there are.
template <typename T>
__device__ __forceinline__ pack<T> load_pack(const T *p, long long left) {
  if (VEC == 1 || left >= VEC) return load_pack(p);
  pack<T> v;
#pragma unroll
  for (int e = 0; e < VEC; e++) v.e[e] = e < left ? p[e] : 0;
  return v;
}

// The sum of a row's products that one of WIDTH threads adds up: every WIDTH-th pack, LOADS of them at a time. An element
// of x counts only if the row has an entry in its column, so that a NaN elsewhere does no harm.
template <int WIDTH, int LOADS>
__device__ __forceinline__ number sum_share(span s, long long nnz, const int *idx,
                                            const stored *val, const stored *x, int thread) {
  const offset first = s.begin / VEC * VEC;
  const int begin = (int)(s.begin - first), end = (int)(s.end - first);
  const long long left = nnz - first;
  idx += first;
  val += first;
  number sum = 0;
  for (int i = thread * VEC; i < end; i += WIDTH * VEC * LOADS) {
    pack<int> at[LOADS];
    pack<stored> a[LOADS];
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
      const int j = i + u * WIDTH * VEC;
      if (j < end) {
        at[u] = load_pack(idx + j, left - j);
        a[u] = load_pack(val + j, left - j);
      }
    }
    stored b[LOADS][VEC];
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        const int j = i + u * WIDTH * VEC + e;
        b[u][e] = j >= begin && j < end ? x[at[u].e[e]] : 0;
      }
    }
#pragma unroll
    for (int u = 0; u < LOADS; u++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        const int j = i + u * WIDTH * VEC + e;
        const stored one = j >= begin && j < end ? a[u].e[e] : 0;
        sum += (number)one * (number)b[u][e];
      }
    }
  }
  return sum;
}

// Across the block; thread 0 has the result.
__device__ __forceinline__ number sum_block(number v) {
  __shared__ number warps[BLOCK / 32];
  v = sum_lanes<32>(v);
  __syncthreads();  // the results of the call before have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int w = 1; w < BLOCK / 32; w++) {
    if (threadIdx.x == 0) v += warps[w];
  }
  return v;
}
