// stencil_sweep.cuh -- TSTEPS steps of a part of the field while a group of threads marches through it once.
//
// In 3-D a group is a block that marches through planes, a thread has ITEMS rows of VEC points in each; in 2-D
// it is a warp that marches through rows. Planes come to shared memory PREFETCH planes ahead. When a plane
// arrives at a level, each point adds its part to the sums of the 2 * ORDER + 1 planes around it; the oldest of
// these is then complete and goes to the next level, or is stored. A level takes what the level before completed
// an iteration ago: the levels of an iteration are independent, and one barrier serves all. The parts of
// neighbouring groups overlap, so that each level needs only what the group has itself.
#pragma once
#include "stencil_planes.cuh"

constexpr int SUMS = 2 * ORDER;
// Rows of a warp that other warps read: those within ORDER of its first or last.
constexpr int SHARED_ROWS = ITEMS < 2 * R ? ITEMS : 2 * R;
constexpr int EXCHANGED = WARPS * SHARED_ROWS * COLUMNS;  // numbers of a level

// ---- a level -----------------------------------------------------------------------------------

// A thread's points of a plane, with their neighbours in it.
struct window {
  number e[ITEMS + 2 * RY][VEC + 2 * R];
};
using points = number[ITEMS][VEC];
using sums = number[SUMS][ITEMS][VEC];

// N of memory's elements or of numbers, in vectors of up to 16 bytes.
template <typename T, int N>
struct alignas(N * sizeof(T)) vector_of {
  T e[N];
};
template <typename T>
__device__ constexpr int piece_of() {
  return VEC * sizeof(T) < 16 ? VEC : 16 / (int)sizeof(T);
}
template <typename T>
__device__ __forceinline__ number number_of(T v) {
  if constexpr (sizeof(T) == sizeof(number)) {
    return v;
  } else {
    return element<DTYPE>::widen(v);
  }
}

template <int N, typename T>
__device__ __forceinline__ void read(const T *from, number *to) {
  constexpr int P = piece_of<T>();
#pragma unroll
  for (int i = 0; i < N; i += P) {
    const auto p = *reinterpret_cast<const vector_of<T, P> *>(from + i);
#pragma unroll
    for (int e = 0; e < P; e++) to[i + e] = number_of(p.e[e]);
  }
}
template <int N>
__device__ __forceinline__ void write(number *to, const number *from) {
  constexpr int P = piece_of<number>();
#pragma unroll
  for (int i = 0; i < N; i += P) {
    vector_of<number, P> p;
#pragma unroll
    for (int e = 0; e < P; e++) p.e[e] = from[i + e];
    *reinterpret_cast<vector_of<number, P> *>(to + i) = p;
  }
}

// Rows of neighbours above and below only matter in full to a box.
__device__ constexpr bool in_full(int row) {
  return SHAPE == SHAPE_box || (row >= RY && row < RY + ITEMS);
}

// The first level's, from the plane in shared memory. BESIDE columns on either side are read, whole vectors.
constexpr int BESIDE = (R + VEC - 1) / VEC * VEC;

__device__ __forceinline__ void open_window(const stored *plane, int warp, int lane, window &w) {
#pragma unroll
  for (int k = 0; k < ITEMS + 2 * RY; k++) {
    const stored *own =
        plane + ((DIMS == 3 ? warp * ITEMS : 0) + k) * WIDTH + LOADED_X + lane * VEC;
    number all[VEC + 2 * BESIDE];
    read<VEC>(own, all + BESIDE);
    if (in_full(k)) {
      read<BESIDE>(own - BESIDE, all);
      read<BESIDE>(own + VEC, all + BESIDE + VEC);
    }
#pragma unroll
    for (int e = in_full(k) ? 0 : R; e < (in_full(k) ? VEC + 2 * R : VEC + R); e++) {
      w.e[k][e] = all[BESIDE - R + e];
    }
  }
}

// Row i of a warp among those that it shares.
__device__ constexpr int shared_row(int i) { return i < R ? i : SHARED_ROWS - (ITEMS - i); }

// What other warps will need of the points that a level has completed.
__device__ __forceinline__ void share(const points &v, number *rows, int warp, int lane) {
  if constexpr (DIMS == 2) return;
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (i >= R && i < ITEMS - R) continue;
    write<VEC>(rows + (warp * SHARED_ROWS + shared_row(i)) * COLUMNS + lane * VEC, v[i]);
  }
}

// Other levels': columns by shuffles, other warps' rows through shared memory.
__device__ __forceinline__ void exchange(const points &v, const number *rows, int warp, int lane,
                                         window &w) {
#pragma unroll
  for (int k = 0; k < ITEMS + 2 * RY; k++) {
    number own[VEC];
    if (k >= RY && k < RY + ITEMS) {
#pragma unroll
      for (int e = 0; e < VEC; e++) own[e] = v[k - RY][e];
    } else {                          // (rows beyond the tile give what nothing depends on)
      constexpr int FAR = ITEMS * 8;  // keeps what is divided positive
      const int i = (k - RY + FAR) % ITEMS, from = warp + (k - RY + FAR) / ITEMS - 8;
      read<VEC>(rows + (min(max(from, 0), WARPS - 1) * SHARED_ROWS + shared_row(i)) * COLUMNS +
                    lane * VEC,
                own);
    }
#pragma unroll
    for (int e = 0; e < VEC; e++) w.e[k][R + e] = own[e];
    if (!in_full(k)) continue;
#pragma unroll
    for (int d = 0; d < R; d++) {
      const int far = d / VEC + 1;
      w.e[k][R - 1 - d] = __shfl_up_sync(~0u, own[VEC - 1 - d % VEC], far);
      w.e[k][R + VEC + d] = __shfl_down_sync(~0u, own[d % VEC], far);
    }
  }
}

// What a plane adds to its own sums (add[0]) and to those of the planes at a distance of k, before: sum.
__device__ __forceinline__ number add_star(const weights &c, const window &w, int i, int e,
                                           number sum) {
  sum = multiply_add(c.c[0], w.e[i + RY][R + e], sum);
#pragma unroll
  for (int d = 1; d <= R; d++) {
    sum = multiply_add(c.c[d], w.e[i + RY][R + e - d], sum);
    sum = multiply_add(c.c[d], w.e[i + RY][R + e + d], sum);
    if constexpr (DIMS == 3) {
      sum = multiply_add(c.c[d], w.e[i + RY - d][R + e], sum);
      sum = multiply_add(c.c[d], w.e[i + RY + d][R + e], sum);
    }
  }
  return sum;
}

// The sums of a plane's points at a Chebyshev distance of 0, 1, ... R in the plane.
__device__ __forceinline__ void add_rings(const window &w, int i, int e, number (&ring)[R + 1]) {
#pragma unroll
  for (int d = 0; d <= R; d++) ring[d] = 0;
#pragma unroll
  for (int y = -RY; y <= RY; y++) {
    const number(&row)[VEC + 2 * R] = w.e[i + RY + y];
    number inner = row[R + e];
#pragma unroll
    for (int d = 0; d <= R; d++) {
      const number both = d > 0 ? row[R + e - d] + row[R + e + d] : row[R + e];
      if (d > 0) inner += both;
      if (d == (y < 0 ? -y : y)) ring[d] += inner;
      if (d > (y < 0 ? -y : y)) ring[d] += both;
    }
  }
}

// a where the mask is -1, b where it is 0, bit by bit: what is kept stays as it is.
__device__ __forceinline__ float blend(int mask, float a, float b) {
  return __int_as_float((mask & __float_as_int(a)) | (~mask & __float_as_int(b)));
}
__device__ __forceinline__ double blend(int mask, double a, double b) {
  const long long wide = mask;
  return __longlong_as_double((wide & __double_as_longlong(a)) | (~wide & __double_as_longlong(b)));
}

// The compiler would compare anew wherever the mask is used.
__device__ __forceinline__ int in_register(int mask) {
  return __shfl_sync(~0u, mask, threadIdx.x % 32);
}

// Of parts at the border, masks of a thread's points that keep their values, or that are zero beyond it.
struct border {
  int columns[VEC], rows[ITEMS];
  int count;  // planes

  __device__ __forceinline__ static int mask(int i, int n) {
    return -(int)(BORDER == BORDER_keep ? outer(i, n) : (unsigned)i >= (unsigned)n);
  }
  __device__ __forceinline__ border(const extents &field, int x, int y) {
    count = DIMS == 3 ? field.nz : field.ny;
#pragma unroll
    for (int e = 0; e < VEC; e++) columns[e] = in_register(mask(x + e, field.nx));
#pragma unroll
    for (int i = 0; i < ITEMS; i++) rows[i] = DIMS == 3 ? in_register(mask(y + i, field.ny)) : 0;
  }
  __device__ __forceinline__ int plane(int m) const { return mask(m, count); }
};

// Points of a part that are at the border, or beyond it: none, those of some columns in all rows and planes, or any.
enum edge { EDGE_none, EDGE_columns, EDGE_any };

// Plane m arrives at a level, and plane m - R of the next one is complete.
template <edge EDGE>
__device__ __forceinline__ void advance(const weights &c, const window &w, sums &sum, points &v,
                                        const border &at, const part &p, int m) {
  constexpr bool KEEPS = EDGE != EDGE_none && BORDER == BORDER_keep;
  int planes[R + 1];  // masks of planes m - R to m
#pragma unroll
  for (int j = 0; j <= R; j++) planes[j] = EDGE == EDGE_any ? at.plane(p.plane(m - R + j)) : 0;
  const auto mask = [&](int j, int i, int e) {
    return EDGE == EDGE_any ? planes[j] | at.rows[i] | at.columns[e] : at.columns[e];
  };
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
#pragma unroll
    for (int e = 0; e < VEC; e++) {
      const number own = w.e[i + RY][R + e];
      number ring[R + 1], given[R + 1];  // a box: what planes at a distance of k get
      if constexpr (SHAPE == SHAPE_box) {
        number inner = 0;
        add_rings(w, i, e, ring);
#pragma unroll
        for (int k = 0; k <= R; k++) {
          inner += ring[k];
          given[k] = c.c[k] * inner;
#pragma unroll
          for (int d = k + 1; d <= R; d++) given[k] = multiply_add(c.c[d], ring[d], given[k]);
        }
      }
#pragma unroll
      for (int j = 0; j <= SUMS; j++) {  // planes m - R to m + R
        const int k = j < R ? R - j : j - R;
        const number before = j < SUMS ? sum[j][i][e] : 0;
        number after;
        if constexpr (SHAPE == SHAPE_box) {
          after = j < SUMS ? before + given[k] : given[k];
        } else {
          after = j == SUMS ? c.c[k] * own
                  : j == R  ? add_star(c, w, i, e, before)
                            : multiply_add(c.c[k], own, before);
        }
        // (What earlier planes add is overwritten when the point itself arrives.)
        if (KEEPS && j <= R) {
          after = blend(mask(j, i, e), j == R ? own : before, after);
        }
        if (EDGE != EDGE_none && BORDER == BORDER_zero && j == 0) {
          after = blend(mask(0, i, e), number(0), after);
        }
        if (j == 0) v[i][e] = after;
        if (j > 0) sum[j - 1][i][e] = after;
      }
    }
  }
}

// ---- a part ------------------------------------------------------------------------------------

__device__ __forceinline__ void put(stored *to, const number *from) {
  constexpr int P = piece_of<stored>(), NBYTES_P = P * (int)sizeof(stored);
#pragma unroll
  for (int i = 0; i < VEC; i += P) {
    vector_of<stored, P> p;
#pragma unroll
    for (int e = 0; e < P; e++) p.e[e] = element<DTYPE>::narrow(from[i + e]);
    if constexpr (STORE == STORE_streaming) {
      if constexpr (NBYTES_P == 16) {
        __stcs(reinterpret_cast<uint4 *>(to + i), *reinterpret_cast<const uint4 *>(&p));
      } else if constexpr (NBYTES_P == 8) {
        __stcs(reinterpret_cast<uint2 *>(to + i), *reinterpret_cast<const uint2 *>(&p));
      } else {
        __stcs(reinterpret_cast<unsigned *>(to + i), *reinterpret_cast<const unsigned *>(&p));
      }
    } else {
      *reinterpret_cast<vector_of<stored, P> *>(to + i) = p;
    }
  }
}

// Stores what of plane m is the group's to store.
__device__ __forceinline__ void put_plane(const part &p, const extents &field, int x, int y, int m,
                                          const points &v, stored *out) {
  if (m < p.first || m >= p.last || x < p.x + HALO_X || x >= p.x + COLUMNS - HALO_X ||
      x >= field.nx) {
    return;
  }
  m = p.plane(m);
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    if (DIMS == 3 && (y + i < p.y + HALO_Y || y + i >= p.y + ROWS - HALO_Y || y + i >= field.ny)) {
      continue;
    }
    put(out + (DIMS == 3 ? field.at(x, y + i, m) : field.at(x, m, p.image)), v[i]);
  }
}

// What a group has while it marches.
struct state {
  sums sum[TSTEPS];
  points v[TSTEPS];  // what the levels have completed
};

// Plane m arrives: an iteration of all levels. They read rows at `from` and write them at `to`.
template <edge EDGE>
__device__ __forceinline__ void iterate(state &s, const weights &c, const border &at, const part &p,
                                        int m, const stored *plane, const number *from, number *to,
                                        int warp, int lane) {
#pragma unroll
  for (int l = TSTEPS - 1; l >= 0; l--) {
    window w;
    if (l == 0) {
      open_window(plane, warp, lane, w);
    } else {
      exchange(s.v[l - 1], from + (l - 1) * EXCHANGED, warp, lane, w);
    }
    advance<EDGE>(c, w, s.sum[l], s.v[l], at, p, m - l * (R + 1));
    if (l < TSTEPS - 1) share(s.v[l], to + l * EXCHANGED, warp, lane);
  }
}

// Layers at the border that are no sums of neighbours.
constexpr int KEPT = BORDER == BORDER_keep ? R : 0;
constexpr bool EDGES = BORDER == BORDER_keep || (BORDER == BORDER_zero && TSTEPS > 1);

// Does the part have such layers, or points beyond the border, among its columns, or its rows?
__device__ __forceinline__ bool columns_at_border(const part &p, const extents &field) {
  return p.x < KEPT || p.x + COLUMNS > field.nx - KEPT;
}
__device__ __forceinline__ bool rows_at_border(const part &p, const extents &field) {
  return DIMS == 3 && (p.y < KEPT || p.y + ROWS > field.ny - KEPT);
}
// Are such among the planes that iteration m of its levels completes or adds to?
__device__ __forceinline__ bool at_border(const part &p, int m, int count) {
  const int a = p.plane(m - (TSTEPS - 1) * (R + 1) - R), b = p.plane(m);
  return min(a, b) < KEPT || max(a, b) >= count - KEPT;
}

__device__ __forceinline__ void sweep_part(const part &p, const extents &field, const weights &c,
                                           const origin &in, stored *out, unsigned char *shared,
                                           int warp, int lane) {
  loader planes(p, field, in, shared, DIMS == 3 ? warp * 32 + lane : lane);
  number *const rows = reinterpret_cast<number *>(shared + STAGES * SLOT_NBYTES);
  const int x = p.x + lane * VEC, y = DIMS == 3 ? p.y + warp * ITEMS : 0;
  constexpr bool APART = EDGES && EDGE_CODE == EDGE_CODE_columns;
  const bool columns = EDGES && columns_at_border(p, field);
  const bool sides = EDGES && (rows_at_border(p, field) || (!APART && columns));
  const border at(field, x, y);
  state s;
#pragma unroll
  for (int l = 0; l < TSTEPS; l++) {
#pragma unroll
    for (int i = 0; i < SUMS * ITEMS * VEC; i++) (&s.sum[l][0][0][0])[i] = 0;
#pragma unroll
    for (int i = 0; i < ITEMS * VEC; i++) (&s.v[l][0][0])[i] = 0;
    if (l < TSTEPS - 1) share(s.v[l], rows + l * EXCHANGED, warp, lane);
  }
#pragma unroll
  for (int k = 0; k < PREFETCH; k++) planes.load(p, p.begin() + k * CHUNK, k);
  int slot = 0, row = 0;  // of what was copied
  int half = 0;           // of the rows that warps share, where the levels read
#pragma unroll 1
  for (int m = p.begin(); m < p.until(); m++) {
    if (row == 0) {
      planes.wait(slot);
      sync_group();
      planes.load(p, m + PREFETCH * CHUNK, slot == 0 ? PREFETCH : slot - 1);
    }
    const int down = MARCH == MARCH_meet && p.backwards ? CHUNK - 1 - row : row;
    const stored *plane =
        reinterpret_cast<const stored *>(shared + slot * SLOT_NBYTES) + down * WIDTH;
    const number *from = rows + half;
    half = (TSTEPS - 1) * EXCHANGED - half;
    if (EDGES && (sides || at_border(p, m, at.count))) {
      iterate<EDGE_any>(s, c, at, p, m, plane, from, rows + half, warp, lane);
    } else if (APART && columns) {
      iterate<EDGE_columns>(s, c, at, p, m, plane, from, rows + half, warp, lane);
    } else {
      iterate<EDGE_none>(s, c, at, p, m, plane, from, rows + half, warp, lane);
    }
    if (row == CHUNK - 1) planes.release();
    put_plane(p, field, x, y, m - TSTEPS * R - (TSTEPS - 1), s.v[TSTEPS - 1], out);
    if (++row == CHUNK) {
      row = 0;
      slot = slot == PREFETCH ? 0 : slot + 1;
    }
  }
  planes.finish();
  sync_group();
}

// Of several steps the compiler would convert weights from double in each iteration, which others wait for.
__device__ __forceinline__ weights in_registers(weights c) {
  if constexpr (TSTEPS == 1) return c;
#pragma unroll
  for (int d = 0; d <= R; d++) c.c[d] = __shfl_sync(~0u, c.c[d], threadIdx.x % 32);
  return c;
}

// Part i of those into which strips of columns, tiles of rows (or images) and depth divide the field.
__device__ __forceinline__ void sweep(unsigned i, const extents &field, const weights &c, int depth,
                                      const origin &in, stored *out, unsigned char *shared,
                                      int warp, int lane) {
  const unsigned strips = (field.nx - 1) / OUT_X + 1;
  const unsigned lines = DIMS == 3 ? (field.ny - 1) / OUT_Y + 1 : field.nz;
  const int count = DIMS == 3 ? field.nz : field.ny;
  part p;
  p.x = (int)(i % strips) * OUT_X - HALO_X;
  i /= strips;
  p.image = i % lines;
  p.y = p.image * OUT_Y - HALO_Y;
  p.first = i / lines * depth;
  p.last = min(count - p.first, depth) + p.first;
  p.backwards = i / lines % 2;
  sweep_part(p, field, in_registers(c), in, out, shared, warp, lane);
}
