// gemv_elements.cuh -- the element type, and the epilogue of results, which uses it.
#pragma once
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
using wide = type::number;
__device__ __forceinline__ wide widen(stored v) { return type::widen(v); }
__device__ __forceinline__ stored narrow(wide v) { return type::narrow(v); }
#include "epilogue.cuh"
