/* cudart_memory.c -- allocation. Managed and pinned memory is the emulated device's, at addresses that the host
 * uses, too (rt_emu_alloc_shared). Stream-ordered calls act at once. */
#include <stdlib.h>

#include "cudart_api.h"
#include "cudart_capture.h"
#include "cudart_graph_memory.h"
#include "cudart_registered.h"
#include "emu.h"

enum { PITCH = 512 }; /* bytes; what cards since compute capability 2.0 align rows to */

static cudaError_t allocate(void **p, size_t nbytes, bool shared) {
  CUDART_ENTER(c);
  cudaError_t error = p ? cudart_capture_unsafe() : cudaErrorInvalidValue;
  if (!error) {
    *p = NULL;
    error = nbytes ? cudart_allocate(c, p, nbytes, shared) : cudaSuccess;
  }
  return cudart_leave(c, error);
}

static cudaError_t allocate_in_stream(void **p, size_t nbytes, cudaStream_t stream) {
  cudart_work w = {.type = cudaGraphNodeTypeMemAlloc, .alloc = {.bytesize = nbytes}};
  cudaError_t error;
  CUDART_ENTER(c);
  if (p && nbytes && cudart_capture_work(c, stream, &w, &error)) {
    *p = error ? NULL : w.alloc.dptr;
    return cudart_leave(c, error);
  }
  if (!p) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  *p = NULL;
  return cudart_leave(c, nbytes ? cudart_allocate(c, p, nbytes, false) : cudaSuccess);
}

/* A wrong address is a finding: the program frees twice, or what it never allocated. */
static cudaError_t release(void *p, const char *call) {
  err e = {0};
  CUDART_ENTER(c);
  if (cudart_is_of_graph(c, p) || !c->d->ops->give_back(c->d, cudart_address(p), &e)) {
    return cudart_leave(c, cudaSuccess);
  }
  cudart_finding(&e, call);
  return cudart_leave(c, cudaErrorInvalidValue);
}

cudaError_t emu_cudaMalloc(void **p, size_t nbytes) {
  CUDART_NEEDS(p);
  return allocate(p, nbytes, false);
}

cudaError_t emu_cudaMallocAsync(void **p, size_t nbytes, cudaStream_t stream) {
  CUDART_NEEDS(p);
  return allocate_in_stream(p, nbytes, stream);
}

cudaError_t emu_cudaMallocFromPoolAsync(void **p, size_t nbytes, cudaMemPool_t pool,
                                        cudaStream_t stream) {
  (void)pool;
  return allocate_in_stream(p, nbytes, stream);
}

cudaError_t emu_cudaMallocManaged(void **p, size_t nbytes, unsigned flags) {
  CUDART_NEEDS(p);
  (void)flags;
  return nbytes ? allocate(p, nbytes, true) : cudaErrorInvalidValue;
}

cudaError_t emu_cudaMallocHost(void **p, size_t nbytes) {
  CUDART_NEEDS(p);
  return allocate(p, nbytes, true);
}

cudaError_t emu_cudaHostAlloc(void **p, size_t nbytes, unsigned flags) {
  CUDART_NEEDS(p);
  (void)flags;
  return allocate(p, nbytes, true);
}

/* The product; SIZE_MAX, which no device has, where it overflows. */
static size_t times(size_t a, size_t b) {
  size_t product;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

cudaError_t emu_cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
  CUDART_NEEDS(p && pitch);
  *pitch = times(width / PITCH + (width % PITCH != 0), PITCH);
  return allocate(p, times(*pitch, height), false);
}

cudaError_t emu_cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent extent) {
  CUDART_NEEDS(p);
  *p = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
  return emu_cudaMallocPitch(&p->ptr, &p->pitch, extent.width, times(extent.height, extent.depth));
}

cudaError_t emu_cudaFree(void *p) {
  return release(p, "cudaFree");
}

cudaError_t emu_cudaFreeAsync(void *p, cudaStream_t stream) {
  cudart_work w = {.type = cudaGraphNodeTypeMemFree, .freed = p};
  cudaError_t error;
  CUDART_ENTER(c);
  const bool done = cudart_capture_work(c, stream, &w, &error);
  return cudart_leave(c, done ? error : release(p, "cudaFreeAsync"));
}

cudaError_t emu_cudaFreeHost(void *p) {
  return release(p, "cudaFreeHost");
}

cudaError_t emu_cudaMemGetInfo(size_t *free_nbytes, size_t *total) {
  CUDART_NEEDS(free_nbytes && total);
  int64_t left = 0;
  CUDART_ENTER(c);
  c->d->ops->memory_free(c->d, &left, NULL);
  *free_nbytes = (size_t)left;
  *total = (size_t)c->d->info.memory_nbytes;
  return cudart_leave(c, cudaSuccess);
}

/* ---- what an address is ---------------------------------------------------------------------- */

cudaError_t emu_cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
  CUDART_NEEDS(a);
  rt_emu_range range;
  unsigned flags;
  CUDART_ENTER(c);
  *a = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -2};
  if (cudart_registered_has(c, p, &flags)) {
    a->type = cudaMemoryTypeHost;
    a->device = 0;
    cudart_registered_map(c, (void *)(uintptr_t)p, &a->devicePointer);
  }
  a->hostPointer = (void *)(uintptr_t)p;
  if (rt_emu_range_at(c->d, cudart_address(p), &range) && range.alive) {
    a->type = range.shared ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
    a->device = 0;
    a->devicePointer = (void *)(uintptr_t)p;
    a->hostPointer = range.shared ? a->hostPointer : NULL;
  }
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  CUDART_NEEDS(device);
  (void)flags;
  CUDART_ENTER(c);
  *device = NULL;
  if (!rt_emu_is_address(c->d, cudart_address(host))) {
    return cudart_leave(c, cudart_registered_map(c, host, device));
  }
  *device = host;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaHostGetFlags(unsigned *flags, void *host) {
  CUDART_NEEDS(flags);
  CUDART_ENTER(c);
  const bool registered = cudart_registered_has(c, host, flags);
  *flags |= cudaHostAllocMapped;
  return cudart_leave(c, registered || rt_emu_is_address(c->d, cudart_address(host))
                             ? cudaSuccess
                             : cudaErrorInvalidValue);
}

/* ---- pools: there is one, without limits ----------------------------------------------------- */

static char the_pool; /* only an address */

static cudaError_t take_pool(cudaMemPool_t *pool) {
  *pool = (cudaMemPool_t)(void *)&the_pool;
  return cudaSuccess;
}

cudaError_t emu_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  (void)device;
  return take_pool(pool);
}

cudaError_t emu_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
  (void)device;
  return take_pool(pool);
}

cudaError_t emu_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
  (void)properties;
  return take_pool(pool);
}

cudaError_t emu_cudaMemPoolDestroy(cudaMemPool_t pool) {
  (void)pool;
  return cudaSuccess;
}

cudaError_t emu_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute,
                                        void *value) {
  (void)pool;
  if (attribute <= cudaMemPoolReuseAllowInternalDependencies) {
    *(int *)value = 0;
  } else {
    *(uint64_t *)value = 0;
  }
  return cudaSuccess;
}
