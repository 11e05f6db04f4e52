// numbers.cuh -- the element type that the field dtype names: as memory holds it and as registers
// compute with it. Include "ptx.cuh" before.

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
