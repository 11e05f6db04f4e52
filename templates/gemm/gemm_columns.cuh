// gemm_columns.cuh -- warpgroups whose blocks share a tile's k, in a cluster: they put their sums in shared memory, and
// each block finishes some columns of the tile.
#pragma once
#include "cluster.cuh"
#include "gemm_panels.cuh"

constexpr int PITCH = BM + 8;  // of a column of sums: warps store them without bank conflicts
constexpr int MULTIPLIERS = 128 * GROUPS;
constexpr int FOURS = BM * BN / 4 / SPLITK / MULTIPLIERS;  // in a column, that a thread finishes

struct alignas(4 * sizeof(output)) four {
  output e[4];
};

struct four_of_tile {  // the x-th of this thread
  int row, column;
  __device__ __forceinline__ explicit four_of_tile(int x) {
    const int v = (blockIdx.y * FOURS + x) * MULTIPLIERS + threadIdx.x;
    row = v % (BM / 4) * 4;
    column = v / (BM / 4);
  }
};

__device__ __forceinline__ bool is_vector(const result &to, int row) {
  return !PACKED && row + 3 < to.m;
}

__device__ __forceinline__ four before(const result &to, int row, int column) {
  four v = {};
  if (to.beta == 0 || column >= to.n) return v;
  const output *const from = to.C + row + column * to.ld;
  if (is_vector(to, row)) return *reinterpret_cast<const four *>(from);
#pragma unroll
  for (int e = 0; e < 4; e++) {
    if (row + e < to.m) v.e[e] = from[e];
  }
  return v;
}

__device__ __forceinline__ void put(const result &to, float4 sum, four was, int row, int column) {
  if (row >= to.m || column >= to.n) return;
  output *const at = to.C + row + column * to.ld;
  const float sums[4] = {sum.x, sum.y, sum.z, sum.w};
  four v;
#pragma unroll
  for (int e = 0; e < 4; e++)
    v.e[e] = rounded(to.finished(sums[e], was.e[e], min(row + e, to.m - 1), column));
  if (is_vector(to, row)) {
    *reinterpret_cast<four *>(at) = v;
  } else {
#pragma unroll
    for (int e = 0; e < 4; e++) {
      if (row + e < to.m) at[e] = v.e[e];
    }
  }
}

// `column`: the first of this warp's 16 in the tile. C is read while the other blocks arrive.
__device__ __forceinline__ void finish_in_cluster(const sums &c, const result &to, corner tile,
                                                  int column) {
  float *const own = reinterpret_cast<float *>(memory);
  const int lane = threadIdx.x % 32;
  sync_some<MULTIPLIERS>();  // tiles were there
#pragma unroll
  for (int r = 0; r < REPEAT; r++) {
#pragma unroll
    for (int i = 0; i < SUMS; i += 2) {
      const int y = column + r * 64 + i / 2 % 2 * 8 + lane / 4, x = i / 4 * 8 + lane % 4 * 2;
      *reinterpret_cast<float2 *>(own + y * PITCH + x) = make_float2(c[r][i], c[r][i + 1]);
    }
  }
  cluster_arrive_own();
  four was[FOURS];
#pragma unroll
  for (int x = 0; x < FOURS; x++) {
    const four_of_tile at(x);
    was[x] = before(to, tile.row + at.row, tile.column + at.column);
  }
  cluster_wait();
#pragma unroll
  for (int x = 0; x < FOURS; x++) {
    const four_of_tile at(x);
    float4 sum = {};
#pragma unroll
    for (int s = 0; s < SPLITK; s++) {
      const float4 v = *in_block(reinterpret_cast<float4 *>(own + at.column * PITCH + at.row), s);
      sum.x += v.x;
      sum.y += v.y;
      sum.z += v.z;
      sum.w += v.w;
    }
    put(to, sum, was[x], tile.row + at.row, tile.column + at.column);
  }
  cluster_barrier();  // other blocks may still read this one's shared memory
}
