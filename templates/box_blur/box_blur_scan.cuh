// box_blur_scan.cuh -- prefix sums of a block.
#pragma once

// The sum of `mine` of all threads before this one; `warps` is of the block, and may not be written again before all
// threads have passed another barrier.
template <int N>
__device__ __forceinline__ total before(total mine, total (&warps)[N]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  total sum = mine;
#pragma unroll
  for (int i = 1; i < 32; i *= 2) {
    const total other = __shfl_up_sync(0xffffffff, sum, i);
    if (lane >= i) sum += other;
  }
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  total base = 0;
#pragma unroll
  for (int i = 0; i < N; i++) base += i < warp ? warps[i] : 0;
  return base + sum - mine;
}
