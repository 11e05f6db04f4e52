// radix_rank.cuh -- the ranks of a block's keys by a digit. Each warp counts its keys' digits in counters of its own,
// in shared memory; a key's rank is its digit's counter when its turn comes, plus the equal digits of lanes before it.
//
// RANK is how a warp finds equal digits, COUNTER the bits of a counter, PACK the ranks in a register.
#pragma once
#include "lanes.cuh"
#include "radix_keys.cuh"
#include "radix_scan.cuh"

using counter = unsigned_of<COUNTER / 8>;

extern __shared__ __align__(16) unsigned char shared[];

// The ranks of a thread's keys.
struct ranks {
  unsigned packed[(ITEMS + PACK - 1) / PACK];

  __device__ __forceinline__ void set(int i, unsigned rank) {
    if (i % PACK == 0) {
      packed[i / PACK] = rank;
    } else {
      packed[i / PACK] |= rank << 16;
    }
  }
  __device__ __forceinline__ void add(int i, unsigned n) { packed[i / PACK] += n << i % PACK * 16; }
  __device__ __forceinline__ unsigned at(int i) const {
    return PACK == 1 ? packed[i] : packed[i / PACK] >> i % PACK * 16 & 0xffff;
  }
};

// ---- equal digits of a warp --------------------------------------------------------------------

// A ballot for each bit.
__device__ __forceinline__ unsigned match_by_ballots(unsigned digit) {
  const int minus = lanemask_gt() | lanemask_le();  // -1, which the compiler does not know
  const auto vote = [&](unsigned bit) {
    return RANK == RANK_ballot ? vote_same(digit, bit) : vote_same(digit, bit, minus);
  };
  unsigned same = vote(1);
#pragma unroll
  for (int b = 1; b + 1 < DIGIT; b += 2) same = and3(same, vote(1u << b), vote(2u << b));
  return DIGIT % 2 ? same : same & vote(1u << (DIGIT - 1));
}

// A mask of lanes for each digit, in shared memory; zeros before and after.
__device__ __forceinline__ unsigned match_by_masks(unsigned digit, unsigned *masks) {
  atomicOr(masks + digit, 1u << threadIdx.x % 32);
  __syncwarp();
  const unsigned same = masks[digit];
  __syncwarp();
  if ((same & lanemask_gt()) == 0) masks[digit] = 0;
  __syncwarp();
  return same;
}

// The lanes with the same digit.
__device__ __forceinline__ unsigned match(unsigned digit, unsigned *masks) {
  if constexpr (RANK == RANK_match) return __match_any_sync(0xffffffff, digit);
  if constexpr (RANK == RANK_or) return match_by_masks(digit, masks);
  return match_by_ballots(digit);
}

// ---- a warp's counters -------------------------------------------------------------------------

__device__ __forceinline__ counter *counters_of(int warp) {
  return reinterpret_cast<counter *>(shared) + warp * ROW;
}

__device__ __forceinline__ unsigned *masks_of(int warp) {
  return reinterpret_cast<unsigned *>(counters_of(WARPS)) + warp * ROW;
}

// A warp clears its own counters, and its masks.
__device__ __forceinline__ void clear_counters() {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  constexpr int UNITS = ROW * COUNTER / 128;
  uint4 *row = reinterpret_cast<uint4 *>(counters_of(warp));
#pragma unroll
  for (int u = 0; u < UNITS; u += 32) {
    if (u + lane < UNITS) row[u + lane] = make_uint4(0, 0, 0, 0);
  }
  if constexpr (RANK == RANK_or) {
    unsigned *masks = masks_of(warp);
#pragma unroll
    for (int u = 0; u < ROW; u += 32) {
      if (u + lane < ROW) masks[u + lane] = 0;
    }
  }
  __syncwarp();
}

// Counts digits without ranking their keys.
__device__ __forceinline__ void count_digits(const key (&k)[ITEMS], digit_bits digit) {
  counter *own = counters_of(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned d = digit.of(k[i]);
    if constexpr (COUNTER == 16) {
      atomicAdd(reinterpret_cast<unsigned *>(own) + d / 2, 1u << d % 2 * 16);
    } else {
      atomicAdd(reinterpret_cast<unsigned *>(own) + d, 1);
    }
  }
}

// Adds each key to its digit's counter, in the order of the warp's keys, and calls each(i, rank) for it: the rank is
// the counter's value then, 1 for the digit's first key.
template <typename F>
__device__ __forceinline__ void rank_keys(const key (&k)[ITEMS], digit_bits digit, F each) {
  const int warp = threadIdx.x / 32;
  counter *own = counters_of(warp);
  unsigned *masks = masks_of(warp);
  const unsigned upto = lanemask_le(), after = lanemask_gt();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned d = digit.of(k[i]), same = match(d, masks);
    counter *c = own + d;
    const unsigned r = *c + __popc(same & upto);
    __syncwarp();
    if ((same & after) == 0) *c = (counter)r;
    __syncwarp();
    each(i, r);
  }
}

// ---- from a warp to the block ------------------------------------------------------------------

constexpr int BIN_ROWS = BINS < 32 ? 1 : BINS / 32;  // for scan_rows

// How many keys of this thread's bins the warps have.
__device__ __forceinline__ void sum_counters(unsigned (&count)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    count[j] = 0;
    if (bin < BINS) {
#pragma unroll 8
      for (int w = 0; w < WARPS; w++) count[j] += counters_of(w)[bin];
    }
  }
}

// Counters become the positions where the warps' keys of each digit begin; `start` is where all of this thread's bins
// begin.
__device__ __forceinline__ void spread_counters(const unsigned (&start)[BINS_THREAD]) {
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    unsigned at = start[j];
    if (bin < BINS) {
#pragma unroll 8
      for (int w = 0; w < WARPS; w++) {
        counter *c = counters_of(w) + bin;
        const unsigned own = *c;
        *c = (counter)at;
        at += own;
      }
    }
  }
}

// The same from the counts of this thread's bins, which become their starts.
__device__ __forceinline__ void scan_counters(unsigned (&start)[BINS_THREAD]) {
  scan_rows<BIN_ROWS>(start);
  spread_counters(start);
}

// Ranks within the warp become ranks within the block.
__device__ __forceinline__ void add_starts(const key (&k)[ITEMS], ranks &rank, digit_bits digit) {
  const counter *own = counters_of(threadIdx.x / 32);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) rank.add(i, own[digit.of(k[i])]);
}
