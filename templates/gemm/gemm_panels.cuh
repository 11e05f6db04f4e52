// gemm_panels.cuh -- a warpgroup's sums to C, by way of panels of 16 columns in shared memory, which tensor maps store.
#pragma once
#include "gemm_ring.cuh"

constexpr int PANEL_ROWS = 128 / sizeof(output);
constexpr int REPEAT = BN / (64 * GROUPS);  // steps of 64 columns of a warpgroup
constexpr int SUMS = BM / 2;                // of a thread in such a step
using sums = float[REPEAT][SUMS];

struct alignas(2 * sizeof(output)) pair {
  output e[2];
};

// Two neighbours in a column of C as they were; with beta 0, C is not read.
__device__ __forceinline__ pair pair_before(const result &to, int row, int column) {
  pair v;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    const bool read = to.beta != 0 && row + e < to.m && column < to.n;
    v.e[e] = read ? to.C[row + e + column * to.ld] : output();
  }
  return v;
}

// Two neighbours in a column; SCALED: they are the sums already.
template <bool SCALED>
__device__ __forceinline__ pair finished_pair(const result &to, const float *sum, pair was, int row,
                                              int column) {
  pair v;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    float x = sum[e];
    if (!SCALED) {
      const bool inside = row + e < to.m && column < to.n;
      x = inside ? to.finished(sum[e], was.e[e], row + e, column) : 0;
    }
    v.e[e] = rounded(x);
  }
  return v;
}

// "st.shared", ".v2": two floats at once.
__device__ __forceinline__ void store_shared(unsigned address, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}

// A warp's 16 columns of PANEL_ROWS, swizzled as the operands are; pairs(j, half) are a thread's two
// in column lane / 4 + 8 * half of the j-th eight rows.
template <typename PAIRS>
__device__ __forceinline__ void fill_panel(unsigned panel, const PAIRS &pairs) {
  const int lane = threadIdx.x % 32;
  if constexpr (CTYPE == CTYPE_f32) {
#pragma unroll
    for (int j = 0; j < PANEL_ROWS / 8; j++) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const pair v = pairs(j, half);
        const unsigned chunk = (2 * j + lane % 4 / 2) ^ (lane / 4);
        store_shared(panel + (lane / 4 + 8 * half) * 128 + chunk * 16 + lane % 2 * 8, v.e[0],
                     v.e[1]);
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < PANEL_ROWS / 8; j += 2) {
      unsigned four[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const pair v = pairs(j + i / 2, i % 2);
        four[i] = (unsigned)v.e[0] | (unsigned)v.e[1] << 16;
      }
      store_matrices(panel + lane % 16 * 128 + (((j + lane / 16) ^ (lane % 8)) << 4), four);
    }
  }
}

// Element by element from a warp's panel, as far as it is inside.
__device__ __forceinline__ void store_edge(const result &to, unsigned panel, int row, int column) {
  const char *const from = (const char *)__cvta_shared_to_generic(panel);
  output *at = to.C + row + column * to.ld;
#pragma unroll PACKED ? 4 : 1
  for (int y = 0; y < 16; y++, at += to.ld) {
    if (column + y >= to.n) break;
#pragma unroll
    for (int x = threadIdx.x % 32; x < PANEL_ROWS; x += 32) {
      const int byte = x * (int)sizeof(output);
      if (row + x >= to.m) break;
      at[x] = *reinterpret_cast<const output *>(from + y * 128 + (byte ^ (y & 7) << 4));
    }
  }
}

__device__ __forceinline__ void scale(sums &c, float alpha) {
#pragma unroll
  for (int i = 0; i < REPEAT * SUMS; i++) c[i / SUMS][i % SUMS] *= alpha;
}

// What a warp has put in its panel to C.
__device__ __forceinline__ void put_panel(const result &to, const tensor_map *map, unsigned panel,
                                          int row, int column) {
  const int lane = threadIdx.x % 32;
  if (map) fence_proxy_async();
  __syncwarp();
  // Copies write 16 bytes at a time, even across the end of a column.
  if (!map || (row + PANEL_ROWS > to.m && to.m * sizeof(output) % 16 > 0)) {
    store_edge(to, panel, row, column);
  } else if (lane == 0) {
    store_tile(*map, row, column, panel);
  }
  if (lane == 0) bulk_commit();  // a group for each panel, also an empty one
}

// A warp's part of each step, a panel at a time; without a map of C, by its threads.
template <bool SCALED>
__device__ __forceinline__ void store_sums(const sums &c, const result &to, const tensor_map *map,
                                           int first_row, int first_column, unsigned panels) {
  constexpr int PARTS = BM / PANEL_ROWS;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < REPEAT * PARTS; p++) {
    const int r = p / PARTS, part = p % PARTS;
    const int row = first_row + part * PANEL_ROWS, column = first_column + r * 64;
    if (column >= to.n) break;
    const unsigned panel = panels + p % PANELS * PANEL_NBYTES;
    if (lane == 0) {
      if (p == 0)
        bulk_wait_read<0>();  // of the tile before, whose last panel may be any
      else
        bulk_wait_read<PANELS - 1>();
    }
    __syncwarp();
    const auto row_of = [&](int j) { return row + 8 * j + lane % 4 * 2; };
    const auto column_of = [&](int half) { return column + lane / 4 + 8 * half; };
    pair was[PANEL_ROWS / 8][2] = {};  // read together: no read passes the writes to shared memory
    if (!SCALED) {
#pragma unroll
      for (int i = 0; i < PANEL_ROWS / 4; i++)
        was[i / 2][i % 2] = pair_before(to, row_of(i / 2), column_of(i % 2));
    }
    fill_panel(panel, [&](int j, int half) {
      return finished_pair<SCALED>(to, &c[r][(part * PANEL_ROWS / 8 + j) * 4 + 2 * half],
                                   was[j][half], row_of(j), column_of(half));
    });
    put_panel(to, map, panel, row, column);
  }
}
