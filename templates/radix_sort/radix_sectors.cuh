// radix_sectors.cuh -- a staged tile is written by whole sectors. A tile's keys of a digit are a run, which goes where
// another tile's run ends, within a sector. A warp that writes 32 neighbours of the tile also cuts the sectors where it
// begins and ends; here SECTOR lanes write one sector, so that only the ends of runs are parts of sectors.
#pragma once
#include "radix_scatter.cuh"

struct sector_writer {
  struct alignas(16) run {
    position
        sectors;  // where its first sector begins, minus the elements of the sectors of the runs before
    position to;           // where it goes
    unsigned from, count;  // in the tile
  };
  using owner = unsigned_of<(BINS > 256 ? 2 : 1)>;

  // In shared memory: the runs, then the digit of each sector.
  static __device__ __forceinline__ run *runs() {
    return reinterpret_cast<run *>(shared + RUNS_AT);
  }
  static __device__ __forceinline__ owner *owners() {
    return reinterpret_cast<owner *>(shared + RUNS_AT + BINS * sizeof(run));
  }
  static __device__ __forceinline__ unsigned &sectors() {
    __shared__ unsigned n;
    return n;
  }

  // The run of each lane's bin has n sectors from `first` on. A few are filled in by the lane, many by the warp.
  static __device__ __forceinline__ void own_sectors(unsigned bin, unsigned first, unsigned n) {
    constexpr unsigned FEW = 16;
    for (unsigned i = 0; n <= FEW && i < n; i++) owners()[first + i] = (owner)bin;
    for (unsigned many = __ballot_sync(0xffffffff, n > FEW); many > 0; many &= many - 1) {
      const int lane = __ffs(many) - 1;
      const unsigned b = __shfl_sync(0xffffffff, bin, lane),
                     from = __shfl_sync(0xffffffff, first, lane);
      const unsigned end = from + __shfl_sync(0xffffffff, n, lane);
      for (unsigned i = from + threadIdx.x % 32; i < end; i += 32) owners()[i] = (owner)b;
    }
  }

  // Of this thread's bins: where the runs go in `keys`, their counts, and where they start in the tile.
  static __device__ __forceinline__ void lay_out(const position (&to)[BINS_THREAD],
                                                 const unsigned (&count)[BINS_THREAD],
                                                 const unsigned (&start)[BINS_THREAD],
                                                 const key *keys) {
    const unsigned behind = (unsigned)((size_t)keys / sizeof(key) % SECTOR);  // a sector's boundary
    unsigned n[BINS_THREAD], first[BINS_THREAD];
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const bool some = j * BLOCK + threadIdx.x < BINS && count[j] > 0;
      n[j] = some ? ((unsigned)(to[j] + behind) % SECTOR + count[j] + SECTOR - 1) / SECTOR : 0;
      first[j] = n[j];
    }
    __syncthreads();
    const unsigned all = scan_rows<BIN_ROWS>(first);
    if (threadIdx.x == 0) sectors() = all;
#pragma unroll
    for (int j = 0; j < BINS_THREAD; j++) {
      const unsigned bin = j * BLOCK + threadIdx.x;
      own_sectors(bin, first[j], n[j]);
      if (bin < BINS) {
        const position begin =
            to[j] - (unsigned)(to[j] + behind) % SECTOR - (position)first[j] * SECTOR;
        runs()[bin] = {begin, to[j], start[j], count[j]};
      }
    }
  }

  static __device__ __forceinline__ void write_tile(const move &m, digit_bits, long long) {
    constexpr unsigned STEP = BLOCK / SECTOR, AT_A_TIME = 8;
    const unsigned lane = threadIdx.x % SECTOR, all = sectors();
    for (unsigned first = threadIdx.x / SECTOR; first < all; first += AT_A_TIME * STEP) {
#pragma unroll
      for (unsigned i = 0; i < AT_A_TIME; i++) {
        const unsigned sector = first + i * STEP;
        const run r = runs()[owners()[min(sector, all - 1)]];
        const position to = r.sectors + (position)sector * SECTOR + lane;
        const unsigned in_run = (unsigned)(to - r.to);
        if (sector < all && in_run < r.count) {
          const unsigned at = r.from + in_run;
          store_key(m, to, staged_keys()[at]);
          if constexpr (VALUE > 0) store_item(m.values_to + to, staged_values()[at]);
        }
      }
    }
  }
};
