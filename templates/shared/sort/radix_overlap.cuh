// radix_overlap.cuh -- OVERLAP=on: a launch starts while the one before ends, and waits for its results.
#pragma once
#include "lanes.cuh"

__device__ __forceinline__ void let_next_start() {
  if constexpr (OVERLAP == OVERLAP_on) griddepcontrol_launch_dependents();
}
__device__ __forceinline__ void wait_for_last() {
  if constexpr (OVERLAP == OVERLAP_on) griddepcontrol_wait();
}
