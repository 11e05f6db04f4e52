// gemm_elements.cuh -- the types of the elements of A, B and C and of their sums, and the epilogue of results.
#pragma once
#include "elements.cuh"

using stored = element<DTYPE>::stored;
using wide = element<DTYPE>::number;    // of sums
using output = element<CTYPE>::stored;  // of C: stored, or float

template <typename T>
__device__ __forceinline__ wide widen(T v) {
  if constexpr (sizeof(T) == sizeof(wide)) {
    return v;
  } else {
    return element<DTYPE>::widen(v);
  }
}
__device__ __forceinline__ output rounded(wide v) { return element<CTYPE>::narrow(v); }

#include "epilogue.cuh"
