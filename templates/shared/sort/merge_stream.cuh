// merge_stream.cuh -- persistent blocks merge several tiles each, with STAGES tiles in shared memory. One more warp
// finds the keys of the next tiles and copies them while the others merge, which hides both the searches and the
// copies except for the first tile. Since a tile starts where the one before ends, later searches cover only a
// tile's keys; or an earlier launch has done them all.
//
// A stage takes STAGE bytes. Define before: WAYS, the pieces of a tile. run() takes a struct that finds tiles, in a
// warp, by
//   void next(piece (&p)[WAYS], int *count, long long *to)   and their places in the result
// and one that merges them, by operator()(memory, const stage &).
#pragma once
#include "merge_tile.cuh"

struct stage {
  unsigned long long full, empty;  // barriers
  loaded<WAYS> keys;
  long long first[WAYS];  // numbers of the pieces' first keys
  long long to;
  int count;
};

// Copies a tile. At the end of a sequence the lanes copy the incomplete vector, and pad it: its rest may be read.
__device__ __forceinline__ void copy_tile(const windows<WAYS> &w, unsigned char *memory, stage *s) {
  key *shared = reinterpret_cast<key *>(memory);
  const int lane = threadIdx.x % 32;
  int whole[WAYS], bytes = 0;
#pragma unroll
  for (int i = 0; i < WAYS; i++) {
    const int before_it = i > 0 ? w.units[i > 0 ? i - 1 : 0] : 0, after = w.units[i] * VEC;
    whole[i] = w.units[i] - before_it;
    if (after > w.end[i] && whole[i] > 0) {
      const int at = after - VEC + lane;
      if (lane < VEC) shared[at] = at < w.end[i] ? w.keys[i][at] : key();
      whole[i]--;
    }
    bytes += whole[i] * (int)sizeof(vector);
  }
  __syncwarp();
  if (lane > 0) return;
  const unsigned full = shared_address(&s->full);
  mbarrier_arrive_expect(full, bytes);
#pragma unroll
  for (int i = 0; i < WAYS; i++) {
    const int before_it = i > 0 ? w.units[i > 0 ? i - 1 : 0] : 0;
    if (whole[i] > 0) {
      bulk_load(shared_address(shared + before_it * VEC), w.keys[i] + before_it * VEC,
                whole[i] * (int)sizeof(vector), full);
    }
  }
}

template <typename Tiles>
__device__ __forceinline__ void copy_tiles(Tiles &tiles, int count, unsigned char *memory,
                                           stage *stages) {
  for (int i = 0; i < count; i++) {
    stage &s = stages[i % STAGES];
    piece p[WAYS];
    int keys;
    long long to;
    tiles.next(p, &keys, &to);
    if (i >= STAGES) mbarrier_wait(shared_address(&s.empty), (i / STAGES - 1) & 1);
    const windows<WAYS> w(p);
    if (threadIdx.x % 32 == 0) {
      s.keys = w.where(p);
      s.count = keys;
      s.to = to;
#pragma unroll
      for (int k = 0; k < WAYS; k++) s.first[k] = p[k].first;
    }
    copy_tile(w, memory + i % STAGES * STAGE, &s);
  }
}

template <typename Merge>
__device__ __forceinline__ void merge_tiles(const Merge &merge, int count, unsigned char *memory,
                                            stage *stages) {
  for (int i = 0; i < count; i++) {
    stage &s = stages[i % STAGES];
    mbarrier_wait(shared_address(&s.full), i / STAGES & 1);
    merge(memory + i % STAGES * STAGE, s);
    fence_proxy_async();  // before the next copy to this memory
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&s.empty));
  }
}

// This block's share of `all` tiles. With PARTITION=launch blocks take turns, so that together they go through
// memory in order; else a block has consecutive tiles, since each search starts at the end of the tile before.
struct share {
  unsigned first, count;

  __device__ __forceinline__ explicit share(long long all) {
    const unsigned tiles = (unsigned)all, each = tiles / gridDim.x, more = tiles % gridDim.x;
    if constexpr (PARTITION == PARTITION_launch) {
      first = blockIdx.x;
      count = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
    } else {
      first = blockIdx.x * each + min(blockIdx.x, more);
      count = each + (blockIdx.x < more);
    }
  }

  template <typename Tiles, typename Merge>
  __device__ __forceinline__ void run(Tiles &tiles, const Merge &merge,
                                      unsigned char *memory) const {
    __shared__ stage stages[STAGES];
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < STAGES; i++) {
        mbarrier_init(shared_address(&stages[i].full), 1);
        mbarrier_init(shared_address(&stages[i].empty), BLOCK / 32);
      }
      fence_proxy_async();
    }
    __syncthreads();
    if (threadIdx.x >= BLOCK) {
      copy_tiles(tiles, (int)count, memory, stages);
    } else {
      merge_tiles(merge, (int)count, memory, stages);
    }
  }
};
