// sgemm_ffma.cu -- sgemm by fused multiply-adds: a block's BM x BN tile of C, TM x TN elements of it in the
// registers of a thread.
#include "pdl.cuh"
#include "ptx90.cuh"
#include "sgemm_launch.cuh"
#include "sgemm_operand.cuh"

constexpr int CM = TM, CN = TN;  // elements of C of one thread
constexpr int A_ROW = BM + PAD, B_ROW = BN + PAD;  // floats between rows in shared memory
constexpr int B_TILE = BK * A_ROW;                 // where B's tile starts in a stage

// Where a thread's elements lie in the block's tile of C. A thread has MV neighbouring rows, and the next MV of
// its rows LM * MV further on, behind those of the other lanes; the same with columns. So a warp reads shared
// memory without gaps.
struct position {
  int row, column;  // its first ones
  __device__ explicit position(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    constexpr int ACROSS = LN > 1 ? 2 : 1;  // interleaved: pairs of lanes go along the columns
    const int lane_row = LANES == LANES_rows ? lane % LM : lane / ACROSS % LM;
    const int lane_column =
        LANES == LANES_rows ? lane / LM : lane % ACROSS + lane / (ACROSS * LM) * ACROSS;
    constexpr int WARPS = BM / (LM * TM);  // of the block, along the rows
    row = warp % WARPS * LM * TM + lane_row * (APART ? STORE : MV);
    column = warp / WARPS * LN * TN + lane_column * NV;
  }
  __device__ static int row_offset(int i, int) {
    return APART ? i / MV * LM * MV + i % MV / STORE * LM * STORE + i % STORE : i / MV * LM * MV + i % MV;
  }
  __device__ static int column_offset(int, int j) { return j / NV * LN * NV + j % NV; }
};

// Does this thread have sums? With SLICEK > 1 the threads of the first slice do.
__device__ __forceinline__ bool has_sums() { return SLICEK == 1 || threadIdx.x < GROUP; }

#include "sgemm_stream_k.cuh"
#include "sgemm_tiles.cuh"

// ---- the block's product -----------------------------------------------------------------------

// A row of a tile in shared memory to a thread's fragment of it.
template <int N, int V, int LANES_ACROSS>
__device__ __forceinline__ void read(float (&fragment)[N], const float *row) {
#pragma unroll
  for (int i = 0; i < N; i += V) {
    const floats<V> v = *reinterpret_cast<const floats<V> *>(row + i * LANES_ACROSS);
#pragma unroll
    for (int e = 0; e < V; e++) fragment[i + e] = v.e[e];
  }
}

__device__ __forceinline__ void multiply(float (&c)[TM][TN], const float (&a)[TM],
                                         const float (&b)[TN]) {
  if constexpr (ORDER == ORDER_columns) {
#pragma unroll
    for (int j = 0; j < TN; j++) {
#pragma unroll
      for (int i = 0; i < TM; i++) c[i][j] += a[i] * b[j];
    }
  } else {
#pragma unroll
    for (int i = 0; i < TM; i++) {
#pragma unroll
      for (int s = 0; s < TN; s++) {
        const int j = ORDER == ORDER_snake && i % 2 == 1 ? TN - 1 - s : s;
        c[i][j] += a[i] * b[j];
      }
    }
  }
}

#include "sgemm_loaders.cuh"
#include "sgemm_stationary_a.cuh"

// Copies by cp.async run STAGES - 1 tiles ahead; else registers hold the next tile while the block works on this
// one.
constexpr bool ASYNC = LOADER == LOADER_cp_async;

// The sum over `depth` elements along k, from the operands' position on.
template <typename OperandA, typename OperandB>
__device__ __forceinline__ void product(float (&c)[TM][TN], const float *shared, OperandA &A, OperandB &B,
                                        long long depth) {
  const int tiles = (int)((depth + BK - 1) / BK);
  if (tiles == 0) return;
  // The first tile is the incomplete one, so that the loop need not test k.
  const int head = (int)(depth - (long long)(tiles - 1) * BK);
  const position at(threadIdx.x % GROUP);
  const int slice = threadIdx.x / GROUP * DEPTH;
  const float *const a_from = shared + slice * A_ROW + place_of<true>(at.row);
  const float *const b_from = shared + B_TILE + slice * B_ROW + at.column;
  float a[FRAGMENTS][TM], b[FRAGMENTS][TN];
  int stage = 0;  // where the current tile lies, in floats
  int fill = 0;   // ahead of it, where copies go

  const auto next = [](int s) { return s + STAGE == STAGES * STAGE ? 0 : s + STAGE; };
  const auto fetch = [&](int f, int s, int k) {
    read<TM, MV, LM>(a[f], a_from + s + k * A_ROW);
    read<TN, NV, LN>(b[f], b_from + s + k * B_ROW);
  };
  // Part p of `parts` of the copies of a tile.
  const auto copy = [&](int tile_depth, int p, int parts) {
    if constexpr (ASYNC) {
      A.copy(fill, tile_depth, p, parts);
      B.copy(fill, tile_depth, p, parts);
      if (p < parts - 1) return;
    } else {
      A.load(tile_depth);
      B.load(tile_depth);
    }
    A.advance(tile_depth);
    B.advance(tile_depth);
    if constexpr (ASYNC) fill = next(fill);
  };
  const auto ahead = [&](int t, int p, int parts) {
    if constexpr (ASYNC) {
      if (t + STAGES - 1 < tiles) copy(BK, p, parts);
      if (p == parts - 1) cp_async_commit();
    } else {
      if (t + 1 < tiles) copy(BK, 0, 1);
    }
  };
  const auto store = [&] {
    A.store(stage);
    B.store(stage);
    __syncthreads();
  };
  const auto turn = [&] {  // to the next tile
    if constexpr (ASYNC) {
      cp_async_wait<STAGES - 2>();
      __syncthreads();
      stage = next(stage);
    } else {
      if (STAGES == 1) __syncthreads();
      stage = next(stage);
      store();
    }
  };
  copy(head, 0, 1);
  if constexpr (ASYNC) {
    cp_async_commit();
#pragma unroll 1
    for (int t = 2 - STAGES; t < 0; t++) ahead(t, 0, 1);
    cp_async_wait<STAGES - 2>();
    __syncthreads();
  } else {
    store();
  }

  constexpr int FIRST = K_TAIL == K_TAIL_exact ? 1 : 0;  // whole tile
  if constexpr (K_TAIL == K_TAIL_exact) {
    ahead(0, 0, 1);
#pragma unroll 2
    for (int k = 0; k < head; k++) {
      fetch(0, stage, k);
      multiply(c, a[0], b[0]);
    }
    if (tiles == 1) return;
    turn();
  }
  if (FRAGMENTS == 2) fetch(0, stage, 0);
#pragma unroll 1
  for (int t = FIRST; t < tiles; t++) {
    if (COPIES == COPIES_burst) ahead(t, 0, 1);
#pragma unroll 1
    for (int k = 0; k < DEPTH; k += UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        if (COPIES == COPIES_spread && u % 2 == 0 && u < UNROLL / 2) ahead(t, u / 2, UNROLL / 4);
        if (FRAGMENTS == 1) {
          fetch(0, stage, k + u);
        } else if (u + 1 < UNROLL || k + UNROLL < DEPTH) {
          fetch((u + 1) % FRAGMENTS, stage, k + u + 1);
        } else if (t + 1 < tiles) {
          turn();
          fetch((u + 1) % FRAGMENTS, stage, 0);
        }
        multiply(c, a[u % FRAGMENTS], b[u % FRAGMENTS]);
      }
    }
    if (FRAGMENTS == 1 && t + 1 < tiles) turn();
  }
}

// Adds up what the slices of the block found; the first one has the sum.
__device__ __forceinline__ void add_slices(float (&c)[TM][TN], float *shared) {
  const int thread = threadIdx.x % GROUP, slice = threadIdx.x / GROUP;
  __syncthreads();  // tiles were there
#pragma unroll
  for (int r = 0; r < TM * TN; r++) {
    if (slice > 0) shared[((slice - 1) * TM * TN + r) * GROUP + thread] = c[r / TN][r % TN];
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < TM * TN; r++) {
#pragma unroll
    for (int s = 0; s < SLICEK - 1; s++) {
      if (slice == 0) c[r / TN][r % TN] += shared[(s * TM * TN + r) * GROUP + thread];
    }
  }
}

// ---- the block's work ---------------------------------------------------------------------------

// What becomes of sums in C: this does not change while a block runs.
struct target {
  int m, n;
  float alpha, beta;
  float *C;
  long long ldc;
  const float *scales, *biases;
  float *partial;
  unsigned *arrived;

  __device__ __forceinline__ void put_part(float (&c)[CM][CN], const part &p, long long all) const {
    constexpr int ARRIVING = LOADS_APART ? MULTIPLIERS : 0;
    if constexpr (STREAM_K) {
      put_shared_part<ARRIVING>(c, p, all, m, n, alpha, beta, C, ldc, scales, biases, partial,
                                arrived);
    } else {
      ::put_part<ARRIVING>(c, p, m, n, alpha, beta, C, ldc, scales, biases, partial, arrived);
    }
  }
};

// Calls f(part, number) for the parts of this block: `own`, or with stream-K several.
template <typename F>
__device__ __forceinline__ void for_each_part(int m, int n, long long all, const part &own, F f) {
  if constexpr (STREAM_K) {
    part p;
    for (unsigned i = 0; parts(m, n, all).find(i, p); i++) f(p, i);
  } else {
    f(own, 0);
  }
}

// multiply(c, part) adds up a part's products.
template <typename F>
__device__ __forceinline__ void multiply_parts(const target &to, long long all, const part &own, F multiply) {
  for_each_part(to.m, to.n, all, own, [&](const part &p, unsigned i) {
    float c[CM][CN] = {};
    multiply(c, p);
    if constexpr (STREAM_K) {  // found again: kept, it would take registers during the products
      part again;
      parts(to.m, to.n, all).find(i, again);
      to.put_part(c, again, all);
    } else {
      to.put_part(c, p, all);
    }
    if constexpr (STREAM_K && !LOADS_APART) __syncthreads();  // the next part's tiles overwrite this one's
  });
}

// load(queue, part) fills the queue with a part's tiles, by LOADING threads behind those that multiply.
template <int LOADING, typename F>
__device__ __forceinline__ void multiply_loaded(const target &to, long long all, const part &own, const float *shared,
                                                F load) {
  __shared__ unsigned long long barriers[2 * STAGES];
  queue q(barriers);
  if (threadIdx.x == 0) q.initialize();
  __syncthreads();
  if (threadIdx.x >= MULTIPLIERS) {
    release_registers<LOADER_REGISTERS>();
    if (LOADING < COPIERS && threadIdx.x >= MULTIPLIERS + LOADING) return;
    for_each_part(to.m, to.n, all, own, [&](const part &p, unsigned) { load(q, p); });
    return;
  }
  take_registers<MULTIPLIER_REGISTERS>();
  multiply_parts(to, all, own, [&](float (&c)[CM][CN], const part &p) {
    product(c, shared, q, (int)((p.depth + BK - 1) / BK));
  });
}

@ if MAPS then
extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
sgemm_mapped(int m, int n, int k, float alpha, const __grid_constant__ tensor_map A,
             const __grid_constant__ tensor_map B, float beta, float *C, long long ldc, const float *scales,
             const float *biases, float *partial, unsigned *arrived, long long share) {
  extern __shared__ __align__(16) float dynamic[];
  pdl_wait();
  float *const shared = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024 / 4;
  // With alpha 0, A and B are not read, as in BLAS.
  const long long all = alpha == 0 ? 0 : k;
  const part own = SHARED_K ? part_of_block(all, share) : part{blockIdx.x, 0, all};
  const target to = {m, n, alpha, beta, C, ldc, scales, biases, partial, arrived};
  if (PACK != PACK_no) wait_for_last();
  if (FINISH == FINISH_two_launch) let_next_start();
  multiply_loaded<1>(to, all, own, shared, [&](queue &q, const part &p) {
    const corner tile(p.tile, m, n);
    load_tiles(q, shared_address(shared), A, tile.row, B, tile.column, (int)p.begin,
               (int)((p.depth + BK - 1) / BK));
  });
}
@ else
extern "C" __global__ void __launch_bounds__(THREADS, MINBLOCKS)
sgemm(int m, int n, int k, float alpha, const float *__restrict__ A, long long lda,
      const float *__restrict__ B, long long ldb, float beta, float *C, long long ldc,
      const float *scales, const float *biases, float *partial, unsigned *arrived, long long share) {
  extern __shared__ __align__(16) float shared[];
  const int zero = pdl_wait();
  A += zero;
  B += zero;
  // With alpha 0, A and B are not read, as in BLAS.
  const long long all = alpha == 0 ? 0 : k;
  const part own = SHARED_K ? part_of_block(all, share) : part{blockIdx.x, 0, all};
  const target to = {m, n, alpha, beta, C, ldc, scales, biases, partial, arrived};
  if (FINISH == FINISH_two_launch) let_next_start();
  if constexpr (STATIONARY_A) {
    multiply_stationary_a(m, n, (int)all, A, lda, B, ldb, shared, [&](const float (&c)[CM][CN], corner tile) {
      put(c, tile, m, n, alpha, beta, C, ldc, scales, biases);
    });
  } else if constexpr (LOADS_APART) {
    multiply_loaded<COPIERS>(to, all, own, shared, [&](queue &q, const part &p) {
      const corner tile(p.tile, m, n);
      load_tiles(q, operand_a(A, lda, tile.row, m, p.begin, shared),
                 operand_b(B, ldb, tile.column, n, p.begin, shared + B_TILE), p.depth);
    });
  } else {
    multiply_parts(to, all, own, [&](float (&c)[CM][CN], const part &p) {
      const corner tile(p.tile, m, n);
      operand_a a(A, lda, tile.row, m, p.begin, shared);
      operand_b b(B, ldb, tile.column, n, p.begin, shared + B_TILE);
      product(c, shared, a, b, p.depth);
      if constexpr (SLICEK > 1) add_slices(c, shared);
    });
  }
}
@ end

@ if FINISH == "two_launch" then
#include "sgemm_finish.cuh"
@ elseif FINISH == "atomic" then
#include "sgemm_scale.cuh"
@ end
@ if PACK ~= "no" then
#include "sgemm_pack.cuh"
@ end
