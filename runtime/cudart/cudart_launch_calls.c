/* cudart_launch_calls.c -- launches. They run at once, unless their stream is captured into a graph. */
#include "cudart_api.h"
#include "cudart_capture.h"

/* ---- <<<grid, block, smem, stream>>> ---------------------------------------------------------- */

typedef struct configuration {
  dim3 grid, block;
  size_t smem;
  cudaStream_t stream;
} configuration;

enum { NESTED = 16 }; /* functions that compute arguments of a launch may launch */
static _Thread_local configuration pushed[NESTED];
static _Thread_local int n_pushed;

unsigned emu_push_configuration(dim3 grid, dim3 block, size_t smem, cudaStream_t stream) {
  if (n_pushed == NESTED) {
    return cudaErrorMissingConfiguration;
  }
  pushed[n_pushed++] = (configuration){grid, block, smem, stream};
  return cudaSuccess;
}

cudaError_t emu_pop_configuration(dim3 *grid, dim3 *block, size_t *smem, void *stream) {
  if (!n_pushed) {
    return cudaErrorMissingConfiguration;
  }
  const configuration *c = &pushed[--n_pushed];
  *grid = c->grid;
  *block = c->block;
  *smem = c->smem;
  *(cudaStream_t *)stream = c->stream;
  return cudaSuccess;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static cudaError_t launch(const cudart_launch *l, cudaStream_t stream) {
  cudart_work w = {.type = cudaGraphNodeTypeKernel, .kernel = *l};
  cudaError_t error;
  CUDART_ENTER(c);
  if (!cudart_capture_work(c, stream, &w, &error)) {
    error = cudart_launch_run(c, l);
  }
  return cudart_leave(c, error);
}

cudaError_t emu_cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t smem,
                                 cudaStream_t stream) {
  const cudart_launch l = cudart_launch_of(func, grid, block, smem, args);
  return launch(&l, stream);
}

cudaError_t emu_cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args,
                                            size_t smem, cudaStream_t stream) {
  cudart_launch l = cudart_launch_of(func, grid, block, smem, args);
  l.cooperative = true;
  return launch(&l, stream);
}

cudaError_t emu_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                    void **args) {
  CUDART_NEEDS(config);
  cudart_launch l =
      cudart_launch_of(func, config->gridDim, config->blockDim, config->dynamicSmemBytes, args);
  for (unsigned i = 0; i < config->numAttrs; i++) {
    cudart_launch_attribute(&l, config->attrs[i].id, &config->attrs[i].val);
  }
  return launch(&l, config->stream);
}
