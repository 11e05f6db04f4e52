// conv_border.cuh -- what elements beyond the ends of a row or column count as, by BORDER.
#pragma once

constexpr int NOTHING = -1;  // no element: it counts as zero

// The element of 0 to n - 1 that element i stands for.
__device__ __forceinline__ int border_index(int i, int n) {
  if constexpr (BORDER == BORDER_replicate) return min(max(i, 0), n - 1);
  if ((unsigned)i < (unsigned)n) return i;
  if constexpr (BORDER == BORDER_mirror) {  // ... 2 1 0 1 2 ..., the ends are not repeated
    const int period = max(1, 2 * n - 2);
    i %= period;
    if (i < 0) i += period;
    return min(i, period - i);
  }
  return NOTHING;
}
