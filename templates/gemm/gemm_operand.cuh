// gemm_operand.cuh -- tiles of A and B, from global to shared memory by asynchronous copies.
#pragma once
#include "ptx.cuh"

// A tile lies in shared memory as in global memory: FAR runs of NEAR elements, NEAR being BK where
// the operand is contiguous along k, else the tile's width.
template <int WIDTH_, bool ALONG_K>
struct operand {
  static constexpr int NEAR = ALONG_K ? BK : WIDTH_, FAR = ALONG_K ? WIDTH_ : BK;
  static constexpr int SIDE = NEAR / VEC < THREADS ? NEAR / VEC : THREADS;  // threads along a run
  static constexpr int ACROSS = (FAR * SIDE + THREADS - 1) / THREADS;
  static constexpr int ALONG = NEAR / (SIDE * VEC);
  static constexpr int STRIDE = THREADS / SIDE;

  const stored *from;  // this thread's first vector of the next tile
  long long ld;
  int near, far;  // where that is in a tile
  int room;       // elements of the matrix from the tile's first one on, across k

  __device__ operand(const stored *matrix, long long ld_, int first, int extent, long long k) {
    near = threadIdx.x % SIDE * VEC;
    far = threadIdx.x / SIDE;
    ld = ld_;
    room = extent - first;
    from = matrix + (ALONG_K ? (first + far) * ld + k + near : (k + far) * ld + first + near);
  }

  // Where an element lies; swizzled, runs of 16 bytes change places so that eight in a column, which
  // ldmatrix reads at a time, are in different banks.
  __device__ __forceinline__ static int place(int far, int near) {
    if (LAYOUT == LAYOUT_padded) return far * (NEAR + PAD) + near;
    const int turn = NEAR >= 64 ? far % 8 : far / 2 % 4;
    return far * NEAR + ((near / 8) ^ turn) * 8 + near % 8;
  }

  // The next tile, of which `depth` elements along k count; zeros beyond.
  __device__ __forceinline__ void copy(stored *to, int depth) {
    const int near_room = ALONG_K ? depth : room, far_room = ALONG_K ? room : depth;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
      const int y = far + i * STRIDE;
      if (FAR % STRIDE > 0 && y >= FAR) break;
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        const int x = near + j * SIDE * VEC;
        const int inside = y < far_room ? max(0, min(VEC, near_room - x)) : 0;
        const int given = EDGE == EDGE_whole ? VEC : inside;
        const stored *source = from + (long long)i * STRIDE * ld + j * SIDE * VEC;
        if constexpr (VEC * NBYTES >= 4) {
          cp_async<VEC * NBYTES>(shared_address(to + place(y, x)), source, given * NBYTES);
        } else {
          to[place(y, x)] = given ? *source : stored();
        }
      }
    }
    from += ALONG_K ? BK : BK * ld;
  }
};

using operand_a = operand<BM, A_ALONG_K>;
using operand_b = operand<BN, B_ALONG_K>;
