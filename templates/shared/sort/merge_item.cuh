// merge_item.cuh -- the items that compare-exchanges put in order: keys, or, with values, keys and their places
// in the tile, which distinguish equal keys.
//
// Define before: ADJACENT_EXCHANGES, true if only neighbours are exchanged, which is stable by itself; ITEMS_IN_ORDER,
// true if items of equal keys that are merged are of lesser places on the left.
#pragma once
#include "merge_key.cuh"

struct key_and_source {
  key k;
  // The key's place in the tile; as wide as the key, so that there is no padding. Places in no order may be of all keys.
  choose<sizeof(key) == 8, long long,
         choose<sizeof(key) == 4 || !ITEMS_IN_ORDER, int, unsigned short>>
      source;
};
using item = choose<(VALUE > 0), key_and_source, key>;

__device__ __forceinline__ bool before(const key_and_source &x, const key_and_source &y) {
  if constexpr (ITEMS_IN_ORDER) return before(x.k, y.k);
  return before(x.k, y.k) | (!before(y.k, x.k) & (x.source < y.source));
}

// Is x, on the left of y, to be exchanged with it?
__device__ __forceinline__ bool swapped(key x, key y) { return before(y, x); }
__device__ __forceinline__ bool swapped(const key_and_source &x, const key_and_source &y) {
  if constexpr (ADJACENT_EXCHANGES) return before(y.k, x.k);
  return before(y.k, x.k) | (!before(x.k, y.k) & (y.source < x.source));  // without branches
}

__device__ __forceinline__ key_and_source with_source(key k, int source) {
  return {k, (decltype(key_and_source::source))source};
}
template <typename Item = item>
__device__ __forceinline__ Item make_item(key k, int source) {
  if constexpr (VALUE > 0) {
    return with_source(k, source);
  } else {
    return k;
  }
}
__device__ __forceinline__ key key_of(key x) { return x; }
__device__ __forceinline__ key key_of(const key_and_source &x) { return x.k; }
__device__ __forceinline__ int source_of(key) { return 0; }
__device__ __forceinline__ auto source_of(const key_and_source &x) { return x.source; }

// The x of the lane whose number differs by the mask.
__device__ __forceinline__ key from_lane(key x, int mask) {
  return (key)__shfl_xor_sync(0xffffffff, x, mask);
}
__device__ __forceinline__ key_and_source from_lane(const key_and_source &x, int mask) {
  return with_source((key)__shfl_xor_sync(0xffffffff, x.k, mask),
                     (int)__shfl_xor_sync(0xffffffff, x.source, mask));
}

// IMAD_EXCHANGES: x + y - one is the other one. As two multiplications by -1, these subtractions use another
// pipe than comparisons, which limit the throughput. The compiler must not know that the factor is -1.
template <typename T>
__constant__ T minus_one = T(-1);

__device__ __forceinline__ unsigned bits_of(const item &x) {
  return *reinterpret_cast<const unsigned *>(&x);
}

template <typename T = unsigned>
__device__ __forceinline__ item other_of(item x, item y, item one) {
  const T without_y = bits_of(y) * minus_one<T> + bits_of(one);
  const T other = without_y * minus_one<T> + bits_of(x);
  return *reinterpret_cast<const item *>(&other);
}

// The k-th of independent exchanges.
template <int BY_IMAD = IMAD_EXCHANGES>
__device__ __forceinline__ void exchange(item &x, item &y, int k) {
  const bool yes = swapped(x, y);
  if constexpr (BY_IMAD > 0) {
    if (k % 3 < BY_IMAD) {
      const item left = yes ? y : x;
      y = other_of(x, y, left);
      x = left;
      return;
    }
  }
  const item left = yes ? y : x, right = yes ? x : y;
  x = left;
  y = right;
}
