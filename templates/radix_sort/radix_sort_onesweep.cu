// radix_sort_onesweep.cu -- one launch counts the digits of all passes; then each pass reads and writes each key once.
// Tiles learn by look-back how many keys of a digit the tiles before them have.
// src: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs
#include "last_block.cuh"
#include "prefetch.cuh"
#include "ptx.cuh"
#include "radix_onesweep.cuh"
#include "radix_overlap.cuh"
#include "radix_plan.cuh"
#include "radix_read.cuh"
#include "radix_sectors.cuh"

extern "C" __global__ void __launch_bounds__(DIGITS_BLOCK)
    sort_digits(long long n, const key *__restrict__ keys_in, position *counts, position *begins,
                unsigned *plan, unsigned *arrived) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  let_next_start();
  for (int i = threadIdx.x; i < PASSES * BINS * COPIES; i += DIGITS_BLOCK) counters[i] = 0;
  __syncthreads();
  each_key<DIGITS_BLOCK>(keys_in, n, blockIdx.x, gridDim.x, count_key);
  __syncthreads();
  add_digits<DIGITS_BLOCK>(counts);
  if (!is_last_block(arrived, gridDim.x)) return;
  __shared__ bool same[PASSES];
  const unsigned parity = plan[PASSES];
  for (int p = threadIdx.x / 32; p < PASSES; p += DIGITS_BLOCK / 32) {
    const bool all = scan_pass((position)n, counts + p * BINS, begins + p * BINS);
    if (threadIdx.x % 32 == 0) same[p] = all;
  }
  __syncthreads();
  if (threadIdx.x == 0) make_plan(same, parity, plan);
}

// ---- a pass ------------------------------------------------------------------------------------

// The state of a tile is a word for each digit: the parity of the pass, and the number of the tile's keys with this
// digit or, with the bit PREFIX, of all keys up to the tile's end.
constexpr position ODD = (position)1 << (8 * sizeof(position) - 1);
constexpr position PREFIX = ODD >> 1, NUMBER = PREFIX - 1;

// How many keys of this thread's bins the tiles before this one have.
__device__ __forceinline__ void look_back(const position *states, long long tile, position odd,
                                          position (&sum)[BINS_THREAD]) {
  long long at[BINS_THREAD];  // the tile to look at; -1 when the sum is complete
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    at[j] = j * BLOCK + threadIdx.x < BINS ? tile - 1 : -1;
    sum[j] = 0;
  }
  bool more;
  do {
    position w[BINS_THREAD][LOOK];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
#pragma unroll
      for (int l = 0; l < LOOK; l++) {
        if (at[j] >= 0) w[j][l] = load_relaxed(states + max(at[j] - l, 0ll) * BINS + j * BLOCK);
      }
    }
    more = false;
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
#pragma unroll
      for (int l = 0; l < LOOK; l++) {
        if (at[j] < 0) break;
        while ((w[j][l] & ODD) != odd) {
          if (DELAY > 0) __nanosleep(DELAY);
          w[j][l] = load_relaxed(states + at[j] * BINS + j * BLOCK);
        }
        sum[j] += w[j][l] & NUMBER;
        at[j] = w[j][l] & PREFIX ? -1 : at[j] - 1;
      }
      more |= at[j] >= 0;
    }
  } while (more);
}

// As far as they are whole words of 16 bytes.
template <typename T>
__device__ __forceinline__ void prefetch_tile(const T *from, long long room) {
  const size_t first = ((size_t)from + 15) / 16 * 16;
  const size_t end = (size_t)(from + min(room, (long long)TILE)) / 16 * 16;
  if (first < end) prefetch_second(reinterpret_cast<const void *>(first), (unsigned)(end - first));
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
    sort_pass(long long n, int pass, const key *keys_in, const value *values_in, key *keys_out,
              value *values_out, key *keys_tmp, value *values_tmp, const position *begins,
              const unsigned *plan, position *states, unsigned *tickets) {
  __shared__ unsigned
      ticket;  // tiles in the order in which blocks start: none waits for a later one
  if (threadIdx.x == 0) ticket = atomicInc(tickets + pass, gridDim.x - 1);
  clear_counters();
  let_next_start();
  wait_for_last();
  const unsigned steps = plan[pass] ^ usual_steps(pass);
  if (steps & SKIP) return;
  __syncthreads();
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  const move m = all.of(steps & FIRST, steps & LAST, steps & TO_OUT);
  const position odd = steps & PARITY ? ODD : 0;
  const long long tile = ticket, room = n - tile * TILE;
  if (PREFETCH != PREFETCH_none && threadIdx.x == 0 && room > AHEAD * (long long)TILE) {
    const long long there = (tile + AHEAD) * TILE;
    if constexpr (PREFETCH != PREFETCH_values) prefetch_tile(m.from + there, n - there);
    if constexpr (VALUE > 0) prefetch_tile(m.values_from + there, n - there);
  }
  const key *const keys_to = m.to;
  position *own = states + tile * BINS;
  const auto publish = [&](const unsigned(&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS && tile > 0) store_relaxed(own + bin, odd | count[j]);
      if (bin < BINS && tile == 0) {
        store_relaxed(own + bin, odd | PREFIX | (begins[pass * BINS + bin] + count[j]));
      }
    }
  };
  const auto find_bases = [&](const unsigned(&count)[BINS_THREAD],
                              const unsigned(&start)[BINS_THREAD]) {
    position before[BINS_THREAD];
    if (tile > 0) look_back(states + threadIdx.x, tile, odd, before);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) {
        if (tile == 0) {
          before[j] = begins[pass * BINS + bin];
        } else {
          store_relaxed(own + bin, odd | PREFIX | (before[j] + count[j]));
        }
        if constexpr (WRITE == WRITE_lanes) bases[bin] = before[j] - start[j];
      }
    }
    if constexpr (WRITE == WRITE_sectors) sector_writer::lay_out(before, count, start, keys_to);
  };
  using writer = choose<WRITE == WRITE_sectors, sector_writer, lane_writer>;
  move_tile<writer>(m, digit_of_pass(pass), tile, room, publish, find_bases);
}
