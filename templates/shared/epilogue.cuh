// epilogue.cuh -- the last step of an element of a matrix product on its way to memory:
// act(scale * v + bias), where v is alpha times the sum plus beta times the former element.
//
// The fields scale and bias say whether there are vectors of factors and summands, with an element per
// row or per column; act names the function. Where all three are none, the element stays as it is.
// The file that includes this one defines widen, from an element in memory to a number.
#pragma once

// By tanh, as x / (1 + exp(-2u)), which is x/2 (1 + tanh u).
__device__ __forceinline__ float gelu(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1 + __expf(-2 * u));
}
__device__ __forceinline__ double gelu(double x) {
  const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + tanh(u));
}

__device__ __forceinline__ float gelu_erf(float x) {
  return 0.5f * x * (1 + erff(0.70710678f * x));
}
__device__ __forceinline__ double gelu_erf(double x) {
  return 0.5 * x * (1 + erf(0.70710678118654752440 * x));
}

template <typename T>
__device__ __forceinline__ T activation(T x) {
  if constexpr (ACT == ACT_relu) return x < 0 ? 0 : x;
  if constexpr (ACT == ACT_gelu) return gelu(x);
  if constexpr (ACT == ACT_gelu_erf) return gelu_erf(x);
  return x;
}

// The pointers are null where their field is none.
template <typename T, typename S>
__device__ __forceinline__ T epilogue(T v, long long row, long long column, const S *scales,
                                      const S *biases) {
  if constexpr (SCALE != SCALE_none) v *= widen(scales[SCALE == SCALE_row ? row : column]);
  if constexpr (BIAS != BIAS_none) v += widen(biases[BIAS == BIAS_row ? row : column]);
  return activation(v);
}
