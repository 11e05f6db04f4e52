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

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

// Copies planes to shared memory, each thread some pieces of VEC elements that are within a row, and at the ends of rows
// some single elements, or what they stand for. What stays zero is set before the first plane.
struct loader {
  static constexpr int LEFT = BORDER == BORDER_replicate || BORDER == BORDER_mirror ? RX : 0;
  static constexpr int SINGLES_X = 2 * LEFT + VEC - 1,
                       SINGLES = (SINGLES_X * HEIGHT + THREADS - 1) / THREADS;
  volume from;
  int column, row, thread;  // column and row of the volume where the tile begins
  stored *shared;
  long long at[COPIES];  // of this thread's pieces, from the start of a plane; -1: none
  long long single[SINGLES > 0 ? SINGLES : 1];  // of elements likewise
  int single_to[SINGLES > 0 ? SINGLES : 1];     // and their places in shared memory
  bool inside;                                  // all of the tile's rows and columns exist

  __device__ __forceinline__ loader(const volume &v, const place &tile, stored *memory, int member)
      : from(v),
        column(tile.column - BEFORE - SHIFT),
        row(tile.row + SKIP_Y - RY),
        thread(member),
        shared(memory) {
    inside = column >= 0 && column + WIDTH <= v.nx && row >= 0 && row + HEIGHT <= v.ny;
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int i = k * THREADS + thread, c = column + i % PIECES_X * VEC;
      const bool whole = i < PIECES && c >= 0 && c + VEC <= v.nx;
      at[k] = find(whole, row + i / PIECES_X, c);
    }
#pragma unroll
    for (int k = 0; k < SINGLES; k++) {
      const int i = k * THREADS + thread, e = i % max(SINGLES_X, 1), r = i / max(SINGLES_X, 1);
      const int c = e < LEFT ? e - LEFT : v.nx / VEC * VEC + e - LEFT;
      const bool here = r < HEIGHT && c >= column && c < column + WIDTH && c < v.nx + LEFT;
      single[k] = find(here, row + r, here ? border_index(c, v.nx) : NOTHING);
      single_to[k] = r * WIDTH + c - column;
    }
  }
  // An element that exists, or stands for one that results need.
  __device__ __forceinline__ long long find(bool exists, int r, int c) const {
    const int line = border_index(r, from.ny);
    return exists && c >= 0 && line >= 0 && r < from.ny + RY ? line * from.ldx + c : -1;
  }
  // Before the first plane.
  __device__ __forceinline__ void clear() const {
    if (inside) return;
    for (int i = thread; i < (PREFETCH + 1) * PLANE; i += THREADS) shared[i] = 0;
    __syncthreads();
  }
  // Plane z, if it exists.
  __device__ __forceinline__ void load(int z, int slot) const {
    z = border_index(z, from.nz);
    if (z < 0) return;
    const stored *plane = from.row(0, z);
    stored *to = shared + slot * PLANE;
    const unsigned address = shared_address(to);
#pragma unroll
    for (int k = 0; k < COPIES; k++) {
      const int piece = (k * THREADS + thread) * VEC;
      if (at[k] >= 0) copy<VEC>(address + piece * NBYTES, to + piece, plane + at[k]);
    }
    if (SINGLES == 0 || inside) return;
#pragma unroll
    for (int k = 0; k < SINGLES; k++) {
      const int element = single_to[k];
      if (single[k] >= 0) copy<1>(address + element * NBYTES, to + element, plane + single[k]);
    }
  }
  // `address` is that of `to`.
  template <int N>
  __device__ __forceinline__ static void copy(unsigned address, stored *to,
                                              const stored *elements) {
    if constexpr (N * NBYTES >= 4) {
      cp_async<N * NBYTES>(address, elements, N * NBYTES);
    } else {
      static_assert(N == 1, "cp.async copies 4 bytes at least");
      *to = *elements;
    }
  }
};

// Calls step(s, plane) for n planes from plane `top` on, when the s-th is in shared memory at `plane`.
template <typename Step>
__device__ __forceinline__ void march(const loader &planes, int top, int n, const Step &step) {
  planes.clear();
  int slot = 1, loaded = 0;  // slot of plane s
#pragma unroll 1
  for (int s = -PREFETCH; s < n; s++) {
    if (s >= 0) {
      cp_async_wait<PREFETCH - 1>();
      __syncthreads();
    }
    if (s + PREFETCH < n) planes.load(top + s + PREFETCH, loaded);
    cp_async_commit();
    if (s >= 0) step(s, planes.shared + slot * PLANE);
    slot = slot == PREFETCH ? 0 : slot + 1;
    loaded = loaded == PREFETCH ? 0 : loaded + 1;
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

// Where a thread stores its results of a plane, plane by plane.
struct output {
  stored *y;
  long long ldy, step;
  int columns, rows;  // that exist

  __device__ __forceinline__ output(const result &to, const place &p)
      : y(to.at(p)),
        ldy(to.ldy),
        step(to.my * to.ldy),
        columns(to.mx - p.column),
        rows(to.my - p.row) {}

  __device__ __forceinline__ static void put_whole(stored *to, const number (&sum)[OUT_X]) {
#pragma unroll
    for (int i = 0; i < OUT_X; i += VEC) {
      vector w;
#pragma unroll
      for (int e = 0; e < VEC; e++) w.e[e] = type::narrow(sum[i + e]);
      if constexpr (STORE == STORE_streaming) {
        store_streaming(reinterpret_cast<vector *>(to + i), w);
      } else {
        store_plain(reinterpret_cast<vector *>(to + i), w);
      }
    }
  }
  __device__ __forceinline__ void put(const sums &sum) {
    stored *to = y;
#pragma unroll
    for (int o = 0; o < OUT_Y; o++, to += ldy) {
      if (o >= rows) break;
      if (columns >= OUT_X) {
        put_whole(to, sum[o]);
        continue;
      }
#pragma unroll
      for (int i = 0; i < OUT_X; i++) {
        if (i < columns) to[i] = type::narrow(sum[o][i]);
      }
    }
    y += step;
  }
};

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
  const int column = tile.column + threadIdx.x * OUT_X, row = tile.row + threadIdx.y * OUT_Y;
  output out(to, {column, row, tile.plane});
  window w = {};
  march(planes, top, n + 2 * RZ, [&](int s, const stored *plane) {
    const bool exists = BORDER != BORDER_zero || (unsigned)(top + s) < (unsigned)from.nz;
    if (exists) add(plane + corner, w, s - 2 * RZ, n);
    if (s >= 2 * RZ) out.put(w.sum[0]);
    w.slide();
  });
}
