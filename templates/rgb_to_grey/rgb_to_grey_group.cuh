// rgb_to_grey_group.cuh -- the PIXELS neighbouring pixels of a thread: CHANNELS words of PIXELS bytes, and
// a word of levels.
#pragma once

using unit = word_of<PIXELS>::type;

struct group {
  alignas(16) unsigned bytes[(PIXELS * CHANNELS + 3) / 4];
};

// A word whose low bytes are pixel i's.
__device__ __forceinline__ unsigned pixel_of(const group &g, int i) {
  const int at = i * CHANNELS, word = at / 4, shift = at % 4 * 8;
  if (shift <= 8) return g.bytes[word] >> shift;
  return __funnelshift_r(g.bytes[word], g.bytes[word + 1], shift);
}

// Four levels as sum_of has them.
__device__ __forceinline__ unsigned pack(unsigned a, unsigned b, unsigned c, unsigned d) {
  constexpr unsigned TWO = LEVEL_BYTE | (4 + LEVEL_BYTE) << 4;
  return __byte_perm(__byte_perm(a, b, TWO), __byte_perm(c, d, TWO), 0x5410);
}

template <bool IN_RANGE>
__device__ __forceinline__ unit levels_in(const group &g, const weights &w) {
  alignas(16) unsigned levels[(PIXELS + 3) / 4];
  if constexpr (PIXELS >= 4) {
#pragma unroll
    for (int i = 0; i < PIXELS; i += 4) {
      levels[i / 4] =
          pack(sum_of<IN_RANGE>(pixel_of(g, i), w), sum_of<IN_RANGE>(pixel_of(g, i + 1), w),
               sum_of<IN_RANGE>(pixel_of(g, i + 2), w), sum_of<IN_RANGE>(pixel_of(g, i + 3), w));
    }
  } else {
    levels[0] = level(pixel_of(g, 0), w);
    if constexpr (PIXELS == 2) levels[0] |= level(pixel_of(g, 1), w) << 8;
  }
  return *reinterpret_cast<const unit *>(levels);
}

__device__ __forceinline__ unit levels_of(const group &g, const weights &w) {
  constexpr bool ALWAYS = ARITH == ARITH_fixed || ARITH == ARITH_hundredths;
  return ALWAYS || w.in_range ? levels_in<true>(g, w) : levels_in<false>(g, w);
}

__device__ __forceinline__ unit load(const unit *p) {
  if constexpr (LOAD == LOAD_constant) return load_constant(p);
  if constexpr (LOAD == LOAD_streaming) return load_streaming(p);
  return load_plain(p);
}

__device__ __forceinline__ void store(unit *p, const unit &v) {
  if constexpr (STORE == STORE_streaming) {
    store_streaming(p, v);
  } else {
    store_plain(p, v);
  }
}
