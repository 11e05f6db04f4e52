// board.cuh -- what the tiles of a launch in one pass tell each other. Whoever includes it has the type
// `wide` of WIDE bytes (4 or 8), combine, IDENTITY, bits_of and of_bits, between a number and its bits,
// DELAY, nanoseconds between two looks, and ptx.cuh.

// A tile publishes its own total, then the sum of all up to and with it. A flag says which; it has
// the number of the launch in it, so that what is left from the launch before means nothing.
enum { TOTAL = 1, SUM = 2 };

// 4 bytes of a number in every word, and the flag: words with the same flag belong together, so they
// need no order among them.
struct told {
  unsigned long long word[WIDE / 4];
};

struct board {
  unsigned long long *words;
  unsigned launch;

  __device__ void publish(long long tile, int what, wide value) const {
#pragma unroll
    for (int i = 0; i < WIDE / 4; i++) {
      store_relaxed(words + tile * (WIDE / 4) + i, (unsigned long long)(4 * launch + what) << 32 |
                                                       bits_of(value) >> 32 * i & 0xffffffff);
    }
  }

  __device__ told look(long long tile) const {
    told t;
#pragma unroll
    for (int i = 0; i < WIDE / 4; i++) t.word[i] = load_relaxed(words + tile * (WIDE / 4) + i);
    return t;
  }

  // 0: nothing yet.
  __device__ int what(const told &t, wide *value) const {
    const unsigned flag = (unsigned)(t.word[0] >> 32), what = flag - 4 * launch;
    unsigned long long v = (unsigned)t.word[0];
    if (WIDE == 8) {
      const unsigned long long high = t.word[WIDE / 4 - 1];
      if ((unsigned)(high >> 32) != flag) return 0;
      v |= high << 32;
    }
    *value = of_bits(v);
    return what == TOTAL || what == SUM ? what : 0;
  }

  // Waits until there is something.
  __device__ int read(long long tile, wide *value) const {
    for (;;) {
      const int found = what(look(tile), value);
      if (found) return found;
      if (DELAY > 0) __nanosleep(DELAY);
    }
  }
};

// The sum of all tiles before this one, by one warp.
__device__ __forceinline__ wide look_back(const board &all, long long tile) {
  wide sum = IDENTITY;
  for (long long at = tile - 1 - threadIdx.x;; at -= 32) {
    wide v = IDENTITY;
    const int what = at < 0 ? SUM : all.read(at, &v);
    const unsigned sums = __ballot_sync(0xffffffff, what == SUM);
    if (sums && threadIdx.x > __ffs(sums) - 1) v = IDENTITY;  // it is in the nearest sum
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = combine(__shfl_xor_sync(0xffffffff, v, d), v);
    sum = combine(v, sum);
    if (sums) return sum;
  }
}
