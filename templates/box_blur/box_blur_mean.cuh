// box_blur_mean.cuh -- pixels, their sums, and means.
#pragma once

using value = element<DTYPE>::stored;
using line_total = choose<DTYPE == DTYPE_f32, float, unsigned>;  // of a row of a window
using total = choose<DTYPE == DTYPE_f32, float, choose<WIDE, unsigned long long, unsigned>>;

// Of bytes, truncated. An estimate in single precision is off by one at most: its factors' errors are
// below 2^-22 together, of 255 at most.
__device__ __forceinline__ value mean_of(total sum, int nx, int ny) {
  if constexpr (DTYPE == DTYPE_f32) return sum / ((float)nx * (float)ny);
  if (WIDE && (total)nx * (total)ny >= 1u << 24) return (value)(sum / ((total)nx * (total)ny));
  const unsigned n = (unsigned)nx * (unsigned)ny,
                 guess = (unsigned)__fdividef((float)sum, (float)n);
  const int rest = (int)((unsigned)sum - guess * n);  // -n to 2 n, below 2^25
  return (value)(guess + (rest >= (int)n) - (rest < 0));
}
