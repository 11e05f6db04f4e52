// box_blur_border.cuh -- which pixels a window has beyond the image.
#pragma once

// The pixel that stands for i of n; -1: none does, or it is 0.
__device__ __forceinline__ int inside(int i, int n) {
  if constexpr (BORDER == BORDER_replicate) return min(max(i, 0), n - 1);
  if constexpr (BORDER == BORDER_mirror) {  // ... 2 1 0 1 2 ..., the ends are not repeated
    if (n == 1) return 0;
    const int period = 2 * (n - 1), at = abs(i) % period;
    return at < n ? at : period - at;
  }
  return (unsigned)i < (unsigned)n ? i : -1;
}

// Pixels that count along an axis of a window around i.
__device__ __forceinline__ int counted(int i, int n, int radius) {
  if constexpr (BORDER != BORDER_shrink) return 2 * radius + 1;
  return min(i + radius, n - 1) - max(i - radius, 0) + 1;
}
