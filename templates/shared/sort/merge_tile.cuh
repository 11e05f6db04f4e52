// merge_tile.cuh -- a block's tile of a merged sequence: pieces of sorted sequences come from global memory
// (merge_pieces.cuh), are merged in shared memory, and the tile goes back (merge_store.cuh).
#pragma once
#include "merge_pieces.cuh"
#include "merge_window.cuh"

#include "merge_store.cuh"

struct tile_keys {  // as they were loaded
  const key *keys;

  template <int GROUP>
  static __device__ constexpr bool straight() {
    return VALUE == 0;
  }
  __device__ __forceinline__ item operator()(int at, int shift) const {
    return make_item(keys[at], at + shift);
  }
  __device__ __forceinline__ key operator[](int at) const { return keys[at]; }
  __device__ __forceinline__ const key *address(int at) const { return keys + at; }
  static __device__ constexpr int step(int places) { return places; }
};

// Merges two loaded pieces: v receives this thread's ITEMS keys, and source where each is from, counted from the
// start of the first piece through the second.
__device__ __forceinline__ void merge_serially(unsigned char *memory, const loaded<2> &w,
                                               key (&v)[ITEMS], int (&source)[ITEMS]) {
  key *shared = reinterpret_cast<key *>(memory);
  const int d = min((int)threadIdx.x * ITEMS, w.count[0] + w.count[1]);
  const int i = co_rank(d, shared + w.at[0], w.count[0], shared + w.at[1], w.count[1]);
  merger<key, const key *> from(shared, w.at[0] + i, w.at[0] + w.count[0], w.at[1] + d - i,
                                w.at[1] + w.count[1], w.last);
#pragma unroll
  for (int k = 0; k < ITEMS; k++) {
    v[k] = from.next(&source[k]);
    source[k] -= source[k] < w.at[1] ? w.at[0] : w.at[1] - w.count[0];
  }
}

// The same by groups of threads, each a window; ITEMS is a power of two.
template <int N>
__device__ __forceinline__ void merge_by_network(unsigned char *memory, const loaded<2> &w,
                                                 key (&v)[N], int (&source)[N]) {
  using tile_window = window<N>;
  key *shared = reinterpret_cast<key *>(memory);
  const int na = w.count[0], nb = w.count[1];
  const int d = min(tile_window::start(), na + nb);
  const int end = min(d + tile_window::WINDOW, na + nb);
  const pair_of_ranks i =
      co_ranks<tile_window::GROUP>(d, end, shared + w.at[0], na, shared + w.at[1], nb);
  const stretches both = stretches_between(i, d, end, w.at[0], w.at[1], -w.at[0], na - w.at[1]);
  const tile_window here = {end - d};
  item found[N];
  here.template merge<sync_merging, false>(found, both, stretches(), tile_keys{shared},
                                           spread<item, N>{reinterpret_cast<item *>(memory)});
#pragma unroll
  for (int k = 0; k < N; k++) v[k] = key_of(found[k]), source[k] = source_of(found[k]);
}

__device__ __forceinline__ void merge_loaded(unsigned char *memory, const loaded<2> &w,
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  if constexpr (MERGE == MERGE_network) {
    merge_by_network(memory, w, v, source);
  } else {
    merge_serially(memory, w, v, source);
  }
}

// Loads the pieces first.
template <int N>
__device__ __forceinline__ void merge_pieces(unsigned char *memory, const piece (&p)[N],
                                             key (&v)[ITEMS], int (&source)[ITEMS]) {
  const windows<N> w(p);
  load_pieces(reinterpret_cast<key *>(memory), w);
  merge_loaded(memory, w.where(p), v, source);
}
