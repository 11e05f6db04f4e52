// bucket_tree.cuh -- which bin a key belongs to: a binary search tree of splitters in shared memory.
//
// Node i has the children 2 * i and 2 * i + 1, so that the nodes of a level are consecutive: lanes at different nodes
// read different banks. Bucket b has the keys from splitter b on, counted from 1, to the next.
//   src  Sanders and Winkel, Super scalar sample sort
#pragma once
#include "bucket_plan.cuh"

constexpr int DEPTH = SPLITTERS <= 32     ? 5
                      : SPLITTERS <= 64   ? 6
                      : SPLITTERS <= 128  ? 7
                      : SPLITTERS <= 256  ? 8
                      : SPLITTERS <= 512  ? 9
                      : SPLITTERS <= 1024 ? 10
                      : SPLITTERS <= 2048 ? 11
                                          : 12;
static_assert(SPLITTERS == 1 << DEPTH, "SPLITTERS is not a power of two");

// The node of which splitter, in order and from 0, is node i?
__device__ __forceinline__ unsigned splitter_of(unsigned node) {
  const int level = 31 - __clz((int)node);
  return ((2 * (node - (1u << level)) + 1) << (DEPTH - level - 1)) - 1;
}

// The node of the splitter at which bucket b > 0 starts: the last at which the way to the b-th leaf goes right.
__device__ __forceinline__ unsigned node_below(unsigned b) {
  const unsigned leaf = SPLITTERS + b;
  return leaf >> __ffs((int)leaf);
}

struct bucket_tree {
  const key *nodes;
  const unsigned *numbers;
  unsigned buckets;

  __device__ __forceinline__ bool goes_right(key k, unsigned number, unsigned node) const {
    if constexpr (STABLE) {
      return before(nodes[node], k) || (!before(k, nodes[node]) && numbers[node] <= number);
    } else {
      return !before(k, nodes[node]);
    }
  }

  // Nodes beyond the last splitter repeat it.
  template <int N>
  __device__ __forceinline__ void find(unsigned (&bin)[N], const key (&k)[N],
                                       const unsigned (&number)[N]) const {
    if (buckets == 1) {
#pragma unroll
      for (int i = 0; i < N; i++) bin[i] = 0;
      return;
    }
#pragma unroll
    for (int i = 0; i < N; i++) bin[i] = 1;
#pragma unroll
    for (int level = 0; level < DEPTH; level++) {
#pragma unroll
      for (int i = 0; i < N; i++) bin[i] = 2 * bin[i] + goes_right(k[i], number[i], bin[i]);
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
      const unsigned b = min(bin[i] - SPLITTERS, buckets - 1);
      bin[i] = b;
      // not less than the splitter; is it not more either? Then it is of the bin in front of the bucket.
      if constexpr (!STABLE) bin[i] = 2 * b - (b > 0 && !before(nodes[node_below(b)], k[i]));
    }
  }
};
