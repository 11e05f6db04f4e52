// vector_sum.cuh -- vectors of VEC elements, loaded, added and stored with the cache operators of the parameters.
#pragma once
#include "early_fetch.cuh"
#include "elements.cuh"
#include "fetch.cuh"
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
  if constexpr (LOAD == LOAD_fetch_256) return load_256(p);
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

// A thread's part of a tile of `left` elements, COARSE vectors a thread if it is WHOLE, of THREADS threads. All are
// loaded before the first is stored.
template <int THREADS, bool WHOLE>
__device__ __forceinline__ void add_part(const stored *a, const stored *b, stored *c, int left) {
  const int vectors = left / VEC, behind = vectors * VEC + threadIdx.x;
  const vector *from_a = reinterpret_cast<const vector *>(a);
  const vector *from_b = reinterpret_cast<const vector *>(b);
  vector *to = reinterpret_cast<vector *>(c);
  const bool is_behind = !WHOLE && VEC > 1 && behind < left;
  vector x[COARSE], y[COARSE];
  stored last_x, last_y;
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    const int at = i * THREADS + threadIdx.x;
    if (WHOLE || at < vectors) x[i] = load(from_a + at);
  }
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    const int at = i * THREADS + threadIdx.x;
    if (WHOLE || at < vectors) y[i] = load(from_b + at);
  }
  if (is_behind) last_x = a[behind], last_y = b[behind];
#pragma unroll
  for (int i = 0; i < COARSE; i++) {
    const int at = i * THREADS + threadIdx.x;
    if (WHOLE || at < vectors) store(to + at, sum(x[i], y[i]));
  }
  if (is_behind) c[behind] = sum(last_x, last_y);
}

// The tile from element `first` on, or what there is of it: n elements in all.
template <int THREADS>
__device__ __forceinline__ void add_tile(const stored *a, const stored *b, stored *c,
                                         long long first, long long n) {
  constexpr int TILE = THREADS * COARSE * VEC;
  const int left = (int)min((long long)TILE, n - first);
  if (left == TILE) {
    add_part<THREADS, true>(a + first, b + first, c + first, left);
  } else {
    add_part<THREADS, false>(a + first, b + first, c + first, left);
  }
}

// By one thread of a row: both summands of its tile.
__device__ __forceinline__ void fetch_tile(const stored *a, const stored *b, long long first,
                                           long long n) {
  let_next_start();
  if (threadIdx.x == 0) {
    const long long nbytes = min((long long)TILE, n - first) * NBYTES;
    early_fetch(a + first, nbytes);
    early_fetch(b + first, nbytes);
  }
}
