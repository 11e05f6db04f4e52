// tile_state.cuh -- decoupled look-back: tiles of one launch tell each other their sums.
// src: Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back
//
// Define before: the type `wide` of WIDE bytes (4 or 8), combine(), IDENTITY, bits_of() and of_bits()
// between a number and its bits, and DELAY, nanoseconds between two looks; include "ptx.cuh".
#pragma once

// A tile publishes its own aggregate first, then the inclusive prefix of all tiles up to it. The flag
// says which, and holds the number of the launch: flags of an earlier launch mean nothing.
enum { AGGREGATE = 1, PREFIX = 2 };

// Each word has 4 bytes of the number and the flag. Words with equal flags belong together, so they
// may be written in any order.
struct tile_record {
  unsigned long long word[WIDE / 4];
};

struct tile_states {
  unsigned long long *words;
  unsigned launch;

  __device__ void publish(long long tile, int kind, wide value) const {
#pragma unroll
    for (int i = 0; i < WIDE / 4; i++) {
      store_relaxed(words + tile * (WIDE / 4) + i, (unsigned long long)(4 * launch + kind) << 32 |
                                                       bits_of(value) >> 32 * i & 0xffffffff);
    }
  }

  __device__ tile_record look(long long tile) const {
    tile_record t;
#pragma unroll
    for (int i = 0; i < WIDE / 4; i++) t.word[i] = load_relaxed(words + tile * (WIDE / 4) + i);
    return t;
  }

  // AGGREGATE or PREFIX; 0: not published yet.
  __device__ int kind(const tile_record &t, wide *value) const {
    const unsigned flag = (unsigned)(t.word[0] >> 32), kind = flag - 4 * launch;
    unsigned long long v = (unsigned)t.word[0];
    if (WIDE == 8) {
      const unsigned long long high = t.word[WIDE / 4 - 1];
      if ((unsigned)(high >> 32) != flag) return 0;
      v |= high << 32;
    }
    *value = of_bits(v);
    return kind == AGGREGATE || kind == PREFIX ? kind : 0;
  }

  // Waits until the tile has published something.
  __device__ int wait(long long tile, wide *value) const {
    for (;;) {
      const int found = kind(look(tile), value);
      if (found) return found;
      if (DELAY > 0) __nanosleep(DELAY);
    }
  }
};

// The sum of all tiles before this one, by one warp.
__device__ __forceinline__ wide look_back(const tile_states &all, long long tile) {
  wide sum = IDENTITY;
  for (long long at = tile - 1 - threadIdx.x;; at -= 32) {
    wide v = IDENTITY;
    const int kind = at < 0 ? PREFIX : all.wait(at, &v);
    const unsigned prefixes = __ballot_sync(0xffffffff, kind == PREFIX);
    if (prefixes && threadIdx.x > __ffs(prefixes) - 1) v = IDENTITY;  // the nearest prefix has it
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v = combine(__shfl_xor_sync(0xffffffff, v, d), v);
    sum = combine(v, sum);
    if (prefixes) return sum;
  }
}
