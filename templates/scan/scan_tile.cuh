// scan_tile.cuh -- a tile between memory and the registers of a block, each thread of which has ITEMS consecutive
// elements.
#pragma once
#include "scan_numbers.cuh"
#include "words.cuh"

// The tile's vector that this thread loads and stores k-th.
__device__ __forceinline__ int unit(int k) {
  const int lane = threadIdx.x % 32;
  return EXCHANGE == EXCHANGE_none    ? threadIdx.x * UNITS + k
         : EXCHANGE == EXCHANGE_block ? k * BLOCK + threadIdx.x
                                      : (threadIdx.x - lane) * UNITS + k * 32 + lane;
}

// Where a vector of the tile is in shared memory: each thread has a row.
__device__ __forceinline__ int place(int u) { return u / UNITS * ROW + u % UNITS; }

__device__ __forceinline__ void sync_exchange() {
  if (EXCHANGE == EXCHANGE_warp) __syncwarp();
  if (EXCHANGE == EXCHANGE_block) __syncthreads();
}

// Vector u of a tile of which `room` elements exist; the identity beyond.
template <bool WHOLE>
__device__ __forceinline__ vector load_unit(const stored *tile, int u, long long room) {
  vector v;
  if (WHOLE || (u + 1) * VEC <= room) {
    const vector *from = reinterpret_cast<const vector *>(tile) + u;
    if constexpr (CACHE == CACHE_streaming) {
      v = load_streaming(from);
    } else {
      v = load_plain(from);
    }
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      v.e[e] = u * VEC + e < room ? tile[u * VEC + e] : narrow(identity());
    }
  }
  return v;
}

template <bool WHOLE>
__device__ __forceinline__ void store_unit(stored *tile, int u, long long room, vector v) {
  if (WHOLE || (u + 1) * VEC <= room) {
    vector *to = reinterpret_cast<vector *>(tile) + u;
    if constexpr (CACHE == CACHE_streaming) {
      store_streaming(to, v);
    } else {
      store_plain(to, v);
    }
  } else {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      if (u * VEC + e < room) tile[u * VEC + e] = v.e[e];
    }
  }
}

// Between the rows in which threads compute and the order in which they access memory. A thread
// writes only where it alone has read before, so tiles may follow each other without a barrier.
__device__ __forceinline__ void to_rows(vector (&v)[UNITS]) {
  if constexpr (EXCHANGE != EXCHANGE_none) {
    extern __shared__ __align__(16) unsigned char shared[];
    vector *rows = reinterpret_cast<vector *>(shared);
#pragma unroll
    for (int k = 0; k < UNITS; k++) store_plain(rows + place(unit(k)), v[k]);
    sync_exchange();
#pragma unroll
    for (int k = 0; k < UNITS; k++) v[k] = load_plain(rows + threadIdx.x * ROW + k);
  }
}

__device__ __forceinline__ void from_rows(vector (&v)[UNITS]) {
  if constexpr (EXCHANGE != EXCHANGE_none) {
    extern __shared__ __align__(16) unsigned char shared[];
    vector *rows = reinterpret_cast<vector *>(shared);
#pragma unroll
    for (int k = 0; k < UNITS; k++) store_plain(rows + threadIdx.x * ROW + k, v[k]);
    sync_exchange();
#pragma unroll
    for (int k = 0; k < UNITS; k++) v[k] = load_plain(rows + place(unit(k)));
  }
}

template <bool WHOLE>
__device__ __forceinline__ void load_tile(vector (&v)[UNITS], const stored *tile, long long room) {
#pragma unroll
  for (int k = 0; k < UNITS; k++) v[k] = load_unit<WHOLE>(tile, unit(k), room);
}

template <bool WHOLE>
__device__ __forceinline__ void store_tile(const vector (&v)[UNITS], stored *tile, long long room) {
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_unit<WHOLE>(tile, unit(k), room, v[k]);
}

// This thread's elements of the tile.
__device__ __forceinline__ void get(wide (&v)[ITEMS], long long n, const stored *x,
                                    long long tile) {
  const long long room = n - tile * TILE;
  vector raw[UNITS];
  if (room >= TILE) {
    load_tile<true>(raw, x + tile * TILE, room);
  } else {
    load_tile<false>(raw, x + tile * TILE, room);
  }
  to_rows(raw);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) v[i] = widen(raw[i / VEC].e[i % VEC]);
}

// v: the inclusive scan of this thread's elements; before: the sum of all elements before them.
__device__ __forceinline__ void put(const wide (&v)[ITEMS], wide before, long long n, stored *y,
                                    long long tile) {
  const long long room = n - tile * TILE;
  vector raw[UNITS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if constexpr (KIND == KIND_inclusive) {
      raw[i / VEC].e[i % VEC] = narrow(combine(before, v[i]));
    } else {
      raw[i / VEC].e[i % VEC] = narrow(i == 0 ? before : combine(before, v[i > 0 ? i - 1 : 0]));
    }
  }
  from_rows(raw);
  if (room >= TILE) {
    store_tile<true>(raw, y + tile * TILE, room);
  } else {
    store_tile<false>(raw, y + tile * TILE, room);
  }
}
