// scan_numbers.cuh -- the numbers of a scan in memory and in registers, and how they combine.
#pragma once
#include "elements.cuh"

using type = element<DTYPE>;
using stored = type::stored;  // in memory

// In registers: f32 for 16-bit floats, at least 32 bits of integers, unsigned where they may overflow.
constexpr bool WRAPS = OP == OP_sum || OP == OP_product;
using wide = choose<
    !type::INTEGER, type::number,
    choose<WIDE == 8, choose<WRAPS, unsigned long long, long long>, choose<WRAPS, unsigned, int>>>;

__device__ __forceinline__ wide widen(stored v) { return (wide)type::widen(v); }
__device__ __forceinline__ stored narrow(wide v) { return type::narrow((type::number)v); }

__device__ __forceinline__ wide identity() {
  using extremes = choose<DTYPE == DTYPE_f16 || DTYPE == DTYPE_bf16, element<TYPE_f32>, type>;
  if constexpr (OP == OP_sum) return 0;
  if constexpr (OP == OP_product) return 1;
  if constexpr (OP == OP_max) return (wide)extremes::least();
  return (wide)extremes::most();
}

__device__ __forceinline__ wide combine(wide a, wide b) {
  if constexpr (OP == OP_max) return a > b ? a : b;
  if constexpr (OP == OP_min) return a < b ? a : b;
  if constexpr (OP == OP_product) return a * b;
  return a + b;
}

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// The inclusive scan across the first WIDTH lanes of a warp.
template <int WIDTH>
__device__ __forceinline__ wide scan_lanes(wide v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < WIDTH; d *= 2) {
    const wide left = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v = combine(left, v);
  }
  return v;
}
