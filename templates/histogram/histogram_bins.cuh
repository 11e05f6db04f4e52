// histogram_bins.cuh -- from a sample to its bin. Bins and their range are constants, so that finding a bin is a shift,
// multiplications, or nothing.
#pragma once
#include "elements.cuh"

using sample = element<DTYPE>::stored;

// Rounds as the reference does: a subtraction, then a multiplication.
__device__ __forceinline__ int bin_of_float(float v) {
  constexpr float WIDTH = (float)SPAN, SCALE = (float)BINS / WIDTH;
  const float d = __fsub_rn(v, (float)LOWER);
  if (!(d >= 0 && d < WIDTH)) return BEYOND;
  const float at = __fmul_rn(d, SCALE);
  if constexpr (BINS < 1 << 22) {
    // from 2^23 on floats are integers: an addition has four times the throughput of a conversion
    return min(__float_as_int(__fadd_rz(at, 8388608.0f)) - 0x4b000000, BINS - 1);
  } else {
    return min((int)at, BINS - 1);
  }
}

// 2^64 * BINS / SPAN, rounded up: too large by less than 2^-32 / SPAN for every distance.
__device__ constexpr unsigned long long bins_per_unit() {
  unsigned long long scale = 0, rest = BINS;
  for (int i = 0; i < 64; i++) {
    scale *= 2;
    rest *= 2;
    if (rest >= SPAN) {
      scale++;
      rest -= SPAN;
    }
  }
  return scale + (rest > 0);
}

// The bin of a sample at distance d from LOWER; BINS if d is SPAN.
__device__ __forceinline__ int bin_at(unsigned d) {
  if constexpr (SPAN % BINS == 0) {
    return d / (unsigned)(SPAN / BINS);
  } else if constexpr (BINS < SPAN) {
    constexpr unsigned long long SCALE = bins_per_unit();
    const unsigned long long low = (unsigned long long)d * (unsigned)SCALE >> 32;
    return (int)((unsigned long long)d * (unsigned)(SCALE >> 32) + low >> 32);
  } else {
    return (int)((unsigned long long)d * BINS / (unsigned long long)SPAN);
  }
}

__device__ __forceinline__ int bin_of_integer(sample v) {
  constexpr long long FIRST = LOWER, WIDTH = SPAN, LEAST = DTYPE == DTYPE_i32 ? -1ll << 31 : 0;
  unsigned d = (unsigned)v - (unsigned)FIRST;
  if constexpr (BEYOND < 0) {
    if (v < FIRST || d >= WIDTH) return BEYOND;
  } else if constexpr (WIDTH == 1ll << 32) {
    if (v < FIRST) return BEYOND;
  } else {
    // samples outside are at distance SPAN; without a branch unless d may have wrapped around into the range
    d = min(d, (unsigned)WIDTH);
    if (FIRST + WIDTH > (1ll << 32) + LEAST && v < FIRST) d = WIDTH;
  }
  return bin_at(d);
}

// The bin of a sample, BEYOND if it is in none.
__device__ __forceinline__ int bin_of(sample v) {
  if constexpr (DTYPE == DTYPE_f32) {
    return bin_of_float(v);
  } else {
    return bin_of_integer(v);
  }
}
