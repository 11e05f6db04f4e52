/* exported_launch.h -- part of exported C: launch a kernel. */
#ifndef EXPORTED_LAUNCH_H
#define EXPORTED_LAUNCH_H

#include <cuda.h>

/* overlap: the kernel may start before the one ahead of it has ended, for which it waits itself
 * (programmatic dependent launch); headers before CUDA 12 can't say so. */
static inline CUresult tuned_launch_kernel(CUfunction f, const unsigned grid[3],
                                           const unsigned block[3], unsigned smem, CUstream stream,
                                           void **operands, int overlap) {
#if CUDA_VERSION >= 12000
  if (overlap) {
    CUlaunchAttribute early;
    CUlaunchConfig how;
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    how.gridDimX = grid[0];
    how.gridDimY = grid[1];
    how.gridDimZ = grid[2];
    how.blockDimX = block[0];
    how.blockDimY = block[1];
    how.blockDimZ = block[2];
    how.sharedMemBytes = smem;
    how.hStream = stream;
    how.attrs = &early;
    how.numAttrs = 1;
    return cuLaunchKernelEx(&how, f, operands, NULL);
  }
#endif
  (void)overlap;
  return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], smem, stream,
                        operands, NULL);
}

#endif
