// sample_inbox.cuh -- a block sorts the keys in its inbox: into bins, by a sample of them, and by counting in each bin.
#pragma once
#include "sample_layout.cuh"

// COUNT of the keys, evenly spread over the inbox; of fewer keys, some several times.
template <int COUNT>
__device__ __forceinline__ void choose_keys(const numbered &chosen, unsigned all) {
  if (threadIdx.x < COUNT) {
    const unsigned at = threadIdx.x * all / COUNT;
    chosen.keys[threadIdx.x] = inbox().keys[at];
    chosen.numbers[threadIdx.x] = inbox().number(at);
  }
}

// The rank of a chosen key in a part of them, by places.
__device__ __forceinline__ unsigned count_placed(const numbered &chosen, int own,
                                                 const part_of &part) {
  const key x = chosen.keys[own];
  const unsigned place = chosen.numbers[own];
  float less = 0;
#pragma unroll 4
  for (int i = part.from; i < part.end; i++) {
    const key y = chosen.keys[i];
    const unsigned number = chosen.numbers[i];
    count(less, comes_before(y, number, x, place) || (i < own && number == place));
  }
  return (unsigned)less;
}

// Sorts them. Unless STABLE, equal keys are in the order of the inbox.
template <int COUNT>
__device__ __forceinline__ void sort_chosen(const numbered &chosen, const numbered &sorted) {
  constexpr int PARTS = SORT_BLOCK / COUNT;
  const int own = threadIdx.x % COUNT;
  const part_of part(COUNT, PARTS, threadIdx.x / COUNT);
  if (part.from < part.end) {
    unsigned n;
    if constexpr (STABLE) {
      n = count_placed(chosen, own, part);
    } else {
      n = count_before<COUNT / PARTS>(chosen.keys, own, part.from, part.end);
    }
    atomicAdd(ranks + own, n);
  }
  __syncthreads();
  if (threadIdx.x < COUNT) {
    sorted.keys[ranks[threadIdx.x]] = chosen.keys[threadIdx.x];
    sorted.numbers[ranks[threadIdx.x]] = chosen.numbers[threadIdx.x];
  }
  __syncthreads();
}

// By the first warp: the exclusive prefix sums of the COUNT bins' sizes.
template <int COUNT>
__device__ __forceinline__ void sum_bins(unsigned *starts) {
  constexpr int SOME = COUNT / 32;
  unsigned n[SOME], sum = 0;
#pragma unroll
  for (int i = 0; i < SOME; i++) {
    n[i] = sum;
    sum += starts[threadIdx.x * SOME + i];
  }
  unsigned all = sum;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned more = __shfl_up_sync(0xffffffff, all, d);
    if (threadIdx.x >= d) all += more;
  }
#pragma unroll
  for (int i = 0; i < SOME; i++) starts[threadIdx.x * SOME + i] = all - sum + n[i];
  if (threadIdx.x == 31) starts[COUNT] = all;
}

// Moves the keys from the inbox to bins, in which they are in no order.
template <int COUNT, bool FIRST>
__device__ __forceinline__ void bin_keys(unsigned all, unsigned *starts, unsigned short *bins) {
  constexpr int TURNS = (INBOX + SORT_BLOCK - 1) / SORT_BLOCK;
  const numbered chosen = {shared_at<key>(CHOSEN_AT), shared_at<unsigned>(CHOSEN_NUMBERS)};
  const numbered sorted = {shared_at<key>(SORTED_AT), shared_at<unsigned>(SORTED_NUMBERS)};
  if (threadIdx.x < COUNT) starts[threadIdx.x] = ranks[threadIdx.x] = 0;
  choose_keys<COUNT>(chosen, all);
  __syncthreads();
  sort_chosen<COUNT>(chosen, sorted);
  unsigned bin[TURNS], nth[TURNS];
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned at = i * SORT_BLOCK + threadIdx.x;
    if (at < all) {
      bin[i] = sorted.last_up_to<COUNT>(inbox().keys[at], inbox().number(at));
      nth[i] = atomicAdd(starts + bin[i], 1);
    }
  }
  if (FIRST) wait_for_cluster();  // all blocks have fetched from the memory of the bins
  __syncthreads();
  if (threadIdx.x < 32) sum_bins<COUNT>(starts);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < TURNS; i++) {
    const unsigned at = i * SORT_BLOCK + threadIdx.x;
    if (at < all) {
      const unsigned to = starts[bin[i]] + nth[i];
      binned().put(to, inbox().keys[at], inbox().place(at));
      bins[to] = bin[i];
    }
  }
}

// Sorts the inbox: put(i, k, place) gets the i-th key. All threads come here. FIRST: other blocks may still fetch from
// this one.
template <bool FIRST, typename Put>
__device__ __forceinline__ void sort_inbox(unsigned all, Put put) {
  if (BINS > 0 && all == 0) {
    if (FIRST) wait_for_cluster();
    return;
  }
  unsigned *const ties = shared_at<unsigned>(TIES_AT);  // unless STABLE: keys of equal rank so far
  if constexpr (!STABLE) {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < all; i += SORT_BLOCK) ties[i] = 0;
  }
  __syncthreads();
  unsigned *const starts = shared_at<unsigned>(STARTS_AT);
  unsigned short *const bins = shared_at<unsigned short>(BINS_AT);
  if constexpr (BINS > 0) {
    bin_keys<BINS, FIRST>(all, starts, bins);
    __syncthreads();
  } else {
    if (FIRST) wait_for_cluster();  // no block ends while others fetch from it
  }
  const list from = BINS > 0 ? binned() : inbox();
  // 2^g threads count for a key, if there are so many for each.
  const int g = max(0, min(5, __clz((int)all - 1) - __clz(SORT_BLOCK) - 1));
  const unsigned group = 1 << g, lane = threadIdx.x & (group - 1);
#pragma unroll 1
  for (unsigned first = 0; first < all; first += SORT_BLOCK >> g) {
    const unsigned at = first + (threadIdx.x >> g);
    unsigned begin = 0, end = 0;
    float less = 0;
    key k = key();
    if (at < all) {
      k = from.keys[at];
      if constexpr (BINS > 0) {
        begin = starts[bins[at]];
        end = starts[bins[at] + 1];
      } else {
        end = all;
      }
    }
#pragma unroll 4
    for (unsigned i = begin + lane; i < end; i += group) count(less, from.precedes(i, k, at));
#pragma unroll 1
    for (unsigned d = group / 2; d > 0; d /= 2) less += __shfl_xor_sync(0xffffffff, less, d);
    if (at < all && lane == 0) {
      unsigned n = begin + (unsigned)less;
      if constexpr (!STABLE) n += atomicAdd(ties + n, 1);
      put(n, k, from.place(at));
    }
  }
}
