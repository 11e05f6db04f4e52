// merge_pass.cuh -- a pass merges each WAYS sorted runs to one, of which a block merges tiles.
#pragma once
constexpr bool INPUT_IS_CONSTANT = false;  // a launch of ALG=tasks both writes and reads
#include "merge_four.cuh"

// A tile of the result of a pass, which merges each WAYS runs of `run` keys.
struct tile_of {
  long long start, count[WAYS];  // the runs, one after the other
  long long d, d_end;            // the tile, counted from `start`

  // WAYS runs have `tiles` tiles.
  __device__ __forceinline__ tile_of(unsigned tile, long long run, unsigned tiles, long long n) {
    start = (long long)(tile / tiles) * (WAYS * run);
#pragma unroll
    for (int i = 0; i < WAYS; i++) count[i] = max(0ll, min(run, n - start - i * run));
    d = (long long)(tile % tiles) * TILE;
    d_end = min(d + TILE, min(WAYS * run, n - start));
  }
  __device__ __forceinline__ bool last(long long run, long long n) const {
    return d_end == min(WAYS * run, n - start);
  }
};

// Co-ranks: how many of the first keys of the merged runs are of each run.
struct cut {
  long long of[WAYS];
};

// The co-ranks of d, within bounds, by a whole warp.
__device__ __forceinline__ cut cut_at(long long d, const tile_of &t, long long run, const key *x,
                                      const cut &low, const cut &high) {
  cut c = low;
  const key *a = x + t.start;
  if constexpr (WAYS == 2) {
    c.of[0] = co_rank_warp(d, a, t.count[0], a + run, t.count[1], low.of[0], high.of[0]);
    c.of[1] = d - c.of[0];
  } else {
    const key *runs[WAYS];
#pragma unroll
    for (int i = 0; i < WAYS; i++) runs[i] = a + i * run;
    cut most = high;
    co_rank_many(d, runs, c.of, most.of);
  }
  return c;
}

__device__ __forceinline__ cut cut_at(long long d, const tile_of &t, long long run, const key *x) {
  cut low, high;
#pragma unroll
  for (int i = 0; i < WAYS; i++) low.of[i] = 0, high.of[i] = min(d, t.count[i]);
  return cut_at(d, t, run, x, low, high);
}

__device__ __forceinline__ void pieces_between(piece (&p)[WAYS], const tile_of &t, const cut &from,
                                               const cut &to, long long run, long long n,
                                               const key *x) {
  int left = (int)(t.d_end - t.d);
#pragma unroll
  for (int i = 0; i < WAYS; i++) {
    const long long until = i + 1 < WAYS ? to.of[i] : t.count[i];
    p[i] = {x, n, t.start + i * run + from.of[i], keys_of_a(from.of[i], until, left)};
    left -= p[i].count;
  }
}

// Fetches the value of a place in a tile of y.
struct fetch {
  const value *from[WAYS];
  int end[WAYS];  // of the pieces, one after the other
  value *y;

  __device__ __forceinline__ void add(int i, const value *first, int count) {
    from[i] = first;
    end[i] = count + (i > 0 ? end[i > 0 ? i - 1 : 0] : 0);
  }
  __device__ __forceinline__ void operator()(int place, int source) const {
    const value *start = from[0];
#pragma unroll
    for (int i = 1; i < WAYS; i++) start = source < end[i - 1] ? start : from[i] - end[i - 1];
    y[place] = start[source];
  }
};

// Merges the tile between the two cuts from x to y.
__device__ __forceinline__ void merge_tile(const tile_of &t, const cut &from, const cut &to,
                                           long long run, long long n, const key *x,
                                           const value *xv, key *y, value *yv,
                                           unsigned char *memory) {
  const int count = (int)(t.d_end - t.d);
  piece p[WAYS];
  pieces_between(p, t, from, to, run, n, x);
  key v[ITEMS];
  int source[ITEMS];
  merge_pieces(memory, p, v, source);
  __syncthreads();
  store_tile(v, y + t.start + t.d, count, memory);
  if constexpr (VALUE > 0) {
    fetch take;
    take.y = yv + t.start + t.d;
#pragma unroll
    for (int i = 0; i < WAYS; i++) take.add(i, xv + p[i].first, p[i].count);
    take_values(source, count, memory, take);
  }
}

// The cuts at the tile's start and end, by two warps. All threads come here.
__device__ __forceinline__ void cuts(const tile_of &t, long long run, const key *x, cut *from,
                                     cut *to) {
  __shared__ cut found[2];
  const int warp = threadIdx.x / 32;
  if (warp < 2) {
    const cut c = cut_at(warp == 0 ? t.d : t.d_end, t, run, x);
    if (threadIdx.x % 32 == 0) found[warp] = c;
  }
  __syncthreads();
  *from = found[0];
  *to = found[1];
}
