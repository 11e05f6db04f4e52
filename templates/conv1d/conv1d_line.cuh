// conv1d_line.cuh -- the line, for a radius that is a constant.
#pragma once
#include "conv_border.cuh"
#include "conv_taps.cuh"
#include "pdl.cuh"

// Without a border the result begins RX elements into the line.
constexpr int SKIP = BORDER == BORDER_valid ? RX : 0, WIDE = 2 * RX + 1;

struct line {
  int nx;
  const stored *x;

  __device__ __forceinline__ number at(int i) const {
    i = border_index(i, nx);
    return i < 0 ? number() : type::widen(read(x + i));
  }
};
