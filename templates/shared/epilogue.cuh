// epilogue.cuh -- what becomes of an element of a matrix product on its way to memory:
// act(scale * v + bias), where v is alpha times the sum plus beta times what was there.
//
// The problem's fields scale and bias say whether these are vectors with an element per row or per
// column, or not there; act names the function. With none of the three this is nothing at all.

@ if act == "relu" then
template <typename T>
__device__ __forceinline__ T activation(T x) { return x < 0 ? 0 : x; }
@ elseif act == "gelu" then
// By tanh, as x / (1 + exp(-2u)), which is x/2 (1 + tanh u).
__device__ __forceinline__ float activation(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1 + __expf(-2 * u));
}
__device__ __forceinline__ double activation(double x) {
  const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + tanh(u));
}
@ elseif act == "gelu_erf" then
__device__ __forceinline__ float activation(float x) {
  return 0.5f * x * (1 + erff(0.70710678f * x));
}
__device__ __forceinline__ double activation(double x) {
  return 0.5 * x * (1 + erf(0.70710678118654752440 * x));
}
@ else
template <typename T>
__device__ __forceinline__ T activation(T x) { return x; }
@ end

// Both vectors have the elements' type, which a function widen turns into a number (see numbers.cuh);
// null where the field says none.
template <typename T, typename S>
__device__ __forceinline__ T epilogue(T v, long long row, long long column, const S *scales,
                                      const S *biases) {
@ if scale ~= "none" then
  v *= widen(scales[@{scale}]);
@ end
@ if bias ~= "none" then
  v += widen(biases[@{bias}]);
@ end
  return activation(v);
}
