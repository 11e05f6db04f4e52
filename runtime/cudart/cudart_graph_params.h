/* cudart_graph_params.h -- work from the structures and arguments of calls. */
#ifndef CUDART_GRAPH_PARAMS_H
#define CUDART_GRAPH_PARAMS_H

#include "cudart_graph.h"

struct CUgraphExec_st {
  cudaGraph_t graph; /* sorted */
  unsigned long long flags;
};

/* cudart_work_of -- cudaErrorNotSupported: such nodes are not emulated */
cudaError_t cudart_work_of(const struct cudaGraphNodeParams *p, cudart_work *w);
/* cudart_copy_work -- of n contiguous bytes */
cudart_work cudart_copy_work(void *to, const void *from, size_t n, enum cudaMemcpyKind kind);
/* cudart_symbol_bytes -- the device's address of bytes of a variable */
cudaError_t cudart_symbol_bytes(const void *symbol, size_t n, size_t offset, void **at);

#endif
