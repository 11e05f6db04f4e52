// conv2d_image.cuh -- the image, and the position of a block's tile in the result.
#pragma once
#include "conv_border.cuh"
#include "conv_taps.cuh"
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

// The first column and row of this block's tile of ACROSS x DOWN results.
struct tile_origin {
  int column, row;
};
template <int ACROSS, int DOWN>
__device__ __forceinline__ tile_origin find_tile(int mx) {
  const unsigned tiles = (unsigned)(mx - 1) / ACROSS + 1;
  return {(int)(blockIdx.x % tiles) * ACROSS, (int)(blockIdx.x / tiles) * DOWN};
}
