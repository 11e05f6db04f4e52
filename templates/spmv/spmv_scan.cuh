// spmv_scan.cuh -- sums of all that stands before, of n numbers in place, by three launches: the sums of parts, their
// scan by one block, and that of the parts. The last writes the total behind the last number.
#pragma once
#include "spmv.cuh"

constexpr int SCAN_BLOCK = 512, SCAN_ITEMS = 8, SCAN_PART = SCAN_BLOCK * SCAN_ITEMS;

// Of all threads before this one; *total: of all threads.
__device__ __forceinline__ long long scan_block(long long v, long long *total) {
  __shared__ long long warps[SCAN_BLOCK / 32 + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  long long sum = v;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const long long before = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += before;
  }
  __syncthreads();  // the totals of the call before have been read
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  long long before = 0, all = 0;
  for (int w = 0; w < SCAN_BLOCK / 32; w++) {
    before += w < warp ? warps[w] : 0;
    all += warps[w];
  }
  *total = all;
  return before + sum - v;
}

extern "C" __global__ void __launch_bounds__(SCAN_BLOCK)
    scan_parts(long long n, const long long *v, long long *parts) {
  long long sum = 0, total;
  const long long first = (long long)blockIdx.x * SCAN_PART + threadIdx.x;
  for (int i = 0; i < SCAN_ITEMS; i++)
    sum += first + i * SCAN_BLOCK < n ? v[first + i * SCAN_BLOCK] : 0;
  scan_block(sum, &total);
  if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(SCAN_BLOCK) scan_totals(int n, long long *parts) {
  long long carried = 0;
  for (int first = 0; first < n; first += SCAN_BLOCK) {
    const int i = first + threadIdx.x;
    long long total;
    const long long before = scan_block(i < n ? parts[i] : 0, &total);
    if (i < n) parts[i] = carried + before;
    carried += total;
  }
}

extern "C" __global__ void __launch_bounds__(SCAN_BLOCK)
    scan_numbers(long long n, long long *v, const long long *parts, long long *total) {
  const long long first = (long long)blockIdx.x * SCAN_PART + threadIdx.x * SCAN_ITEMS;
  long long own[SCAN_ITEMS], sum = 0, all;
  for (int i = 0; i < SCAN_ITEMS; i++) {
    own[i] = first + i < n ? v[first + i] : 0;
    sum += own[i];
  }
  long long at = parts[blockIdx.x] + scan_block(sum, &all);
  for (int i = 0; i < SCAN_ITEMS; i++) {
    if (first + i < n) v[first + i] = at;
    at += own[i];
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == SCAN_BLOCK - 1) *total = v[n] = at;
}
