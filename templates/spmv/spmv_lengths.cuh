// spmv_lengths.cuh -- rows in the order of their lengths, the longest first: `of_length[l]` counts those of length l.
#pragma once
#include "spmv.cuh"

extern "C" __global__ void __launch_bounds__(256)
    longest_row(long long rows, const offset *ptr, unsigned long long *longest) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  unsigned long long length = row < rows ? ptr[row + 1] - ptr[row] : 0;
#pragma unroll
  for (int d = 16; d > 0; d /= 2) length = max(length, __shfl_xor_sync(0xffffffff, length, d));
  if (threadIdx.x % 32 == 0 && length > 0) atomicMax(longest, length);
}

// A number of this length for each lane of the warp, in the order of lanes where they are equal.
__device__ __forceinline__ long long take_place(bool is, long long length,
                                                unsigned long long *next) {
  const unsigned same = __match_any_sync(0xffffffff, is ? length : -1);
  const int leader = __ffs(same) - 1, lane = threadIdx.x % 32;
  unsigned long long first = 0;
  if (is && lane == leader) first = atomicAdd(next + length, (unsigned long long)__popc(same));
  first = __shfl_sync(0xffffffff, first, leader);
  return (long long)first + __popc(same & ((1u << lane) - 1));
}

extern "C" __global__ void __launch_bounds__(256)
    count_lengths(long long rows, const offset *ptr, unsigned long long *of_length) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  take_place(row < rows, row < rows ? ptr[row + 1] - ptr[row] : 0, of_length);
}

// By one thread block: longer[l] becomes how many rows are longer than l, which is where those of length l begin.
extern "C" __global__ void __launch_bounds__(1024)
    count_longer(long long longest, const unsigned long long *of_length,
                 unsigned long long *longer) {
  __shared__ unsigned long long sums[1024];
  const long long share = (longest + 1 + 1023) / 1024, end = longest + 1 - threadIdx.x * share;
  unsigned long long sum = 0;  // of a thread's share, from the longest down
  for (long long l = end - 1; l >= 0 && l >= end - share; l--) sum += of_length[l];
  sums[threadIdx.x] = sum;
  __syncthreads();
  unsigned long long before = 0;
  for (int t = 0; t < threadIdx.x; t++) before += sums[t];
  for (long long l = end - 1; l >= 0 && l >= end - share; l--) {
    longer[l] = before;
    before += of_length[l];
  }
}

extern "C" __global__ void __launch_bounds__(256)
    place_rows(long long rows, const offset *ptr, unsigned long long *next, int *order) {
  const long long row = blockIdx.x * 256ll + threadIdx.x;
  const long long at = take_place(row < rows, row < rows ? ptr[row + 1] - ptr[row] : 0, next);
  if (row < rows) order[at] = (int)row;
}
