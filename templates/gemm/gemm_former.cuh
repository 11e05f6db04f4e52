// gemm_former.cuh -- C as it was, which tensor maps copy to the panels that its new elements will leave from.
#pragma once
#include "gemm_panels.cuh"

// A warp's panels: that of step p is PANELS steps later another one's.
struct former {
  static constexpr int PARTS = BM / PANEL_ROWS, STEPS = REPEAT * PARTS;
  unsigned panels, barriers;  // of this warp
  unsigned parity = 0;        // a bit for each panel
  int row = 0, column = 0;    // of the warp's part of the tile
  __device__ former(unsigned panels_, unsigned barriers_) : panels(panels_), barriers(barriers_) {}
  // One thread of the block does it.
  __device__ static void initialize(unsigned barriers) {
    for (int i = 0; i < 4 * GROUPS * PANELS; i++) mbarrier_init(barriers + 8 * i, 1);
  }
  __device__ __forceinline__ void ask(int step, const result &to, const tensor_map &map) const {
    const int y = column + step / PARTS * 64, slot = step % PANELS;
    if (step >= STEPS || y >= to.n || threadIdx.x % 32 > 0) return;
    bulk_wait_read<0>();  // what was stored from this panel
    mbarrier_arrive_expect(barriers + 8 * slot, PANEL_NBYTES);
    load_tile(panels + slot * PANEL_NBYTES, map, row + step % PARTS * PANEL_ROWS, y,
              barriers + 8 * slot);
  }
  // The first panels of a tile.
  __device__ __forceinline__ void begin(int row_, int column_, const result &to,
                                        const tensor_map &map) {
    row = row_;
    column = column_;
    fence_proxy_async();
    __syncwarp();
#pragma unroll
    for (int p = 0; p < PANELS; p++) ask(p, to, map);
  }
  // A thread's pairs of the panel: of eight rows, and of the column lane / 4 or eight behind it.
  __device__ __forceinline__ void take(int step, pair (&v)[PANEL_ROWS / 8][2]) {
    const int lane = threadIdx.x % 32, slot = step % PANELS;
    mbarrier_wait(barriers + 8 * slot, parity >> slot & 1);
    parity ^= 1u << slot;
    const char *const from =
        (const char *)__cvta_shared_to_generic(panels + slot * PANEL_NBYTES) + lane / 4 * 128;
#pragma unroll
    for (int j = 0; j < PANEL_ROWS / 8; j++) {
      const int byte = (8 * j + lane % 4 * 2) * (int)sizeof(output) ^ lane / 4 << 4;
#pragma unroll
      for (int half = 0; half < 2; half++) {
        v[j][half] = *reinterpret_cast<const pair *>(from + half * 1024 + byte);
      }
    }
    __syncwarp();  // the panel is overwritten
  }
};

__device__ __forceinline__ pair finished_pair(const result &to, const float *sum,
                                              const pair &before, int row, int column) {
  pair v;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    const bool inside = row + e < to.m && column < to.n;
    v.e[e] = rounded(inside ? to.finished(sum[e], before.e[e], row + e, column) : 0);
  }
  return v;
}

// As store_sums.
__device__ __forceinline__ void store_updated(const sums &c, const result &to,
                                              const tensor_map &map, former &was) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < former::STEPS; p++) {
    const int r = p / former::PARTS, part = p % former::PARTS;
    const int row = was.row + part * PANEL_ROWS, column = was.column + r * 64;
    if (column >= to.n) break;
    if (p > 0) was.ask(p + PANELS - 1, to, map);
    pair before[PANEL_ROWS / 8][2];
    was.take(p, before);
    const unsigned panel = was.panels + p % PANELS * PANEL_NBYTES;
    fill_panel(panel, [&](int j, int half) {
      return finished_pair(to, &c[r][(part * PANEL_ROWS / 8 + j) * 4 + 2 * half], before[j][half],
                           row + 8 * j + lane % 4 * 2, column + lane / 4 + 8 * half);
    });
    put_panel(to, &map, panel, row, column);
  }
}
