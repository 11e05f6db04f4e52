// radix_keys.cuh -- keys as words whose unsigned order is the wanted one, and their digits.
//
// The sign of signed keys is inverted; of negative floats all bits are, of other floats the sign; in descending order
// then all bits. FROM_TOP: digits are counted from the highest bit, so that the lowest digit has the bits left over.
#pragma once
#include "elements.cuh"

template <int NBYTES>
using unsigned_of =
    choose<NBYTES == 8, unsigned long long,
           choose<NBYTES == 4, unsigned, choose<NBYTES == 2, unsigned short, unsigned char>>>;
using key = unsigned_of<KEY>;
using value = unsigned_of<VALUE == 0 ? 4 : VALUE>;
using position = unsigned_of<4 + 4 * WIDE>;  // among all keys

constexpr bool FLOATS = !element<DTYPE>::INTEGER;
constexpr bool SIGNED = !FLOATS && (element<DTYPE>::stored) - 1 < 0;
constexpr bool DESCENDING = ORDER == ORDER_descending;
constexpr bool ENCODED = FLOATS || SIGNED || DESCENDING;  // keys are not compared as they are
constexpr key SIGN = (key)((key)1 << (8 * KEY - 1));

__device__ __forceinline__ key encode(key k) {
  if constexpr (FLOATS) {
    k = (key)(k & SIGN ? ~k : k ^ SIGN);
  } else if constexpr (SIGNED) {
    k = (key)(k ^ SIGN);
  }
  if constexpr (DESCENDING) k = (key)~k;
  return k;
}

__device__ __forceinline__ key decode(key k) {
  if constexpr (DESCENDING) k = (key)~k;
  if constexpr (FLOATS) return (key)(k & SIGN ? k ^ SIGN : ~k);
  return SIGNED ? (key)(k ^ SIGN) : k;
}

// An encoded key, with +0 for -0.
__device__ __forceinline__ key one_zero(key k) {
  constexpr key MINUS = DESCENDING ? SIGN : (key)(SIGN - 1);  // -0
  if (FLOATS && k == MINUS) k = (key)~MINUS;
  return k;
}

// The bits of a key that are a digit.
struct digit_bits {
  int shift;
  unsigned mask;

  __device__ __forceinline__ unsigned of(key k) const {
    return (unsigned)(one_zero(k) >> shift) & mask;
  }
};

// The same digit, unknown to the compiler, which extracts it again instead of keeping it in registers.
__device__ __forceinline__ digit_bits opaque(digit_bits d) {
  asm volatile("" : "+r"(d.shift), "+r"(d.mask));
  return d;
}

__device__ __forceinline__ digit_bits digit_of_pass(int pass) {
  if constexpr (FROM_TOP) {
    const int end = BITS - (PASSES - 1 - pass) * DIGIT, begin = max(end - DIGIT, 0);
    return {FIRST_BIT + begin, (1u << max(end - begin, 0)) - 1};
  } else {
    const int bits = min(DIGIT, BITS - pass * DIGIT);
    return {FIRST_BIT + pass * DIGIT, (1u << max(bits, 0)) - 1};
  }
}
