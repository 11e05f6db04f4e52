// scan_one_pass.cu -- one launch, in which a tile waits for what the tiles before it publish (ALG).
#include "pdl.cuh"
#include "ticket.cuh"

#include "scan_block.cuh"
#include "scan_states.cuh"
#include "scan_tile.cuh"

// chained: the prefix of the tile before.
__device__ __forceinline__ wide wait_for_prefix(const tile_states &all, long long tile,
                                                wide total) {
  wide sum = identity();
  if (tile > 0) all.wait(tile - 1, &sum);
  all.publish(tile, PREFIX, combine(sum, total));
  return sum;
}

// lookback: by one warp, into *result.
__device__ __forceinline__ void look_back_from(const tile_states &all, long long tile, wide total,
                                               wide *result) {
  if (threadIdx.x == 0) all.publish(tile, tile > 0 ? AGGREGATE : PREFIX, total);
  const wide sum = look_back(all, tile);
  if (threadIdx.x == 0) {
    if (tile > 0) all.publish(tile, PREFIX, combine(sum, total));
    *result = sum;
  }
}

// gather: the totals of all tiles before, by the whole block.
__device__ __forceinline__ wide gather(const tile_states &all, long long tile, wide total) {
  if (threadIdx.x == 0) all.publish(tile, AGGREGATE, total);
  wide sum = identity(), whole;
  for (long long i = threadIdx.x; i < tile; i += BLOCK) {
    wide v;
    all.wait(i, &v);
    sum = combine(sum, v);
  }
  __syncthreads();
  scan_block(sum, &whole);
  return whole;
}

// The sum of all tiles before this one, for every thread; publishes this tile's.
__device__ __forceinline__ wide before_tile(const tile_states &all, long long tile, wide total) {
  if constexpr (ALG == ALG_gather) {
    return gather(all, tile, total);
  } else {
    __shared__ wide shared_sum;
    if constexpr (ALG == ALG_chained) {
      if (threadIdx.x == 0) shared_sum = wait_for_prefix(all, tile, total);
    } else {
      if (threadIdx.x < 32) look_back_from(all, tile, total, &shared_sum);
    }
    __syncthreads();
    return shared_sum;
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    scan(long long n, const stored *__restrict__ x, stored *__restrict__ y,
         unsigned long long *words, unsigned long long *counter) {
  unsigned launch;
  x += pdl_wait();
  const long long tile = take_ticket(counter, &launch);
  const tile_states all = {words, launch};
  wide v[ITEMS], total;
  get(v, n, x, tile);
  const wide before = scan_threads(v, &total);
  put(v, combine(before_tile(all, tile, total), before), n, y, tile);
}
