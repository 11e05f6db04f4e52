// words.cuh -- loads and stores of 1, 2, 4, 8 or 16 bytes with a cache operator, whatever the type.
// "Cache operators" in the PTX ISA says what they ask for; these are hints, the result is the same.
#pragma once

template <int N>
struct word_of;
template <>
struct word_of<1> {
  using type = unsigned char;
};
template <>
struct word_of<2> {
  using type = unsigned short;
};
template <>
struct word_of<4> {
  using type = unsigned;
};
template <>
struct word_of<8> {
  using type = uint2;
};
template <>
struct word_of<16> {
  using type = uint4;
};
template <typename T>
using word = typename word_of<sizeof(T)>::type;

// Each is one instruction; T is a trivial type whose alignment is its size.
#define WORDS_LOAD(name, instruction)                                    \
  template <typename T>                                                  \
  __device__ __forceinline__ T name(const T *p) {                        \
    const word<T> w = instruction(reinterpret_cast<const word<T> *>(p)); \
    return *reinterpret_cast<const T *>(&w);                             \
  }
#define WORDS_STORE(name, instruction)                                                   \
  template <typename T>                                                                  \
  __device__ __forceinline__ void name(T *p, const T &v) {                               \
    instruction(reinterpret_cast<word<T> *>(p), *reinterpret_cast<const word<T> *>(&v)); \
  }

WORDS_LOAD(load_plain, *)
WORDS_LOAD(load_constant, __ldg)    // .nc: nobody writes there during the launch
WORDS_LOAD(load_second, __ldcg)     // .cg: past the first-level cache
WORDS_LOAD(load_streaming, __ldcs)  // .cs: read once, evict first

template <typename W>
__device__ __forceinline__ void store_word(W *p, const W &w) {
  *p = w;
}
WORDS_STORE(store_plain, store_word)
WORDS_STORE(store_second, __stcg)     // .cg
WORDS_STORE(store_streaming, __stcs)  // .cs

#undef WORDS_LOAD
#undef WORDS_STORE
