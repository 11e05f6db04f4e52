// elements.cuh -- element types by the values of a field of types: element<DTYPE> where the field is dtype.
//
//   stored    the type in memory, in which 16-bit floats are their bits
//   number    the type to compute with: float for those
//   wrapping  the unsigned type of the size of an integer, in which overflow wraps around
//   widen, narrow   between stored and number
//   least, most, one   as stored; of floats, the infinities
#pragma once
#include "bfloat.cuh"
#include "ptx.cuh"

// The numbers that the generator gives DTYPE_i8, DTYPE_u8, ... in every family.
enum {
  TYPE_i8,
  TYPE_u8,
  TYPE_i16,
  TYPE_u16,
  TYPE_i32,
  TYPE_u32,
  TYPE_i64,
  TYPE_u64,
  TYPE_f16,
  TYPE_bf16,
  TYPE_f32,
  TYPE_f64
};

template <typename T, typename Unsigned>
struct integer_element {
  using stored = T;
  using number = T;
  using wrapping = Unsigned;
  static constexpr bool INTEGER = true;
  __device__ static T widen(T v) { return v; }
  __device__ static T narrow(T v) { return v; }
  __device__ static constexpr T one() { return 1; }
  __device__ static constexpr T most() {
    return T(-1) < 0 ? (T)(Unsigned(-1) / 2) : (T)Unsigned(-1);
  }
  __device__ static constexpr T least() { return -most() - 1; }
};

template <typename T>
struct float_element {
  using stored = T;
  using number = T;
  using wrapping = T;
  static constexpr bool INTEGER = false;
  __device__ static T widen(T v) { return v; }
  __device__ static T narrow(T v) { return v; }
  __device__ static T one() { return 1; }
  __device__ static T most() { return (T)__int_as_float(0x7f800000); }
  __device__ static T least() { return -most(); }
};

template <unsigned short ONE, unsigned short INFINITY_BITS>
struct half_element {
  using stored = unsigned short;
  using number = float;
  using wrapping = float;
  static constexpr bool INTEGER = false;
  __device__ static constexpr stored one() { return ONE; }
  __device__ static constexpr stored most() { return INFINITY_BITS; }
  __device__ static constexpr stored least() { return INFINITY_BITS | 0x8000; }
};

template <int TYPE>
struct element;
template <>
struct element<TYPE_i8> : integer_element<signed char, unsigned char> {};
template <>
struct element<TYPE_u8> : integer_element<unsigned char, unsigned char> {};
template <>
struct element<TYPE_i16> : integer_element<short, unsigned short> {};
template <>
struct element<TYPE_u16> : integer_element<unsigned short, unsigned short> {};
template <>
struct element<TYPE_i32> : integer_element<int, unsigned> {};
template <>
struct element<TYPE_u32> : integer_element<unsigned, unsigned> {};
template <>
struct element<TYPE_i64> : integer_element<long long, unsigned long long> {};
template <>
struct element<TYPE_u64> : integer_element<unsigned long long, unsigned long long> {};
template <>
struct element<TYPE_f32> : float_element<float> {};
template <>
struct element<TYPE_f64> : float_element<double> {};
template <>
struct element<TYPE_f16> : half_element<0x3c00, 0x7c00> {
  __device__ static float widen(stored v) { return half_to_float(v); }
  __device__ static stored narrow(float v) { return float_to_half(v); }
};
template <>
struct element<TYPE_bf16> : half_element<0x3f80, 0x7f80> {
  __device__ static float widen(stored v) { return bfloat_to_float(v); }
  __device__ static stored narrow(float v) { return float_to_bfloat(v); }
};

// std::conditional, for which NVRTC has no header of its own.
template <bool CONDITION, typename T, typename U>
struct choice_of {
  using type = T;
};
template <typename T, typename U>
struct choice_of<false, T, U> {
  using type = U;
};
template <bool CONDITION, typename T, typename U>
using choose = typename choice_of<CONDITION, T, U>::type;
