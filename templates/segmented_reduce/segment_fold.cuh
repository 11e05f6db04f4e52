// segment_fold.cuh -- groups of threads that combine the numbers of a segment.
#pragma once
#include "segments.cuh"
#include "words.cuh"

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Vector i of x; identities in place of elements outside the segment.
__device__ __forceinline__ vector load(const stored *x, long long i, segment s) {
  vector v;
  if (i * VEC >= s.begin && (i + 1) * VEC <= s.end) {
    v = load_plain(reinterpret_cast<const vector *>(x) + i);
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      const long long at = i * VEC + e;
      v.e[e] = at >= s.begin && at < s.end ? x[at] : identity_element();
    }
  }
  return v;
}

// The share of one of THREADS threads: every THREADS-th vector of the segment, LOADS of them at a time.
template <int THREADS, int LOADS = COARSE>
__device__ __forceinline__ wide fold_share(const stored *x, segment s, int thread) {
  wide sum = identity<wide>();
  for (long long i = s.begin / VEC + thread; i * VEC < s.end; i += THREADS * LOADS) {
    vector v[LOADS];
#pragma unroll
    for (int c = 0; c < LOADS; c++) v[c] = load(x, i + c * THREADS, s);
    value step = identity<value>();
#pragma unroll
    for (int c = 0; c < LOADS; c++) {
#pragma unroll
      for (int e = 0; e < VEC; e++) step = combine(step, (value)v[c].e[e]);
    }
    sum = combine(sum, (wide)step);
  }
  return sum;
}

// Across LANES lanes of a warp, all of which have the result.
template <int LANES>
__device__ __forceinline__ wide fold_lanes(wide v) {
#pragma unroll
  for (int d = LANES / 2; d > 0; d /= 2) v = combine(v, __shfl_xor_sync(0xffffffff, v, d));
  return v;
}

// Across the block; thread 0 has the result.
__device__ __forceinline__ wide fold_block(wide v) {
  __shared__ wide warps[BLOCK / 32];
  v = fold_lanes<32>(v);
  __syncthreads();  // the results of the call before have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
#pragma unroll
  for (int w = 1; w < BLOCK / 32; w++) {
    if (threadIdx.x == 0) v = combine(v, warps[w]);
  }
  return v;
}
