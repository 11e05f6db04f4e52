/* cudart_graph_memory.c -- see cudart_graph_memory.h. */
#include "cudart_graph_memory.h"

#include "array.h"
#include "emu.h"

cudaError_t cudart_allocate(cudart *c, void **p, size_t nbytes, bool shared) {
  rt_ptr at = 0;
  err e = {0};
  const int rc =
      shared ? rt_emu_alloc_shared(c->d, nbytes, &at, &e) : c->d->ops->alloc(c->d, nbytes, &at, &e);
  if (rc) {
    cudart_note(e.message);
    return cudaErrorMemoryAllocation;
  }
  *p = (void *)(uintptr_t)at;
  return cudaSuccess;
}

cudaError_t cudart_allocate_for_graph(cudart *c, void **p, size_t nbytes) {
  if (!nbytes || !array_reserve(&c->graph_memory, c->n_graph_memory + 1, &c->graph_memory_room,
                                sizeof *c->graph_memory)) {
    return nbytes ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
  }
  const cudaError_t error = cudart_allocate(c, p, nbytes, false);
  if (!error) {
    c->graph_memory[c->n_graph_memory++] = cudart_address(*p);
  }
  return error;
}

bool cudart_is_of_graph(const cudart *c, const void *p) {
  for (size_t i = 0; i < c->n_graph_memory; i++) {
    if (c->graph_memory[i] == cudart_address(p)) {
      return true;
    }
  }
  return false;
}
