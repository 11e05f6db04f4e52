/* cudart_launch.c -- launches. They run at once, whatever the stream. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_api.h"
#include "cudart_registry.h"
#include "emu.h"

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

/* ---- one launch ------------------------------------------------------------------------------ */

typedef struct launch {
  const void *func;
  uint32_t grid[3], block[3];
  size_t smem;
  void **args;
  bool cooperative;
  uint32_t cluster[3]; /* 0: the kernel's own */
} launch;

/* What a GPU answers to these findings. */
static cudaError_t error_of(rt_emu_check check) {
  switch (check) {
  case EMU_GLOBAL_BOUNDS:
  case EMU_FREED:
  case EMU_READ_ONLY: return cudaErrorIllegalAddress;
  case EMU_MISALIGNED: return cudaErrorMisalignedAddress;
  case EMU_ASSERT: return cudaErrorAssert;
  case EMU_STACK: return cudaErrorHardwareStackError;
  case EMU_STEPS: return cudaErrorLaunchTimeout;
  default: return cudaErrorLaunchFailure;
  }
}

/* The name as in the source, if the program's C++ library is there; NULL: it is not. */
static char *demangled(const char *name) {
  char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
  int status = 0;
  *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

static void report(const launch *l, const cudart_symbol *s, const err *e) {
  char what[400], *name = demangled(s->name);
  snprintf(what, sizeof what, "%.240s<<<(%u,%u,%u), (%u,%u,%u), %zu>>>", name ? name : s->name,
           l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->smem);
  cudart_finding(e, what);
  free(name);
}

/* Errors of the configuration are noted. A finding fails all later calls, unless no block has run. */
static cudaError_t failed(cudart *c, const launch *l, const cudart_symbol *s, const err *e) {
  const rt_emu_check check = rt_emu_last_finding(c->d)->check;
  if (check == EMU_NO_FINDING) {
    cudart_note(e->message);
    return e->code == ERR_NOMEM ? cudaErrorMemoryAllocation : cudaErrorInvalidConfiguration;
  }
  report(l, s, e);
  if (check == EMU_NOT_RESIDENT) {
    return cudaErrorCooperativeLaunchTooLarge;
  }
  return c->sticky = error_of(check);
}

static cudaError_t run(cudart *c, const launch *l) {
  cudart_symbol *s;
  err e = {0};
  const cudaError_t error = cudart_kernel(c, l->func, &s);
  rt_launch *start = l->cooperative ? c->d->ops->launch_cooperative : c->d->ops->launch;
  if (error) {
    return error;
  }
  if (l->smem > UINT32_MAX) {
    return cudaErrorInvalidConfiguration;
  }
  rt_emu_set_cluster(c->d, l->cluster);
  if (start(c->d, s->f, l->grid, l->block, (uint32_t)l->smem, NULL, l->args, &e)) {
    return failed(c, l, s, &e);
  }
  cudart_count_launch();
  if (*rt_emu_last_finding(c->d)->note) {
    cudart_note(rt_emu_last_finding(c->d)->note);
  }
  return cudaSuccess;
}

static launch launch_of(const void *func, dim3 grid, dim3 block, size_t smem, void **args) {
  return (launch){
      .func = func,
      .grid = {grid.x, grid.y, grid.z},
      .block = {block.x, block.y, block.z},
      .smem = smem,
      .args = args,
  };
}

cudaError_t emu_cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t smem,
                                 cudaStream_t stream) {
  const launch l = launch_of(func, grid, block, smem, args);
  (void)stream;
  CUDART_ENTER(c);
  return cudart_leave(c, run(c, &l));
}

cudaError_t emu_cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args,
                                            size_t smem, cudaStream_t stream) {
  launch l = launch_of(func, grid, block, smem, args);
  l.cooperative = true;
  (void)stream;
  CUDART_ENTER(c);
  return cudart_leave(c, run(c, &l));
}

/* Attributes that only say how a launch shares the device make no difference here. */
static void take_attribute(const cudaLaunchAttribute *a, launch *l) {
  if (a->id == cudaLaunchAttributeCooperative) {
    l->cooperative = a->val.cooperative;
  } else if (a->id == cudaLaunchAttributeClusterDimension) {
    l->cluster[0] = a->val.clusterDim.x;
    l->cluster[1] = a->val.clusterDim.y;
    l->cluster[2] = a->val.clusterDim.z;
  }
}

cudaError_t emu_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                    void **args) {
  launch l = launch_of(func, config->gridDim, config->blockDim, config->dynamicSmemBytes, args);
  for (unsigned i = 0; i < config->numAttrs; i++) {
    take_attribute(&config->attrs[i], &l);
  }
  CUDART_ENTER(c);
  return cudart_leave(c, run(c, &l));
}
