// stencil_planes.cuh -- parts of the field, and how their planes come to shared memory PREFETCH planes ahead:
// by cp.async of all threads, or with ALG=tma by tensor maps. In 2-D a plane is a row.
//
// Neighbouring parts share the planes between them. With MARCH=meet odd parts go through theirs backwards, so
// that both read these planes at about the same time, and the second finds them in the second-level cache.
#pragma once
#include "stencil_points.cuh"
#include "ptx.cuh"
#include "ptx90.cuh"

constexpr int R = ORDER, RY = DIMS == 3 ? R : 0;  // RY: rows that a point needs on either side
// Of a part, LOADED_X columns and RY rows on either side are loaded for the first level only; HALO_X columns
// and HALO_Y rows are computed, but not stored.
constexpr int HALO_Y = (TSTEPS - 1) * RY;
constexpr int COLUMNS = 32 * VEC, ROWS = DIMS == 3 ? WARPS * ITEMS : 1;
constexpr int OUT_X = COLUMNS - 2 * HALO_X, OUT_Y = ROWS - 2 * HALO_Y;
// Rows of a slot in shared memory: those of a plane, or CHUNK in 2-D, each of which is a plane.
constexpr int WIDTH = COLUMNS + 2 * LOADED_X, HEIGHT = ROWS + 2 * RY + CHUNK - 1;
constexpr int MEMBERS = DIMS == 3 ? 32 * WARPS : 32;  // threads of a group
constexpr int STAGES = PREFETCH + 1;

__device__ __forceinline__ void sync_group() {
  if constexpr (DIMS == 3) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

// A group's part: its first column and row, image, and the planes that it stores. It goes through planes
// first - TSTEPS * R on, or from the other end; m counts them as if it were the former.
struct part {
  int x, y, image, first, last;
  bool backwards;

  __device__ __forceinline__ int plane(int m) const {
    return MARCH == MARCH_meet && backwards ? first + last - 1 - m : m;
  }
  // Planes that are needed, and one an iteration that goes through the group: level after level.
  __device__ __forceinline__ int begin() const { return first - TSTEPS * R; }
  __device__ __forceinline__ int end() const { return last + TSTEPS * R; }
  __device__ __forceinline__ int until() const { return end() + TSTEPS - 1; }
};

// ---- cp.async ----------------------------------------------------------------------------------

__device__ constexpr int pow2_above(int n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

// Copies of a plane by a group's threads: first the columns that are computed, whole lines in a row, then those
// on either side.
constexpr int COPIED = COPY == COPY_vec ? (VEC * NBYTES < 16 ? VEC : 16 / NBYTES) : 16 / NBYTES;
constexpr int INNER = COLUMNS / COPIED, SIDES = 2 * LOADED_X / COPIED, SIDES_2 = pow2_above(SIDES);
constexpr int INNER_COPIES = (HEIGHT * INNER + MEMBERS - 1) / MEMBERS;
constexpr int COPIES = INNER_COPIES + (HEIGHT * SIDES_2 + MEMBERS - 1) / MEMBERS;

struct spot {
  int column, row;
};
// Of copy k of this member, in a plane in shared memory.
__device__ __forceinline__ spot spot_of(int k, int member) {
  const int n = k < INNER_COPIES ? INNER : SIDES_2;
  const int i = (k < INNER_COPIES ? k : k - INNER_COPIES) * MEMBERS + member;
  const int piece = i % n, row = i / n;
  if (k < INNER_COPIES) return {LOADED_X + piece * COPIED, row};
  if (piece >= SIDES) return {0, HEIGHT};
  return {piece * COPIED + (piece * COPIED < LOADED_X ? 0 : COLUMNS), row};
}

template <int BYTES>
__device__ __forceinline__ void copy_piece(unsigned to, const void *from, int given) {
  if constexpr (COPY == COPY_ca16) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(given)
                 : "memory");
  } else {
    cp_async<BYTES>(to, from, given);
  }
}

struct async_planes {
  const stored *in;
  long long plane;  // elements
  int count;        // planes
  int at[COPIES];   // of this thread's pieces in a plane; -1: zeros, -2: no such piece
  unsigned to;
  int member;

  __device__ __forceinline__ async_planes(const part &p, const extents &field, const stored &in_,
                                          unsigned char *shared, int member_) {
    in = &in_ + (DIMS == 2 ? field.at(0, 0, p.image) : 0);
    plane = DIMS == 3 ? field.at(0, 0, 1) : field.nx;
    count = DIMS == 3 ? field.nz : field.ny;
    to = shared_address(shared);
    member = member_;
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const spot s = spot_of(k, member);
      int x = p.x - LOADED_X + s.column, y = p.y - RY + s.row;
      if constexpr (BORDER == BORDER_periodic) x = wrap(x, field.nx), y = wrap(y, field.ny);
      const bool inside =
          (unsigned)x < (unsigned)field.nx && (DIMS == 2 || (unsigned)y < (unsigned)field.ny);
      at[k] = s.row >= HEIGHT ? -2 : !inside ? -1 : DIMS == 3 ? y * field.nx + x : x;
    }
  }
  // Planes beyond those that are needed become zeros.
  __device__ __forceinline__ void load(const part &p, int m, int slot) const {
    if (m >= p.until()) {
      cp_async_commit();
      return;
    }
    const bool needed = m < p.end();
    m = p.plane(m);
    if constexpr (BORDER == BORDER_periodic) m = wrap(m, count);
    const bool inside = needed && (unsigned)m < (unsigned)count;
    const stored *from = in + (inside ? m * plane : 0);
    const unsigned address = to + slot * SLOT_NBYTES;
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      if (at[k] == -2) continue;
      const spot s = spot_of(k, member);
      copy_piece<COPIED * NBYTES>(address + (s.row * WIDTH + s.column) * NBYTES,
                                  from + max(at[k], 0), inside && at[k] >= 0 ? COPIED * NBYTES : 0);
    }
    cp_async_commit();
  }
  __device__ __forceinline__ void wait(int) { cp_async_wait<PREFETCH - 1>(); }
  __device__ __forceinline__ void release() const {}
  __device__ __forceinline__ void finish() { cp_async_wait<0>(); }
};

// ---- tensor maps -------------------------------------------------------------------------------

// "cp.async.bulk.tensor": a box of a tensor of three dimensions; zeros beyond it. Its bytes count for the barrier.
__device__ __forceinline__ void load_box(unsigned to, const tensor_map &map, int x, int y, int z,
                                         unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

// The group's first thread copies; a barrier a slot tells all when a plane is there.
struct tensor_planes {
  const tensor_map &map;
  unsigned to, barriers;
  int x, y, image;
  bool first;
  int phase;  // of the slot that is waited for

  __device__ __forceinline__ tensor_planes(const part &p, const extents &, const tensor_map &map_,
                                           unsigned char *shared, int member)
      : map(map_) {
    to = shared_address(shared);
    barriers = to + STAGES * SLOT_NBYTES + EXCHANGE_NBYTES;
    x = p.x - LOADED_X, y = p.y - RY, image = p.image;
    first = member == 0;
    phase = 0;
    if (first) {
#pragma unroll
      for (int k = 0; k < STAGES; k++) mbarrier_init(barriers + 8 * k, 1);
      fence_mbarrier_init();
    }
    sync_group();
  }
  __device__ __forceinline__ void load(const part &p, int m, int slot) const {
    if (!first || m >= p.until()) return;
    const unsigned barrier = barriers + 8 * slot;
    // the first of CHUNK rows; beyond the end, zeros
    const int plane = m < p.end() ? min(p.plane(m), p.plane(m + CHUNK - 1)) : -CHUNK;
    mbarrier_arrive_expect(barrier, HEIGHT * WIDTH * NBYTES);
    load_box(to + slot * SLOT_NBYTES, map, x, DIMS == 3 ? y : plane, DIMS == 3 ? plane : image,
             barrier);
  }
  __device__ __forceinline__ void wait(int slot) {
    mbarrier_wait(barriers + 8 * slot, phase);
    if (slot == PREFETCH) phase ^= 1;
  }
  // Copies stay behind the reads of what they overwrite. (The fence also waits for stores: it comes before them.)
  __device__ __forceinline__ void release() const { fence_proxy_async(); }
  __device__ __forceinline__ void finish() {}
};

using loader = choose<ALG == ALG_tma, tensor_planes, async_planes>;
using origin = choose<ALG == ALG_tma, tensor_map, stored>;
