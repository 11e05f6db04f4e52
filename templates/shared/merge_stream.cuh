// merge_stream.cuh -- blocks that stay merge one tile after the other. A warp more than merge finds out
// which keys the next tiles have, and has them copied while the others merge: neither the search nor
// the copies are waited for, but for the first. And as a tile starts where the one before ended, the
// search is among a tile's keys, but for the first. Or a launch before has found where they start.
//
// After merge_tile.cuh; STAGES tiles are in shared memory, TILE_SMEM bytes each. The template defines a
// struct that finds tiles, in a warp,
//   void next(piece (&p)[ways], int *count, long long *to)  and where in the result they go
// and one that merges them: operator()(memory, const stage &).

struct stage {
  unsigned long long full, empty;  // barriers
  loaded<@{ways}> keys;
  long long first[@{ways}];  // numbers of the pieces' first keys
  long long to;
  int count;
};

// What is not whole vectors, at the end of a sequence, the lanes copy. Who merges may read behind it.
__device__ __forceinline__ void bring(const windows<@{ways}> &w, unsigned char *memory, stage *s) {
  key *shared = reinterpret_cast<key *>(memory);
  const int lane = threadIdx.x % 32;
  int whole[@{ways}], bytes = 0;
#pragma unroll
  for (int i = 0; i < @{ways}; i++) {
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
  for (int i = 0; i < @{ways}; i++) {
    const int before_it = i > 0 ? w.units[i > 0 ? i - 1 : 0] : 0;
    if (whole[i] > 0) {
      bulk_load(shared_address(shared + before_it * VEC), w.keys[i] + before_it * VEC,
                whole[i] * (int)sizeof(vector), full);
    }
  }
}

template <typename Tiles>
__device__ __forceinline__ void bring_tiles(Tiles &tiles, int count, unsigned char *memory,
                                            stage *stages) {
  for (int i = 0; i < count; i++) {
    stage &s = stages[i % STAGES];
    piece p[@{ways}];
    int keys;
    long long to;
    tiles.next(p, &keys, &to);
    if (i >= STAGES) mbarrier_wait(shared_address(&s.empty), (i / STAGES - 1) & 1);
    const windows<@{ways}> w(p);
    if (threadIdx.x % 32 == 0) {
      s.keys = w.where(p);
      s.count = keys;
      s.to = to;
#pragma unroll
      for (int k = 0; k < @{ways}; k++) s.first[k] = p[k].first;
    }
    bring(w, memory + i % STAGES * STAGE, &s);
  }
}

template <typename Merge>
__device__ __forceinline__ void merge_tiles(const Merge &merge, int count, unsigned char *memory,
                                            stage *stages) {
  for (int i = 0; i < count; i++) {
    stage &s = stages[i % STAGES];
    mbarrier_wait(shared_address(&s.full), i / STAGES & 1);
    merge(memory + i % STAGES * STAGE, s);
    fence_proxy_async();  // before it is copied to again
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(shared_address(&s.empty));
  }
}

// This block's share of `all` tiles: of which Tiles was told the first. Where all know where tiles start,
// blocks take turns, so that together they go through memory; else a block's are neighbours.
struct share {
  unsigned first, count;

  __device__ __forceinline__ explicit share(long long all) {
@ if PARTITION == "launch" then
    first = blockIdx.x;
    count = ((unsigned)all - blockIdx.x + gridDim.x - 1) / gridDim.x;
@ else
    const unsigned each = (unsigned)all / gridDim.x, more = (unsigned)all % gridDim.x;
    first = blockIdx.x * each + min(blockIdx.x, more);
    count = each + (blockIdx.x < more);
@ end
  }
  template <typename Tiles, typename Merge>
  __device__ __forceinline__ void run(Tiles &tiles, const Merge &merge, unsigned char *memory) const {
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
      bring_tiles(tiles, (int)count, memory, stages);
    } else {
      merge_tiles(merge, (int)count, memory, stages);
    }
  }
};
