// merge_store.cuh -- stores a merged tile from registers to global memory, and fetches its values.
#pragma once
#include "merge_pieces.cuh"

// The tile's vector that this thread stores k-th.
__device__ __forceinline__ int unit(int k) {
  const int lane = threadIdx.x % 32;
  return STORE == STORE_direct  ? threadIdx.x * UNITS + k
         : STORE == STORE_block ? k * BLOCK + threadIdx.x
                                : (threadIdx.x - lane) * UNITS + k * 32 + lane;
}

// With STORE=block and warp, threads exchange vectors for coalesced stores.
__device__ __forceinline__ void exchange_vectors(vector (&v)[UNITS], unsigned char *memory) {
  vector *rows = reinterpret_cast<vector *>(memory);
#pragma unroll
  for (int k = 0; k < UNITS; k++) store_plain(rows + threadIdx.x * ROW + k, v[k]);
  if constexpr (STORE == STORE_block) {
    sync_merging();
  } else {
    __syncwarp();
  }
#pragma unroll
  for (int k = 0; k < UNITS; k++) v[k] = load_plain(rows + unit(k) / UNITS * ROW + unit(k) % UNITS);
}

__device__ __forceinline__ void store_vector(vector *to, const vector &v) {
  if constexpr (CACHE == CACHE_streaming) {
    store_streaming(to, v);
  } else {
    store_plain(to, v);
  }
}

// Stores each thread's ITEMS consecutive keys, as far as they are among the first `count` of the tile. No thread
// may still use the memory for something else.
__device__ __forceinline__ void store_tile(const key (&v)[ITEMS], key *to, int count,
                                           unsigned char *memory) {
  vector out[UNITS];
#pragma unroll
  for (int k = 0; k < ITEMS; k++) out[k / VEC].e[k % VEC] = v[k];
  if constexpr (STORE != STORE_direct) exchange_vectors(out, memory);
  if (count == TILE) {
#pragma unroll
    for (int k = 0; k < UNITS; k++) store_vector(reinterpret_cast<vector *>(to) + unit(k), out[k]);
    return;
  }
#pragma unroll
  for (int k = 0; k < UNITS; k++) {
    const int u = unit(k);
    if ((u + 1) * VEC <= count) {
      store_vector(reinterpret_cast<vector *>(to) + u, out[k]);
    } else {
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        if (u * VEC + e < count) to[u * VEC + e] = out[k].e[e];
      }
    }
  }
}

// Calls take(place, source) for the places of the tile, neighbouring threads for neighbouring places.
template <typename Take>
__device__ __forceinline__ void take_values(const int (&source)[ITEMS], int count,
                                            unsigned char *memory, const Take &take) {
  if constexpr (STORE == STORE_direct) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      const int place = threadIdx.x * ITEMS + k;
      if (place < count) take(place, source[k]);
    }
  } else {
    constexpr int WIDTH = ITEMS + 1 - ITEMS % 2;  // odd, against bank conflicts
    int *rows = reinterpret_cast<int *>(memory);
    sync_merging();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) rows[threadIdx.x * WIDTH + k] = source[k];
    sync_merging();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
      const int place = k * BLOCK + threadIdx.x;
      if (place < count) take(place, rows[place / ITEMS * WIDTH + place % ITEMS]);
    }
  }
}
