// merge_four.cuh -- WAYS == 4: merges the first two and the last two of four loaded pieces in shared memory, then the
// two results.
#pragma once
#include "merge_tile.cuh"

// From a place in shared memory to the key's number, counted through all pieces.
__device__ __forceinline__ int source_of_place(const loaded<4> &w, const int &place) {
  int gap = w.at[0], gone = 0;  // where the key's piece starts; keys of the pieces before it
#pragma unroll
  for (int q = 1; q < 4; q++) {
    gone += place < w.at[q] ? 0 : w.count[q - 1];
    gap = place < w.at[q] ? gap : w.at[q];
  }
  return place - gap + gone;
}

__device__ __forceinline__ void merge_serially(unsigned char *memory, const loaded<4> &w,
                                               key (&v)[ITEMS], int (&source)[ITEMS]) {
  key *shared = reinterpret_cast<key *>(memory);
  const int left = w.count[0] + w.count[1], all = left + w.count[2] + w.count[3];
  const int place = min((int)threadIdx.x * ITEMS, all);
  const bool in_left = place < left;
  const int a_at = in_left ? w.at[0] : w.at[2];
  const int b_at = in_left ? w.at[1] : w.at[3];
  const int na = in_left ? w.count[0] : w.count[2], nb = in_left ? w.count[1] : w.count[3];
  const int d = in_left ? place : place - left;
  const int i = co_rank(d, shared + a_at, na, shared + b_at, nb);
  merger<key, const key *> from(shared, a_at + i, a_at + na, b_at + d - i, b_at + nb, w.last);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    if (place + k == left && place < left) {  // the thread has keys of both pairs
      from.start(w.at[2], w.at[2] + w.count[2], w.at[3], w.at[3] + w.count[3]);
    }
    v[k] = from.next(&source[k]);
  }
  sync_merging();
  const spread<key, ITEMS> halves = {shared};
#pragma unroll
  for (int k = 0; k < ITEMS; k++) halves.own(k) = v[k];
  const spread<int, ITEMS> sources = {reinterpret_cast<int *>(memory + SOURCES)};
  if constexpr (VALUE > 0) {
#pragma unroll
    for (int k = 0; k < ITEMS; k++) sources.own(k) = source_of_place(w, source[k]);
  }
  sync_merging();
  const int j = co_rank(place, sequence_of<spread<key, ITEMS>>{halves, 0}, left,
                        sequence_of<spread<key, ITEMS>>{halves, left}, all - left);
  merger<key, spread<key, ITEMS>> both(halves, j, left, left + place - j, all, TILE - 1);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    v[k] = both.next(&source[k]);
    if constexpr (VALUE > 0) source[k] = sources[min(source[k], TILE - 1)];
  }
}

// The same by groups of threads. A window may have the end of the first result and the start of the second.
template <int N>
__device__ __forceinline__ void merge_by_network(unsigned char *memory, const loaded<4> &w,
                                                 key (&v)[N], int (&source)[N]) {
  using tile_window = window<N>;
  constexpr int GROUP = tile_window::GROUP;
  key *shared = reinterpret_cast<key *>(memory);
  const spread<item, N> rows = {reinterpret_cast<item *>(memory)};
  const int left = w.count[0] + w.count[1], all = left + w.count[2] + w.count[3];
  const int d = min(tile_window::start(), all);
  const int end = min(d + tile_window::WINDOW, all);
  item found[N];
  const int point = threadIdx.x % GROUP < GROUP / 2 ? d : end;
  const bool in_left = point < left;
  const int i = co_rank_group<GROUP / 2>(
      in_left ? point : point - left, shared + (in_left ? w.at[0] : w.at[2]),
      in_left ? w.count[0] : w.count[2], shared + (in_left ? w.at[1] : w.at[3]),
      in_left ? w.count[1] : w.count[3]);
  const int first_i = __shfl_sync(0xffffffff, i, 0, GROUP);
  const int end_i = __shfl_sync(0xffffffff, i, GROUP / 2, GROUP);
  const pair_of_ranks in_first = {d < left ? first_i : w.count[0], end < left ? end_i : w.count[0]};
  const pair_of_ranks in_last = {d < left ? 0 : first_i, end < left ? 0 : end_i};
  const int first_d = min(d, left), first_end = min(end, left);
  const int last_d = max(d - left, 0), last_end = max(end - left, 0);
  stretches low = stretches_between(in_first, first_d, first_end, w.at[0], w.at[1], -w.at[0],
                                    w.count[0] - w.at[1]);
  const stretches high = stretches_between(in_last, last_d, last_end, w.at[2], w.at[3],
                                           left - w.at[2], left + w.count[2] - w.at[3]);
  if (d >= left) low = high;  // the right pair only
  const tile_window here = {d >= left ? last_end - last_d : first_end - first_d};
  here.template merge<sync_merging, true>(found, low, high, tile_keys{shared}, rows);
#pragma unroll
  for (int k = 0; k < N; k++) rows.own(k) = found[k];
  sync_merging();
  const pair_of_ranks j = co_ranks<GROUP>(d, end, sequence_of<spread<item, N>>{rows, 0}, left,
                                          sequence_of<spread<item, N>>{rows, left}, all - left);
  const stretches both = stretches_between(j, d, end, 0, left);
  const tile_window again = {end - d};
  again.template merge<sync_merging, false>(found, both, stretches(), item_rows<N>{rows}, rows);
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = key_of(found[k]), source[k] = source_of(found[k]);
}

__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<4> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  if constexpr (MERGE == MERGE_network) {
    merge_by_network(memory, w, v, source);
  } else {
    merge_serially(memory, w, v, source);
  }
}
