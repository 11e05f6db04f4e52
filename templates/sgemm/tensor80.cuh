// tensor80.cuh -- sgemm on the tensor cores of compute capability 8.0, by warps; split.cuh comes first.
//
// Tiles of both operands are copied as they lie in memory, TENSOR_STAGES deep. A warp multiplies 32 rows of the
// held operand by half of a tile's TILE of the other; its threads split what they read. Sums of eight
// products leave the tensor cores at once, so truncation never grows.
#pragma once
#include "floats.cuh"

constexpr int MI = 2, NI = TILE / 16;  // accumulators of a warp, 16 x 8 each
constexpr int CM = 2 * MI, CN = 2 * NI;
constexpr int TILE_ROW = raw_row(TILE, SHARED_ALONG_K);

// N values of a thread's fragment of a tile in shared memory, split.
template <int N>
struct parts {
  unsigned hi[N], lo[N];
  __device__ __forceinline__ void set(int i, float x) {
    hi[i] = hi_part(x);
    lo[i] = lo_part(x, hi[i]);
  }
};

// Where a thread's elements lie in the block's tile of C.
struct position {
  int held, shared, row, column;
  __device__ explicit position(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    held = warp % (2 * GROUPS) * 32 + lane / 4;
    shared = warp / (2 * GROUPS) * (TILE / 2) + lane % 4 * 2;
    row = TRANSPOSED ? shared : held;
    column = TRANSPOSED ? held : shared;
  }
  __device__ static int held_offset(int i) { return i * 8; }
  __device__ static int shared_offset(int j) { return j / 2 * 8 + j % 2; }
  __device__ static int row_offset(int i, int j) {
    return TRANSPOSED ? shared_offset(j) : held_offset(i);
  }
  __device__ static int column_offset(int i, int j) {
    return TRANSPOSED ? held_offset(i) : shared_offset(j);
  }
};

// Eight elements along k of both tiles, the smallest products first.
__device__ __forceinline__ void multiply(float (&c)[CM][CN], const float *held,
                                         const float *shared) {
  parts<4> a[MI];
#pragma unroll
  for (int i = 0; i < MI; i++) {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int r = 16 * i + e % 2 * 8, p = e / 2 * 4;
      a[i].set(e, held[HELD_ALONG_K ? r * HELD_ROW + p : p * HELD_ROW + r]);
    }
  }
#pragma unroll
  for (int j = 0; j < NI; j++) {
    parts<2> b;
#pragma unroll
    for (int e = 0; e < 2; e++) {
      b.set(e, shared[SHARED_ALONG_K ? 8 * j * TILE_ROW + 4 * e : 4 * e * TILE_ROW + 8 * j]);
    }
#pragma unroll
    for (int i = 0; i < MI; i++) {
      float d[4] = {};
      mma_tf32(d, a[i].lo, b.hi);
      mma_tf32(d, a[i].hi, b.lo);
      mma_tf32(d, a[i].hi, b.hi);
#pragma unroll
      for (int e = 0; e < 4; e++) c[2 * i + e / 2][2 * j + e % 2] += d[e];
    }
  }
}

// The product of the block's tile, `depth` along k.
__device__ __forceinline__ void product(float (&c)[CM][CN], char *memory, operand a, operand b,
                                        long long depth) {
  const int tiles = (int)((depth + DEEP - 1) / DEEP), lane = threadIdx.x % 32;
  const position at(threadIdx.x);
  operand held = TRANSPOSED ? b : a, shared = TRANSPOSED ? a : b;
  int next = 0, fill = 0, stage = 0;
  const auto copy = [&] {
    if (next++ < tiles) {
      const unsigned to = shared_address(memory + fill * STAGE_NBYTES);
      copy_raw<HELD_ROWS, HELD_ALONG_K, THREADS>(held, to);
      copy_raw<TILE, SHARED_ALONG_K, THREADS>(shared, to + HELD_NBYTES);
      held.advance();
      shared.advance();
    }
    cp_async_commit();
    fill = fill + 1 == TENSOR_STAGES ? 0 : fill + 1;
  };
  // The thread's first elements: rows lane / 4, elements lane % 4 along k.
  const int column = at.shared - lane % 4 * 2 + lane / 4, k = lane % 4;
  const int held_at = HELD_ALONG_K ? at.held * HELD_ROW + k : k * HELD_ROW + at.held;
  const int shared_at = SHARED_ALONG_K ? column * TILE_ROW + k : k * TILE_ROW + column;
#pragma unroll 1
  for (int s = 0; s < TENSOR_STAGES - 1; s++) copy();
#pragma unroll 1
  for (int t = 0; t < tiles; t++) {
    cp_async_wait<TENSOR_STAGES - 2>();
    __syncthreads();
    copy();
    const float *const tile = reinterpret_cast<const float *>(memory + stage * STAGE_NBYTES);
#pragma unroll 1
    for (int p = 0; p < DEEP; p += 8) {
      multiply(c, tile + held_at + p * (HELD_ALONG_K ? 1 : HELD_ROW),
               tile + HELD_NBYTES / 4 + shared_at + p * (SHARED_ALONG_K ? 1 : TILE_ROW));
    }
    stage = stage + 1 == TENSOR_STAGES ? 0 : stage + 1;
  }
}
