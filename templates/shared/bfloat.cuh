// bfloat.cuh -- a bfloat16, handled as its bits: the upper half of a float.
#pragma once

__device__ __forceinline__ float bfloat_to_float(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}

// To nearest even; a NaN stays one. "cvt" to a bfloat needs compute capability 8.0.
__device__ __forceinline__ unsigned short float_to_bfloat(float v) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
#else
  const unsigned bits = __float_as_uint(v);
  if (v != v) return (unsigned short)(bits >> 16 | 0x40);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}
