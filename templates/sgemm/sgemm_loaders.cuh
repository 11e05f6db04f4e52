// sgemm_loaders.cuh -- products of tiles that 128 threads of the block only load, by cp.async or tensor maps.
#pragma once
#include "ptx90.cuh"
#include "sgemm_swizzled.cuh"

// Are the chunks of tiles permuted in shared memory?
constexpr bool SWIZZLED = MAPS && (A_ALONG_K || B_ALONG_K);

// Tiles in shared memory; each is full or empty, in this round or the next.
struct queue {
  unsigned full, empty;
  int i = 0, round = 0, stage = 0;  // the current one, and where it lies, in floats
  __device__ explicit queue(unsigned long long *barriers)
      : full(shared_address(barriers)), empty(full + 8 * STAGES) {}
  __device__ void initialize() const {
    for (int s = 0; s < STAGES; s++) {
      mbarrier_init(full + 8 * s, MAPS ? 1 : COPIERS);
      mbarrier_init(empty + 8 * s, MULTIPLIERS / 32);
    }
    if constexpr (MAPS) fence_mbarrier_init();
  }
  __device__ void wait_full() const { mbarrier_wait(full + 8 * i, round); }
  __device__ void wait_empty() const { mbarrier_wait(empty + 8 * i, round ^ 1); }
  __device__ void next() {
    stage += STAGE;
    if (++i < STAGES) return;
    i = stage = 0;
    round ^= 1;
  }
};

// The tiles of A and B from `row`, `column` and `k` on, by one thread.
__device__ __forceinline__ void load_tiles(queue &q, unsigned shared, const tensor_map &A, int row,
                                           const tensor_map &B, int column, int k, int tiles) {
#pragma unroll 1
  for (int t = 0; t < tiles; t++, k += BK) {
    const unsigned to = shared + 4 * q.stage, barrier = q.full + 8 * q.i;
    q.wait_empty();
    fence_proxy_async();  // copies stay behind the reads of what they overwrite
    mbarrier_arrive_expect(barrier, 4 * STAGE);
    load_tile(to, A, A_ALONG_K ? k : row, A_ALONG_K ? row : k, barrier);
    load_tile(to + 4 * B_TILE, B, B_ALONG_K ? k : column, B_ALONG_K ? column : k, barrier);
    q.next();
  }
}

template <typename A_tiles, typename B_tiles>
__device__ __forceinline__ void load_tiles(queue &q, A_tiles A, B_tiles B, long long depth) {
  const int tiles = (int)((depth + BK - 1) / BK);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    const int tile_depth = t == 0 ? (int)(depth - (long long)(tiles - 1) * BK) : BK;
    q.wait_empty();
    A.copy(q.stage, tile_depth, 0, 1);
    B.copy(q.stage, tile_depth, 0, 1);
    cp_async_mbarrier_arrive(q.full + 8 * q.i);
    A.advance(tile_depth);
    B.advance(tile_depth);
    q.next();
  }
}

// The sum over `tiles` tiles, by the threads that multiply. No barrier of the block holds them up: a
// warp may be ahead of another by as many as there are stages.
__device__ __forceinline__ void product(float (&c)[TM][TN], const float *shared, queue &q,
                                        int tiles) {
  const position at(threadIdx.x);
  const float *const a_from = shared + place_of<true>(at.row);
  const float *const b_from = shared + B_TILE + at.column;
  const unsigned a_swizzled = shared_address(shared) + beginning<A_ALONG_K>(at.row);
  const unsigned b_swizzled = shared_address(shared) + 4 * B_TILE + beginning<B_ALONG_K>(at.column);
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    q.wait_full();
    if constexpr (SWIZZLED) {
      multiply_tile(c, a_swizzled + 4 * q.stage, b_swizzled + 4 * q.stage);
      __syncwarp();
      if (threadIdx.x % 32 == 0) mbarrier_arrive(q.empty + 8 * q.i);
    } else {
#pragma unroll
      for (int k = 0; k < BK; k++) {
        float a[TM], b[TN];
        read<TM, MV, LM>(a, a_from + q.stage + k * A_ROW);
        read<TN, NV, LN>(b, b_from + q.stage + k * B_ROW);
        if (k == BK - 1) {  // all is read
          __syncwarp();
          if (threadIdx.x % 32 == 0) mbarrier_arrive(q.empty + 8 * q.i);
        }
        multiply(c, a, b);
      }
    }
    q.next();
  }
}
