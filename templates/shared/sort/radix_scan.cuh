// radix_scan.cuh -- scans of the numbers of a warp's lanes and of a block's threads.
#pragma once

template <typename T>
__device__ __forceinline__ T scan_lanes(T v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const T left = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += left;
  }
  return v;
}

// The exclusive scan of ROWS * 32 numbers, of which a thread has every BLOCK-th; returns their sum. A barrier has to
// separate two calls.
template <int ROWS, int OWN, typename T>
__device__ __forceinline__ T scan_rows(T (&v)[OWN]) {
  __shared__ T rows[ROWS + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int j = 0; j < OWN; j++) {
    const T sum = scan_lanes(v[j]);
    if (lane == 31 && j * WARPS + warp < ROWS) rows[j * WARPS + warp] = sum;
    v[j] = sum - v[j];
  }
  __syncthreads();
  if (warp == 0) {
    T before = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r += 32) {
      const T own = r + lane < ROWS ? rows[r + lane] : 0, sum = scan_lanes(own);
      __syncwarp();
      if (r + lane < ROWS) rows[r + lane] = before + sum - own;
      before += __shfl_sync(0xffffffff, sum, 31);
    }
    if (lane == 0) rows[ROWS] = before;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < OWN; j++) {
    if (j * WARPS + warp < ROWS) v[j] += rows[j * WARPS + warp];
  }
  return rows[ROWS];
}
