// conv3d_register.cu -- blocks march through planes. A thread multiplies each row with all planes of the filter, and
// adds the products to the sums of DEEP results. The code has all taps, or a loop over rows of the filter with UNROLL
// of them.
#include "conv3d_planes.cuh"

constexpr bool WHOLE = UNROLL >= HIGH, KEPT = WHOLE && FILTER == FILTER_global;

// In shared memory rows of taps begin at multiples of 16 bytes, by j and k.
constexpr int QUAD = 16 / sizeof(number), QUADS = (WIDE + QUAD - 1) / QUAD;
struct alignas(16) quad {
  number e[QUAD];
};
@ if FILTER == "shared" then
__shared__ quad shared_rows[HIGH][DEEP][QUADS];
@ end

struct tap_row {
  number at[QUADS * QUAD];
};

// Taps, in registers if KEPT.
struct filter {
  taps_given f;
  number kept[KEPT ? TAPS : 1];

  __device__ __forceinline__ explicit filter(taps_given taps) : f(taps) {
#pragma unroll
    for (int i = 0; i < (KEPT ? TAPS : 0); i++) kept[i] = tap_at(f, i);
@ if FILTER == "shared" then
    for (int i = threadIdx.y * BLOCK_X + threadIdx.x; i < TAPS; i += THREADS) {
      const int e = i % WIDE, j = i / WIDE % HIGH, k = i / (WIDE * HIGH);
      shared_rows[j][k][e / QUAD].e[e % QUAD] = (number)f[i];
    }
@ end
  }
  // Row j of plane k.
  __device__ __forceinline__ void load(int k, int j, tap_row &row) const {
@ if FILTER == "shared" then
#pragma unroll
    for (int i = 0; i < QUADS; i++) {
      const quad q = shared_rows[j][k][i];
#pragma unroll
      for (int e = 0; e < QUAD; e++) row.at[i * QUAD + e] = q.e[e];
    }
@ else
#pragma unroll
    for (int i = 0; i < WIDE; i++) {
      const int at = (k * HIGH + j) * WIDE + i;
      row.at[i] = KEPT ? kept[at] : tap_at(f, at);
    }
@ end
  }
};

// Adds the products of a row with a row of the filter.
__device__ __forceinline__ void add_row(number (&sum)[OUT_X], const line &v, const tap_row &taps) {
#pragma unroll
  for (int i = 0; i < WIDE; i++) {
#pragma unroll
    for (int o = 0; o < OUT_X; o++) sum[o] += taps.at[i] * v.e[SHIFT + o + i];
  }
}

// Adds a plane to the sums of all results of the window.
__device__ __forceinline__ void add_whole(const stored *plane, window &w, const filter &f) {
#pragma unroll
  for (int row = 0; row < OUT_Y + 2 * RY; row++) {
    line v;
    v.load(plane + row * WIDTH);
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
#pragma unroll
      for (int o = 0; o < OUT_Y; o++) {
        if (row - o < 0 || row - o >= HIGH) continue;
        tap_row taps;
        f.load(DEEP - 1 - k, row - o, taps);
        add_row(w.sum[k][o], v, taps);
      }
    }
  }
}

// To those of results for which first + k is at least 0 and less than n, or to all; ROWS rows of the filter at a time.
template <bool ALL, int ROWS>
__device__ __forceinline__ void add_rows(const stored *plane, window &w, const filter &f, int first,
                                         int n) {
#pragma unroll ROWS
  for (int j = 0; j < HIGH; j++) {
    line v[OUT_Y];
#pragma unroll
    for (int o = 0; o < OUT_Y; o++) v[o].load(plane + (j + o) * WIDTH);
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
      if (!ALL && (unsigned)(first + k) >= (unsigned)n) continue;
      tap_row taps;
      f.load(DEEP - 1 - k, j, taps);
#pragma unroll
      for (int o = 0; o < OUT_Y; o++) add_row(w.sum[k][o], v[o], taps);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    conv3d(int nx, int ny, int nz, int mx, int my, int mz, int depth, const stored *__restrict__ x,
           long long ldx, ARGUMENT_OF_TAPS, stored *__restrict__ y, long long ldy) {
  extern __shared__ uint4 memory[];
  const volume from = {nx, ny, nz, x + pdl_wait(), ldx};
  const filter taps(f);
  convolve(from, {mx, my, mz, y, ldy}, depth, reinterpret_cast<stored *>(memory),
           [&](const stored *plane, window &w, int first, int n) {
             // (Sums of results that are not the block's are not stored.)
             if (!KEPT && DEEP > 1 && ENDS == ENDS_exact && (first < 0 || first + 2 * RZ >= n)) {
               add_rows<false, 1>(plane, w, taps, first, n);
             } else if constexpr (WHOLE) {
               add_whole(plane, w, taps);
             } else {
               add_rows<true, UNROLL>(plane, w, taps, first, n);
             }
           });
}
