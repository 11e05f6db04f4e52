// merge_path.cu -- a block knows where its tile of c starts and ends in a and b, loads just that, and merges it in
// shared memory.
#include "merge_key.cuh"
#include "merge_sequences.cuh"

constexpr bool ADJACENT_EXCHANGES = false, ITEMS_IN_ORDER = true, INPUT_IS_CONSTANT = true;
constexpr int WAYS = 2;
#include "merge_stream.cuh"

// Finds the pieces of a persistent block's tiles, one tile after the other.
struct split_tiles {  // PARTITION=launch
  const sequences &s;
  const long long *splits;
  unsigned tile;  // the next

  __device__ __forceinline__ void next(piece (&p)[2], int *count, long long *to) {
    const long long first = (long long)tile * TILE, end = min(first + TILE, s.m + s.n);
    const long long from = splits[tile], until = splits[tile + 1];
    tile += gridDim.x;
    const int of_a = keys_of_a(from, until, (int)(end - first));
    p[0] = {s.a, s.m, from, of_a};
    p[1] = {s.b, s.n, first - from, (int)(end - first) - of_a};
    *count = (int)(end - first);
    *to = first;
  }
};

struct searched_tiles {  // PARTITION=block
  const sequences &s;
  long long first, from;  // the next tile, and its co-rank; -1 if not known yet

  __device__ __forceinline__ void next(piece (&p)[2], int *count, long long *to) {
    const long long end = min(first + TILE, s.m + s.n);
    if (from < 0) from = co_rank_warp(first, s.a, s.m, s.b, s.n);
    const long long until = co_rank_warp(end, s.a, s.m, s.b, s.n, from, from + TILE);
    const int of_a = keys_of_a(from, until, (int)(end - first));
    p[0] = {s.a, s.m, from, of_a};
    p[1] = {s.b, s.n, first - from, (int)(end - first) - of_a};
    *count = (int)(end - first);
    *to = first;
    first = end;
    from = until;
  }
};

struct merge_stage {
  const sequences &s;

  __device__ __forceinline__ void operator()(unsigned char *memory, const stage &t) const {
    key v[ITEMS];
    int source[ITEMS];
    const loaded<2> keys = t.keys;
    merge_loaded(memory, keys, v, source);
    sync_merging();
    store_tile(v, s.c + t.to, t.count, memory);
    if constexpr (VALUE > 0) {
      take_values(source, t.count, memory, fetch{s, t.to, t.first[0], t.first[1], keys.count[0]});
    }
  }
};

// STAGES > 1: blocks stay and merge several tiles.
__device__ __forceinline__ void merge_tiles_of_block(const sequences &s, const long long *splits,
                                                     unsigned char *memory) {
  const share own((s.m + s.n + TILE - 1) / TILE);
  if constexpr (PARTITION == PARTITION_launch) {
    if constexpr (OVERLAP == OVERLAP_on) griddepcontrol_wait();
    split_tiles tiles = {s, splits, own.first};
    own.run(tiles, merge_stage{s}, memory);
  } else {
    searched_tiles tiles = {s, (long long)own.first * TILE, -1};
    own.run(tiles, merge_stage{s}, memory);
  }
}

__device__ __forceinline__ void merge_tile(const sequences &s, const long long *splits, unsigned char *memory) {
  const long long first = (long long)blockIdx.x * TILE, end = min(first + TILE, s.m + s.n);
  long long from, to;
  split(first, end, s, splits, &from, &to);
  const int count = (int)(end - first);
  const int of_a = keys_of_a(from, to, count);
  const piece pieces[2] = {{s.a, s.m, from, of_a}, {s.b, s.n, first - from, count - of_a}};
  key v[ITEMS];
  int source[ITEMS];
  merge_pieces(memory, pieces, v, source);
  __syncthreads();
  store_tile(v, s.c + first, count, memory);
  if constexpr (VALUE > 0) take_values(source, count, memory, fetch{s, first, from, first - from, of_a});
}

extern "C" __global__ void __launch_bounds__(THREADS, STAGES > 1 ? RESIDENT : 0)
merge(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
      key *__restrict__ c, const value *__restrict__ av, const value *__restrict__ bv,
      value *__restrict__ cv, const long long *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  const sequences s = {m, n, a, b, c, av, bv, cv};
  if constexpr (STAGES > 1) {
    merge_tiles_of_block(s, splits, memory);
  } else {
    merge_tile(s, splits, memory);
  }
}

@ if PARTITION == "launch" then
#include "merge_split.cuh"
@ end
