// radix_entry.cuh -- what lanes sort in their registers: the bits of a key that count and, where equal keys can be told
// apart by values or other bits, its position.
#pragma once
#include "radix_keys.cuh"

constexpr bool ALL_BITS = !FLOATS && BITS == 8 * KEY;  // equal keys have the same bits
constexpr bool NEEDS_POSITION = !ALL_BITS || VALUE > 0;

struct bare_entry {
  key word;

  static __device__ __forceinline__ bare_entry make(key k, unsigned) { return {k}; }
  __device__ __forceinline__ key bits() const { return word; }
  __device__ __forceinline__ unsigned at() const { return 0; }
};

struct packed_entry {
  static constexpr int HALF = 8 * (KEY < 4 ? 2 : 4);
  using both = unsigned_of<HALF / 4>;
  both word;

  static __device__ __forceinline__ packed_entry make(key k, unsigned position) {
    return {(both)k << HALF | position};
  }
  __device__ __forceinline__ key bits() const { return (key)(word >> HALF); }
  __device__ __forceinline__ unsigned at() const {
    return (unsigned)word & (HALF == 16 ? 0xffff : ~0u);
  }
};

struct long_entry {
  unsigned long long word;
  unsigned position;
  unsigned zero;  // instead of padding, so that copies are of initialized memory

  static __device__ __forceinline__ long_entry make(key k, unsigned position) {
    return {k, position};
  }
  __device__ __forceinline__ key bits() const { return (key)word; }
  __device__ __forceinline__ unsigned at() const { return position; }
};

using entry = choose<NEEDS_POSITION, choose<KEY == 8, long_entry, packed_entry>, bare_entry>;

template <typename T>
__device__ __forceinline__ bool later(const T &x, const T &y) {
  return x.word > y.word;
}
__device__ __forceinline__ bool later(const long_entry &x, const long_entry &y) {
  return x.word > y.word || (x.word == y.word && x.position > y.position);
}

__device__ __forceinline__ bare_entry from_lane(const bare_entry &x, int mask) {
  using word = unsigned_of<KEY == 8 ? 8 : 4>;
  return {(key)__shfl_xor_sync(0xffffffff, (word)x.word, mask)};
}
__device__ __forceinline__ packed_entry from_lane(const packed_entry &x, int mask) {
  return {__shfl_xor_sync(0xffffffff, x.word, mask)};
}
__device__ __forceinline__ long_entry from_lane(const long_entry &x, int mask) {
  return {__shfl_xor_sync(0xffffffff, x.word, mask), __shfl_xor_sync(0xffffffff, x.position, mask)};
}

// Of an encoded key; one of all ones comes last.
__device__ __forceinline__ entry make_entry(key k, unsigned position) {
  k = one_zero(k);
  if constexpr (BITS < 8 * KEY) k = (key)(k >> FIRST_BIT & (((key)1 << BITS % (8 * KEY)) - 1));
  return entry::make(k, position);
}

#include "lane_sort.cuh"

// The key of an entry, decoded; `keys` is where the entries were made from, of encoded keys or not.
__device__ __forceinline__ key key_of(const entry &v, const key *keys, bool encoded) {
  if constexpr (ALL_BITS) return decode(v.bits());
  const key k = keys[v.at()];
  return encoded ? decode(k) : k;
}
