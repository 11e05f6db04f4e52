// sgemm_launch.cuh -- what all kernels of sgemm begin with: launches that overlap, and the epilogue.
#pragma once
#include "lanes.cuh"
#include "last_block.cuh"
#include "ptx.cuh"

// OVERLAP: the next kernel may start early; this one waits for the end of the one before. Code for a lower
// compute capability than the device's leaves that to the order of the launches.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  if constexpr (OVERLAP) griddepcontrol_launch_dependents();
#endif
}
__device__ __forceinline__ void wait_for_last() {
#if __CUDA_ARCH__ >= 900
  if constexpr (OVERLAP) griddepcontrol_wait();
#endif
}

__device__ __forceinline__ float widen(float v) { return v; }
#include "epilogue.cuh"
#include "scaled_sum.cuh"
