// numbers.cuh -- the element type that the field dtype names: as memory holds it and as registers
// compute with it. Include "ptx.cuh" before.

// A bfloat, handled as its bits, is the upper half of a float. "cvt" to it is of compute capability
// 8.0; before, to nearest by hand.
__device__ __forceinline__ float bfloat_to_float(unsigned short bits) {
  return __uint_as_float((unsigned)bits << 16);
}
__device__ __forceinline__ unsigned short float_to_bfloat(float v) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
  return bits;
#else
  const unsigned bits = __float_as_uint(v);
  return v != v ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

@ local numbers_stored = { f32 = "float", f64 = "double", f16 = "unsigned short",
@   bf16 = "unsigned short" }
using stored = @{numbers_stored[dtype]};
using wide = @{dtype == "f64" and "double" or "float"};

@ if dtype == "f16" then
__device__ __forceinline__ float widen(stored v) { return half_to_float(v); }
__device__ __forceinline__ stored narrow(float v) { return float_to_half(v); }
@ elseif dtype == "bf16" then
__device__ __forceinline__ float widen(stored v) { return bfloat_to_float(v); }
__device__ __forceinline__ stored narrow(float v) { return float_to_bfloat(v); }
@ end
@ if dtype == "f16" or dtype == "bf16" then
__device__ __forceinline__ float widen(float v) { return v; }
@ else
__device__ __forceinline__ wide widen(stored v) { return v; }
__device__ __forceinline__ stored narrow(wide v) { return v; }
@ end
