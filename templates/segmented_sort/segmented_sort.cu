// segmented_sort.cu -- segments sorted by lanes of a warp, by a block, or by several tiles, by their length.
//
// sort_short sorts in registers what a group of lanes or a warp can, and lists all other segments. The blocks of
// sort_long take tasks in order: the segments of one tile; then the tiles of longer segments, whose digits of all
// passes are counted; then the same tiles once for each pass. A task waits only for tasks before it, which blocks
// that run already have taken.
// src: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs
#include "lanes.cuh"
#include "last_block.cuh"
#include "ptx.cuh"
#include "words.cuh"

// What radix_onesweep.cuh reads and is a parameter of radix_sort only.
enum {
  FIRST_PASS_stable,
  FIRST_PASS_unstable,
  COUNT_late,
  COUNT_early,
  SCATTER_shared,
  SCATTER_direct
};
enum { LOOKBACK_late, LOOKBACK_early, VALUES_late, VALUES_early, LOAD_plain, LOAD_streaming };
enum { STORE_plain, STORE_streaming };
constexpr int FIRST_PASS = FIRST_PASS_stable, COUNT = COUNT_late, SCATTER = SCATTER_shared;
constexpr int LOOKBACK = LOOKBACK_late, VALUES = VALUES_late, LOAD = LOAD_plain,
              STORE = STORE_plain;
constexpr bool WIDE = false, FROM_TOP = false, STAGE_AS_RANKED = false;
constexpr int FIRST_BIT = 0, PACK = 1, COPIES = 1;
#include "radix_block.cuh"
#include "radix_entry.cuh"
#include "radix_onesweep.cuh"
#include "radix_overlap.cuh"

// ---- lists of segments and tasks ---------------------------------------------------------------

// Zero at first, and again after each launch, except for the epoch: it distinguishes the states of tiles of
// this launch and pass from older ones.
struct work {
  unsigned long long
      longs_tiles;   // number of long segments in the high half, of their tiles in the low
  unsigned middles;  // segments of one tile
  unsigned ticket, arrived, epoch;
};

struct long_segment {
  int segment;
  unsigned first_tile;
};

// The next number of a counter, in all threads of the block.
__device__ __forceinline__ unsigned take_number(unsigned *counter) {
  __shared__ unsigned taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(counter, 1);
  __syncthreads();
  return taken;
}

// ---- segments sorted by lanes ------------------------------------------------------------------

// Sorts `count` keys from `start` on, up to LANES * EACH. Neighbouring lanes load neighbouring keys; the
// entries carry their positions, so that equal keys keep their order.
template <int LANES, int EACH>
__device__ __forceinline__ void sort_by_lanes(int start, int count, const key *keys_in,
                                              const value *values_in, key *keys_out,
                                              value *values_out) {
  const int lane = threadIdx.x % LANES;
  entry v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int at = i * LANES + lane;
    v[i] = make_entry((key) ~(key)0, at);
    if (at < count) v[i] = make_entry(encode(load_plain(keys_in + start + at)), at);
  }
  sort_lanes<LANES>(v);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const int at = lane * EACH + i;
    if (at < count) {
      keys_out[start + at] = key_of(v[i], keys_in + start, false);
      if constexpr (VALUE > 0) values_out[start + at] = values_in[start + (int)v[i].at()];
    }
  }
}

__device__ __forceinline__ void put_on_list(int segment, int count, work *w, int *middle,
                                            long_segment *longs) {
  if (count <= TILE) {
    middle[atomicAdd(&w->middles, 1)] = segment;
  } else {
    const unsigned tiles = (count - 1) / TILE + 1;
    const unsigned long long at = atomicAdd(&w->longs_tiles, 1ull << 32 | tiles);
    longs[at >> 32] = {segment, (unsigned)at};
  }
}

// GROUP lanes look at a segment and sort it if they can, then the warp sorts those of its groups that it
// can; others go on the lists.
extern "C" __global__ void __launch_bounds__(256)
    sort_short(long long segments, const int *offsets, const key *keys_in, const value *values_in,
               key *keys_out, value *values_out, work *w, int *middle, long_segment *longs) {
  constexpr int GROUP_MOST = GROUP * GROUP_ITEMS, WARP_MOST = 32 * WARP_ITEMS;
  const long long s = (blockIdx.x * 256ll + threadIdx.x) / GROUP;
  int start = 0, count = 0;
  let_next_start();
  if (s < segments) {
    start = offsets[s];
    count = offsets[s + 1] - start;
  }
  if (__any_sync(0xffffffff, count > 0 && count <= GROUP_MOST)) {
    sort_by_lanes<GROUP, GROUP_ITEMS>(start, count <= GROUP_MOST ? count : 0, keys_in, values_in,
                                      keys_out, values_out);
  }
  unsigned left = __ballot_sync(0xffffffff, count > GROUP_MOST && threadIdx.x % GROUP == 0);
  while (left) {
    const int lane = __ffs(left) - 1;
    left &= left - 1;
    const int from = __shfl_sync(0xffffffff, start, lane), n = __shfl_sync(0xffffffff, count, lane);
    if (n <= WARP_MOST) {
      sort_by_lanes<32, WARP_ITEMS>(from, n, keys_in, values_in, keys_out, values_out);
    }
  }
  if (count > WARP_MOST && threadIdx.x % GROUP == 0) put_on_list((int)s, count, w, middle, longs);
}

// ---- segments of several tiles -----------------------------------------------------------------

// Releases what the block wrote for `tiles` tiles of a segment.
__device__ __forceinline__ void add_done(unsigned *done, unsigned tiles) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(done, tiles);
  }
}

__device__ __forceinline__ void wait_for_done(const unsigned *done, unsigned tiles) {
  if (threadIdx.x == 0) {
    while (load_acquire(done) < tiles) __nanosleep(20);
  }
  __syncthreads();
}

struct long_tile {
  unsigned index;  // of its segment among the long ones
  unsigned tile, tiles;
  int start, count;  // of the segment

  // Tile t of all long segments, of which there are n.
  __device__ __forceinline__ long_tile(unsigned t, unsigned n, const long_segment *longs,
                                       const int *offsets) {
    unsigned least = 0, most = n;  // the last whose first tile is not after this one
    while (most - least > 1) {
      const unsigned middle = (least + most) / 2;
      if (longs[middle].first_tile <= t) {
        least = middle;
      } else {
        most = middle;
      }
    }
    index = least;
    tile = t - longs[least].first_tile;
    start = offsets[longs[least].segment];
    count = offsets[longs[least].segment + 1] - start;
    tiles = (count - 1) / TILE + 1;
  }
};

// Counts the tile's digits of all passes; the last of the segment's tiles to finish finds where the keys of
// each digit begin.
__device__ __forceinline__ void count_tile(const long_tile &t, const key *keys_in, unsigned *counts,
                                           unsigned *begins, unsigned *arrived, unsigned *done) {
  unsigned *counters = reinterpret_cast<unsigned *>(shared);
  const long long first = (long long)t.tile * TILE, room = t.count - first;
  key k[ITEMS];
  get_keys(k, keys_in + t.start + first, room, false);
  for (int i = threadIdx.x; i < PASSES * BINS; i += BLOCK) counters[i] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (item(i) < room) count_key(k[i]);
  }
  __syncthreads();
  counts += (long long)t.index * (PASSES * BINS);
  begins += (long long)t.index * (PASSES * BINS);
  add_digits<BLOCK>(counts);
  if (!is_last_block(arrived + t.index, t.tiles)) return;
  for (int p = threadIdx.x / 32; p < PASSES; p += WARPS) {
    scan_pass((position)t.count, counts + p * BINS, begins + p * BINS);
  }
  add_done(done + t.index, t.tiles);
}

// The state of a tile is a word for each digit: the epoch of the pass in the high half; in the low half the
// number of the tile's keys with this digit or, with the bit PREFIX, of its segment's up to this tile.
constexpr unsigned PREFIX = 1u << 31, NUMBER = PREFIX - 1;
using state = unsigned long long;

// How many keys the tiles of the segment before this one have, of the digit of `states`; LOOK tiles are
// loaded at a time.
__device__ __forceinline__ unsigned look_back(const state *states, unsigned tile, unsigned epoch) {
  unsigned sum = 0;
  const state *row = states - BINS;
  for (;;) {
    state v[LOOK];
#pragma unroll
    for (int j = 0; j < LOOK; j++) v[j] = load_relaxed(row - (tile > j + 1 ? j : tile - 1) * BINS);
#pragma unroll
    for (int j = 0; j < LOOK; j++) {
      while ((unsigned)(v[j] >> 32) != epoch) v[j] = load_relaxed(row);
      sum += (unsigned)v[j] & NUMBER;
      if ((unsigned)v[j] & PREFIX) return sum;
      row -= BINS;
      tile--;
    }
  }
}

// Tile `at` of all long segments goes where a pass takes it.
__device__ __forceinline__ void move_long(const long_tile &t, unsigned at, int pass, unsigned epoch,
                                          const arrays &all, const unsigned *begins,
                                          state *states) {
  begins += ((long long)t.index * PASSES + pass) * BINS;
  state *own = states + (long long)at * BINS;
  const auto publish = [&](int bin, unsigned number) {
    store_relaxed(own + bin, (state)epoch << 32 | number);
  };
  const auto publish_counts = [&](const unsigned(&count)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) publish(bin, t.tile > 0 ? count[j] : PREFIX | (begins[bin] + count[j]));
    }
  };
  const auto find_bases = [&](const unsigned(&count)[BINS_THREAD],
                              const unsigned(&start)[BINS_THREAD]) {
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const int bin = j * BLOCK + threadIdx.x;
      if (bin < BINS) {
        const unsigned before = t.tile > 0 ? look_back(own + bin, t.tile, epoch) : begins[bin];
        if (t.tile > 0) publish(bin, PREFIX | (before + count[j]));
        bases[bin] = before - start[j];
      }
    }
  };
  const long long room = t.count - (long long)t.tile * TILE;
  clear_counters();
  move_tile<lane_writer>(all.of_pass(pass), digit_of_pass(pass), t.tile, room, publish_counts,
                         find_bases);
}

// The last block leaves everything ready for the next launch.
__device__ __forceinline__ void finish(work *w, unsigned longs, unsigned *done) {
  for (unsigned i = threadIdx.x; i < longs; i += BLOCK) done[i] = 0;
  if (threadIdx.x == 0) {
    w->longs_tiles = 0;
    w->middles = w->ticket = 0;
    w->epoch += PASSES;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
    sort_long(const int *offsets, const key *keys_in, const value *values_in, key *keys_out,
              value *values_out, key *keys_tmp, value *values_tmp, work *w, const int *middle,
              const long_segment *longs, unsigned *counts, unsigned *begins, state *states,
              unsigned *arrived, unsigned *done) {
  wait_for_last();
  const unsigned middles = w->middles, epoch = w->epoch;
  const unsigned n = w->longs_tiles >> 32, tiles = (unsigned)w->longs_tiles;
  const unsigned long long tasks = middles + (PASSES + 1ull) * tiles;
  for (unsigned task = take_number(&w->ticket); task < tasks; task = take_number(&w->ticket)) {
    if (task < middles) {
      const int start = offsets[middle[task]], count = offsets[middle[task] + 1] - start;
      sort_in_block(count, keys_in + start, values_in + start, keys_out + start,
                    values_out + start);
      continue;
    }
    const unsigned step = (task - middles) / tiles, at = (task - middles) % tiles;
    const long_tile t(at, n, longs, offsets);
    if (step == 0) {
      count_tile(t, keys_in, counts, begins, arrived, done);
      continue;
    }
    const arrays all = {keys_in + t.start,    values_in + t.start, keys_out + t.start,
                        values_out + t.start, keys_tmp + t.start,  values_tmp + t.start};
    wait_for_done(done + t.index, step * t.tiles);
    move_long(t, at, step - 1, epoch + step, all, begins, states);
    if (step < PASSES) add_done(done + t.index, 1);
  }
  if (is_last_block(&w->arrived, gridDim.x)) finish(w, n, done);
}
