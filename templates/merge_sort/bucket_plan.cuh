// bucket_plan.cuh -- rows of bins: where the keys of a row are, and how many each bin has.
//
// Row 0 is all keys. With two levels, its bins are the rows that follow, one after the other.
//
// Unless STABLE, the keys that equal a splitter have a bin of their own between two buckets (BINS_EACH is 2): they need
// no sorting, however many they are. Otherwise places distinguish equal keys, and each bin is a bucket.
#pragma once
#include "ptx.cuh"

struct row_info {
  unsigned start, count, buckets, first_tile;
};

// Words of `state`. Passes count their finished tiles.
enum { OVERFLOWED, TICKET, ROW_TILES, PASS_TILES, STATE_WORDS = 64 };

struct bucket_plan {
  unsigned *state;
  row_info *rows;
  unsigned *tile_rows;  // the row of each tile of the second level
  unsigned *counts;     // keys of each bin
  unsigned *ends;       // where a bin's next key goes; at last the end of the bin
  unsigned *done;       // counted tiles of a row
  key *nodes;           // SPLITTERS of each row (bucket_tree.cuh)
  unsigned *numbers;

  __device__ __forceinline__ unsigned bin_start(unsigned bin) const {
    return ends[bin] - counts[bin];
  }
};

// Tile number `tile` of a level: of TILE keys, or the last of its row.
struct row_tile {
  unsigned row, first, end, tiles;  // tiles: of the row
  row_info info;

  __device__ __forceinline__ row_tile(const bucket_plan &plan, bool second, unsigned tile) {
    row = second ? plan.tile_rows[tile] : 0;
    info = plan.rows[row];
    first = info.start + (tile - info.first_tile) * TILE;
    end = info.start + min(info.count, first - info.start + TILE);
    tiles = (info.count + TILE - 1) / TILE;
  }
};

// The sum of all threads' numbers, and of those before this one.
template <int THREADS>
__device__ __forceinline__ unsigned sum_before(unsigned own, unsigned *all) {
  __shared__ unsigned warps[THREADS / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = own;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned more = __shfl_up_sync(0xffffffff, sum, d);
    if (lane >= d) sum += more;
  }
  __syncthreads();
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  unsigned total = 0, before_it = 0;
#pragma unroll
  for (int w = 0; w < THREADS / 32; w++) {
    before_it += w < warp ? warps[w] : 0;
    total += warps[w];
  }
  *all = total;
  return before_it + sum - own;
}

// Adds 1 to bins[b]; returns what it was. Where a warp has keys of one bin only, one thread adds them all.
__device__ __forceinline__ unsigned count_in(unsigned *bins, unsigned b) {
  const int lane = threadIdx.x % 32;
  if (!__all_sync(0xffffffff, b == __shfl_sync(0xffffffff, b, 0))) return atomicAdd(bins + b, 1);
  unsigned first = 0;
  if (lane == 0) first = atomicAdd(bins + b, 32);
  return __shfl_sync(0xffffffff, first, 0) + lane;
}
