// gemm_ring.cuh -- tiles of A and B in a ring in shared memory: barriers, the order in which blocks
// take tiles of C, and the copies by tensor maps. A tile has LINE elements along k, and rows of as many, 128 bytes.
#pragma once
#include "gemm_result.cuh"
#include "ptx90.cuh"

constexpr int A_NBYTES = BM * 128, B_NBYTES = BN * 128;  // of a tile
constexpr int PANEL_NBYTES = 16 * 128;                   // of 16 columns of C, behind the tiles

// Tiles of A and behind them of B, full or empty, in this round or the next.
struct ring {
  unsigned full, empty, tiles;
  int i = 0, round = 0;
  __device__ explicit ring(unsigned base)
      : full(base + RING * (A_NBYTES + B_NBYTES) + ALL_PANELS * PANEL_NBYTES),
        empty(full + 8 * RING),
        tiles(base) {}
  __device__ void initialize() const {
    for (int s = 0; s < RING; s++) {
      mbarrier_init(full + 8 * s, COPIERS);
      mbarrier_init(empty + 8 * s, BLOCKS * WARPS);
    }
    fence_mbarrier_init();
  }
  __device__ void wait_full() const { mbarrier_wait(full + 8 * i, round); }
  __device__ void wait_empty() const { mbarrier_wait(empty + 8 * i, round ^ 1); }
  // This warp has read the tile; the next may be copied there.
  __device__ void release() const {
    if (BLOCKS == 1) {
      if (threadIdx.x % 32 == 0) mbarrier_arrive(empty + 8 * i);
    } else if (threadIdx.x % 32 < BLOCKS) {
      mbarrier_arrive_at(empty + 8 * i, threadIdx.x % 32);
    }
  }
  __device__ unsigned a() const { return tiles + i * (A_NBYTES + B_NBYTES); }
  __device__ unsigned b() const { return a() + A_NBYTES; }
  __device__ void next() {
    if (++i < RING) return;
    i = 0;
    round ^= 1;
  }
  // Waits until no other block will arrive here any more.
  __device__ void drain() {
    for (int s = 0; s < RING; s++) {
      wait_empty();
      next();
    }
  }
};

// ---- units of work -----------------------------------------------------------------------------

constexpr int SHARES = TAIL > 1 ? TAIL : SPLITK;  // of k, where a tile is shared

struct span {  // of tiles along k
  int first, n;
};

// Tiles of C, each SPLITK times: first all of them with the first part of k. With TAIL only those of the last round,
// which are fewer than the clusters that run at a time, TAIL times.
struct work {
  unsigned all;      // tiles of C, or pairs of them
  int tiles;         // along k
  unsigned at_once;  // clusters
  __device__ unsigned whole() const {
    return TAIL == 1 ? 0 : all / at_once * at_once;
  }  // tiles that nobody shares
  __device__ unsigned units() const {
    return TAIL == 1 ? all * SPLITK : whole() + (all - whole()) * TAIL;
  }
  __device__ bool is_shared(unsigned unit) const {
    return TAIL == 1 ? SPLITK > 1 : unit >= whole();
  }
  __device__ unsigned tile(unsigned unit) const {
    if (TAIL > 1) return unit < whole() ? unit : whole() + (unit - whole()) % (all - whole());
    return SPLITK == 1 ? unit : unit % all;
  }
  __device__ unsigned split(unsigned unit) const {
    if (TAIL > 1) return unit < whole() ? 0 : (unit - whole()) / (all - whole());
    return SPLITK == 1 ? 0 : unit / all;
  }
  __device__ span k(unsigned unit) const {
    if (TAIL > 1 && unit < whole()) return {0, tiles};
    const int share = (tiles + SHARES - 1) / SHARES, first = min(tiles, (int)split(unit) * share);
    return {first, min(share, tiles - first)};
  }
};

// ---- copying -----------------------------------------------------------------------------------

// A tile of an operand, WIDTH_ across k and LINE along it; where the cluster shares it, this block's
// half, to both: half of the copies, or of the only one.
template <int WIDTH_, bool ALONG_K, bool SHARED, bool HALVED>
__device__ __forceinline__ void copy_operand(unsigned to, const tensor_map &map, int across, int k,
                                             unsigned barrier, unsigned rank) {
  constexpr int COPIES = (ALONG_K ? 1 : WIDTH_ / LINE) / (SHARED && !HALVED ? BLOCKS : 1);
  constexpr int FAR =
      (ALONG_K ? WIDTH_ : LINE) / (HALVED ? BLOCKS : 1);  // rows of 128 bytes in one
  const int first = SHARED && !HALVED ? (int)rank * COPIES : 0, skip = HALVED ? (int)rank * FAR : 0;
#pragma unroll
  for (int i = first; i < first + COPIES; i++) {
    const unsigned there = to + i * (LINE * 128) + skip * 128;
    const int x = ALONG_K ? k : across + LINE * i, y = ALONG_K ? across + skip : k + skip;
    if (SHARED) {
      load_tile(there, map, x, y, barrier, (unsigned short)((1 << BLOCKS) - 1));
    } else {
      load_tile(there, map, x, y, barrier);
    }
  }
}

__device__ __forceinline__ void copy_tiles(ring &q, const tensor_map &a, const tensor_map &b,
                                           corner at, span k, unsigned rank) {
#pragma unroll 1
  for (int t = k.first; t < k.first + k.n; t++) {
    const unsigned barrier = q.full + 8 * q.i;
    q.wait_empty();
    mbarrier_arrive_expect(barrier, A_NBYTES + B_NBYTES);
    copy_operand<BM, A_ALONG_K, CLUSTER == CLUSTER_columns, A_HALVED>(q.a(), a, at.row, LINE * t,
                                                                      barrier, rank);
    copy_operand<BN, B_ALONG_K, CLUSTER == CLUSTER_rows, B_HALVED>(q.b(), b, at.column, LINE * t,
                                                                   barrier, rank);
    q.next();
  }
}
