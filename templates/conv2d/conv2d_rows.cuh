// conv2d_rows.cuh -- rows of a thread's columns in registers, for threads that march down the image.
#pragma once
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

  __device__ __forceinline__ line whole(const stored *row) const {
    line v;
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
      const vector w = read(reinterpret_cast<const vector *>(row + first) + i);
#pragma unroll
      for (int e = 0; e < VEC; e++) v.e[i * VEC + e] = type::widen(w.e[e]);
    }
    return v;
  }

  // ALL: the row and the columns exist.
  template <bool ALL>
  __device__ __forceinline__ line at(int row) const {
    if (ALL) return whole(of.x + row * of.ldx);
    line v;
    row = border_index(row, of.ny);
    if (row < 0) {
#pragma unroll
      for (int i = 0; i < ELEMENTS; i++) v.e[i] = 0;
      return v;
    }
    const stored *from = of.x + row * of.ldx;
    if (inside) {
      v = whole(from);
    } else {
#pragma unroll
      for (int i = 0; i < ELEMENTS; i++) {
        const int column =
            i < SHIFT || i >= SHIFT + OUT_X + 2 * RX ? NOTHING : border_index(first + i, of.nx);
        v.e[i] = column < 0 ? number() : type::widen(read(from + column));
      }
    }
    return v;
  }
};

// N rows.
template <int N>
struct lines {
  line first;
  lines<N - 1> others;

  // From `row` on, none of them behind the last.
  template <bool ALL>
  __device__ __forceinline__ void load(const columns &in, int row, int last) {
    first = in.at<ALL>(row);
    others.template load<ALL>(in, min(row + 1, last), last);
  }

  // Those before the n-th.
  template <typename Step>
  __device__ __forceinline__ void take(const Step &step, int s, int n) const {
    step(s, first);
    if (N > 1 && s + 1 < n) others.take(step, s + 1, n);
  }
};
template <>
struct lines<0> {
  template <bool ALL>
  __device__ __forceinline__ void load(const columns &, int, int) {}
  template <typename Step>
  __device__ __forceinline__ void take(const Step &, int, int) const {}
};

template <bool ALL, typename Step>
__device__ __forceinline__ void march_through(const columns &in, int top, int n, const Step &step) {
  const int last = top + n - 1;
  if constexpr (UNROLL == 1) {
    line now = in.at<ALL>(top);
#pragma unroll 1
    for (int s = 0; s < n; s++) {
      line next;
      if (PREFETCH > 0) next = in.at<ALL>(min(top + s + 1, last));
      step(s, now);
      if (PREFETCH == 0 && s + 1 < n) next = in.at<ALL>(top + s + 1);
      now = next;
    }
  } else {
    lines<UNROLL> now;
    now.load<ALL>(in, top, last);
#pragma unroll 1
    for (int s = 0; s < n; s += UNROLL) {
      lines<UNROLL> next;
      if (PREFETCH > 0) next.load<ALL>(in, min(top + s + UNROLL, last), last);
      now.take(step, s, n);
      if (PREFETCH == 0 && s + UNROLL < n) next.load<ALL>(in, top + s + UNROLL, last);
      now = next;
    }
  }
}

// Calls step(s, row) for each of n rows from `top` on; UNROLL rows are loaded at a time, PREFETCH times ahead. The
// middle of an image has code of its own, unless it has many FMAs.
template <typename Step>
__device__ __forceinline__ void march(const columns &in, int top, int n, const Step &step) {
  if (TAPS <= 49 && in.inside && top >= 0 && top + n <= in.of.ny) {
    march_through<true>(in, top, n, step);
  } else {
    march_through<false>(in, top, n, step);
  }
}

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
