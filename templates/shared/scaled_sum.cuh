// scaled_sum.cuh -- alpha times the sum of an element of a matrix product, plus beta times the former element.
//
// With ONE_ORDER (reproducible=shape) all kernels round it alike: alpha times the sum first, then a fused
// multiply-add. Otherwise the compiler chooses in each kernel which of the two products it fuses.
#pragma once

__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }

// A sum of -0, left by products that underflow, becomes 0 where tiles are padded with zeros along k; here everywhere.
template <typename T>
__device__ __forceinline__ T scaled(T alpha, T sum) {
  if constexpr (ONE_ORDER) return rounded_product(alpha, sum + 0);
  return alpha * sum;
}

// With beta 0, `before` is 0.
template <typename T>
__device__ __forceinline__ T scaled(T alpha, T sum, T beta, T before) {
  if constexpr (ONE_ORDER) {
    const T product = scaled(alpha, sum);
    return beta == 0 ? product : fma(beta, before, product);
  }
  return alpha * sum + beta * before;
}
