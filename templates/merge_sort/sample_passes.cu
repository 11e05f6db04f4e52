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

// ---- splitters ----------------------------------------------------------------------------------

// The place of the j-th of `samples`: one of each of as many equal stretches, at a pseudo-random place in it, since
// keys may be periodic.
__device__ __forceinline__ unsigned sampled(unsigned j, unsigned samples, unsigned count) {
  const unsigned first = (unsigned)((unsigned long long)j * count / samples);
  const unsigned end = (unsigned)((j + 1ull) * count / samples);
  return first + __umulhi((j + 1) * 2654435761u, end - first);  // Knuth's multiplicative hash
}

struct sampled_items {
  const key *x;
  const unsigned *places;  // NULL: keys are in their first places
  unsigned samples, start, count;

  __device__ __forceinline__ item operator()(unsigned j) const {
    const unsigned at = start + sampled(j, samples, count);
    return make_item(x[at], (int)(STABLE && places ? places[at] : at));
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
  for (unsigned node = threadIdx.x; node < SPLITTERS; node += SORT_BLOCK) {
    if (node > 0) {
      const unsigned nth = min(splitter_of(node), info.buckets - 2) + 1;
      const item one = all[(unsigned long long)nth * samples / info.buckets];
      plan.nodes[row * SPLITTERS + node] = key_of(one);
      if constexpr (STABLE) plan.numbers[row * SPLITTERS + node] = source_of(one);
    }
  }
}

extern "C" __global__ void __launch_bounds__(SORT_BLOCK)
    choose_splitters(int second, unsigned n, unsigned buckets, const key *x, const unsigned *places,
                     unsigned *state, row_info *row_infos, unsigned *tile_rows, unsigned *counts,
                     unsigned *ends, unsigned *done, key *nodes, unsigned *numbers) {
  pdl_wait();
  const bucket_plan plan = {state, row_infos, tile_rows, counts, ends, done, nodes, numbers};
  const unsigned row = second ? 1 + blockIdx.x : 0;
  const row_info info =
      second ? make_row(plan, blockIdx.x, gridDim.x) : first_row(plan, n, buckets);
  if (threadIdx.x == 0) plan.rows[row] = info, plan.done[row] = 0;
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += SORT_BLOCK) plan.counts[row * ROW_BINS + b] = 0;
  if (info.buckets == 1) return;
  const unsigned samples = min((unsigned)RUN, info.buckets * OVERSAMPLE);
  const rows all = {reinterpret_cast<item *>(memory)};
  sort_items(samples, sampled_items{x, second ? places : nullptr, samples, info.start, info.count},
             all);
  put_splitters(plan, row, info, samples, all);
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
  unsigned *const tree_numbers = bins + ROW_BINS;
  key *const tree_nodes = reinterpret_cast<key *>(tree_numbers + (STABLE ? SPLITTERS : 0));
  key k[ITEMS];
  unsigned number[ITEMS], bin[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned at = t.first + i * BLOCK + threadIdx.x;
    k[i] = at < t.end ? x[at] : key();
    number[i] = STABLE ? (second && at < t.end ? places[at] : at) : 0;
  }
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += BLOCK) bins[b] = 0;
  if (t.info.buckets > 1) {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SPLITTERS; i += BLOCK) {
      if (i > 0) {
        tree_nodes[i] = nodes[t.row * SPLITTERS + i];
        if constexpr (STABLE) tree_numbers[i] = numbers[t.row * SPLITTERS + i];
      }
    }
  }
  __syncthreads();
  bucket_tree{tree_nodes, tree_numbers, t.info.buckets}.find(bin, k, number);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned at = t.first + i * BLOCK + threadIdx.x;
    if (at < t.end) ids[at] = (bin_number)bin[i];
    count_in(bins, bin[i], at < t.end);
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += BLOCK) {
    if (bins[b] > 0) atomicAdd(counts + t.row * ROW_BINS + b, bins[b]);
  }
  if (is_last_block(done + t.row, t.tiles)) place_bins(plan, t, last);
}

// ---- moving -------------------------------------------------------------------------------------

// Where the tile's keys go: `starts` is where those of a bin start in the tile, and `away` what to add to reach the
// bin. bins has their numbers.
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
  unsigned *const bins = from + (STABLE ? TILE : 0), *const away = bins + ROW_BINS;
  bin_number *const in_bin = reinterpret_cast<bin_number *>(away + ROW_BINS);
  key k[ITEMS];
  unsigned bin[ITEMS], place[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned at = t.first + i * BLOCK + threadIdx.x;
    k[i] = at < t.end ? x[at] : key();
    bin[i] = at < t.end ? ids[at] : 0;
    place[i] = STABLE ? (second && at < t.end ? places[at] : at) : 0;
  }
#pragma unroll 1
  for (unsigned b = threadIdx.x; b < ROW_BINS; b += BLOCK) bins[b] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    bin[i] |= count_in(bins, bin[i], t.first + i * BLOCK + threadIdx.x < t.end) << 16;
  }
  __syncthreads();
  reserve(bins, away, ends + t.row * ROW_BINS);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (t.first + i * BLOCK + threadIdx.x < t.end) {
      const unsigned b = bin[i] & 0xffff, to = bins[b] + (bin[i] >> 16);
      keys[to] = k[i];
      in_bin[to] = (bin_number)b;
      if constexpr (STABLE) from[to] = place[i];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    const unsigned at = i * BLOCK + threadIdx.x;
    if (at < t.end - t.first) {
      const unsigned to = at + away[in_bin[at]];
      y[to] = keys[at];
      if constexpr (STABLE) y_places[to] = from[at];
    }
  }
}

// ---- sorting ------------------------------------------------------------------------------------

struct items_of {
  const key *x;
  const unsigned *places;
  unsigned start;

  __device__ __forceinline__ item operator()(unsigned i) const {
    return make_item(x[start + i], (int)(STABLE && places ? places[start + i] : start + i));
  }
};

extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT)
    sort_buckets(unsigned n, int to_other, const key *x, const value *xv, key *y, value *yv,
                 const unsigned *y_places, key *other, value *other_v, unsigned *state,
                 row_info *row_infos, unsigned *tile_rows, unsigned *counts, unsigned *ends,
                 unsigned *done, key *nodes, unsigned *numbers) {
  pdl_wait();
  const bucket_plan plan = {state, row_infos, tile_rows, counts, ends, done, nodes, numbers};
  const unsigned row = TWO ? 1 + blockIdx.x / SPLITTERS * BINS_EACH : 0;
  const unsigned bin = row * ROW_BINS + blockIdx.x % SPLITTERS * BINS_EACH;
  const bool overflowed = plan.state[OVERFLOWED];
  unsigned start, count;
  if (overflowed) {
    start = blockIdx.x < (n + RUN - 1) / RUN ? blockIdx.x * RUN : n;
    count = min((unsigned)RUN, n - start);
  } else {
    count = counts[bin];
    start = ends[bin] - count;
  }
  if (count == 0) return;
  const rows all = {reinterpret_cast<item *>(memory)};
  sort_items(count, items_of{overflowed ? x : y, overflowed ? nullptr : y_places, start}, all);
  key *const to = overflowed && to_other ? other : y;
  value *const to_v = overflowed && to_other ? other_v : yv;
#pragma unroll
  for (int k = 0; k < SORT_ITEMS; k++) {
    const unsigned i = k * SORT_BLOCK + threadIdx.x;
    if (i < count) {
      const item one = all.nth<SORT_BLOCK>(threadIdx.x, k);
      to[start + i] = key_of(one);
      if constexpr (VALUE > 0) to_v[start + i] = xv[source_of(one)];
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
