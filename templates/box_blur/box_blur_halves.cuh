// box_blur_halves.cuh -- PRODUCTS=halves: the differences of the bytes of the row that enters and of the one that
// leaves are multiplied by ones as halves, and added to floats. All is exact:
// - a byte x becomes the half 1024 + x, and two differ by at most 255 (halves have whole numbers to 2048)
// - each product is such a difference or 0; a sum of some of them and of the window before is that of a window with
//   some bytes exchanged: at most 97 * 97 * 255 < 2^22 (radius <= 48), where floats have all halves of whole numbers;
//   a sum of products alone is at most 16 * 255
#pragma once
#include "mma.cuh"
#include "box_blur_share.cuh"

struct half_sums {
  static constexpr int BEFORE = 1;  // the first windows are of the row above the strip
  unsigned ones_of[2 * CHUNKS][2][4];
  float of[2][4];

  // Two halves, 1 where the window has byte `at` and the next.
  static __device__ __forceinline__ unsigned ones(int pixel, int at, int radius) {
    return (abs(at - HALO - pixel) <= radius ? 0x3c00u : 0) |
           (abs(at + 1 - HALO - pixel) <= radius ? 0x3c000000u : 0);
  }

  __device__ __forceinline__ void begin(int quad, int place, int radius) {
#pragma unroll
    for (int w = 0; w < 2 * CHUNKS; w++) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const int pixel = 4 * quad + i / 4 * 2 + i % 2,
                  at = place_of(w / 2, w % 2, place) + i % 4 / 2 * 2;
        // Through a shuffle, or the compiler computes it again in every loop.
        ones_of[w][i / 4][i % 4] =
            __shfl_sync(0xffffffff, ones(pixel, at, radius), 4 * quad + place);
      }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) of[i / 4][i % 4] = 0;
  }

  // With a half more a mean is between whole numbers by more than its rounding; added to 2^23 and rounded down it is
  // in the low byte.
  __device__ __forceinline__ unsigned mean(int m, int i, float inverse) const {
    return __float_as_uint(__fmaf_rd(of[m][i] + 0.5f, inverse, 0x1p23f));
  }

  // Bytes FIRST and FIRST + 1 of the words a and b as halves, a - b.
  template <int FIRST>
  static __device__ __forceinline__ unsigned difference(unsigned a, unsigned b) {
    const unsigned select = FIRST ? 0x4342 : 0x4140;
    unsigned d;
    asm("sub.f16x2 %0, %1, %2;"
        : "=r"(d)
        : "r"(__byte_perm(a, 0x64646464, select)), "r"(__byte_perm(b, 0x64646464, select)));
    return d;
  }

  __device__ __forceinline__ void add(const share &enter, const share &leave) {
#pragma unroll
    for (int w = 0; w < 2 * CHUNKS; w++) {
      const unsigned change[2] = {difference<0>(enter.words[w], leave.words[w]),
                                  difference<2>(enter.words[w], leave.words[w])};
#pragma unroll
      for (int m = 0; m < 2; m++) mma_f16(of[m], ones_of[w][m], change);
    }
  }

  template <int N>
  __device__ __forceinline__ void enter(const share (&s)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) add(s[k], share{});
  }

  // After row k enters, and the row above its windows leaves, store(k) stores means.
  template <int N, class STORES>
  __device__ __forceinline__ void slide(const share (&enters)[N], const share (&leaves)[N],
                                        STORES store) {
#pragma unroll
    for (int k = 0; k < N; k++) {
      add(enters[k], leaves[k]);
      store(k);
    }
  }
};
