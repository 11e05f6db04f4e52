// radix_onesweep.cuh -- passes whose tiles exchange the counts of their digits while they run; the digits of all passes
// are counted first.
// src: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs
#pragma once
#include "radix_scatter.cuh"

// ---- the digits of all passes ------------------------------------------------------------------

// Counts a key's digits of all passes, each in one of COPIES counters.
__device__ __forceinline__ void count_key(key k) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  k = encode(k);
#pragma unroll
  for (int pass = 0; pass < PASSES; pass++) {
    const unsigned bin = pass * BINS + digit_of_pass(pass).of(k);
    atomicAdd(counters + bin * COPIES + threadIdx.x % COPIES, 1);
  }
}

// Adds the block's counts to those in global memory.
template <int THREADS>
__device__ __forceinline__ void add_digits(position *counts) {
  const unsigned *counters = reinterpret_cast<const unsigned *>(shared);
  for (int bin = threadIdx.x; bin < PASSES * BINS; bin += THREADS) {
    unsigned sum = 0;
#pragma unroll
    for (int c = 0; c < COPIES; c++) {
      sum += counters[bin * COPIES + (c + threadIdx.x) % COPIES];  // lanes read different banks
    }
    if (sum > 0) atomicAdd(counts + bin, (position)sum);
  }
}

// Finds where the keys of each digit of a pass begin, by one warp, and clears the counts for the next launch. True if
// all keys have the same digit.
__device__ __forceinline__ bool scan_pass(position n, position *counts, position *begin) {
  const int lane = threadIdx.x % 32;
  position before = 0;
  bool same = false;
#pragma unroll 8
  for (int bin = lane; bin < (BINS + 31) / 32 * 32; bin += 32) {
    const position own = bin < BINS ? load_second(counts + bin) : 0, sum = scan_lanes(own);
    if (bin < BINS) {
      begin[bin] = before + sum - own;
      counts[bin] = 0;
    }
    before += __shfl_sync(0xffffffff, sum, 31);
    same |= own == n;
  }
  return __any_sync(0xffffffff, same);
}

// ---- a pass ------------------------------------------------------------------------------------

// FIRST_PASS=unstable: in the first pass equal digits are ranked in any order.
template <typename F>
__device__ __forceinline__ void rank_in_pass(bool first, const key (&k)[ITEMS], digit_bits digit,
                                             F each) {
  if (FIRST_PASS == FIRST_PASS_unstable && first) {
    unsigned *own = reinterpret_cast<unsigned *>(counters_of(threadIdx.x / 32));
#pragma unroll
    for (int i = 0; i < ITEMS; i++) each(i, atomicAdd(own + digit.of(k[i]), 1) + 1);
    return;
  }
  rank_keys(k, digit, each);
}

// Moves a tile to where a pass takes it. publish(count) is called with the tile's keys of this thread's bins;
// find_bases(count, start), with these and where they begin in the tile, sets the bases.
template <typename Writer, typename Publish, typename Find>
__device__ __forceinline__ void move_tile(const move &m, digit_bits digit, long long tile,
                                          long long room, Publish publish, Find find_bases) {
  key k[ITEMS];
  [[maybe_unused]] value v[ITEMS];
  unsigned count[BINS_THREAD], start[BINS_THREAD];
  [[maybe_unused]] ranks rank;
  const auto set_rank = [&](int i, unsigned r) { rank.set(i, r); };
  const auto find_early = [&] {
    if constexpr (LOOKBACK == LOOKBACK_early) find_bases(count, start);
  };
  const auto find_late = [&] {
    if constexpr (LOOKBACK == LOOKBACK_late) find_bases(count, start);
  };
  get_keys(k, m.from + tile * TILE, room, m.first);
  if constexpr (VALUE > 0 && STAGE_AS_RANKED) get_values(v, m.values_from + tile * TILE, room);
  if constexpr (COUNT == COUNT_early) {
    count_digits(k, digit);
  } else {
    rank_in_pass(m.first, k, digit, set_rank);
  }
  if constexpr (VALUES == VALUES_early) get_values(v, m.values_from + tile * TILE, room);
  __syncthreads();
  sum_counters(start);
  real_counts(start, room, digit, count);
  publish(count);
  scan_counters(start);
  find_early();
  __syncthreads();
  if constexpr (STAGE_AS_RANKED) {
    rank_in_pass(m.first, k, opaque(digit), [&](int i, unsigned r) {
      (staged_keys() - 1)[r] = k[i];
      if constexpr (VALUE > 0) (staged_values() - 1)[r] = v[i];
    });
    find_late();
    __syncthreads();
    Writer::write_tile(m, digit, room);
  } else {
    if constexpr (COUNT == COUNT_early) {
      rank_in_pass(m.first, k, opaque(digit), set_rank);
    } else {
      add_starts(k, rank, opaque(digit));
    }
    scatter<Writer>(k, v, rank, m, digit, tile * TILE, room, find_late);
  }
}
