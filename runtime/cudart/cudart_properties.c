/* cudart_properties.c -- cudaGetDeviceProperties: version 12 and version 13 of the runtime have different
 * structs, whatever header this file is compiled with. */
#include <string.h>

#include "cudart_api.h"
#include "cudart_process.h"

/* clang-format off */
/* The fields in order. X: of both; OLD: of version 12 alone; NEW: of version 13 alone. */
#define PROPERTIES(X, OLD, NEW)                                                                    \
  X(char, name, [256]) X(char, uuid, [16]) X(char, luid, [8]) X(unsigned, luidDeviceNodeMask,)     \
  X(size_t, totalGlobalMem,) X(size_t, sharedMemPerBlock,) X(int, regsPerBlock,) X(int, warpSize,) \
  X(size_t, memPitch,) X(int, maxThreadsPerBlock,) X(int, maxThreadsDim, [3])                      \
  X(int, maxGridSize, [3]) OLD(int, clockRate,) X(size_t, totalConstMem,) X(int, major,)           \
  X(int, minor,) X(size_t, textureAlignment,) X(size_t, texturePitchAlignment,)                    \
  OLD(int, deviceOverlap,) X(int, multiProcessorCount,) OLD(int, kernelExecTimeoutEnabled,)        \
  X(int, integrated,) X(int, canMapHostMemory,) OLD(int, computeMode,) X(int, maxTexture1D,)       \
  X(int, maxTexture1DMipmap,) OLD(int, maxTexture1DLinear,) X(int, maxTexture2D, [2])              \
  X(int, maxTexture2DMipmap, [2]) X(int, maxTexture2DLinear, [3]) X(int, maxTexture2DGather, [2])  \
  X(int, maxTexture3D, [3]) X(int, maxTexture3DAlt, [3]) X(int, maxTextureCubemap,)                \
  X(int, maxTexture1DLayered, [2]) X(int, maxTexture2DLayered, [3])                                \
  X(int, maxTextureCubemapLayered, [2]) X(int, maxSurface1D,) X(int, maxSurface2D, [2])            \
  X(int, maxSurface3D, [3]) X(int, maxSurface1DLayered, [2]) X(int, maxSurface2DLayered, [3])      \
  X(int, maxSurfaceCubemap,) X(int, maxSurfaceCubemapLayered, [2]) X(size_t, surfaceAlignment,)    \
  X(int, concurrentKernels,) X(int, ECCEnabled,) X(int, pciBusID,) X(int, pciDeviceID,)            \
  X(int, pciDomainID,) X(int, tccDriver,) X(int, asyncEngineCount,) X(int, unifiedAddressing,)     \
  OLD(int, memoryClockRate,) X(int, memoryBusWidth,) X(int, l2CacheSize,)                          \
  X(int, persistingL2CacheMaxSize,) X(int, maxThreadsPerMultiProcessor,)                           \
  X(int, streamPrioritiesSupported,) X(int, globalL1CacheSupported,)                               \
  X(int, localL1CacheSupported,) X(size_t, sharedMemPerMultiprocessor,)                            \
  X(int, regsPerMultiprocessor,) X(int, managedMemory,) X(int, isMultiGpuBoard,)                   \
  X(int, multiGpuBoardGroupID,) X(int, hostNativeAtomicSupported,)                                 \
  OLD(int, singleToDoublePrecisionPerfRatio,) X(int, pageableMemoryAccess,)                        \
  X(int, concurrentManagedAccess,) X(int, computePreemptionSupported,)                             \
  X(int, canUseHostPointerForRegisteredMem,) X(int, cooperativeLaunch,)                            \
  OLD(int, cooperativeMultiDeviceLaunch,) X(size_t, sharedMemPerBlockOptin,)                       \
  X(int, pageableMemoryAccessUsesHostPageTables,) X(int, directManagedMemAccessFromHost,)          \
  X(int, maxBlocksPerMultiProcessor,) X(int, accessPolicyMaxWindowSize,)                           \
  X(size_t, reservedSharedMemPerBlock,) X(int, hostRegisterSupported,)                             \
  X(int, sparseCudaArraySupported,) X(int, hostRegisterReadOnlySupported,)                         \
  X(int, timelineSemaphoreInteropSupported,) X(int, memoryPoolsSupported,)                         \
  X(int, gpuDirectRDMASupported,) X(unsigned, gpuDirectRDMAFlushWritesOptions,)                    \
  X(int, gpuDirectRDMAWritesOrdering,) X(unsigned, memoryPoolSupportedHandleTypes,)                \
  X(int, deferredMappingCudaArraySupported,) X(int, ipcEventSupported,) X(int, clusterLaunch,)     \
  X(int, unifiedFunctionPointers,) NEW(int, deviceNumaConfig,) NEW(int, deviceNumaId,)             \
  NEW(int, mpsEnabled,) NEW(int, hostNumaId,) NEW(unsigned, gpuPciDeviceID,)                       \
  NEW(unsigned, gpuPciSubsystemID,) NEW(int, hostNumaMultinodeIpcSupported,)                       \
  OLD(int, reserved_12, [63]) NEW(int, reserved_13, [56])

#define FIELD(type, name, extent) type name extent;
#define NONE(type, name, extent)
typedef struct properties { PROPERTIES(FIELD, FIELD, FIELD) } properties; /* of any version */
typedef struct properties_12 { PROPERTIES(FIELD, FIELD, NONE) } properties_12;
typedef struct properties_13 { PROPERTIES(FIELD, NONE, FIELD) } properties_13;
#if CUDART_VERSION >= 13000
_Static_assert(sizeof(properties_13) == sizeof(struct cudaDeviceProp), "cudaDeviceProp of CUDA 13");
#else
_Static_assert(sizeof(properties_12) == sizeof(struct cudaDeviceProp), "cudaDeviceProp of CUDA 12");
#endif
/* clang-format on */

static void take_limits(const rt_info *i, properties *p) {
  p->totalGlobalMem = (size_t)i->memory_nbytes;
  p->sharedMemPerBlock = (size_t)i->smem_static;
  p->regsPerBlock = i->regs_block;
  p->warpSize = i->warp;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = i->threads_block;
  for (int k = 0; k < 3; k++) {
    p->maxThreadsDim[k] = (int)i->block_max[k];
    p->maxGridSize[k] = (int)i->grid_max[k];
  }
  p->totalConstMem = 64 << 10;
  p->multiProcessorCount = i->sms;
  p->memoryBusWidth = i->memory_bus_bits;
  p->l2CacheSize = (int)i->l2_nbytes;
  p->maxThreadsPerMultiProcessor = i->threads_sm;
  p->sharedMemPerMultiprocessor = (size_t)i->smem_sm;
  p->regsPerMultiprocessor = i->regs_sm;
  p->sharedMemPerBlockOptin = (size_t)i->smem_block;
  p->maxBlocksPerMultiProcessor = i->blocks_sm;
  p->reservedSharedMemPerBlock = (size_t)i->smem_reserved;
}

static void take_features(const rt_info *i, properties *p) {
  strncpy(p->name, i->name, sizeof p->name - 1);
  p->major = i->cc / 10;
  p->minor = i->cc % 10;
  p->clockRate = (int)(i->clock_hz / 1000);
  p->memoryClockRate = (int)(i->memory_clock_hz / 1000);
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->singleToDoublePrecisionPerfRatio = 2;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
  p->deviceOverlap = p->asyncEngineCount = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
  p->concurrentManagedAccess = p->cooperativeLaunch = p->streamPrioritiesSupported = 1;
  p->memoryPoolsSupported = p->computePreemptionSupported = 1;
  p->clusterLaunch = i->cc >= 90;
}

static cudaError_t take(properties *p, int device) {
  CUDART_ENTER(c);
  *p = (properties){.pciBusID = 1};
  take_limits(&c->d->info, p);
  take_features(&c->d->info, p);
  return cudart_leave(c, device ? cudaErrorInvalidDevice : cudaSuccess);
}

/* clang-format off */
#define COPY(type, name, extent) memcpy(&out->name, &all.name, sizeof all.name);
/* clang-format on */

cudaError_t emu_properties_12(void *to, int device) {
  CUDART_NEEDS(to);
  properties_12 *out = to;
  properties all;
  const cudaError_t error = take(&all, device);
  if (!error) {
    PROPERTIES(COPY, COPY, NONE)
  }
  return error;
}

cudaError_t emu_properties_13(void *to, int device) {
  CUDART_NEEDS(to);
  properties_13 *out = to;
  properties all;
  const cudaError_t error = take(&all, device);
  if (!error) {
    PROPERTIES(COPY, NONE, COPY)
  }
  return error;
}
