// conv2d_register.cu -- a thread marches down OUT_X columns of the image. It reads each row once, and adds its products
// to the sums of the HIGH results that it is part of, in registers; they move up by one result for each row.
#include "conv2d_image.cuh"

constexpr int ACROSS = BLOCK_X * OUT_X, DOWN = BLOCK_Y * OUT_Y;  // results of a block
// A row in vectors of VEC elements, aligned: SHIFT elements come before those that are needed.
constexpr int BEFORE = RX - SKIP_X, SHIFT = (VEC - BEFORE % VEC) % VEC;
constexpr int VECTORS = (SHIFT + OUT_X + 2 * RX + VEC - 1) / VEC, ELEMENTS = VECTORS * VEC;

struct alignas(VEC * sizeof(stored)) vector {
  stored e[VEC];
};

struct line {
  number e[ELEMENTS];
};

struct columns {
  image of;
  int first;    // of the columns that are read
  bool inside;  // all of them exist

  __device__ __forceinline__ columns(const image &i, int column)
      : of(i), first(column - BEFORE - SHIFT), inside(first >= 0 && first + ELEMENTS <= i.nx) {}

  __device__ __forceinline__ line at(int row) const {
    line v;
    row = border_index(row, of.ny);
    if (row < 0) {
#pragma unroll
      for (int i = 0; i < ELEMENTS; i++) v.e[i] = 0;
      return v;
    }
    const stored *from = of.x + row * of.ldx;
    if (inside) {
#pragma unroll
      for (int i = 0; i < VECTORS; i++) {
        const vector w = read(reinterpret_cast<const vector *>(from + first) + i);
#pragma unroll
        for (int e = 0; e < VEC; e++) v.e[i * VEC + e] = type::widen(w.e[e]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < ELEMENTS; i++) {
        const int column = i < SHIFT || i >= SHIFT + OUT_X + 2 * RX ? NOTHING : border_index(first + i, of.nx);
        v.e[i] = column < 0 ? number() : type::widen(read(from + column));
      }
    }
    return v;
  }
};

// The sums of HIGH - 1 results, the oldest first. The next row is row 2 * RY - k of the filter for the k-th.
struct results {
  number sum[HIGH][OUT_X];

  // Adds row j of the filter times a row.
  __device__ __forceinline__ static void add(number (&sum)[OUT_X], const line &v, const tap *f, int j) {
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
#pragma unroll
      for (int o = 0; o < OUT_X; o++) sum[o] += tap_at(f, j * WIDE + i) * v.e[SHIFT + o + i];
    }
  }

  // Row s: completes result s - 2 * RY, which is in `done` then. Only those of 0 to n - 1 are computed unless ALL.
  template <bool ALL>
  __device__ __forceinline__ void step(const line &v, const tap *f, int s, int n, number (&done)[OUT_X]) {
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[HIGH - 1][o] = 0;
#pragma unroll
    for (int k = 0; k < HIGH; k++) {
      if (ALL || (unsigned)(s + k - 2 * RY) < (unsigned)n) add(sum[k], v, f, HIGH - 1 - k);
    }
#pragma unroll
    for (int o = 0; o < OUT_X; o++) {
      done[o] = sum[0][o];
#pragma unroll
      for (int k = 1; k < HIGH; k++) sum[k - 1][o] = sum[k][o];
    }
  }
};

__device__ __forceinline__ void put(stored *y, int column, int mx, const number (&sum)[OUT_X]) {
  if (column + OUT_X <= mx) {
#pragma unroll
    for (int i = 0; i < OUT_X; i += VEC) {
      vector w;
#pragma unroll
      for (int e = 0; e < VEC; e++) w.e[e] = type::narrow(sum[i + e]);
      if constexpr (STORE == STORE_streaming) {
        store_streaming(reinterpret_cast<vector *>(y + i), w);
      } else {
        store_plain(reinterpret_cast<vector *>(y + i), w);
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < OUT_X; i++) {
      if (column + i < mx) y[i] = type::narrow(sum[i]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx, const tap *__restrict__ f,
           stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const int column = tile.column + threadIdx.x * OUT_X, row = tile.row + threadIdx.y * OUT_Y;
  const int n = min(OUT_Y, my - row);
  const image from = {nx, ny, x + pdl_wait(), ldx};
@ if FILTER == "shared" then
  place_taps(f, threadIdx.y * BLOCK_X + threadIdx.x, BLOCK_X * BLOCK_Y);
  __syncthreads();
@ end
  if (column >= mx || n <= 0) return;
  const columns in(from, column);
  const int top = row + SKIP_Y - RY;
  results sums = {};
  line v = in.at(top);
  y += row * ldy + column;
#pragma unroll UNROLL
  for (int s = 0; s < n + 2 * RY; s++) {
    line next;
    if (PREFETCH > 0) next = in.at(min(top + s + 1, row + n + RY + SKIP_Y - 1));
    number done[OUT_X];
    if (HIGH == 1 || s >= 2 * RY && s < n) {
      sums.step<true>(v, f, s, n, done);
    } else {
      sums.step<false>(v, f, s, n, done);
    }
    if (s >= 2 * RY) {
      put(y, column, mx, done);
      y += ldy;
    }
    if (PREFETCH == 0 && s + 1 < n + 2 * RY) next = in.at(top + s + 1);
    v = next;
  }
}
