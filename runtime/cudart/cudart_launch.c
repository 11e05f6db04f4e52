/* cudart_launch.c -- see cudart_launch.h. */
#define _GNU_SOURCE
#include "cudart_launch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_registered.h"
#include "cudart_registry.h"
#include "emu.h"

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

static void report(const cudart_launch *l, const cudart_symbol *s, const err *e) {
  char what[400], *name = demangled(s->name);
  snprintf(what, sizeof what, "%.240s<<<(%u,%u,%u), (%u,%u,%u), %zu>>>", name ? name : s->name,
           l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->smem);
  cudart_finding(e, what);
  free(name);
}

/* Errors of the configuration are noted. A finding fails all later calls, unless no block has run. */
static cudaError_t failed(cudart *c, const cudart_launch *l, const cudart_symbol *s, const err *e) {
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

cudaError_t cudart_launch_run(cudart *c, const cudart_launch *l) {
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
  cudart_registered_in(c);
  const int rc = start(c->d, s->f, l->grid, l->block, (uint32_t)l->smem, NULL, l->args, &e);
  cudart_registered_out(c);
  if (rc) {
    return failed(c, l, s, &e);
  }
  cudart_count_launch();
  if (*rt_emu_last_finding(c->d)->note) {
    cudart_note(rt_emu_last_finding(c->d)->note);
  }
  return cudaSuccess;
}

cudart_launch cudart_launch_of(const void *func, dim3 grid, dim3 block, size_t smem, void **args) {
  return (cudart_launch){
      .func = func,
      .grid = {grid.x, grid.y, grid.z},
      .block = {block.x, block.y, block.z},
      .smem = smem,
      .args = args,
  };
}

void cudart_launch_attribute(cudart_launch *l, unsigned id, const cudaLaunchAttributeValue *value) {
  if (id == cudaLaunchAttributeCooperative) {
    l->cooperative = value->cooperative;
  } else if (id == cudaLaunchAttributeClusterDimension) {
    l->cluster[0] = value->clusterDim.x;
    l->cluster[1] = value->clusterDim.y;
    l->cluster[2] = value->clusterDim.z;
  }
}
