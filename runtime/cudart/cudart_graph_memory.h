/* cudart_graph_memory.h -- memory of the program, and memory that graphs own, which the program's calls only seem
 * to free. */
#ifndef CUDART_GRAPH_MEMORY_H
#define CUDART_GRAPH_MEMORY_H

#include "cudart_process.h"

/* cudart_allocate -- shared: the host may use it, too */
cudaError_t cudart_allocate(cudart *c, void **p, size_t nbytes, bool shared);
cudaError_t cudart_allocate_for_graph(cudart *c, void **p, size_t nbytes);
bool cudart_is_of_graph(const cudart *c, const void *p);

#endif
