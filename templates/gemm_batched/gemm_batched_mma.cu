// gemm_batched_mma.cu -- a block computes a matrix of doubles on tensor cores: PM x PN warps, each every PM-th 16 rows
// and every PN-th 8 columns of C. A and B are copied to shared memory as they lie, in two halves along k: the first is
// multiplied while the second is under way, and C is read meanwhile. With BLOCKS a block computes several matrices and
// copies MATRICES - 1 ahead. Rows are four doubles longer than needed, so that 16 lanes read from different banks.
#include "gemm_batched_matrices.cuh"
#include "mma.cuh"
#include "ptx.cuh"

constexpr int MI = (M_TILES + PM - 1) / PM, NI = (N_TILES + PN - 1) / PN;
constexpr int HALF = (K_WIDE / 8 + 1) / 2 * 8;  // elements along k that are copied first
using sums = number[MI][NI][4];

// An operand in shared memory: WIDTH_ across k, of which SIZE count, and zeros beyond them and beyond k.
template <int WIDTH_, int SIZE, bool ALONG_K>
struct tile {
  static constexpr int NEAR = ALONG_K ? K_WIDE : WIDTH_, LD = NEAR + 4;
  number *at;

  __device__ __forceinline__ number get(int across, int p) const {
    return at[ALONG_K ? across * LD + p : p * LD + across];
  }
  // Elements FIRST to END - 1 along k.
  template <int FIRST, int END>
  __device__ __forceinline__ void copy(const number *from, long long ld) const {
    constexpr int LENGTH = (ALONG_K ? END - FIRST : WIDTH_) / COPY,
                  FAR = ALONG_K ? WIDTH_ : END - FIRST;
#pragma unroll 4
    for (int i = threadIdx.x; i < LENGTH * FAR; i += BLOCK) {
      const int near = i % LENGTH * COPY + (ALONG_K ? FIRST : 0),
                far = i / LENGTH + (ALONG_K ? 0 : FIRST);
      const bool inside = near < (ALONG_K ? EXACT_K : SIZE) && far < (ALONG_K ? SIZE : EXACT_K);
      cp_async<COPY * sizeof(number)>(shared_address(at + far * LD + near),
                                      inside ? from + near + far * ld : from,
                                      inside ? COPY * sizeof(number) : 0);
    }
  }
};
using tile_a = tile<16 * M_TILES, EXACT_M, A_ALONG_K>;
using tile_b = tile<8 * N_TILES, EXACT_N, B_ALONG_K>;

struct warp_place {
  int row, column, quad, place;  // of the warp among the warps, of the lane in an accumulator
  __device__ warp_place()
      : row(threadIdx.x / 32 % PM),
        column(threadIdx.x / 32 / PM),
        quad(threadIdx.x % 32 / 4),
        place(threadIdx.x % 4) {}
  // The last tile instead of one behind it, which is not stored.
  __device__ int rows(int i) const { return 16 * min(row + i * PM, M_TILES - 1); }
  __device__ int columns(int j) const { return 8 * min(column + j * PN, N_TILES - 1); }
};

template <int FIRST, int END>
__device__ __forceinline__ void multiply(sums &c, tile_a a, tile_b b, const warp_place &at) {
#pragma unroll 2
  for (int k = FIRST; k < END; k += 8) {
    number fa[MI][4], fb[NI][2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
      const int p = k + 4 * q + at.place;
#pragma unroll
      for (int i = 0; i < 2 * MI; i++)
        fa[i / 2][2 * q + i % 2] = a.get(at.rows(i / 2) + 8 * (i % 2) + at.quad, p);
#pragma unroll
      for (int j = 0; j < NI; j++) fb[j][q] = b.get(at.columns(j) + at.quad, p);
    }
#pragma unroll
    for (int i = 0; i < MI; i++) {
#pragma unroll
      for (int j = 0; j < NI; j++) mma_f64(c[i][j], fa[i], fb[j]);
    }
  }
}

// Calls take(sum, row, column) for the thread's sums that are elements of C.
template <typename TAKE>
__device__ __forceinline__ void for_elements(sums &c, const warp_place &at, const TAKE &take) {
#pragma unroll
  for (int i = 0; i < MI; i++) {
#pragma unroll
    for (int j = 0; j < NI; j++) {
      if (at.row + i * PM >= M_TILES || at.column + j * PN >= N_TILES) continue;
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int row = at.rows(i) + at.quad + e / 2 * 8,
                  column = at.columns(j) + 2 * at.place + e % 2;
        if (row < EXACT_M && column < EXACT_N) take(c[i][j][e], row, column);
      }
    }
  }
}

// One matrix for the whole block: its second half along k is copied while the first is multiplied.
__device__ __forceinline__ void multiply_one(sums &c, number *shared, const number *from_a,
                                             long long lda, const number *from_b, long long ldb,
                                             const warp_place &at) {
  const tile_a a = {shared};
  const tile_b b = {shared + A_SIZE};
  a.copy<0, HALF>(from_a, lda);
  b.copy<0, HALF>(from_b, ldb);
  cp_async_commit();
  a.copy<HALF, K_WIDE>(from_a, lda);
  b.copy<HALF, K_WIDE>(from_b, ldb);
  cp_async_commit();
  cp_async_wait<1>();
  __syncthreads();
  multiply<0, HALF>(c, a, b, at);
  cp_async_wait<0>();
  __syncthreads();
  multiply<HALF, K_WIDE>(c, a, b, at);
}

// Matrices blockIdx.x, blockIdx.x + gridDim.x, ... of the batch, copied MATRICES deep.
struct queue {
  long long next = blockIdx.x, batch;
  int fill = 0, stage = 0;
  number *shared;
  __device__ queue(long long batch_, number *shared_) : batch(batch_), shared(shared_) {}
  template <typename SOURCE>
  __device__ __forceinline__ void copy(const SOURCE &as, const SOURCE &bs, bool reads) {
    if (next < batch && reads) {
      number *const to = shared + fill * (A_SIZE + B_SIZE);
      tile_a{to}.copy<0, K_WIDE>(as[next], as.ld);
      tile_b{to + A_SIZE}.copy<0, K_WIDE>(bs[next], bs.ld);
    }
    cp_async_commit();
    next += gridDim.x;
    fill = fill + 1 == MATRICES ? 0 : fill + 1;
  }
  __device__ __forceinline__ void multiply_next(sums &c, const warp_place &at) {
    number *const from = shared + stage * (A_SIZE + B_SIZE);
    multiply<0, K_WIDE>(c, tile_a{from}, tile_b{from + A_SIZE}, at);
    stage = stage + 1 == MATRICES ? 0 : stage + 1;
  }
};

// Calls put(element, row, column) for the elements of C that this thread has.
template <typename PUT>
__device__ __forceinline__ void finish(sums &c, sums &before, number alpha, number beta,
                                       const warp_place &at, const PUT &put) {
#pragma unroll
  for (int i = 0; i < MI * NI * 4; i++) {  // the results take the place of what was there
    number &x = before[i / (4 * NI)][i / 4 % NI][i % 4];
    x = scaled(alpha, c[i / (4 * NI)][i / 4 % NI][i % 4], beta, x);
  }
  for_elements(before, at, put);
}

// With alpha 0 A and B are not read, as in BLAS.
extern "C" __global__ void __launch_bounds__(BLOCK)
    gemm_batched(int m, int n, int k, double alpha, const number *__restrict__ A, long long lda,
                 long long stride_a, const number *__restrict__ B, long long ldb,
                 long long stride_b, double beta, number *C, long long ldc, long long stride_c,
                 long long batch, const long long *offsets_a, const long long *offsets_b,
                 const long long *offsets_c, const number *scales, const number *biases) {
  const shape s(m, n, k);
  const auto as = operands_of<A_ALONG_K>(A, s.m, s.k, lda, stride_a, offsets_a);
  const auto bs = operands_of<B_ALONG_K>(B, s.n, s.k, ldb, stride_b, offsets_b);
  const auto cs = matrices_of(C, s.m, s.n, ldc, stride_c, offsets_c);
  const warp_place at;
  queue q(batch, reinterpret_cast<number *>(memory));
  if constexpr (BLOCKS > 0) {
    for (int i = 0; i < MATRICES - 1; i++) q.copy(as, bs, alpha != 0);
  }
#pragma unroll 1
  for (long long i = blockIdx.x; i < batch; i += gridDim.x) {
    number *const to = cs[i];
    sums c = {}, before = {};
    if constexpr (BLOCKS > 0) {
      cp_async_wait<(BLOCKS > 0 ? MATRICES - 2 : 0)>();
      __syncthreads();
      q.copy(as, bs, alpha != 0);
    }
    if (beta != 0) {
      for_elements(before, at,
                   [&](number &x, int row, int column) { x = to[row + column * cs.ld]; });
    }
    if (alpha != 0) {
      if constexpr (BLOCKS > 0) {
        q.multiply_next(c, at);
      } else {
        multiply_one(c, q.shared, as[i], as.ld, bs[i], bs.ld, at);
      }
    }
    finish(c, before, (number)alpha, (number)beta, at, [&](number x, int row, int column) {
      to[row + column * cs.ld] = epilogue(x, row, column, scales, biases);
    });
    if constexpr (BLOCKS == 0) break;
  }
}
