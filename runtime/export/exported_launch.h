/* exported_launch.h -- part of exported C: find a kernel and launch it, find a variable. */
#ifndef EXPORTED_LAUNCH_H
#define EXPORTED_LAUNCH_H

#include <cuda.h>
#include <stddef.h>

/* smem: bytes of dynamic shared memory that a launch takes at most */
static inline CUresult tuned_find_kernel(CUmodule module, const char *name, int smem,
                                         CUfunction *f) {
  const CUresult rc = cuModuleGetFunction(f, module, name);
  return rc == CUDA_SUCCESS && smem > 0
             ? cuFuncSetAttribute(*f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, smem)
             : rc;
}

/* nbytes: how many a launch copies there at most */
static inline CUresult tuned_find_variable(CUmodule module, const char *name, size_t nbytes,
                                           CUdeviceptr *variable) {
  size_t has = 0;
  const CUresult rc = cuModuleGetGlobal(variable, &has, module, name);
  return rc == CUDA_SUCCESS && has < nbytes ? CUDA_ERROR_INVALID_VALUE : rc;
}

/* May it start before the kernel ahead of it has ended? Code for older devices does not wait. */
static inline CUresult tuned_find_overlap(CUfunction f, int *overlaps) {
  const CUresult rc = cuFuncGetAttribute(overlaps, CU_FUNC_ATTRIBUTE_PTX_VERSION, f);
  *overlaps = rc == CUDA_SUCCESS && *overlaps >= 90;
  return rc;
}

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
