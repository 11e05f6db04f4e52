// radix_sort_tasks.cu -- onesweep in one launch, for few tiles. Its tasks, which blocks take in order, are the tiles
// whose digits are counted, then the tiles of each pass; a task waits for the pass before, and reads the counts of
// every tile before its own.
//
// BUCKET_ITEMS: the first pass goes by the highest digit. If no bucket, which is the keys with the same one, is too
// large, warps then sort each bucket in their registers, and the other passes have nothing to do.
#include "ptx.cuh"
#include "radix_buckets.cuh"
#include "radix_onesweep.cuh"
#include "ticket.cuh"

// The state of a tile in a pass is a word for each digit: the parity of the launch, the number of keys.
constexpr position ODD = (position)1 << (8 * sizeof(position) - 1), NUMBER = ODD - 1;

// How many keys of a digit the tiles first, first + step, ... before `tile` have.
__device__ __forceinline__ position add_tiles(const position *states, unsigned first, unsigned step,
                                              unsigned tile, position odd) {
  position sum = 0;
  for (unsigned t = first; t < tile; t += step * LOOK) {
    position w[LOOK];
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      w[j] = load_relaxed(states + (long long)min(t + j * step, tile - 1) * BINS);
    }
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      const unsigned at = t + j * step;
      if (at >= tile) break;
      while ((w[j] & ODD) != odd) w[j] = load_relaxed(states + (long long)at * BINS);
      sum += w[j] & NUMBER;
    }
  }
  return sum;
}

// How many keys of this thread's bins the tiles before this one have. Groups of BINS threads share the tiles.
__device__ __forceinline__ void sum_tiles(const position *states, unsigned tile, position odd,
                                          position (&before)[BINS_THREAD]) {
  constexpr int GROUPS = BLOCK > BINS ? BLOCK / BINS : 1;
  __shared__ position parts[GROUPS * BINS];
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int at = j * BLOCK + threadIdx.x;
    if (at < GROUPS * BINS) parts[at] = add_tiles(states + at % BINS, at / BINS, GROUPS, tile, odd);
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < BINS_THREAD; j++) {
    const int bin = j * BLOCK + threadIdx.x;
    before[j] = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) before[j] += bin < BINS ? parts[g * BINS + bin] : 0;
  }
}

// ---- waiting for a pass ------------------------------------------------------------------------

constexpr int APART =
    32;  // words between the passes' numbers of tiles done, so that each has a cache line

__device__ __forceinline__ void add_done(unsigned *done) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, 1);
  }
}
__device__ __forceinline__ void wait_for_done(const unsigned *done, unsigned tiles) {
  if (threadIdx.x == 0) {
    while (load_acquire(done) != tiles) {
      if (DELAY > 0) __nanosleep(DELAY);
    }
  }
  __syncthreads();
}

// ---- tasks -------------------------------------------------------------------------------------

// Counts a tile's digits of all passes.
__device__ __forceinline__ void count_tile(const key *from, long long room, position *counts) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  key k[ITEMS];
  get_keys(k, from, room, false);
  for (int i = threadIdx.x; i < PASSES * BINS * COPIES; i += BLOCK) counters[i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) count_key(k[i]);
  }
  __syncthreads();
  add_digits<BLOCK>(counts);
}

// `counts` has the counts of this launch and, cleared by it, those of the next.
extern "C" __global__ void __launch_bounds__(BLOCK, 1)
    sort_tasks(long long n, const key *keys_in, const value *values_in, key *keys_out,
               value *values_out, key *keys_tmp, value *values_tmp, position *counts,
               position *states, unsigned *done, unsigned long long *counter) {
  unsigned launch;
  const unsigned tiles = gridDim.x / (PASSES + 1);
  const unsigned task = take_ticket(counter, &launch), tile = task % tiles;
  const long long room = n - (long long)tile * TILE;
  const position odd = launch % 2 ? 0 : ODD;
  position *own_counts = counts + launch % 2 * (PASSES * BINS);
  if (task < tiles) {
    count_tile(keys_in + (long long)tile * TILE, room, own_counts);
    add_done(done);
    return;
  }
  const unsigned step = task / tiles - 1, all_done = (launch + 1) * tiles;
  const arrays all = {keys_in, values_in, keys_out, values_out, keys_tmp, values_tmp};
  move m = all.of_pass(step);
  unsigned pass = step;
  bool moves = true;
  states += ((long long)step * tiles + tile) * BINS;
  clear_counters();
  if constexpr (BUCKET_ITEMS > 0) {
    wait_for_done(done, all_done);
    if (buckets_are_small(own_counts + (PASSES - 1) * BINS)) {
      pass = PASSES - 1;
      m = {keys_in, keys_tmp, values_in, values_tmp, true, false};
      moves = step == 0;
    }
    if (step > 0) wait_for_done(done + step * APART, all_done);
    if (!moves) {
      for (int bin = threadIdx.x; bin < BINS; bin += BLOCK)
        states[bin] = odd;  // for the next launch
      if (step == 1)
        sort_buckets<BUCKET_ITEMS>((position)n, all, own_counts + pass * BINS, tile, tiles);
    }
  } else {
    wait_for_done(done + step * APART, all_done);
  }
  if (tile == 0) {
    position *next = counts + (launch + 1) % 2 * (PASSES * BINS) + step * BINS;
    for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) next[bin] = 0;
  }
  const auto publish = [&](const unsigned(&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) store_relaxed(states + bin, odd | count[j]);
    }
  };
  const auto find_bases = [&](const unsigned(&)[BINS_THREAD], const unsigned(&start)[BINS_THREAD]) {
    position earlier[BINS_THREAD], begin[BINS_THREAD];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      begin[j] = bin < BINS ? load_second(own_counts + pass * BINS + bin) : 0;
    }
    sum_tiles(states - (long long)tile * BINS, tile, odd, earlier);
    scan_rows<BIN_ROWS>(begin);
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) bases[bin] = begin[j] + earlier[j] - start[j];
    }
  };
  if (moves) move_tile<lane_writer>(m, digit_of_pass(pass), tile, room, publish, find_bases);
  if (step + 1 < PASSES) add_done(done + (step + 1) * APART);
}
