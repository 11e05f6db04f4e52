// radix_entry.cuh -- what lanes sort of keys in their registers: words in the order of the keys and, if
// equal ones can be told apart, of their places. Comes after radix_tile.cuh and brings lane_sort.cuh.

@ local partial = float or BITS < 8 * KEY -- keys may be equal though their bits differ
@ local told = partial or VALUE > 0
struct entry {
@ if not told then
  key word;

  __device__ __forceinline__ key bits() const { return word; }
@ elseif KEY == 8 then
  unsigned long long word;
  unsigned place;
  unsigned nothing;  // zero, so that whoever copies an entry copies what is there

  __device__ __forceinline__ key bits() const { return word; }
  __device__ __forceinline__ unsigned at() const { return place; }
@ else
@   local half = KEY == 4 and 32 or 16
  @{KEY == 4 and "unsigned long long" or "unsigned"} word;

  __device__ __forceinline__ key bits() const { return (key)(word >> @{half}); }
  __device__ __forceinline__ unsigned at() const {
    return (unsigned)word & @{KEY == 4 and "~0u" or "0xffff"};
  }
@ end
};
__device__ __forceinline__ bool later(const entry &x, const entry &y) {
@ if told and KEY == 8 then
  return x.word > y.word || (x.word == y.word && x.place > y.place);
@ else
  return x.word > y.word;
@ end
}
__device__ __forceinline__ entry from_lane(const entry &x, int mask) {
@ if told and KEY == 8 then
  return {__shfl_xor_sync(0xffffffff, x.word, mask), __shfl_xor_sync(0xffffffff, x.place, mask)};
@ elseif told or KEY > 2 then
  return {__shfl_xor_sync(0xffffffff, x.word, mask)};
@ else
  return {(key)__shfl_xor_sync(0xffffffff, (unsigned)x.word, mask)};
@ end
}

// Of an encoded key; beyond those that exist, of one that comes last.
__device__ __forceinline__ entry make_entry(key k, unsigned place) {
@ if float then
  constexpr key MINUS = (key)@{order == "ascending" and "(SIGN - 1)" or "SIGN"};  // -0
  if (k == MINUS) k = (key)~MINUS;                                          // counts as +0
@ end
@ if BITS < 8 * KEY then
  k = (key)(k >> FIRST_BIT & (((key)1 << BITS) - 1));
@ end
@ if not told then
  return {k};
@ elseif KEY == 8 then
  return {k, place};
@ elseif KEY == 4 then
  return {(unsigned long long)k << 32 | place};
@ else
  return {(unsigned)k << 16 | place};
@ end
}

@include "lane_sort.cuh"

// The key of an entry; `keys` are where the entries come from.
__device__ __forceinline__ key key_of(const entry &v, const key *keys, bool encoded) {
@ if partial then
  const key k = keys[v.at()];
  return encoded ? decode(k) : k;
@ else
  return decode(v.bits());
@ end
}
