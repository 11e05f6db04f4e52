// scan_states.cuh -- the states by which tiles of one launch publish their sums (tile_state.cuh).
#pragma once
#include "ptx.cuh"
#include "scan_numbers.cuh"

using wide_bits = choose<WIDE == 4, unsigned, unsigned long long>;

__device__ __forceinline__ unsigned long long bits_of(wide v) {
  return *reinterpret_cast<const wide_bits *>(&v);
}

__device__ __forceinline__ wide of_bits(unsigned long long v) {
  const wide_bits bits = (wide_bits)v;
  return *reinterpret_cast<const wide *>(&bits);
}

#define IDENTITY identity()
#include "tile_state.cuh"
