// register_square.cuh -- VEC x VEC elements in the registers of a thread, and their transposition.
#pragma once

// Rows of WORDS words of 4 bytes.
template <int WORDS>
union register_square {
  vector row[VEC];
  unsigned word[VEC][WORDS];

  // What is above the diagonal changes places with what is below, in squares of VEC elements, then in
  // each of their quarters, and so on; squares of less than a word by permuting the bytes of two words.
  __device__ __forceinline__ void transpose() {
#pragma unroll
    for (int half = VEC / 2; half > 0; half /= 2) {
#pragma unroll
      for (int a = 0; a < VEC; a++) {
        if (a & half) continue;
#pragma unroll
        for (int j = 0; j < WORDS; j++) swap(a, a + half, j, half * NBYTES);
      }
    }
  }

  __device__ __forceinline__ void swap(int a, int b, int j, int nbytes) {
    const int right = j + nbytes / 4;
    if (nbytes >= 4 && j & nbytes / 4) return;
    const unsigned above = word[a][right], below = word[b][j];
    if (nbytes >= 4) {
      word[a][right] = below;
      word[b][j] = above;
    } else {
      word[a][j] = __byte_perm(above, below, nbytes == 2 ? 0x5410 : 0x6240);
      word[b][j] = __byte_perm(above, below, nbytes == 2 ? 0x7632 : 0x7351);
    }
  }
};

// Rows of less than a word, or of one element.
template <>
union register_square<0> {
  vector row[VEC];

  __device__ __forceinline__ void transpose() {
#pragma unroll
    for (int a = 1; a < VEC; a++) {
#pragma unroll
      for (int b = 0; b < a; b++) {
        const stored v = row[a].e[b];
        row[a].e[b] = row[b].e[a];
        row[b].e[a] = v;
      }
    }
  }
};

using square = register_square<(VEC > 1 ? VEC * NBYTES / 4 : 0)>;
