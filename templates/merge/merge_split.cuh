// merge_split.cuh -- PARTITION=launch: a launch before finds where blocks' parts of c start, by SEARCH_LANES lanes
// each.
#pragma once
#include "lanes.cuh"
#include "merge_path.cuh"

extern "C" __global__ void __launch_bounds__(128)
    merge_split(long long m, long long n, const key *__restrict__ a, const key *__restrict__ b,
                long long parts, long long *splits) {
  if constexpr (OVERLAP == OVERLAP_on) griddepcontrol_launch_dependents();
  const long long part = (blockIdx.x * 128ll + threadIdx.x) / SEARCH_LANES,
                  d = min(part * STRETCH, m + n);
  long long i;
  if constexpr (SEARCH_LANES == 1) {
    i = co_rank(d, a, m, b, n);
  } else {
    i = co_rank_group<SEARCH_LANES>(d, a, m, b, n);
  }
  if (threadIdx.x % SEARCH_LANES == 0 && part <= parts) splits[part] = i;
}
