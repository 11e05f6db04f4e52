// radix_tile.cuh -- a tile's keys and values between memory, registers and shared memory.
#pragma once
#include "radix_rank.cuh"
#include "words.cuh"

// Where this thread's i-th key is in the tile: a warp's keys are neighbours, so that its loads are coalesced.
__device__ __forceinline__ int item(int i) {
  return threadIdx.x / 32 * (32 * ITEMS) + i * 32 + threadIdx.x % 32;
}

template <typename T>
__device__ __forceinline__ T load_item(const T *p) {
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

// Of keys from `room` on, which do not exist, all bits are ones: they come last.
template <bool WHOLE>
__device__ __forceinline__ void load_keys(key (&k)[ITEMS], const key *from, int room, bool first) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    k[i] = WHOLE || item(i) < room ? load_item(from + item(i)) : (key) ~(key)0;
  }
  if (ENCODED && first) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      if (WHOLE || item(i) < room) k[i] = encode(k[i]);
    }
  }
}

template <bool WHOLE>
__device__ __forceinline__ void load_values(value (&v)[ITEMS], const value *from, int room) {
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    v[i] = WHOLE || item(i) < room ? load_item(from + item(i)) : 0;
  }
}

// Up to a tile of keys; `first`: they are not encoded yet.
__device__ __forceinline__ void get_keys(key (&k)[ITEMS], const key *from, long long room,
                                         bool first) {
  if (room >= TILE) {
    load_keys<true>(k, from, TILE, first);
  } else {
    load_keys<false>(k, from, (int)room, first);
  }
}

__device__ __forceinline__ void get_values(value (&v)[ITEMS], const value *from, long long room) {
  if (room >= TILE) {
    load_values<true>(v, from, TILE);
  } else {
    load_values<false>(v, from, (int)room);
  }
}
