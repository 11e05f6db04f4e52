/* cudart_device.c -- the one device: its number, attributes, limits. */
#include <stdio.h>
#include <string.h>

#include "cudart_api.h"
#include "cudart_capture.h"
#include "cudart_registered.h"
#include "cudart_process.h"

enum { VERSION = 13000 };

cudaError_t emu_cudaGetDeviceCount(int *n) {
  CUDART_NEEDS(n);
  *n = 1;
  return cudaSuccess;
}

cudaError_t emu_cudaGetDevice(int *device) {
  CUDART_NEEDS(device);
  *device = 0;
  return cudaSuccess;
}

static cudaError_t check_device(int device) {
  CUDART_ENTER(c);
  return cudart_leave(c, device ? cudaErrorInvalidDevice : cudaSuccess);
}

cudaError_t emu_cudaSetDevice(int device) {
  return check_device(device);
}

cudaError_t emu_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
  CUDART_NEEDS(device);
  (void)wanted;
  *device = 0;
  return cudaSuccess;
}

cudaError_t emu_cudaSetDeviceFlags(unsigned flags) {
  (void)flags;
  return cudaSuccess;
}

cudaError_t emu_cudaGetDeviceFlags(unsigned *flags) {
  *flags = cudaDeviceScheduleAuto | cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t emu_cudaDriverGetVersion(int *version) {
  CUDART_NEEDS(version);
  *version = VERSION;
  return cudaSuccess;
}

cudaError_t emu_cudaRuntimeGetVersion(int *version) {
  CUDART_NEEDS(version);
  *version = VERSION;
  return cudaSuccess;
}

cudaError_t emu_cudaDeviceReset(void) {
  cudart *c = cudart_enter();
  cudart_capture_end_all();
  cudart_registered_forget();
  cudart_reset(c);
  return cudart_leave(c, cudaSuccess);
}

/* clang-format off */
/* attribute, its value from the device's rt_info; others are 0 */
#define ATTRIBUTES(X)                                                                              \
  X(MaxThreadsPerBlock, i->threads_block) X(MaxBlockDimX, i->block_max[0])                         \
  X(MaxBlockDimY, i->block_max[1]) X(MaxBlockDimZ, i->block_max[2])                                \
  X(MaxGridDimX, i->grid_max[0]) X(MaxGridDimY, i->grid_max[1]) X(MaxGridDimZ, i->grid_max[2])     \
  X(MaxSharedMemoryPerBlock, i->smem_static) X(TotalConstantMemory, 64 << 10)                      \
  X(WarpSize, i->warp) X(MaxPitch, 0x7fffffff) X(MaxRegistersPerBlock, i->regs_block)              \
  X(ClockRate, i->clock_hz / 1000) X(TextureAlignment, 512) X(GpuOverlap, 1)                       \
  X(MultiProcessorCount, i->sms) X(CanMapHostMemory, 1) X(SurfaceAlignment, 512)                   \
  X(ConcurrentKernels, 1) X(MemoryClockRate, i->memory_clock_hz / 1000)                            \
  X(GlobalMemoryBusWidth, i->memory_bus_bits) X(L2CacheSize, i->l2_nbytes)                         \
  X(MaxThreadsPerMultiProcessor, i->threads_sm) X(AsyncEngineCount, 1) X(UnifiedAddressing, 1)     \
  X(PciBusId, 1) X(TexturePitchAlignment, 32) X(ComputeCapabilityMajor, i->cc / 10)                \
  X(ComputeCapabilityMinor, i->cc % 10) X(StreamPrioritiesSupported, 1)                            \
  X(GlobalL1CacheSupported, 1) X(LocalL1CacheSupported, 1)                                         \
  X(MaxSharedMemoryPerMultiprocessor, i->smem_sm) X(MaxRegistersPerMultiprocessor, i->regs_sm)     \
  X(ManagedMemory, 1) X(SingleToDoublePrecisionPerfRatio, 2) X(ConcurrentManagedAccess, 1)         \
  X(ComputePreemptionSupported, 1) X(CooperativeLaunch, 1)                                         \
  X(MaxSharedMemoryPerBlockOptin, i->smem_block) X(MaxBlocksPerMultiprocessor, i->blocks_sm)       \
  X(ReservedSharedMemoryPerBlock, i->smem_reserved) X(MemoryPoolsSupported, 1)                     \
  X(ClusterLaunch, i->cc >= 90)
/* clang-format on */

cudaError_t emu_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  CUDART_NEEDS(value);
  CUDART_ENTER(c);
  const rt_info *i = &c->d->info;
  switch ((int)attribute) {
#define ROW(name, expression)                                                                      \
  case cudaDevAttr##name: *value = (int)(expression); break;
    ATTRIBUTES(ROW)
#undef ROW
  default: *value = 0;
  }
  return cudart_leave(c, device ? cudaErrorInvalidDevice : cudaSuccess);
}

/* ---- limits and settings --------------------------------------------------------------------- */

enum { N_LIMITS = 16 };
static size_t limits[N_LIMITS] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 1 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
};

cudaError_t emu_cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  CUDART_ENTER(c);
  if ((unsigned)limit >= N_LIMITS) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  limits[limit] = value;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  CUDART_NEEDS(value);
  CUDART_ENTER(c);
  if ((unsigned)limit >= N_LIMITS) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  *value = limits[limit];
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}

cudaError_t emu_cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least) {
    *least = 0;
  }
  if (greatest) {
    *greatest = -5;
  }
  return cudaSuccess;
}

static const char bus_id[] = "0000:01:00.0";

cudaError_t emu_cudaDeviceGetPCIBusId(char *text, int n, int device) {
  snprintf(text, (size_t)n, "%s", bus_id);
  return check_device(device);
}

cudaError_t emu_cudaDeviceGetByPCIBusId(int *device, const char *text) {
  *device = 0;
  return check_device(strcmp(text, bus_id) != 0);
}

/* ---- other devices: there are none ----------------------------------------------------------- */

cudaError_t emu_cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  CUDART_NEEDS(can);
  *can = 0;
  return check_device(device ? device : peer);
}

cudaError_t emu_cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  (void)flags;
  return check_device(peer ? peer : 1);
}

cudaError_t emu_cudaDeviceDisablePeerAccess(int peer) {
  return check_device(peer ? peer : 1);
}

cudaError_t emu_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from,
                                          int to) {
  (void)attribute;
  *value = 0;
  return check_device(from ? from : to);
}

struct cudaChannelFormatDesc emu_channel_desc(int x, int y, int z, int w,
                                              enum cudaChannelFormatKind kind) {
  return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
