// vector_sum.cuh -- vectors of VEC elements, loaded, added and stored with the cache operators of the parameters.
#pragma once
#include "elements.cuh"
#include "words.cuh"

using type = element<DTYPE>;
using stored = type::stored;

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Not load_constant: the sums may be written to where the summands are.
template <typename T>
__device__ __forceinline__ T load(const T *p) {
  if constexpr (LOAD == LOAD_second) return load_second(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

template <typename T>
__device__ __forceinline__ void store(T *p, const T &v) {
  if constexpr (STORE == STORE_second) {
    store_second(p, v);
  } else if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

__device__ __forceinline__ stored sum(stored a, stored b) {
  using added = choose<type::INTEGER, type::wrapping, type::number>;
  return type::narrow((type::number)((added)type::widen(a) + (added)type::widen(b)));
}

__device__ __forceinline__ vector sum(const vector &a, const vector &b) {
  vector c;
#pragma unroll
  for (int i = 0; i < VEC; i++) c.e[i] = sum(a.e[i], b.e[i]);
  return c;
}

// COARSE vectors of a thread, NEXT apart, of which `left` remain from the first on. All are loaded before the
// first is stored.
template <int NEXT, bool WHOLE>
__device__ __forceinline__ void add_some(const vector *a, const vector *b, vector *c,
                                         long long left) {
  vector x[COARSE], y[COARSE];
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    if (WHOLE || i * NEXT < left) x[i] = load(a + i * NEXT);
  }
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    if (WHOLE || i * NEXT < left) y[i] = load(b + i * NEXT);
  }
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    if (WHOLE || i * NEXT < left) store(c + i * NEXT, sum(x[i], y[i]));
  }
}

template <int NEXT>
__device__ __forceinline__ void add_vectors(const vector *a, const vector *b, vector *c,
                                            long long left) {
  if (left > (COARSE - 1) * NEXT) {
    add_some<NEXT, true>(a, b, c, left);
  } else if (COARSE > 1) {
    add_some<NEXT, false>(a, b, c, left);
  }
}

// The elements behind the last whole vector, one a thread of block number `block`, loaded at once.
struct behind {
  stored a, b;
  long long at;
  bool here;

  __device__ __forceinline__ behind(long long n, const stored *a_, const stored *b_,
                                       unsigned block) {
    at = n / VEC * VEC + threadIdx.x;
    here = threadIdx.x < (unsigned)n % VEC && blockIdx.x == block;
    a = here ? a_[at] : 0;
    b = here ? b_[at] : 0;
  }
  __device__ __forceinline__ void put(stored *c) const {
    if (here) c[at] = sum(a, b);
  }
};
