// sample_exchange.cuh -- keys go to the blocks of the cluster in whose ranges they are.
#pragma once
#include "sample_bounds.cuh"

// The keys between two bounds of the cluster. The first range of all has no lower, the last no upper bound.
struct stretch_of_keys {
  bool bounded_below, bounded_above;
  key least, most;
  unsigned least_place, most_place;

  __device__ __forceinline__ stretch_of_keys(unsigned from, unsigned to) {
    bounded_below = cluster() > 0 || from > 0;
    bounded_above = cluster() + 1 < CLUSTERS || to < CLUSTER;
    const unsigned low = from, high = bounded_above ? to : from;
    least = bounds().keys[low];
    most = bounds().keys[high];
    least_place = bounds().numbers[low];
    most_place = bounds().numbers[high];
  }
  __device__ __forceinline__ bool starts_after(key k) const {
    return bounded_below && before(k, least);
  }
  __device__ __forceinline__ bool ends_before(key k) const {
    return bounded_above && before(most, k);
  }
  __device__ __forceinline__ bool starts_after(key k, unsigned place) const {
    return bounded_below && comes_before(k, place, least, least_place);
  }
  __device__ __forceinline__ bool ends_after(key k, unsigned place) const {
    return !bounded_above || comes_before(k, place, most, most_place);
  }
};

// The place of this thread's i-th key. Warps of all blocks take turns, so that also of sorted keys each block has some
// of every range.
__device__ __forceinline__ unsigned nth_key(int i) {
  return ((i * WARPS + threadIdx.x / 32) * CLUSTER + block_rank()) * 32 + threadIdx.x % 32;
}

template <bool WHOLE>
__device__ __forceinline__ void load_share(key (&k)[SORT_ITEMS], unsigned n, const key *x) {
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) k[i] = WHOLE || nth_key(i) < n ? x[nth_key(i)] : key();
}

// Puts a key into the outbox for the block in whose range it is, if one of the cluster has it.
__device__ __forceinline__ void send(key k, unsigned place, const stretch_of_keys &of_cluster) {
  if (of_cluster.starts_after(k, place))
    atomicAdd(&lower, 1);
  else if (of_cluster.ends_after(k, place)) {
    const unsigned to = bounds().last_up_to<CLUSTER>(k, place);
    const unsigned nth = atomicAdd(sent + to, 1);
    if (nth < SEGMENT) outbox().put(to * SEGMENT + nth, k, place);
  }
}

// Sends those of a thread's keys that may be the cluster's. Where these are few, a warp lists them first, so that all
// its threads have some to send.
constexpr bool LISTED = SORT_ITEMS > 2 && CLUSTER > 1;

template <bool WHOLE>
__device__ __forceinline__ void send_keys(const key (&k)[SORT_ITEMS], unsigned n,
                                          const stretch_of_keys &of_cluster) {
  const int lane = threadIdx.x % 32;
  unsigned less = 0;
  const int first = (threadIdx.x - lane) * SORT_ITEMS;
  unsigned count = 0;
#pragma unroll
  for (int i = 0; i < SORT_ITEMS; i++) {
    const unsigned place = nth_key(i);
    const bool there = WHOLE || place < n, lower_than = there && of_cluster.starts_after(k[i]);
    const bool mine = there && !lower_than && !of_cluster.ends_before(k[i]);
    less += lower_than;
    if constexpr (LISTED) {
      const unsigned lanes = __ballot_sync(0xffffffff, mine);
      if (mine) {
        const unsigned at = first + count + __popc(lanes & ((1u << lane) - 1));
        picked().keys[at] = k[i];
        picked().numbers[at] = place;
      }
      count += __popc(lanes);
    } else {
      if (mine) send(k[i], place, of_cluster);
    }
  }
  less = sum_of_warp(less);
  if (lane == 0 && less > 0) atomicAdd(&lower, less);
  if constexpr (LISTED) {
    __syncwarp();
#pragma unroll 1
    for (unsigned i = first + lane; i < first + count; i += 32) {
      send(picked().keys[i], picked().numbers[i], of_cluster);
    }
  }
}

// How many keys this block receives from each block of the cluster, and how many are in lower ranges.
__device__ __forceinline__ void read_counts() {
  unsigned less = 0;
#pragma unroll
  for (int i = 0; i < CLUSTER * CLUSTER; i += SORT_BLOCK) {
    const unsigned t = i + threadIdx.x, from = t / CLUSTER, to = t % CLUSTER;
    if (t < CLUSTER * CLUSTER) {
      const unsigned count = *of_block(sent + to, from);
      if (to == block_rank()) received[from] = count;
      if (to == 0) less += *of_block(&lower, from);
      if (to < block_rank()) less += count;
    }
  }
  if (threadIdx.x / 32 * 32 < CLUSTER * CLUSTER) {
    less = sum_of_warp(less);
    if (threadIdx.x % 32 == 0) atomicAdd(&base, less);
  }
}

// Fetches the keys that the blocks have for this one, one block's after the other's; warps take turns.
__device__ __forceinline__ void fetch_keys() {
  constexpr int TURNS = (CLUSTER * ((SEGMENT + 31) / 32) + WARPS - 1) / WARPS;
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned turn = i * WARPS + threadIdx.x / 32, from = turn % CLUSTER;
    const unsigned nth = turn / CLUSTER * 32 + threadIdx.x % 32, at = block_rank() * SEGMENT + nth;
    if (nth < received[from]) {
      unsigned to = nth;
#pragma unroll
      for (int b = 0; b < CLUSTER; b++) to += b < from ? received[b] : 0;
      const key k = *of_block(outbox().keys + at, from);
      inbox().put(to, k, outbox().place_in_block(at, from));
    }
  }
}

// Returns the number of keys in the inbox; or INBOX plus the number of all, if a block has too many keys for another
// and the inbox is empty.
__device__ __forceinline__ unsigned exchange_keys(const key (&k)[SORT_ITEMS], unsigned n,
                                                  bool whole) {
  const stretch_of_keys of_cluster(0, CLUSTER);
  if (whole)
    send_keys<true>(k, n, of_cluster);
  else
    send_keys<false>(k, n, of_cluster);
  arrive_at_cluster();
  wait_for_cluster();
  read_counts();
  __syncthreads();
  unsigned all = 0;
  bool fits = true;
#pragma unroll
  for (int b = 0; b < CLUSTER; b++) {
    fits = fits && received[b] <= SEGMENT;
    all += received[b];
  }
  if (CLUSTER > 1 && fits) fetch_keys();
  arrive_at_cluster();
  return fits ? all : INBOX + all;
}
