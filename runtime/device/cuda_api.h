/* cuda_api.h -- the CUDA driver's functions, resolved at run time. Private to the cuda*.c files.
 *
 * The lists contain the names of cuda.h, which are macros for versioned symbols (cuMemAlloc is
 * cuMemAlloc_v2). The argument of CUDA_LOAD is expanded before it becomes the text for dlsym, so
 * that symbol, type and member agree. A driver without a REQUIRED function is too old; an OPTIONAL
 * one is NULL if it is missing. */
#ifndef RT_CUDA_API_H
#define RT_CUDA_API_H

#include <cuda.h>
#include <stdbool.h>

#include "err.h"

/* clang-format off */
#define CUDA_REQUIRED(X)                                                                            \
  X(cuCtxGetCurrent) X(cuLaunchKernel)                                                              \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                             \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem) \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)                                          \
  X(cuCtxSetCurrent) X(cuCtxGetDevice)                                                              \
  X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo)                                                        \
  X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)                 \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction)                                    \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute)                                                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                    \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize)                                       \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize)
/* clang-format on */

#if CUDA_VERSION >= 12000
#define CUDA_OPTIONAL_12(X) X(cuTensorMapEncodeTiled) X(cuTensorMapEncodeIm2col)
#else
#define CUDA_OPTIONAL_12(X)
#endif
#if CUDA_VERSION >= 12040
#define CUDA_OPTIONAL_12_4(X) X(cuFuncGetParamInfo)
#else
#define CUDA_OPTIONAL_12_4(X)
#endif
#if CUDA_VERSION >= 13000
#define CUDA_OPTIONAL_13(X)                                                                        \
  X(cuStreamGetCaptureInfo)                                                                        \
  X(cuStreamUpdateCaptureDependencies)                                                             \
  X(cuStreamBeginCaptureToGraph) X(cuGraphAddNode) X(cuGraphConditionalHandleCreate)
#else
#define CUDA_OPTIONAL_13(X)
#endif
/* clang-format off */
#define CUDA_OPTIONAL(X)                                                                            \
  X(cuDeviceGetUuid) X(cuEventElapsedTime) X(cuLaunchKernelEx)                                      \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuGraphInstantiate)        \
  X(cuStreamWaitEvent) X(cuLaunchCooperativeKernel)                                                 \
  X(cuModuleGetGlobal) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy)                     \
  X(cuArray3DCreate) X(cuArrayDestroy) X(cuMemcpy3DAsync) X(cuTexObjectCreate)                      \
  X(cuTexObjectDestroy) X(cuSurfObjectCreate) X(cuSurfObjectDestroy) CUDA_OPTIONAL_12(X)            \
  X(cuCtxGetLimit) X(cuCtxSetLimit)                                                                 \
  X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemAllocManaged) X(cuMemPrefetchAsync) X(cuMemAdvise)      \
  CUDA_OPTIONAL_12_4(X) CUDA_OPTIONAL_13(X)
/* clang-format on */

typedef struct cuda_api {
#define CUDA_MEMBER(f) __typeof__(f) *f;
  CUDA_REQUIRED(CUDA_MEMBER)
  CUDA_OPTIONAL(CUDA_MEMBER)
#undef CUDA_MEMBER
} cuda_api;

/* cuda_api_open -- loads libcuda.so.1 by the loader's rules, then from the folders of container
 * runtimes and distributions, and calls cuInit. The toolkit's stub (libcuda.so) is never loaded.
 * The driver stays loaded until the program ends.
 *   in   load  false: succeed only if this process has already loaded the driver
 *   err  ERR_DEVICE  no driver, too old, or it does not start; says which and what to do */
int cuda_api_open(cuda_api *api, bool load, err *e);

/* cuda_explain -- set *e after a failed call: the action, CUDA's name and description, advice.
 *   out  *dead  set (never cleared) when the context is lost for good; may be NULL
 *   returns the code that device.h documents for this result */
int cuda_explain(const cuda_api *api, CUresult r, bool *dead, err *e, const char *doing, ...)
    __attribute__((format(printf, 5, 6)));

#endif
