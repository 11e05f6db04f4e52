// segmented_scan.cu -- a group of WIDTH threads for each segment: one, some lanes of a warp, or a block.
#include "pdl.cuh"
#include "segments.cuh"

// The inclusive scan across each N lanes of a warp.
template <int N>
__device__ __forceinline__ value scan_lanes(value v) {
#pragma unroll
  for (int d = 1; d < N; d *= 2) {
    const value left = __shfl_up_sync(0xffffffff, v, d, N);
    if (threadIdx.x % N >= d) v = combine(left, v);
  }
  return v;
}

// What the threads before this one have, and what all have, from each warp's inclusive scan v and what the
// lanes before this one have.
template <int WARPS>
__device__ __forceinline__ value scan_warps(value v, value lanes_before, value *total) {
  __shared__ value warps[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // the totals of the call before have been read
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  const value sums = scan_lanes<WARPS>(lane < WARPS ? warps[lane] : identity<value>());
  const value warps_before = __shfl_sync(0xffffffff, sums, warp > 0 ? warp - 1 : 0);
  *total = __shfl_sync(0xffffffff, sums, WARPS - 1);
  return warp > 0 ? combine(warps_before, lanes_before) : lanes_before;
}

// What the segment's THREADS threads before this one have, and what all have.
template <int THREADS>
__device__ __forceinline__ value scan_threads(value v, value *total) {
  constexpr int IN_WARP = THREADS < 32 ? THREADS : 32;
  v = scan_lanes<IN_WARP>(v);
  const value left = __shfl_up_sync(0xffffffff, v, 1, IN_WARP);
  const value before = threadIdx.x % IN_WARP > 0 ? left : identity<value>();
  if constexpr (THREADS > 32) {
    return scan_warps<THREADS / 32>(v, before, total);
  } else {
    *total = __shfl_sync(0xffffffff, v, IN_WARP - 1, IN_WARP);
    return before;
  }
}

// OWN: neighbouring elements per thread.
template <int THREADS, int OWN>
__device__ __forceinline__ void scan_segment(segment s, const stored *x, stored *y) {
  wide sum = identity<wide>();
  // All lanes of a warp take part in its shuffles until its longest segment ends.
  for (long long first = s.begin; __any_sync(0xffffffff, first < s.end); first += THREADS * OWN) {
    const long long at = first + threadIdx.x % THREADS * OWN;
    value v[OWN], total;
#pragma unroll
    for (int i = 0; i < OWN; i++) v[i] = at + i < s.end ? (value)x[at + i] : identity<value>();
    value own = v[0];
#pragma unroll
    for (int i = 1; i < OWN; i++) own = combine(own, v[i]);
    value before = scan_threads<THREADS>(own, &total);
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      const value with = combine(before, v[i]);
      if (at + i < s.end) {
        y[at + i] = (stored)combine(sum, (wide)(KIND == KIND_inclusive ? with : before));
      }
      before = with;
    }
    sum = combine(sum, (wide)total);
  }
}

// With ONE_ORDER the block scans segments that are longer.
constexpr int SHORT = 1024;

extern "C" __global__ void __launch_bounds__(BLOCK)
    segmented_scan(long long n, long long segments, const int *__restrict__ starts,
                   const stored *__restrict__ x, stored *__restrict__ y) {
  const int zero = pdl_wait();
  x += zero;
  starts += zero;
  const long long first = (long long)blockIdx.x * GROUPS;
  const segment s = segment_of(first + threadIdx.x / WIDTH, n, segments, starts);
  if constexpr (ONE_ORDER) {
    const bool is_long = s.end - s.begin > SHORT;
    if (blockIdx.y == 0) scan_segment<WIDTH, 4>(is_long ? segment{0, 0} : s, x, y);
    if (!__syncthreads_or(is_long)) return;
    for (int g = blockIdx.y; g < GROUPS; g += gridDim.y) {
      const segment all = segment_of(first + g, n, segments, starts);
      if (all.end - all.begin > SHORT) scan_segment<BLOCK, 16>(all, x, y);
    }
  } else {
    scan_segment<WIDTH, ITEMS>(s, x, y);
  }
}
