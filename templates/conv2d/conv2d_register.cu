// conv2d_register.cu -- a thread marches down OUT_X columns of the image. It reads each row once, and adds its products
// to the sums of the results that it is part of, in registers. With SUMS=slide these are HIGH results, which move up by
// one for each row; taps are constants of the code. With SUMS=stay they are those of OUT_Y, and taps are addressed, but
// for SUMS=whole, whose code has all of a thread's FMAs one after the other, for threads whose window is in the image.
#include "conv2d_rows.cuh"

// In shared memory rows of taps begin at multiples of 16 bytes.
constexpr int QUAD = 16 / sizeof(number), QUADS = (WIDE + QUAD - 1) / QUAD;
struct alignas(16) quad {
  number e[QUAD];
};
@ if FILTER == "shared" then
__shared__ quad shared_rows[HIGH][QUADS];
@ end

__device__ __forceinline__ void place_rows(taps_given f, int thread) {
@ if FILTER == "shared" then
  for (int i = thread; i < TAPS; i += BLOCK_X * BLOCK_Y) {
    shared_rows[i / WIDE][i % WIDE / QUAD].e[i % WIDE % QUAD] = (number)f[i];
  }
  __syncthreads();
@ end
}

struct tap_row {
  number at[QUADS * QUAD];

  // Row j of the filter.
  __device__ __forceinline__ tap_row(taps_given f, int j) {
@ if FILTER == "shared" then
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
      const quad q = shared_rows[j][i];
#pragma unroll
      for (int e = 0; e < QUAD; e++) at[i * QUAD + e] = q.e[e];
    }
@ else
#pragma unroll
    for (int i = 0; i < WIDE; i++) at[i] = tap_at(f, j * WIDE + i);
@ end
  }
};

// Adds row j of the filter times a row.
__device__ __forceinline__ void add(number (&sum)[OUT_X], const line &v, taps_given f, int j) {
  const tap_row taps(f, j);
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[o] += taps.at[i] * v.e[SHIFT + o + i];
  }
}

// The sums of HIGH - 1 results, the oldest first. The next row is row 2 * RY - k of the filter for the k-th.
struct results {
  number sum[HIGH][OUT_X];

  // Row s: completes result s - 2 * RY, which is in `done` then. Only those of 0 to n - 1 are computed unless ALL.
  template <bool ALL>
  __device__ __forceinline__ void step(const line &v, taps_given f, int s, int n, number (&done)[OUT_X]) {
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

extern "C" __global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
    conv2d(int nx, int ny, int mx, int my, const stored *__restrict__ x, long long ldx, ARGUMENT_OF_TAPS,
           stored *__restrict__ y, long long ldy) {
  const tile_origin tile = find_tile<ACROSS, DOWN>(mx);
  const int column = tile.column + threadIdx.x * OUT_X, row = tile.row + threadIdx.y * OUT_Y;
  const int n = min(OUT_Y, my - row), top = row + SKIP_Y - RY;
  const columns in({nx, ny, x + pdl_wait(), ldx}, column);
  if constexpr (FETCHES) {
    fetch_tile<ACROSS, DOWN, BLOCK_X * BLOCK_Y>(in.of, mx, AHEAD, threadIdx.y * BLOCK_X + threadIdx.x);
  }
  place_rows(f, threadIdx.y * BLOCK_X + threadIdx.x);
  if (column >= mx || n <= 0) return;
  const bool all = tile.column + ACROSS <= mx && tile.row + DOWN <= my;  // the block has all its results
  y += row * ldy + column;
@ if SUMS == "slide" then
  results sums = {};
  const auto step = [&](int s, const line &v) {
    if (LOCKSTEP && all) __syncthreads();
    number done[OUT_X];
    if (HIGH == 1 || ENDS == ENDS_all || s >= 2 * RY && s < n) {
      sums.step<true>(v, f, s, n, done);
    } else {
      sums.step<false>(v, f, s, n, done);
    }
    if (s >= 2 * RY) {
      put(y, column, mx, done);
      y += ldy;
    }
  };
  march<LOCKSTEP>(in, top, n + 2 * RY, step);
@ else
  number sum[OUT_Y][OUT_X] = {};
  const auto step = [&](int s, const line &v) {
    if (LOCKSTEP && all) __syncthreads();
#pragma unroll
    for (int o = 0; o < OUT_Y; o++) {
      if ((unsigned)(s - o) < HIGH) add(sum[o], v, f, s - o);
    }
  };
@ if SUMS == "whole" then
  if (in.inside && top >= 0 && top + OUT_Y + 2 * RY <= ny) {
    const stored *from = in.of.x + top * ldx;
#pragma unroll
    for (int s = 0; s < OUT_Y + 2 * RY; s++) {
      step(s, in.whole(from));
      from += ldx;
    }
  } else {
    march_through<false>(in, top, OUT_Y + 2 * RY, step);
  }
@ else
  march<LOCKSTEP>(in, top, OUT_Y + 2 * RY, step);
@ end
#pragma unroll
  for (int o = 0; o < OUT_Y; o++) {
    if (o < n) put(y + o * ldy, column, mx, sum[o]);
  }
@ end
}
