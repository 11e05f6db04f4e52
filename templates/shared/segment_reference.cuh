// segment_reference.cuh -- types and combinations of the references of segmented_reduce and segmented_scan:
// in double or, of integers, exactly (they wrap).
#pragma once
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;
using wide = choose<type::INTEGER, choose<OP == OP_sum, unsigned long long, long long>, double>;

__device__ wide combine(wide a, wide b) {
  return OP == OP_max ? a > b ? a : b : OP == OP_min ? a < b ? a : b : a + b;
}

__device__ wide identity() {
  return (wide)(OP == OP_max ? type::least() : OP == OP_min ? type::most() : (stored)0);
}
