// merge_sequences.cuh -- the sequences that a launch of merge has, and where a block's part of c starts in them.
#pragma once
#include "lanes.cuh"
#include "merge_path.cuh"

struct sequences {
  long long m, n;
  const key *__restrict__ a, *__restrict__ b;
  key *__restrict__ c;
  const value *__restrict__ av, *__restrict__ bv;
  value *__restrict__ cv;
};

// Co-ranks of first and end, the block's part of c. All threads of the block come here.
__device__ __forceinline__ void split(long long first, long long end, const sequences &s,
                                      const long long *splits, long long *from, long long *to) {
  if constexpr (PARTITION == PARTITION_launch) {
    if constexpr (OVERLAP == OVERLAP_on) griddepcontrol_wait();
    *from = splits[blockIdx.x];
    *to = splits[blockIdx.x + 1];
  } else {
    __shared__ long long found[2];
    const int warp = threadIdx.x / 32;
    if (warp < 2) {
      const long long i = co_rank_warp(warp == 0 ? first : end, s.a, s.m, s.b, s.n);
      if (threadIdx.x % 32 == 0) found[warp] = i;
    }
    __syncthreads();
    *from = found[0];
    *to = found[1];
  }
}

// Fetches the value of a place in the tile of c that starts at `first`.
struct fetch {
  const sequences &s;
  long long first, a_first, b_first;
  int a_count;

  __device__ __forceinline__ void operator()(int place, int source) const {
    s.cv[first + place] =
        source < a_count ? s.av[a_first + source] : s.bv[b_first + source - a_count];
  }
};
