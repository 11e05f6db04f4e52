// transpose_common.cuh -- elements, vectors of VEC of them, and the order of tiles, for all algorithms.
#pragma once
#include "pdl.cuh"
#include "words.cuh"

using stored = word_of<NBYTES>::type;  // the bits of an element

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

template <typename T>
__device__ __forceinline__ T load(const T *p) {
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

template <typename T>
__device__ __forceinline__ void store(T *p, const T &v) {
  if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}

// The first row and column of a tile in x.
struct tile_origin {
  int row, column;
};

// Of this block's tile. Tiles begin DOWN rows and ALONG columns apart, the first ABOVE rows above x.
template <int DOWN, int ALONG, int ABOVE = 0>
__device__ __forceinline__ tile_origin find_tile(int rows, int cols) {
  const unsigned high = (unsigned)(rows - 1 + ABOVE) / DOWN + 1;
  const unsigned wide = (unsigned)(cols - 1) / ALONG + 1;
  const unsigned t = blockIdx.x;
  unsigned r, c;
  if constexpr (RASTER == RASTER_across) {
    r = t / wide, c = t % wide;
  } else if constexpr (RASTER == RASTER_down) {
    r = t % high, c = t / high;
  } else if constexpr (RASTER == RASTER_diagonal) {
    r = t % high, c = (t / high + r) % wide;
  } else {  // bands of 8 rows of tiles, down within a band first
    const unsigned band = t / (8 * wide) * 8, in = t % (8 * wide);
    const unsigned height = min(high - band, 8u);
    r = band + in % height, c = in / height;
  }
  return {(int)r * DOWN - ABOVE, (int)c * ALONG};
}
