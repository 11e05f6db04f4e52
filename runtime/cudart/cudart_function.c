/* cudart_function.c -- attributes and occupancy of kernels. */
#include "cudart_api.h"
#include "cudart_registry.h"

cudaError_t emu_cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func) {
  cudart_symbol *s;
  rt_function_info info;
  CUDART_ENTER(c);
  const cudaError_t error = cudart_kernel(c, func, &s);
  if (error) {
    return cudart_leave(c, error);
  }
  c->d->ops->function_info(c->d, s->f, &info, NULL);
  *a = (struct cudaFuncAttributes){
      .sharedSizeBytes = (size_t)info.smem_static,
      .localSizeBytes = (size_t)info.local_nbytes,
      .maxThreadsPerBlock = info.threads_max,
      .numRegs = info.regs,
      .ptxVersion = s->ptx_arch,
      .binaryVersion = c->d->info.cc,
      .maxDynamicSharedSizeBytes = (int)(c->d->info.smem_static - info.smem_static),
      .preferredShmemCarveout = cudaSharedmemCarveoutDefault,
  };
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute,
                                     int value) {
  cudart_symbol *s;
  err e = {0};
  CUDART_ENTER(c);
  cudaError_t error = cudart_kernel(c, func, &s);
  if (!error && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
      c->d->ops->function_smem(c->d, s->f, value, &e)) {
    cudart_note(e.message);
    error = cudaErrorInvalidValue;
  }
  return cudart_leave(c, error);
}

cudaError_t emu_cudaFuncGetName(const char **name, const void *func) {
  cudart_symbol *s;
  CUDART_ENTER(c);
  const cudaError_t error = cudart_kernel(c, func, &s);
  *name = error ? NULL : s->name;
  return cudart_leave(c, error);
}

/* Handles are the addresses of stubs. */
cudaError_t emu_cudaGetFuncBySymbol(cudaFunction_t *f, const void *func) {
  return emu_registered_kernel((cudaKernel_t *)(void *)f, func);
}

cudaError_t emu_cudaGetKernel(cudaKernel_t *kernel, const void *func) {
  return emu_registered_kernel(kernel, func);
}

cudaError_t emu_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *func, int threads,
                                                              size_t smem) {
  cudart_symbol *s;
  CUDART_ENTER(c);
  cudaError_t error = cudart_kernel(c, func, &s);
  if (!error &&
      (threads < 1 || c->d->ops->occupancy(c->d, s->f, threads, (int64_t)smem, n, NULL))) {
    error = cudaErrorInvalidValue;
  }
  return cudart_leave(c, error);
}

cudaError_t emu_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *func,
                                                                       int threads, size_t smem,
                                                                       unsigned flags) {
  (void)flags;
  return emu_cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, func, threads, smem);
}

/* The share of each of `blocks` blocks on a multiprocessor. */
cudaError_t emu_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *nbytes, const void *func,
                                                          int blocks, int threads) {
  cudart_symbol *s;
  rt_function_info info;
  (void)threads;
  CUDART_ENTER(c);
  const cudaError_t error = blocks < 1 ? cudaErrorInvalidValue : cudart_kernel(c, func, &s);
  if (!error) {
    c->d->ops->function_info(c->d, s->f, &info, NULL);
    const int64_t each = c->d->info.smem_sm / blocks - c->d->info.smem_reserved - info.smem_static;
    *nbytes = each > 0 ? (size_t)each : 0;
  }
  return cudart_leave(c, error);
}
