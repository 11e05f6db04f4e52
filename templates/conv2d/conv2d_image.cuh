// conv2d_image.cuh -- the image, and the position of a block's tile in the result.
#pragma once
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "early_fetch.cuh"
#include "pdl.cuh"

// Without a border the result begins RX columns and RY rows into the image.
constexpr int SKIP_X = BORDER == BORDER_valid ? RX : 0, SKIP_Y = BORDER == BORDER_valid ? RY : 0;
constexpr int WIDE = 2 * RX + 1, HIGH = 2 * RY + 1;  // of the filter

struct image {
  int nx, ny;
  const stored *x;
  long long ldx;

  __device__ __forceinline__ number at(int column, int row) const {
    column = border_index(column, nx);
    row = border_index(row, ny);
    return column < 0 || row < 0 ? number() : type::widen(read(x + row * ldx + column));
  }
};

// The first column and row of a block's tile of ACROSS x DOWN results.
struct tile_origin {
  int column, row;
};
template <int ACROSS, int DOWN>
__device__ __forceinline__ tile_origin find_tile(int mx, unsigned block) {
  const unsigned tiles = (unsigned)(mx - 1) / ACROSS + 1;
  return {(int)(block % tiles) * ACROSS, (int)(block / tiles) * DOWN};
}
template <int ACROSS, int DOWN>
__device__ __forceinline__ tile_origin find_tile(int mx) {
  return find_tile<ACROSS, DOWN>(mx, blockIdx.x);
}

// Brings the elements of the tile of the block `ahead` of this one to the L2 cache; by THREADS threads.
template <int ACROSS, int DOWN, int THREADS>
__device__ __forceinline__ void fetch_tile(const image &in, int mx, unsigned ahead, int thread) {
  if (ahead >= gridDim.x - blockIdx.x) return;
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx, blockIdx.x + ahead);
  for (int j = thread; j < DOWN && tile.row + j < in.ny; j += THREADS) {
    early_fetch(in.x + (tile.row + j) * in.ldx + tile.column,
                min(ACROSS, in.nx - tile.column) * sizeof(stored));
  }
}
