// sample_passes.cu -- many keys: launches move them to buckets, in one level or two, and sort each bucket in shared
// memory. Every key moves once a level and once in its bucket.
//
// A level chooses splitters, from a sorted sample of the keys of each row; counts the keys of each bin of a row; and
// moves them there, those of a tile together. Where the sample misleads and a bucket has more keys than a block sorts,
// all keys are sorted as runs instead, which the last launch merges.
//   src  Leischner, Osipov, Sanders, GPU sample sort
#include "last_block.cuh"
#include "pdl.cuh"

constexpr bool ADJACENT_EXCHANGES = false, ITEMS_IN_ORDER = false;
#include "bucket_sort.cuh"
#include "bucket_tree.cuh"
#include "merge_pass.cuh"

extern __shared__ __align__(16) unsigned char memory[];

using bin_number = choose<ID_NBYTES == 1, unsigned char, unsigned short>;

constexpr int BIN_WORDS = ROW_BINS + 4;  // one more bin, for threads without a key, and padding

// The compiler keeps nothing that it has computed from x: what is compared once more needs no register in between.
__device__ __forceinline__ void forget(int &x) { asm volatile("" : "+r"(x)); }

// Keys that a block sorts.
struct sorted_part {
  unsigned start, count;
};

// ---- splitters ----------------------------------------------------------------------------------

// Where samples of `count` keys are: one of each of as many equal stretches, at a pseudo-random place in it, since keys
// may be periodic.
struct sample_places {
  unsigned long long step;  // of stretches, times 2^32

  __device__ __forceinline__ sample_places(unsigned samples, unsigned count)
      : step((((unsigned long long)count << 32) + samples - 1) / samples) {}
  __device__ __forceinline__ unsigned operator()(unsigned j) const {
    const unsigned first = (unsigned)(j * step >> 32), end = (unsigned)((j + 1) * step >> 32);
    return first + __umulhi((j + 1) * 2654435761u, end - first);  // Knuth's multiplicative hash
  }
};

// The second level: what was a bin of row 0 becomes a row.
__device__ __forceinline__ row_info make_row(const bucket_plan &plan, unsigned bin, unsigned bins) {
  unsigned tiles = 0, first_tile;
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < bin; b += SORT_BLOCK) {
    tiles += (plan.counts[b] + TILE - 1) / TILE;
  }
  sum_before<SORT_BLOCK>(tiles, &first_tile);
  const unsigned count = plan.counts[bin], own = (count + TILE - 1) / TILE;
#pragma unroll 1
  for (unsigned t = threadIdx.x; t < own; t += SORT_BLOCK) {
    plan.tile_rows[first_tile + t] = 1 + bin;
  }
  if (threadIdx.x == 0 && bin + 1 == bins) plan.state[ROW_TILES] = first_tile + own;
  const unsigned buckets =
      bin % BINS_EACH == 0 ? min((unsigned)SPLITTERS, (count + MEAN - 1) / MEAN) : 1;
  return {plan.bin_start(bin), count, max(1u, buckets), first_tile};
}

__device__ __forceinline__ row_info first_row(const bucket_plan &plan, unsigned n,
                                              unsigned buckets) {
  if (threadIdx.x < STATE_WORDS) plan.state[threadIdx.x] = 0;
  return {0, n, buckets, 0};
}

__device__ __forceinline__ void put_splitters(const bucket_plan &plan, unsigned row,
                                              const row_info &info, unsigned samples, rows all) {
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < SPLITTERS; b += SORT_BLOCK) {
    const unsigned nth = min(b, info.buckets - 1);
    const item one = all[(unsigned long long)nth * samples / info.buckets];
    plan.nodes[row * SPLITTERS + b] = key_of(one);
    if constexpr (STABLE) plan.numbers[row * SPLITTERS + b] = source_of(one);
  }
}

// Starts a row: what its bins count from, and which samples are sorted.
__device__ __forceinline__ sorted_part start_row(const bucket_plan &plan, const row_info &info,
                                                 unsigned row) {
  if (threadIdx.x == 0) plan.rows[row] = info, plan.done[row] = 0;
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += SORT_BLOCK) plan.counts[row * ROW_BINS + b] = 0;
  return {info.start, info.buckets > 1 ? min((unsigned)RUN, info.buckets * OVERSAMPLE) : 0};
}

// ---- counting -----------------------------------------------------------------------------------

// The last tile of a row says where its bins start.
__device__ __forceinline__ void place_bins(const bucket_plan &plan, const row_tile &t, bool last) {
  constexpr int EACH = (ROW_BINS + BLOCK - 1) / BLOCK;
  unsigned n[EACH], sum = 0, all, most = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned b = threadIdx.x * EACH + i;
    n[i] = b < ROW_BINS ? __ldcg(plan.counts + t.row * ROW_BINS + b) : 0;
    if (b % BINS_EACH == 0) most = max(most, n[i]);
    sum += n[i];
  }
  unsigned at = t.info.start + sum_before<BLOCK>(sum, &all);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned b = threadIdx.x * EACH + i;
    if (b < ROW_BINS) plan.ends[t.row * ROW_BINS + b] = at;
    at += n[i];
  }
  const bool sorted_elsewhere = t.row > 0 && (t.row - 1) % BINS_EACH != 0;
  if (last && most > RUN && !sorted_elsewhere) plan.state[OVERFLOWED] = 1;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    count_keys(int second, int last, const key *x, const unsigned *places, bin_number *ids,
               unsigned *state, row_info *row_infos, unsigned *tile_rows, unsigned *counts,
               unsigned *ends, unsigned *done, key *nodes, unsigned *numbers) {
  pdl_wait();
  const bucket_plan plan = {state, row_infos, tile_rows, counts, ends, done, nodes, numbers};
  if (second && blockIdx.x >= plan.state[ROW_TILES]) return;
  const row_tile t(plan, second, blockIdx.x);
  unsigned *const bins = reinterpret_cast<unsigned *>(memory);
  key *const tree_nodes = reinterpret_cast<key *>(bins + BIN_WORDS);
  unsigned *const tree_numbers = reinterpret_cast<unsigned *>(tree_nodes + TREE_PLACES);
  const bucket_tree tree = {tree_nodes, tree_numbers, t.info.buckets};
  const unsigned own = t.first + threadIdx.x;
  int left = (int)(t.end - own);  // i * BLOCK < left: the thread has an i-th key
  key k[ITEMS];
  unsigned number[ITEMS], bin[ITEMS];
  x += own;
  if constexpr (STABLE) places += second ? own : 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const bool there = i * BLOCK < left;
    k[i] = there ? x[i * BLOCK] : key();
    number[i] = STABLE && there ? (second ? places[i * BLOCK] : own + i * BLOCK) : 0;
  }
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < BIN_WORDS; b += BLOCK) bins[b] = 0;
  tree.load<BLOCK>(nodes + t.row * SPLITTERS, numbers + (STABLE ? t.row * SPLITTERS : 0));
  __syncthreads();
  tree.find(bin, k, number);
  ids += own;
  forget(left);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const bool there = i * BLOCK < left;
    if (there) ids[i * BLOCK] = (bin_number)bin[i];
    atomicAdd(bins + (there ? bin[i] : ROW_BINS), 1);
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += BLOCK) {
    if (bins[b] > 0) atomicAdd(counts + t.row * ROW_BINS + b, bins[b]);
  }
  if (is_last_block(done + t.row, t.tiles)) place_bins(plan, t, last);
}

// ---- moving -------------------------------------------------------------------------------------

// Counts the thread's keys in their bins, and puts their numbers there into the high halves of `bin`. A warp of a tile
// that is sorted has keys of one bin at a time, which one thread counts for all.
__device__ __forceinline__ void count_own(unsigned *bins, unsigned (&bin)[ITEMS]) {
  const bool alike = __all_sync(0xffffffff, bin[0] == __shfl_sync(0xffffffff, bin[0], 0));
  if (!alike) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) bin[i] |= atomicAdd(bins + bin[i], 1) << 16;
    return;
  }
#pragma unroll
  for (int i = 0; i < ITEMS; i++) bin[i] |= count_in(bins, bin[i]) << 16;
}

// Reserves places for the tile's keys, of which `bins` has the numbers: turns these into where a bin starts in the tile,
// and `away` into what leads from there to the bin in memory.
__device__ __forceinline__ void reserve(unsigned *bins, unsigned *away, unsigned *ends) {
  constexpr int EACH = (ROW_BINS + BLOCK - 1) / BLOCK;
  unsigned n[EACH], to[EACH], sum = 0, all;
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned b = threadIdx.x * EACH + i;
    n[i] = b < ROW_BINS ? bins[b] : 0;
    sum += n[i];
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    to[i] = n[i] > 0 ? atomicAdd(ends + threadIdx.x * EACH + i, n[i]) : 0;
  }
  unsigned at = sum_before<BLOCK>(sum, &all);
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const unsigned b = threadIdx.x * EACH + i;
    if (b < ROW_BINS) bins[b] = at, away[b] = to[i] - at;
    at += n[i];
  }
  if (threadIdx.x == 0) bins[ROW_BINS] = all;  // of threads without a key
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    move_keys(int second, const key *x, const unsigned *places, const bin_number *ids, key *y,
              unsigned *y_places, unsigned *state, row_info *row_infos, unsigned *tile_rows,
              unsigned *counts, unsigned *ends, unsigned *done, key *nodes, unsigned *numbers) {
  pdl_wait();
  const bucket_plan plan = {state, row_infos, tile_rows, counts, ends, done, nodes, numbers};
  // backwards: the last tiles are still in the second-level cache
  const unsigned tiles = second ? plan.state[ROW_TILES] : gridDim.x;
  if (blockIdx.x >= tiles) return;
  const row_tile t(plan, second, tiles - 1 - blockIdx.x);
  key *const keys = reinterpret_cast<key *>(memory);
  unsigned *const from = reinterpret_cast<unsigned *>(memory + TILE * NBYTES);
  unsigned *const bins = from + (STABLE ? TILE : 0), *const away = bins + BIN_WORDS;
  bin_number *const in_bin = reinterpret_cast<bin_number *>(away + ROW_BINS);
  const unsigned own = t.first + threadIdx.x;
  int left = (int)(t.end - own);
  key k[ITEMS];
  unsigned bin[ITEMS], place[ITEMS];
  x += own;
  ids += own;
  if constexpr (STABLE) places += second ? own : 0;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const bool there = i * BLOCK < left;
    k[i] = there ? x[i * BLOCK] : key();
    bin[i] = there ? ids[i * BLOCK] : ROW_BINS;
    place[i] = STABLE && there ? (second ? places[i * BLOCK] : own + i * BLOCK) : 0;
  }
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < BIN_WORDS; b += BLOCK) bins[b] = 0;
  __syncthreads();
  count_own(bins, bin);
  __syncthreads();
  reserve(bins, away, ends + t.row * ROW_BINS);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned b = bin[i] & 0xffff, to = bins[b] + (bin[i] >> 16);
    keys[to] = k[i];
    in_bin[to] = (bin_number)b;
    if constexpr (STABLE) from[to] = place[i];
  }
  __syncthreads();
  forget(left);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned at = i * BLOCK + threadIdx.x;
    if (i * BLOCK < left) {
      const unsigned to = at + away[in_bin[at]];
      y[to] = keys[at];
      if constexpr (STABLE) y_places[to] = from[at];
    }
  }
}

// ---- sorting ------------------------------------------------------------------------------------

// A bucket, or, where one has too many keys, a run of x.
__device__ __forceinline__ sorted_part part_of_block(const bucket_plan &plan, unsigned n,
                                                     bool overflowed) {
  if (overflowed) {
    const unsigned start = blockIdx.x < (n + RUN - 1) / RUN ? blockIdx.x * RUN : n;
    return {start, min((unsigned)RUN, n - start)};
  }
  const unsigned row = TWO ? 1 + blockIdx.x / SPLITTERS * BINS_EACH : 0;
  const unsigned bin = row * ROW_BINS + blockIdx.x % SPLITTERS * BINS_EACH;
  return {plan.bin_start(bin), plan.counts[bin]};
}

enum { SPLIT_ALL, SPLIT_ROWS, SORT_BUCKETS };  // tasks

// One kernel for all that is sorted, of which the code is long. Samples are taken from x and places, buckets from y and
// y_places; runs of x go to y, or to `other` if to_other.
extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT)
    sort_parts(int task, unsigned n, unsigned buckets, int to_other, const key *x,
               const unsigned *places, const value *xv, key *y, value *yv, const unsigned *y_places,
               key *other, value *other_v, unsigned *state, row_info *row_infos,
               unsigned *tile_rows, unsigned *counts, unsigned *ends, unsigned *done, key *nodes,
               unsigned *numbers) {
  pdl_wait();
  const bucket_plan plan = {state, row_infos, tile_rows, counts, ends, done, nodes, numbers};
  const bool splits = task != SORT_BUCKETS, overflowed = !splits && plan.state[OVERFLOWED];
  const unsigned row = task == SPLIT_ROWS ? 1 + blockIdx.x : 0;
  __shared__ row_info row_of_block;  // kept here, since the sort needs the registers
  __shared__ sorted_part kept;
  sorted_part part;
  if (splits) {
    const row_info info =
        task == SPLIT_ROWS ? make_row(plan, blockIdx.x, gridDim.x) : first_row(plan, n, buckets);
    part = start_row(plan, info, row);
    if (threadIdx.x == 0) row_of_block = info;
  } else {
    part = part_of_block(plan, n, overflowed);
  }
  if (part.count == 0) return;
  const key *const from = splits || overflowed ? x : y;
  const unsigned *const from_places = splits ? places : y_places;
  const bool placed = STABLE && task != SPLIT_ALL && !overflowed;
  const auto load_at = [&](unsigned i) {
    const unsigned at = part.start + i;
    return make_item(from[at], (int)(placed ? from_places[at] : at));
  };
  const rows all = {reinterpret_cast<item *>(memory)};
  item v[SORT_ITEMS];
  if (splits) {
    __syncthreads();
    const sample_places sample(part.count, row_of_block.count);
    load_items(v, part.count, [&](unsigned j) { return load_at(sample(j)); });
  } else {
    load_items(v, part.count, load_at);
  }
  if (threadIdx.x == 0) kept = part;
  sort_items(v, part.count, all);
  part = kept;
  if (task != SORT_BUCKETS) {
    put_splitters(plan, row, row_of_block, part.count, all);
    return;
  }
  const bool run = state[OVERFLOWED];
  key *const to = (run && to_other ? other : y) + part.start;
  value *const to_v = (run && to_other ? other_v : yv) + part.start;
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const unsigned i = k * SORT_BLOCK + threadIdx.x;
    if (i < part.count) {
      const item one = all.nth<SORT_BLOCK>(threadIdx.x, k);
      to[i] = key_of(one);
      if constexpr (VALUE > 0) to_v[i] = xv[source_of(one)];
    }
  }
}

// ---- where the sample misled --------------------------------------------------------------------

// Blocks take the tiles of all passes in order; each waits for all of the pass before.
extern "C" __global__ void __launch_bounds__(BLOCK)
    merge_overflow(long long n, int passes, key *y, value *yv, key *other, value *other_v,
                   unsigned *state) {
  pdl_wait();
  if (!state[OVERFLOWED]) return;
  __shared__ unsigned taken;
  const unsigned tiles = (unsigned)((n - 1) / TILE + 1);
#pragma unroll 1
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(state + TICKET, 1);
    __syncthreads();
    const unsigned pass = taken / tiles, tile = taken % tiles;
    if (pass >= passes) return;
    if (threadIdx.x == 0 && pass > 0) {
      while (load_acquire(state + PASS_TILES + pass - 1) != tiles) __nanosleep(100);
    }
    __syncthreads();
    const long long run = (long long)RUN << pass;
    const tile_of t(tile, run, (unsigned)min(0x7fffffffll, WAYS * run / TILE), n);
    const bool to_other = (passes - 1 - pass) % 2;
    const key *from_keys = to_other ? y : other;
    cut from, to;
    cuts(t, run, from_keys, &from, &to);
    merge_tile(t, from, to, run, n, from_keys, to_other ? yv : other_v, to_other ? other : y,
               to_other ? other_v : yv, memory);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(state + PASS_TILES + pass, 1);
    }
  }
}
