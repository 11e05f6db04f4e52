// box_blur_bytes.cuh -- PRODUCTS=bytes: the row that enters is multiplied by ones, that which leaves by -1, and both
// are added to the same 32-bit sums.
#pragma once
#include "mma_bytes.cuh"
#include "box_blur_share.cuh"

struct byte_sums {
  static constexpr int BEFORE = 0;  // the first windows are of the strip's first row
  // The sums begin with the bits of 2^23 as a float, and so are 2^23 more as floats.
  static constexpr int BIAS = 0x4b000000;
  struct bands {
    unsigned of[CHUNKS][2][4];
  };
  bands ones_of, minus_ones_of;
  int of[2][4];

  // Ones where the window has bytes `at` to at + 3.
  static __device__ __forceinline__ unsigned ones(int pixel, int at, int radius) {
    unsigned word = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) word |= (abs(at + i - HALO - pixel) <= radius ? 1u : 0u) << 8 * i;
    return word;
  }

  // By reference: with values the compiler makes other machine code than was timed.
  __device__ __forceinline__ void begin(const int &quad, const int &place, const int &radius) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        // Through a shuffle, or the compiler computes it again in every loop.
        const unsigned word = __shfl_sync(
            0xffffffff, ones(4 * quad + i / 4 * 2 + i % 2, place_of(c, i % 4 / 2, place), radius),
            4 * quad + place);
        ones_of.of[c][i / 4][i % 4] = word;
        minus_ones_of.of[c][i / 4][i % 4] = word * 255;
      }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) of[i / 4][i % 4] = BIAS;
  }

  // With a half more a mean is between whole numbers by more than its rounding; added to 2^23 and rounded down it is
  // in the low byte.
  __device__ __forceinline__ unsigned mean(int m, int i, float inverse) const {
    return __float_as_uint(
        __fmaf_rd(__int_as_float(of[m][i]) - (0x1p23f - 0.5f), inverse, 0x1p23f));
  }

  static __device__ __forceinline__ void add(int (&to)[2][4], const bands &b, const share &s) {
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
      for (int m = 0; m < 2; m++) mma_bytes(to[m], b.of[c][m], s.words[2 * c], s.words[2 * c + 1]);
    }
  }

  __device__ __forceinline__ void accumulate(const int (&more)[2][4]) {
#pragma unroll
    for (int i = 0; i < 8; i++) of[i / 4][i % 4] += more[i / 4][i % 4];
  }

  template <int N>
  __device__ __forceinline__ void enter(const share (&s)[N]) {
    int others[2][4] = {};  // sums of every second row: two chains of additions
#pragma unroll
    for (int k = 0; k < N; k++) add(k % 2 ? others : of, ones_of, s[k]);
    accumulate(others);
  }

  // After row k enters store(k) stores means; then the row above its windows leaves.
  template <int N, class STORES>
  __device__ __forceinline__ void slide(const share (&enters)[N], const share (&leaves)[N],
                                        STORES store) {
    // From a row's sums to the next one's: rows do not wait for each other's products.
    int changes[N + 1][2][4] = {};
#pragma unroll
    for (int k = 0; k < N; k++) {
      add(changes[k], ones_of, enters[k]);
      add(changes[k + 1], minus_ones_of, leaves[k]);
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
      accumulate(changes[k]);
      store(k);
    }
    accumulate(changes[N]);
  }
};
