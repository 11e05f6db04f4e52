// merge_sort_passes.cu -- a launch sorts tiles, then each pass is a launch.
#include "lanes.cuh"

#include "merge_runs.cuh"

#include "merge_pass.cuh"
#include "merge_stream.cuh"

// Finds the pieces of a persistent block's tiles, one tile after the other, forwards or backwards: a tile starts where
// the one before ends, or the other way round, and no piece of it is longer than a tile.
struct tile_finder {
  const long long n, run;
  const unsigned of_set;  // tiles per WAYS runs
  const key *const x;
  const bool backward;
  unsigned tile;
  cut here;
  bool known;

  __device__ __forceinline__ cut beyond(const tile_of &t) const {
    cut low, high;
#pragma unroll
    for (int i = 0; i < WAYS; i++) {
      low.of[i] = backward ? max(0ll, here.of[i] - TILE) : here.of[i];
      high.of[i] = backward ? here.of[i] : min(here.of[i] + TILE, t.count[i]);
    }
    return cut_at(backward ? t.d : t.d_end, t, run, x, low, high);
  }
  __device__ __forceinline__ void next(piece (&p)[WAYS], int *count, long long *to) {
    const tile_of t(tile, run, of_set, n);
    const bool first = t.d == 0, last = t.last(run, n);
    cut start, end;
#pragma unroll
    for (int i = 0; i < WAYS; i++) start.of[i] = 0, end.of[i] = t.count[i];
    if (backward ? last : first) here = backward ? end : start;
    else if (!known) here = cut_at(backward ? t.d_end : t.d, t, run, x);
    const cut other = backward ? (first ? start : beyond(t)) : (last ? end : beyond(t));
    pieces_between(p, t, backward ? other : here, backward ? here : other, run, n, x);
    *count = (int)(t.d_end - t.d);
    *to = t.start + t.d;
    here = other;
    known = true;
    tile += backward ? -1 : 1;
  }
};

struct merge_stage {
  const value *xv;
  key *y;
  value *yv;

  __device__ __forceinline__ void operator()(unsigned char *memory, const stage &s) const {
    key v[ITEMS];
    int source[ITEMS];
    const loaded<WAYS> keys = s.keys;
    merge_loaded(memory, keys, v, source);
    sync_merging();
    store_tile(v, y + s.to, s.count, memory);
    if constexpr (VALUE > 0) {
      fetch take;
      take.y = yv + s.to;
#pragma unroll
      for (int i = 0; i < WAYS; i++) take.add(i, xv + s.first[i], keys.count[i]);
      take_values(source, s.count, memory, take);
    }
  }
};

// With OVERLAP: lets the next launch start, and waits until the one before has ended.
__device__ __forceinline__ void overlap_launches() {
  if constexpr (OVERLAP == OVERLAP_on) {
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
  }
}

extern "C" __global__ void __launch_bounds__(SORT_BLOCK, SORT_RESIDENT)
sort_runs(long long n, const key *x, const value *xv, key *y, value *yv, key *other,
          value *other_v, int to_other) {
  extern __shared__ __align__(16) unsigned char memory[];
  overlap_launches();
  make_run(blockIdx.x, n, x, xv, to_other ? other : y, to_other ? other_v : yv, memory);
}

@ if PARTITION == "launch" then
extern "C" __global__ void __launch_bounds__(128)
merge_split(long long n, const key *y, const key *other, long long run, int tiles, int to_other,
            cut *splits) {
  overlap_launches();
  const key *x = to_other ? y : other;
  const unsigned tile = blockIdx.x * 4 + threadIdx.x / 32;
  if ((long long)tile * TILE >= n) return;
  const tile_of t(tile, run, tiles, n);
  const cut c = cut_at(t.d, t, run, x);
  if (threadIdx.x % 32 == 0) splits[tile] = c;
}
@ end

// The cuts of a block's tile: from an earlier launch, or found by the block.
__device__ __forceinline__ void find_cuts(unsigned tile, const tile_of &t, long long run, long long n,
                                          const key *x, const cut *splits, cut *from, cut *to) {
  if constexpr (PARTITION == PARTITION_launch) {
    *from = splits[tile];
    if (t.last(run, n)) {
#pragma unroll
      for (int i = 0; i < WAYS; i++) to->of[i] = t.count[i];
    } else {
      *to = splits[tile + 1];
    }
  } else {
    cuts(t, run, x, from, to);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
merge_runs_of(long long n, key *y, value *yv, key *other, value *other_v, long long run,
              int tiles, int to_other, int backward, const cut *splits) {
  extern __shared__ __align__(16) unsigned char memory[];
  overlap_launches();
  const key *x = to_other ? y : other;
  if constexpr (STAGES > 1) {
    const share own((n + TILE - 1) / TILE);
    tile_finder tiles_of_block = {n, run, (unsigned)tiles, x, backward != 0,
                                  backward ? own.first + own.count - 1 : own.first, cut(), false};
    own.run(tiles_of_block, merge_stage{to_other ? yv : other_v, to_other ? other : y,
                                        to_other ? other_v : yv}, memory);
  } else {
    const unsigned tile = backward ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const tile_of t(tile, run, tiles, n);
    cut from, to;
    find_cuts(tile, t, run, n, x, splits, &from, &to);
    merge_tile(t, from, to, run, n, x, to_other ? yv : other_v, to_other ? other : y,
               to_other ? other_v : yv, memory);
  }
}
