// segmented_scan_lookback.cu -- blocks have tiles of equal size, whatever the lengths of segments.
//
// One scan of x that starts again at the head of each segment, which is marked by a bit. A tile looks back
// at most to the last tile that has a head.
// src: Sengupta, Harris, Garland, Efficient parallel scan algorithms for GPUs
#include "pdl.cuh"
#include "ptx.cuh"
#include "segments.cuh"
#include "ticket.cuh"

using wide_bits = choose<WIDE == 4, unsigned, unsigned long long>;

__device__ __forceinline__ unsigned long long bits_of(wide v) {
  return *reinterpret_cast<const wide_bits *>(&v);
}

__device__ __forceinline__ wide of_bits(unsigned long long v) {
  const wide_bits bits = (wide_bits)v;
  return *reinterpret_cast<const wide *>(&bits);
}

#define IDENTITY identity<wide>()
#include "tile_state.cuh"

// ---- heads of segments -------------------------------------------------------------------------

// A bit for each of the tile's elements: a segment begins with it.
__device__ __forceinline__ void mark_heads(unsigned (&heads)[TILE / 32], long long tile,
                                           long long segments, const int *starts) {
  __shared__ long long first;
  for (int i = threadIdx.x; i < TILE / 32; i += BLOCK) heads[i] = 0;
  if (threadIdx.x < 32) {
    const long long found = first_start_from(tile * TILE, segments, starts);
    if (threadIdx.x == 0) first = found;
  }
  __syncthreads();
  for (long long i = first + threadIdx.x; i < segments; i += BLOCK) {
    const long long at = starts[i] - tile * TILE;
    if (at >= TILE) break;
    atomicOr(heads + at / 32, 1u << at % 32);
  }
  __syncthreads();
}

// ---- sums that start again at heads ------------------------------------------------------------

// Of consecutive elements.
struct flagged_sum {
  value sum;  // from the last head on, or of all
  bool head;  // is there one?
};

__device__ __forceinline__ flagged_sum operator+(const flagged_sum &a, const flagged_sum &b) {
  return {b.head ? b.sum : combine(a.sum, b.sum), a.head || b.head};
}

__device__ __forceinline__ flagged_sum nothing() { return {identity<value>(), false}; }

__device__ __forceinline__ flagged_sum from_lane(const flagged_sum &v, int lane) {
  return {__shfl_sync(0xffffffff, v.sum, lane), (bool)__shfl_sync(0xffffffff, (int)v.head, lane)};
}

__device__ __forceinline__ flagged_sum from_lane_before(const flagged_sum &v, int distance) {
  return {__shfl_up_sync(0xffffffff, v.sum, distance),
          (bool)__shfl_up_sync(0xffffffff, (int)v.head, distance)};
}

// The inclusive scan across the first N lanes.
template <int N>
__device__ __forceinline__ flagged_sum scan_lanes(flagged_sum v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < N; d *= 2) {
    const flagged_sum left = from_lane_before(v, d);
    if (lane >= d) v = left + v;
  }
  return v;
}

// What the block's threads before this one have, and what all have.
__device__ __forceinline__ flagged_sum scan_block(flagged_sum v, flagged_sum *total) {
  constexpr int WARPS = BLOCK / 32;
  __shared__ value sums[WARPS];
  __shared__ bool heads[WARPS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = scan_lanes<32>(v);
  if (lane == 31) {
    sums[warp] = v.sum;
    heads[warp] = v.head;
  }
  __syncthreads();
  const flagged_sum all =
      scan_lanes<WARPS>(lane < WARPS ? flagged_sum{sums[lane], heads[lane]} : nothing());
  const flagged_sum warps = from_lane(all, warp > 0 ? warp - 1 : 0);
  *total = from_lane(all, WARPS - 1);
  const flagged_sum left = from_lane_before(v, 1);
  return (warp > 0 ? warps : nothing()) + (lane > 0 ? left : nothing());
}

// ---- a tile ------------------------------------------------------------------------------------

// Where an element lies in shared memory: threads that access elements a power of two apart use all banks.
__device__ __forceinline__ int place(int i) { return i + i / 32; }

// The sum so far of the segment that goes on from the tiles before. `total` is this tile's.
__device__ __forceinline__ wide before_tile(const tile_states &all, long long tile,
                                            const flagged_sum &total) {
  __shared__ wide found;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      all.publish(tile, tile == 0 || total.head ? PREFIX : AGGREGATE, total.sum);
    const wide sum = look_back(all, tile);
    if (threadIdx.x == 0) {
      if (tile > 0 && !total.head) all.publish(tile, PREFIX, combine(sum, (wide)total.sum));
      found = sum;
    }
  }
  __syncthreads();
  return found;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    segmented_scan(long long n, long long segments, const int *__restrict__ starts,
                   const stored *__restrict__ x, stored *__restrict__ y, unsigned long long *words,
                   unsigned long long *counter) {
  __shared__ stored elements[TILE + TILE / 32];
  __shared__ unsigned heads[TILE / 32];
  unsigned launch;
  const int zero = pdl_wait();
  x += zero;
  starts += zero;
  const long long tile = take_ticket(counter, &launch), begin = tile * TILE;
  const tile_states all = {words, launch};
  stored raw[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const long long at = begin + i * BLOCK + threadIdx.x;
    raw[i] = at < n ? x[at] : identity_element();
  }
  mark_heads(heads, tile, segments, starts);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) elements[place(i * BLOCK + threadIdx.x)] = raw[i];
  __syncthreads();
  const int first = threadIdx.x * ITEMS;
  const unsigned own_heads = heads[first / 32] >> first % 32;
  value v[ITEMS];
  flagged_sum own = nothing(), total;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    v[i] = (value)elements[place(first + i)];
    own = own + flagged_sum{v[i], (bool)(own_heads >> i & 1)};
  }
  flagged_sum before = scan_block(own, &total);
  const wide carry = before_tile(all, tile, total);
  const auto with_carry = [&](const flagged_sum &s) {
    return (stored)(s.head ? (wide)s.sum : combine(carry, (wide)s.sum));
  };
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const bool head = own_heads >> i & 1;
    const flagged_sum with = before + flagged_sum{v[i], head};
    if constexpr (KIND == KIND_inclusive) {
      elements[place(first + i)] = with_carry(with);
    } else {
      elements[place(first + i)] = head ? identity_element() : with_carry(before);
    }
    before = with;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const int k = i * BLOCK + threadIdx.x;
    if (begin + k < n) y[begin + k] = elements[place(k)];
  }
}
