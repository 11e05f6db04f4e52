// conv3d_volume.cuh -- the volume, and the position of a block's tile in the result.
#pragma once
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "pdl.cuh"

// Without a border the result begins RX columns, RY rows and RZ planes into the volume.
constexpr bool SKIPS = BORDER == BORDER_valid;
constexpr int SKIP_X = SKIPS ? RX : 0, SKIP_Y = SKIPS ? RY : 0, SKIP_Z = SKIPS ? RZ : 0;
constexpr int WIDE = 2 * RX + 1, HIGH = 2 * RY + 1, DEEP = 2 * RZ + 1;  // of the filter

struct volume {
  int nx, ny, nz;
  const stored *x;
  long long ldx;

  // Row and plane exist.
  __device__ __forceinline__ const stored *row(int row, int plane) const {
    return x + ((long long)plane * ny + row) * ldx;
  }
  __device__ __forceinline__ number at(int column, int row, int plane) const {
    column = border_index(column, nx);
    row = border_index(row, ny);
    plane = border_index(plane, nz);
    if (column < 0 || row < 0 || plane < 0) return 0;
    return type::widen(read(this->row(row, plane) + column));
  }
};

// A position in the result, and its extents.
struct place {
  int column, row, plane;
};
struct result {
  int mx, my, mz;
  stored *y;
  long long ldy;

  __device__ __forceinline__ bool has(const place &p) const {
    return p.column < mx && p.row < my && p.plane < mz;
  }
  __device__ __forceinline__ stored *at(const place &p) const {
    return y + ((long long)p.plane * my + p.row) * ldy + p.column;
  }
};

// The first element of this block's tile of ACROSS x DOWN x DEPTH results.
template <int ACROSS, int DOWN>
__device__ __forceinline__ place find_tile(const result &to, int depth) {
  const unsigned columns = (unsigned)(to.mx - 1) / ACROSS + 1;
  const unsigned rows = (unsigned)(to.my - 1) / DOWN + 1;
  const unsigned line = blockIdx.x / columns;
  return {(int)(blockIdx.x % columns) * ACROSS, (int)(line % rows) * DOWN,
          (int)(line / rows) * depth};
}
