// bucket_tree.cuh -- which bin a key belongs to: a binary search among splitters in shared memory.
//
// Bucket b has the keys from splitter b on, counted from 1, to the next. Behind every 32 splitters is a gap, so that
// those that the lanes of a warp compare with, equally far apart, are in different banks; steps of the search are
// powers of two, whose distances in memory add up.
//   src  Sanders and Winkel, Super scalar sample sort, for a search without branches
#pragma once
#include "bucket_plan.cuh"

__host__ __device__ constexpr unsigned with_gaps(unsigned splitter) {
  return splitter + splitter / 32;
}
constexpr unsigned TREE_PLACES = (with_gaps(SPLITTERS) + 3) / 4 * 4;

// One predicated addition; the compiler adds and then selects.
__device__ __forceinline__ void add_if(unsigned &x, unsigned more, bool yes) {
  asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p add.u32 %0, %0, %1; }"
      : "+r"(x)
      : "r"(more), "r"((int)yes));
}

struct bucket_tree {
  key *nodes;
  unsigned *numbers;
  unsigned buckets;

  // Splitters beyond the last repeat it.
  template <int THREADS_OF_BLOCK>
  __device__ __forceinline__ void load(const key *splitters, const unsigned *places) const {
    if (buckets == 1) return;
#pragma unroll 1
    for (unsigned b = threadIdx.x; b < SPLITTERS; b += THREADS_OF_BLOCK) {
      if (b > 0) {
        nodes[with_gaps(b)] = splitters[b];
        if constexpr (STABLE) numbers[with_gaps(b)] = places[b];
      }
    }
  }

  // `at` counts bytes.
  __device__ __forceinline__ key node(unsigned at) const {
    return *reinterpret_cast<const key *>(reinterpret_cast<const char *>(nodes) + at);
  }
  __device__ __forceinline__ bool goes_right(key k, unsigned number, unsigned at) const {
    const key splitter = node(at);
    if constexpr (STABLE) {
      const bool not_later = numbers[at / (unsigned)sizeof(key)] <= number;
      return before(splitter, k) | (!before(k, splitter) & not_later);
    } else {
      return !before(k, splitter);
    }
  }

  template <int N>
  __device__ __forceinline__ void find(unsigned (&bin)[N], const key (&k)[N],
                                       const unsigned (&number)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i++) bin[i] = 0;
    if (buckets == 1) return;
#pragma unroll
    for (unsigned step = SPLITTERS / 2; step > 0; step /= 2) {
      const unsigned further = with_gaps(step) * (unsigned)sizeof(key);
#pragma unroll
      for (int i = 0; i < N; i++) {
        add_if(bin[i], further, goes_right(k[i], number[i], bin[i] + further));
      }
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
      const unsigned place = bin[i] / (unsigned)sizeof(key);
      const unsigned b = min(place - place / 33, buckets - 1);
      if constexpr (STABLE) {
        bin[i] = b;
      } else {  // not less than the splitter; if not more either, it is of the bin before the bucket
        bin[i] = 2 * b - (b > 0 && !before(node(bin[i]), k[i]));
      }
    }
  }
};
