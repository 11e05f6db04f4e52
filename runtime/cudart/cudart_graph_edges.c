/* cudart_graph_edges.c -- which node waits for which. CUDA 13 added data of edges to these calls; they say how
 * early a kernel may start and make no difference here, where the nodes run one after the other. */
#include <string.h>

#include "cudart_api.h"
#include "cudart_graph.h"

void cudart_graph_unlink(cudaGraphNode_t node, cudaGraphNode_t after) {
  size_t kept = 0;
  for (size_t i = 0; i < after->before.n; i++) {
    if (after->before.p[i] != node) {
      after->before.p[kept++] = after->before.p[i];
    }
  }
  after->before.n = kept;
}

static bool are_edges(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                      size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!from || !to || !from[i] || !to[i] || from[i]->graph != g || to[i]->graph != g ||
        from[i] == to[i]) {
      return false;
    }
  }
  return true;
}

cudaError_t emu_add_edges_12(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             size_t n) {
  CUDART_ENTER(c);
  if (!are_edges(g, from, to, n)) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  for (size_t i = 0; i < n; i++) {
    if (cudart_nodes_have(&to[i]->before, from[i])) {
      return cudart_leave(c, cudaErrorInvalidValue);
    }
    if (!cudart_nodes_add(&to[i]->before, from[i])) {
      return cudart_leave(c, cudaErrorMemoryAllocation);
    }
  }
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_add_edges_13(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             const void *data, size_t n) {
  (void)data;
  return emu_add_edges_12(g, from, to, n);
}

cudaError_t emu_remove_edges_12(cudaGraph_t g, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, size_t n) {
  CUDART_ENTER(c);
  if (!are_edges(g, from, to, n)) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  for (size_t i = 0; i < n; i++) {
    cudart_graph_unlink(from[i], to[i]);
  }
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_remove_edges_13(cudaGraph_t g, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, const void *data, size_t n) {
  (void)data;
  return emu_remove_edges_12(g, from, to, n);
}

/* ---- lists: how many there are, and as many of them as *n has room for ------------------------- */

typedef struct list {
  cudaGraphNode_t *first, *second; /* NULL: only count */
  size_t room, n;
} list;

static void put(list *l, cudaGraphNode_t first, cudaGraphNode_t second) {
  if (l->n < l->room && l->first) {
    l->first[l->n] = first;
  }
  if (l->n < l->room && l->second) {
    l->second[l->n] = second;
  }
  l->n++;
}

static cudaError_t end(const list *l, size_t *n, void *data) {
  enum { EDGE_NBYTES = 8 };
  const bool filled = l->first || l->second;
  for (size_t i = filled ? l->n : l->room; i < l->room; i++) {
    if (l->first) {
      l->first[i] = NULL;
    }
    if (l->second) {
      l->second[i] = NULL;
    }
  }
  if (data && filled) {
    memset(data, 0, (l->n < l->room ? l->n : l->room) * EDGE_NBYTES);
  }
  *n = !filled || l->n < *n ? l->n : *n;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n) {
  CUDART_NEEDS(g && n);
  list l = {nodes, NULL, *n, 0};
  for (size_t i = 0; i < g->nodes.n; i++) {
    put(&l, g->nodes.p[i], NULL);
  }
  return end(&l, n, NULL);
}

cudaError_t emu_cudaGraphGetRootNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n) {
  CUDART_NEEDS(g && n);
  list l = {nodes, NULL, *n, 0};
  for (size_t i = 0; i < g->nodes.n; i++) {
    if (!g->nodes.p[i]->before.n) {
      put(&l, g->nodes.p[i], NULL);
    }
  }
  return end(&l, n, NULL);
}

cudaError_t emu_edges_13(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, void *data,
                         size_t *n) {
  CUDART_NEEDS(g && n);
  list l = {from, to, *n, 0};
  for (size_t i = 0; i < g->nodes.n; i++) {
    const cudaGraphNode_t node = g->nodes.p[i];
    for (size_t k = 0; k < node->before.n; k++) {
      put(&l, node->before.p[k], node);
    }
  }
  return end(&l, n, data);
}

cudaError_t emu_edges_12(cudaGraph_t g, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n) {
  return emu_edges_13(g, from, to, NULL, n);
}

cudaError_t emu_dependencies_13(cudaGraphNode_t node, cudaGraphNode_t *before, void *data,
                                size_t *n) {
  CUDART_NEEDS(node && n);
  list l = {before, NULL, *n, 0};
  for (size_t i = 0; i < node->before.n; i++) {
    put(&l, node->before.p[i], NULL);
  }
  return end(&l, n, data);
}

cudaError_t emu_dependencies_12(cudaGraphNode_t node, cudaGraphNode_t *before, size_t *n) {
  return emu_dependencies_13(node, before, NULL, n);
}

cudaError_t emu_dependents_13(cudaGraphNode_t node, cudaGraphNode_t *after, void *data, size_t *n) {
  CUDART_NEEDS(node && n);
  list l = {after, NULL, *n, 0};
  for (size_t i = 0; i < node->graph->nodes.n; i++) {
    if (cudart_nodes_have(&node->graph->nodes.p[i]->before, node)) {
      put(&l, node->graph->nodes.p[i], NULL);
    }
  }
  return end(&l, n, data);
}

cudaError_t emu_dependents_12(cudaGraphNode_t node, cudaGraphNode_t *after, size_t *n) {
  return emu_dependents_13(node, after, NULL, n);
}
