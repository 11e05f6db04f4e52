// spmv_slots.cuh -- values in a layout with padding. A slot that no entry has is -0, an entry that is zero is +0: what is
// padding is never multiplied, since 0 times a NaN or an infinity of x were a NaN.
#pragma once
#include "spmv.cuh"

__device__ __forceinline__ bool is_padding(float v) { return __float_as_uint(v) == 0x80000000; }
__device__ __forceinline__ bool is_padding(double v) {
  return __double_as_longlong(v) == (long long)0x8000000000000000;
}

__device__ __forceinline__ stored padding() { return -(stored)0; }

// As an entry is stored.
__device__ __forceinline__ stored entry(stored v) { return v == 0 ? 0 : v; }
