// conv2d_sums.cuh -- sums of the results that rows are part of, in registers.
#pragma once
#include "conv2d_rows.cuh"

// Adds row j of the filter times a row.
__device__ __forceinline__ void add(number (&sum)[OUT_X], const line &v, taps_given f, int j) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
    const number weight = tap_at(f, j * WIDE + i);
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[o] += weight * v.e[SHIFT + o + i];
  }
}

// The sums of HIGH - 1 results, the oldest first. The next row is row 2 * RY - k of the filter for the k-th.
struct results {
  number sum[HIGH][OUT_X];

  // Row s: completes result s - 2 * RY, which is in `done` then. Only those of 0 to n - 1 are computed unless ALL.
  template <bool ALL>
  __device__ __forceinline__ void step(const line &v, taps_given f, int s, int n,
                                       number (&done)[OUT_X]) {
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[HIGH - 1][o] = 0;
#pragma unroll
    for (int k = 0; k < HIGH; k++) {
      if (ALL || (unsigned)(s + k - 2 * RY) < (unsigned)n) add(sum[k], v, f, HIGH - 1 - k);
    }
#pragma unroll
    for (int o = 0; o < OUT_X; o++) {
      done[o] = sum[0][o];
#pragma unroll
      for (int k = 1; k < HIGH; k++) sum[k - 1][o] = sum[k][o];
    }
  }
};
