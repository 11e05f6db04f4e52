// gemm_pairs.cuh -- sums of doubles as warps have them after gemm_dmma.cu's products: pairs of neighbours in a column of
// C; to C, or to blocks that share a tile's k.
#pragma once
#include "gemm_ring.cuh"

constexpr int MI = WM / 16, NJ = WN / 16;  // of a warp, 16 rows or columns each
constexpr int PAIRS = 4 * MI * NJ;         // of a thread
using sums = double[MI][2 * NJ][4];

// Which pair of 16 rows, or of columns, is the quad-th of an instruction. In an operand that is contiguous along k,
// neighbours are read from rows four apart, whose chunks are in different banks.
template <bool ALONG_K>
__device__ __forceinline__ int spread(int quad) {
  return ALONG_K ? (quad & 4) | (quad & 1) << 1 | (quad & 2) >> 1 : quad;
}

// "ld.shared", ".v2".
__device__ __forceinline__ void load_shared(double &x, double &y, unsigned from) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(x), "=d"(y) : "r"(from));
}

struct pairs {  // where they belong
  int row, column[2];
  __device__ pairs(int first_row, int first_column, int lane)
      : row(first_row + 2 * spread<A_ALONG_K>(lane / 4)) {
#pragma unroll
    for (int e = 0; e < 2; e++) {
      column[e] = first_column + 2 * spread<B_ALONG_K>(lane % 4 * 2 + e);
    }
  }
  __device__ __forceinline__ int row_of(int p) const { return row + p % MI * 16; }
  __device__ __forceinline__ int column_of(int p) const {
    const int j = p / (2 * MI);
    return (p / MI % 2 ? column[1] : column[0]) + j / 2 * 16 + j % 2;
  }
};

__device__ __forceinline__ double &of_pair(sums &c, int p, int h) {
  return c[p % MI][p / (2 * MI)][p / MI % 2 + 2 * h];
}

// A pair of C as it was: not read with beta 0, nor outside.
__device__ __forceinline__ double2 before(const result &to, int row, int column) {
  double2 v = {};
  if (to.beta == 0 || row >= to.m || column >= to.n) return v;
  const double *const from = to.C + row + column * to.ld;
  if (MAPS && row + 1 < to.m) return *reinterpret_cast<const double2 *>(from);
  v.x = *from;
  if (row + 1 < to.m) v.y = from[1];
  return v;
}

__device__ __forceinline__ void put(const result &to, double x, double y, double2 was, int row, int column) {
  if (row >= to.m || column >= to.n) return;
  double *const at = to.C + row + column * to.ld;
  const double first = to.finished(x, was.x, row, column), second = to.finished(y, was.y, row + 1, column);
  if (MAPS && row + 1 < to.m) {
    *reinterpret_cast<double2 *>(at) = {first, second};
  } else {
    *at = first;
    if (row + 1 < to.m) at[1] = second;
  }
}

// C is read for some pairs at a time.
__device__ __forceinline__ void store(sums &c, const result &to, const pairs &at) {
  constexpr int AHEAD = PAIRS < 8 ? PAIRS : 8;
#pragma unroll
  for (int first = 0; first < PAIRS; first += AHEAD) {
    double2 was[AHEAD];
#pragma unroll
    for (int p = 0; p < AHEAD; p++) was[p] = before(to, at.row_of(first + p), at.column_of(first + p));
#pragma unroll
    for (int p = 0; p < AHEAD; p++) {
      const int i = first + p;
      put(to, of_pair(c, i, 0), of_pair(c, i, 1), was[p], at.row_of(i), at.column_of(i));
    }
  }
}

// Stores this block's sums of a tile, as its threads have them. True for the last of the tile's blocks, which then has
// the sums of all, always added up in the same order.
__device__ __forceinline__ bool add_up(sums &c, double *partial, unsigned *arrived, unsigned tile,
                                       unsigned split) {
  __shared__ bool last;
  constexpr int MULTIPLIERS = 32 * WARPS;
  double2 *const all = reinterpret_cast<double2 *>(partial) + (long long)tile * (SHARES * PAIRS * MULTIPLIERS) +
                       threadIdx.x;
#pragma unroll
  for (int p = 0; p < PAIRS; p++) {
    all[(split * PAIRS + p) * MULTIPLIERS] = {of_pair(c, p, 0), of_pair(c, p, 1)};
  }
  __threadfence();
  sync_some<MULTIPLIERS>();
  if (threadIdx.x == 0) last = atomicInc(arrived + tile, SHARES - 1) == SHARES - 1;
  sync_some<MULTIPLIERS>();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int p = 0; p < PAIRS; p++) of_pair(c, p, 0) = of_pair(c, p, 1) = 0;
#pragma unroll 1
  for (int s = 0; s < SHARES; s++) {
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      const double2 v = all[(s * PAIRS + p) * MULTIPLIERS];
      of_pair(c, p, 0) += v.x;
      of_pair(c, p, 1) += v.y;
    }
  }
  return true;
}

@ if SPLITK > 1 then
// Each block of a cluster finishes every SPLITK-th pair, and reads C while the others arrive.
__device__ __forceinline__ void finish_in_cluster(sums &c, const result &to, const pairs &at) {
  constexpr int MULTIPLIERS = 32 * WARPS, MINE = (PAIRS + SPLITK - 1) / SPLITK;
  double2 *const own = reinterpret_cast<double2 *>(memory) + threadIdx.x;
  sync_some<MULTIPLIERS>();  // tiles were there
#pragma unroll
  for (int p = 0; p < PAIRS; p++) own[p * MULTIPLIERS] = {of_pair(c, p, 0), of_pair(c, p, 1)};
  cluster_arrive_own();
  double2 was[MINE];
  const int rank = blockIdx.y;
#pragma unroll
  for (int x = 0; x < MINE; x++) {
    was[x] = {};
    const int p = x * SPLITK + rank;
    if (p < PAIRS) was[x] = before(to, at.row_of(p), at.column_of(p));
  }
  cluster_wait();
#pragma unroll
  for (int x = 0; x < MINE; x++) {
    const int p = x * SPLITK + rank;
    if (p >= PAIRS) break;
    double2 sum = {};
#pragma unroll
    for (int s = 0; s < SPLITK; s++) {
      const double2 v = in_block(own, s)[p * MULTIPLIERS];
      sum.x += v.x;
      sum.y += v.y;
    }
    put(to, sum.x, sum.y, was[x], at.row_of(p), at.column_of(p));
  }
  cluster_barrier();  // other blocks may still read this one's shared memory
}
@ end
