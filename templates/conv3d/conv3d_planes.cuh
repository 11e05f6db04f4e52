// conv3d_planes.cuh -- planes of a block's tile in shared memory, for blocks that march through the volume.
//
// A thread has OUT_X x OUT_Y results of a plane. Planes of elements with their halo arrive PREFETCH planes ahead; each
// is read once for all DEEP results that it is part of, whose sums slide through registers.
#pragma once
#include "conv3d_volume.cuh"
#include "ptx.cuh"

constexpr int THREADS = BLOCK_X * BLOCK_Y, ACROSS = BLOCK_X * OUT_X, DOWN = BLOCK_Y * OUT_Y;
// Rows begin at a multiple of VEC columns of the volume: SHIFT elements come before those that are needed.
constexpr int BEFORE = RX - SKIP_X, SHIFT = (VEC - BEFORE % VEC) % VEC;
constexpr int VECTORS = (SHIFT + OUT_X + 2 * RX + VEC - 1) / VEC,
              ELEMENTS = VECTORS * VEC;  // under a thread's filters
constexpr int WIDTH = ACROSS - OUT_X + ELEMENTS, HEIGHT = DOWN + 2 * RY, PLANE = WIDTH * HEIGHT;
constexpr int PIECES_X = WIDTH / VEC, PIECES = PIECES_X * HEIGHT,
              COPIES = (PIECES + THREADS - 1) / THREADS;
constexpr bool ASYNC = VEC * NBYTES >= 4;  // cp.async copies 4, 8 or 16 bytes

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Copies planes to shared memory, each thread some pieces of VEC elements.
struct loader {
  static constexpr int ZEROS = -1, APART = -2,
                       NONE = -3;  // for `at`: APART has elements on both sides of an end
  volume from;
  int column, row, thread;
  stored *shared;
  long long at[COPIES];  // of this thread's pieces, from the start of a plane
  bool apart;

  __device__ __forceinline__ loader(const volume &v, const place &tile, stored *memory, int member)
      : from(v),
        column(tile.column - BEFORE - SHIFT),
        row(tile.row + SKIP_Y - RY),
        thread(member),
        shared(memory) {
    apart = false;
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int i = k * THREADS + thread;
      at[k] = i < PIECES ? find(i) : (long long)NONE;
      apart |= at[k] == APART;
    }
  }
  __device__ __forceinline__ long long find(int i) const {
    const int c = column + i % PIECES_X * VEC, r = row + i / PIECES_X,
              line = border_index(r, from.ny);
    if (!ASYNC) return APART;
    if (line < 0 || r >= from.ny + RY || c >= from.nx + RX || c + VEC <= -RX) return ZEROS;
    return c >= 0 && c + VEC <= from.nx ? line * from.ldx + c : (long long)APART;
  }
  // Element by element.
  __device__ __forceinline__ void copy_apart(const stored *plane, stored *to) const {
#pragma unroll 1
    for (int i = thread; i < PIECES; i += THREADS) {
      if (find(i) != APART) continue;
      const int line = border_index(row + i / PIECES_X, from.ny);
#pragma unroll
      for (int e = 0; e < VEC; e++) {
        const int c = border_index(column + i % PIECES_X * VEC + e, from.nx);
        const bool exists = c >= 0 && line >= 0;
        const stored *element = plane + (exists ? line * from.ldx + c : 0);
        if constexpr (NBYTES >= 4) {
          cp_async<NBYTES>(shared_address(to + i * VEC + e), element, exists ? NBYTES : 0);
        } else {
          to[i * VEC + e] = exists ? *element : stored();
        }
      }
    }
  }
  // Plane z, if it exists.
  __device__ __forceinline__ void load(int z, int slot) const {
    z = border_index(z, from.nz);
    if (z < 0) return;
    const stored *plane = from.row(0, z);
    stored *to = shared + slot * PLANE;
    if constexpr (ASYNC) {
      const unsigned address = shared_address(to + thread * VEC);
#pragma unroll
      for (int k = 0; k < COPIES; k++) {
        if (at[k] < ZEROS) continue;
        cp_async<VEC * NBYTES>(address + k * THREADS * VEC * NBYTES, plane + max(at[k], 0ll),
                               at[k] >= 0 ? VEC * NBYTES : 0);
      }
    }
    if (apart) copy_apart(plane, to);
  }
};

// Calls step(s, plane) for n planes from plane `top` on, when the s-th is in shared memory at `plane`.
template <typename Step>
__device__ __forceinline__ void march(const loader &planes, int top, int n, const Step &step) {
#pragma unroll
  for (int s = 0; s < PREFETCH; s++) {
    if (s < n) planes.load(top + s, s);
    cp_async_commit();
  }
  int slot = 0;
#pragma unroll 1
  for (int s = 0; s < n; s++) {
    cp_async_wait<PREFETCH - 1>();
    __syncthreads();
    if (s + PREFETCH < n) planes.load(top + s + PREFETCH, slot == 0 ? PREFETCH : slot - 1);
    cp_async_commit();
    step(s, planes.shared + slot * PLANE);
    slot = slot == PREFETCH ? 0 : slot + 1;
  }
}

// A row under a thread's filters.
struct line {
  number e[ELEMENTS];

  __device__ __forceinline__ void load(const stored *from) {
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      const vector w = reinterpret_cast<const vector *>(from)[i];
#pragma unroll
      for (int k = 0; k < VEC; k++) e[i * VEC + k] = type::widen(w.e[k]);
    }
  }
};

using sums = number[OUT_Y][OUT_X];

// Stores those of a thread's results that exist.
__device__ __forceinline__ void put(const result &to, place p, const sums &sum) {
#pragma unroll
  for (int o = 0; o < OUT_Y; o++, p.row++) {
    if (!to.has(p)) continue;
    stored *y = to.at(p);
    if (p.column + OUT_X <= to.mx) {
#pragma unroll
      for (int i = 0; i < OUT_X; i += VEC) {
        vector w;
#pragma unroll
        for (int e = 0; e < VEC; e++) w.e[e] = type::narrow(sum[o][i + e]);
        if constexpr (STORE == STORE_streaming) {
          store_streaming(reinterpret_cast<vector *>(y + i), w);
        } else {
          store_plain(reinterpret_cast<vector *>(y + i), w);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < OUT_X; i++) {
        if (p.column + i < to.mx) y[i] = type::narrow(sum[o][i]);
      }
    }
  }
}

// The sums of DEEP results, the oldest first: the next plane is plane DEEP - 1 - k of the filter for the k-th.
struct window {
  sums sum[DEEP];

  // Result 0 is complete.
  __device__ __forceinline__ void slide() {
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
#pragma unroll
      for (int i = 0; i < OUT_X * OUT_Y; i++) {
        (&sum[k][0][0])[i] = k + 1 < DEEP ? (&sum[(k + 1) % DEEP][0][0])[i] : number();
      }
    }
  }
};

// A block's part of the result, of `depth` planes: add(plane, window, first, n) adds the plane under a thread's filters
// to the sums of the k-th results of the window for which first + k is at least 0 and less than n.
template <typename Add>
__device__ __forceinline__ void convolve(const volume &from, const result &to, int depth,
                                         stored *memory, const Add &add) {
  const place tile = find_tile<ACROSS, DOWN>(to, depth);
  const int n = min(depth, to.mz - tile.plane), top = tile.plane + SKIP_Z - RZ;
  const loader planes(from, tile, memory, threadIdx.y * BLOCK_X + threadIdx.x);
  const int corner = threadIdx.y * OUT_Y * WIDTH + threadIdx.x * OUT_X;
  place p = {tile.column + (int)threadIdx.x * OUT_X, tile.row + (int)threadIdx.y * OUT_Y,
             tile.plane};
  window w = {};
  march(planes, top, n + 2 * RZ, [&](int s, const stored *plane) {
    const bool exists = BORDER != BORDER_zero || (unsigned)(top + s) < (unsigned)from.nz;
    if (exists) add(plane + corner, w, s - 2 * RZ, n);
    if (s >= 2 * RZ) {
      put(to, p, w.sum[0]);
      p.plane++;
    }
    w.slide();
  });
}
