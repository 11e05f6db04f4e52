// segmented_reduce_tiles.cu -- blocks have tiles of equal size, whatever the lengths of segments.
//
// A block combines the segments that lie inside its tile, and its parts of the segment that begins before
// the tile and of the one that ends behind it. A second launch combines the parts of segments that cross
// a tile's end.
#include "pdl.cuh"
#include "segment_fold.cuh"

// The segments that begin in a tile: [first, end).
struct segment_range {
  long long first, end;
};

// The last tile also has the empty segments at n.
__device__ __forceinline__ segment_range begin_in_tile(long long begin, long long end, long long n,
                                                       long long segments, const int *starts) {
  __shared__ long long found[2];
  if (threadIdx.x < 64) {
    const bool all = threadIdx.x >= 32 && end >= n;
    const long long i =
        all ? segments : first_start_from(threadIdx.x < 32 ? begin : end, segments, starts);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = i;
  }
  __syncthreads();
  return {begin > 0 ? found[0] : 0, found[1]};
}

// For each tile: its part of the segment that begins before it (head), its part of the segment that
// begins in it and ends behind it (tail), and which one that is, or -1.
extern "C" __global__ void __launch_bounds__(BLOCK)
    reduce_tiles(long long n, long long segments, const int *__restrict__ starts,
                 const stored *__restrict__ x, stored *y, wide *head, wide *tail,
                 int *tail_segment) {
  const int zero = pdl_wait();
  x += zero;
  starts += zero;
  const long long begin = (long long)blockIdx.x * TILE, end = min(begin + TILE, n);
  const segment_range own = begin_in_tile(begin, begin + TILE, n, segments, starts);
  if (begin > 0) {
    const segment in = segment_of(own.first - 1, n, segments, starts);
    const wide v = fold_block(fold_share<BLOCK>(x, {begin, min(in.end, end)}, threadIdx.x));
    if (threadIdx.x == 0) head[blockIdx.x] = v;
  }
  const segment out = segment_of(own.end - 1, n, segments, starts);
  const bool has_tail = own.end > own.first && out.end > end;
  if (has_tail) {
    const wide v = fold_block(fold_share<BLOCK>(x, {out.begin, end}, threadIdx.x));
    if (threadIdx.x == 0) tail[blockIdx.x] = v;
  }
  if (threadIdx.x == 0) tail_segment[blockIdx.x] = has_tail ? (int)(own.end - 1) : -1;
  const int group = threadIdx.x / LANES, inside = (int)(own.end - own.first) - has_tail;
  for (int i = 0; i < inside; i += GROUPS) {
    const bool some = i + group < inside;
    const long long at = own.first + i + group;
    const segment s = some ? segment_of(at, n, segments, starts) : segment{0, 0};
    const wide v = fold_lanes<LANES>(fold_share<LANES>(x, s, threadIdx.x % LANES));
    if (some && threadIdx.x % LANES == 0) y[at] = (stored)v;
  }
}

// A warp for each tile with a tail: this and the heads of the tiles that the segment goes on in.
extern "C" __global__ void __launch_bounds__(256)
    reduce_crossing(long long n, long long segments, const int *__restrict__ starts, int tiles,
                    const wide *head, const wide *tail, const int *tail_segment, stored *y) {
  const int tile = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  tail_segment += pdl_wait();
  const int at = tile < tiles ? tail_segment[tile] : -1;
  if (at < 0) return;
  const int last = (int)((segment_of(at, n, segments, starts).end - 1) / TILE);
  wide v = identity<wide>();
  for (int i = tile + 1 + lane; i <= last; i += 32) v = combine(v, head[i]);
  v = fold_lanes<32>(v);
  if (lane == 0) y[at] = (stored)combine(tail[tile], v);
}
