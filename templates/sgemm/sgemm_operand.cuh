// sgemm_operand.cuh -- an operand's tiles on their way from global to shared memory, by the block's threads.
#pragma once
#include "floats.cuh"
#include "ptx.cuh"

// Where a row of A's tile lies in shared memory. With APART a lane writes STORE rows of C at a time, and the
// neighbouring lane those beside them, so that a warp fills sectors; but it reads MV rows of A's tile at a
// time. So rows change places among LM * MV each. (These numbers are powers of two: what is sought for the
// sum of two rows that have no binary digit in common is the sum.)
template <bool IS_A>
__device__ __forceinline__ constexpr int place_of(int row) {
  if constexpr (APART && IS_A) {
    return row / (LM * MV) * (LM * MV) + row / STORE % LM * MV +
           row / (LM * STORE) % (MV / STORE) * STORE + row % STORE;
  } else {
    return row;
  }
}

// A tile lies in shared memory as BK rows of WIDTH floats, WIDTH being BM for A and BN for B.
// In global memory it is contiguous along k (ALONG_K) or along the rows. A thread copies
// ALONG x ACROSS vectors of V floats, with SIDE threads side by side in that direction.
template <int WIDTH, bool ALONG_K, int SIDE, bool IS_A>
struct operand {
  static constexpr int ROW = WIDTH + PAD;
  static constexpr int V = ALONG_K ? KVEC : VEC;
  static constexpr int ALONG = (ALONG_K ? BK : WIDTH) / (V * SIDE);
  static constexpr int FAR = ALONG_K ? WIDTH : BK;
  static constexpr bool SOME_IDLE = COPIERS / SIDE > FAR;  // more threads than vectors
  static constexpr int STEP = SOME_IDLE ? FAR : COPIERS / SIDE;
  static constexpr int ACROSS = FAR / STEP;

  const float *from;     // the next vector to copy
  long long ld, stride;  // floats between neighbours across, and between this thread's vectors
  int room;              // rows of the matrix from this thread's first one on
  int along, across;     // where in a tile this thread begins
  float *to;             // its place in the first stage
  floats<V> held[ACROSS][ALONG];

  // The tile that starts at row `first` of `rows` and at k; stages from `shared` on.
  __device__ operand(const float *matrix, long long ld_, long long first, int rows, long long k,
                     float *shared) {
    const int thread = LOADS_APART ? threadIdx.x % COPIERS : threadIdx.x;
    along = thread % SIDE * V;
    across = thread / SIDE;
    ld = ld_;
    stride = STEP * ld;
    from =
        matrix + (ALONG_K ? (first + across) * ld + k + along : (k + across) * ld + first + along);
    room = (int)(rows - first) - (ALONG_K ? across : along);
    to = shared +
         (ALONG_K ? along * ROW + place_of<IS_A>(across) : across * ROW + place_of<IS_A>(along));
  }

  __device__ bool idle() const { return SOME_IDLE && across >= FAR; }

  // Is the vector inside the matrix, and less than `depth` along k?
  __device__ bool inside(int i, int j, int depth) const {
    if (EDGE == EDGE_whole) return true;
    const int row = ALONG_K ? i * STEP : j * SIDE * V;
    const int k = ALONG_K ? along + j * SIDE * V : across + i * STEP;
    return (EDGE == EDGE_k || row < room) && (depth == BK || k < depth);
  }

  // Where it goes, relative to the thread's first one.
  __device__ static constexpr int place(int i, int j) {
    return ALONG_K ? j * SIDE * V * ROW + place_of<IS_A>(i * STEP)
                   : i * STEP * ROW + place_of<IS_A>(j * SIDE * V);
  }

  // Part p of `parts` of the copies to a stage.
  __device__ void copy(int stage, int depth, int p, int parts) {
    if (idle()) return;
    const unsigned target = shared_address(to + stage);
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        if ((i * ALONG + j) * parts / (ALONG * ACROSS) != p) continue;
        cp_async<4 * V>(target + 4 * place(i, j), from + j * SIDE * V,
                        inside(i, j, depth) ? 4 * V : 0);
        if (j == ALONG - 1) from += stride;
      }
    }
  }

  __device__ void load(int depth) {
    if (idle()) return;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        held[i][j] = floats<V>();
        if (inside(i, j, depth)) {
          held[i][j] = *reinterpret_cast<const floats<V> *>(from + j * SIDE * V);
        }
      }
      from += stride;
    }
  }

  // From the end of a tile, `depth` of which counts, to the beginning of the next.
  __device__ void advance(int depth) {
    from += ALONG_K ? depth - ACROSS * stride : (depth - BK) * ld;
  }

  __device__ void store(int stage) const {
    if (idle()) return;
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
#pragma unroll
      for (int j = 0; j < ALONG; j++) {
        float *target = to + stage + place(i, j);
        if constexpr (ALONG_K) {
#pragma unroll
          for (int e = 0; e < V; e++) target[e * ROW] = held[i][j].e[e];
        } else {
          *reinterpret_cast<floats<V> *>(target) = held[i][j];
        }
      }
    }
  }
};

using operand_a = operand<BM, A_ALONG_K, A_SIDE, true>;
using operand_b = operand<BN, B_ALONG_K, B_SIDE, false>;
