/* cudart_graph.c -- see cudart_graph.h. */
#include <stdlib.h>

#include "array.h"
#include "cudart_api.h"
#include "cudart_graph.h"
#include "cudart_graph_memory.h"

bool cudart_nodes_add(cudart_nodes *l, cudaGraphNode_t node) {
  if (!array_reserve(&l->p, l->n + 1, &l->room, sizeof *l->p)) {
    return false;
  }
  l->p[l->n++] = node;
  return true;
}

bool cudart_nodes_have(const cudart_nodes *l, cudaGraphNode_t node) {
  for (size_t i = 0; i < l->n; i++) {
    if (l->p[i] == node) {
      return true;
    }
  }
  return false;
}

/* ---- making and dropping --------------------------------------------------------------------- */

cudaGraph_t cudart_graph_new(void) {
  return calloc(1, sizeof(struct CUgraph_st));
}

static void free_node(cudaGraphNode_t node) {
  cudart_work_clear(&node->work);
  free(node->before.p);
  free(node);
}

/* The words of a device that was closed are gone. */
static void leave_condition(cudart_condition *x) {
  if (--x->users) {
    return;
  }
  cudart *c = cudart_enter();
  if (x->generation == c->generation) {
    c->d->ops->release(c->d, x->at);
  }
  cudart_leave(c, cudaSuccess);
  free(x);
}

void cudart_graph_free(cudaGraph_t g) {
  if (!g) {
    return;
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    free_node(g->nodes.p[i]);
  }
  for (size_t i = 0; i < g->n_conditions; i++) {
    leave_condition(g->conditions[i]);
  }
  free(g->conditions);
  free(g->nodes.p);
  free(g->order.p);
  free(g);
}

static bool belong(cudaGraph_t g, const cudaGraphNode_t *nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!nodes || !nodes[i] || nodes[i]->graph != g) {
      return false;
    }
  }
  return true;
}

/* A node whose work the caller has made. */
static cudaGraphNode_t append(cudaGraph_t g, const cudaGraphNode_t *before, size_t n) {
  cudaGraphNode_t node = calloc(1, sizeof *node);
  bool ok = node;
  for (size_t i = 0; ok && i < n; i++) {
    ok = cudart_nodes_have(&node->before, before[i]) || cudart_nodes_add(&node->before, before[i]);
  }
  if (ok && cudart_nodes_add(&g->nodes, node)) {
    node->graph = g;
    return node;
  }
  free(node ? node->before.p : NULL);
  free(node);
  return NULL;
}

cudaError_t cudart_graph_add(cudart *c, cudaGraph_t g, const cudaGraphNode_t *before, size_t n,
                             cudart_work *w, cudaGraphNode_t *out) {
  cudart_work own;
  if (!g || !out || !belong(g, before, n)) {
    return cudaErrorInvalidValue;
  }
  if (w->type == cudaGraphNodeTypeMemAlloc) {
    const cudaError_t error = cudart_allocate_for_graph(c, &w->alloc.dptr, w->alloc.bytesize);
    if (error) {
      return error;
    }
  }
  const cudaError_t error = cudart_work_copy(c, &own, w);
  if (error) {
    return error;
  }
  *out = append(g, before, n);
  if (!*out) {
    cudart_work_clear(&own);
    return cudaErrorMemoryAllocation;
  }
  (*out)->work = own;
  return cudaSuccess;
}

/* ---- copies ---------------------------------------------------------------------------------- */

void cudart_graph_number(cudaGraph_t g) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    g->nodes.p[i]->mark = i;
  }
}

/* Edges may lead to nodes that were added later, so they follow when all nodes are there. */
static bool copy_edges(cudaGraph_t to, cudaGraph_t from) {
  for (size_t i = 0; i < from->nodes.n; i++) {
    const cudart_nodes *before = &from->nodes.p[i]->before;
    for (size_t j = 0; j < before->n; j++) {
      if (!cudart_nodes_add(&to->nodes.p[i]->before, to->nodes.p[before->p[j]->mark])) {
        return false;
      }
    }
  }
  return true;
}

static bool copy_conditions(cudaGraph_t to, cudaGraph_t from) {
  if (!array_reserve(&to->conditions, from->n_conditions, &to->conditions_room,
                     sizeof(cudart_condition *))) {
    return false;
  }
  for (size_t i = 0; i < from->n_conditions; i++) {
    to->conditions[i] = from->conditions[i];
    to->conditions[i]->users++;
  }
  to->n_conditions = from->n_conditions;
  return true;
}

cudaGraph_t cudart_graph_copy(cudart *c, cudaGraph_t g) {
  cudaGraph_t copy = cudart_graph_new();
  bool ok = copy && copy_conditions(copy, g);
  for (size_t i = 0; ok && i < g->nodes.n; i++) {
    cudaGraphNode_t node = append(copy, NULL, 0);
    ok = node && !cudart_work_copy(c, &node->work, &g->nodes.p[i]->work);
    if (ok) {
      node->origin = g->nodes.p[i];
      node->disabled = node->origin->disabled;
    } else if (node) {
      node->work.type = cudaGraphNodeTypeEmpty; /* nothing to drop */
    }
  }
  cudart_graph_number(g);
  if (ok && copy_edges(copy, g)) {
    return copy;
  }
  cudart_graph_free(copy);
  return NULL;
}

cudaGraphNode_t cudart_graph_find(cudaGraph_t g, cudaGraphNode_t origin) {
  cudaGraphNode_t found = NULL;
  for (size_t i = 0; i < g->nodes.n && !found; i++) {
    cudaGraphNode_t node = g->nodes.p[i];
    cudaGraph_t *inside;
    const size_t n = cudart_work_graphs(&node->work, &inside);
    found = node->origin == origin ? node : NULL;
    for (size_t k = 0; k < n && !found; k++) {
      found = cudart_graph_find(inside[k], origin);
    }
  }
  return found;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool is_ready(cudaGraphNode_t node) {
  for (size_t i = 0; i < node->before.n; i++) {
    if (!node->before.p[i]->mark) {
      return false;
    }
  }
  return true;
}

static bool sort_inside(cudaGraphNode_t node) {
  cudaGraph_t *inside;
  const size_t n = cudart_work_graphs(&node->work, &inside);
  for (size_t k = 0; k < n; k++) {
    if (!cudart_graph_sort(inside[k])) {
      return false;
    }
  }
  return true;
}

/* Passes over the nodes as they were added: usually one. */
bool cudart_graph_sort(cudaGraph_t g) {
  size_t sorted_before = SIZE_MAX;
  g->order.n = 0;
  for (size_t i = 0; i < g->nodes.n; i++) {
    g->nodes.p[i]->mark = 0;
  }
  while (g->order.n < g->nodes.n && g->order.n != sorted_before) {
    sorted_before = g->order.n;
    for (size_t i = 0; i < g->nodes.n; i++) {
      cudaGraphNode_t node = g->nodes.p[i];
      if (!node->mark && is_ready(node)) {
        node->mark = 1;
        if (!sort_inside(node) || !cudart_nodes_add(&g->order, node)) {
          return false;
        }
      }
    }
  }
  return g->order.n == g->nodes.n;
}

cudaError_t cudart_graph_launch(cudart *c, cudaGraph_t g) {
  cudaError_t error = cudaSuccess;
  for (size_t i = 0; i < g->order.n && !error; i++) {
    const cudaGraphNode_t node = g->order.p[i];
    error = node->disabled ? cudaSuccess : cudart_work_run(c, &node->work);
  }
  return error;
}

/* ---- calls ----------------------------------------------------------------------------------- */

cudaError_t emu_cudaGraphCreate(cudaGraph_t *g, unsigned flags) {
  CUDART_NEEDS(g);
  CUDART_ENTER(c);
  *g = flags ? NULL : cudart_graph_new();
  return cudart_leave(c, *g      ? cudaSuccess
                         : flags ? cudaErrorInvalidValue
                                 : cudaErrorMemoryAllocation);
}

cudaError_t emu_cudaGraphDestroy(cudaGraph_t g) {
  cudart_lock();
  cudart_graph_free(g);
  cudart_unlock();
  return g ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t emu_cudaGraphClone(cudaGraph_t *copy, cudaGraph_t g) {
  CUDART_NEEDS(copy && g);
  CUDART_ENTER(c);
  *copy = cudart_graph_copy(c, g);
  return cudart_leave(c, *copy ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t emu_cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t origin,
                                         cudaGraph_t copy) {
  CUDART_NEEDS(found && copy && origin);
  CUDART_ENTER(c);
  *found = cudart_graph_find(copy, origin);
  return cudart_leave(c, *found ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t emu_cudaGraphDestroyNode(cudaGraphNode_t node) {
  CUDART_NEEDS(node);
  CUDART_ENTER(c);
  cudaGraph_t g = node->graph;
  size_t kept = 0;
  for (size_t i = 0; i < g->nodes.n; i++) {
    cudaGraphNode_t other = g->nodes.p[i];
    cudart_graph_unlink(node, other);
    if (other != node) {
      g->nodes.p[kept++] = other;
    }
  }
  g->nodes.n = kept;
  free_node(node);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
  CUDART_NEEDS(node && type);
  *type = node->work.type;
  return cudaSuccess;
}

/* An address of the device: kernels set the word through it. */
cudaError_t emu_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t g,
                                                 unsigned value, unsigned flags) {
  CUDART_NEEDS(handle && g);
  CUDART_ENTER(c);
  cudart_condition *x = calloc(1, sizeof *x);
  err e = {0};
  if (!x || !array_reserve(&g->conditions, g->n_conditions + 1, &g->conditions_room, sizeof x) ||
      c->d->ops->alloc(c->d, sizeof x->value, &x->at, &e)) {
    free(x);
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  *x = (cudart_condition){x->at, value, flags & cudaGraphCondAssignDefault, 1, c->generation};
  c->d->ops->set(c->d, x->at, 0, sizeof x->value, NULL, &e);
  g->conditions[g->n_conditions++] = x;
  *handle = x->at;
  return cudart_leave(c, cudaSuccess);
}
