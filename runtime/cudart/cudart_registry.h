/* cudart_registry.h -- what a program registers before main: containers of device code, and by the addresses
 * of their host stubs and shadows its kernels and variables. PTX is decoded at the first use. */
#ifndef CUDART_REGISTRY_H
#define CUDART_REGISTRY_H

#include "cudart_process.h"

typedef struct cudart_binary cudart_binary;

typedef struct cudart_symbol { /* a kernel or a variable */
  const void *host;            /* its key */
  const char *name;            /* mangled */
  cudart_binary *binary;
  uint64_t generation; /* of the device for which the following is known; 0: none */
  rt_function *f;      /* kernels */
  int ptx_arch;
  rt_ptr at; /* variables */
  size_t nbytes;
} cudart_symbol;

/* cudart_kernel -- by its host stub; loads it
 *   err  cudaErrorInvalidDeviceFunction  there is none; a kernel that cannot be run ends the program */
cudaError_t cudart_kernel(cudart *c, const void *func, cudart_symbol **out);
/* cudart_is_kernel -- is it a registered stub? Handles of kernels are the addresses of their stubs. */
bool cudart_is_kernel(const void *func);
/* cudart_variable -- by its shadow; err cudaErrorInvalidSymbol */
cudaError_t cudart_variable(cudart *c, const void *shadow, cudart_symbol **out);

#endif
