/* cudart_graph_exec.c -- executable graphs: sorted copies. */
#include <stdlib.h>

#include "cudart_api.h"
#include "cudart_capture.h"
#include "cudart_graph.h"
#include "cudart_graph_params.h"

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags) {
  CUDART_NEEDS(out);
  *out = NULL;
  CUDART_NEEDS(g);
  CUDART_ENTER(c);
  cudaGraphExec_t exec = calloc(1, sizeof *exec);
  if (exec) {
    *exec = (struct CUgraphExec_st){cudart_graph_copy(c, g), flags};
  }
  if (!exec || !exec->graph || !cudart_graph_sort(exec->graph)) {
    const cudaError_t error =
        exec && exec->graph ? cudaErrorInvalidValue : cudaErrorMemoryAllocation;
    cudart_graph_free(exec ? exec->graph : NULL);
    free(exec);
    return cudart_leave(c, error);
  }
  *out = exec;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g,
                                     unsigned long long flags) {
  return instantiate(exec, g, flags);
}

cudaError_t emu_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t g,
                                              unsigned long long flags) {
  return instantiate(exec, g, flags);
}

cudaError_t emu_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t g,
                                               cudaGraphInstantiateParams *p) {
  CUDART_NEEDS(p);
  const cudaError_t error = instantiate(exec, g, p->flags);
  p->errNode_out = NULL;
  p->result_out = error ? cudaGraphInstantiateInvalidStructure : cudaGraphInstantiateSuccess;
  return error;
}

cudaError_t emu_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
  CUDART_NEEDS(exec && flags);
  *flags = exec->flags;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphExecDestroy(cudaGraphExec_t exec) {
  cudart_lock();
  if (exec) {
    cudart_graph_free(exec->graph);
    free(exec);
  }
  cudart_unlock();
  return exec ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- launches -------------------------------------------------------------------------------- */

static void assign_defaults(cudart *c, cudaGraph_t g) {
  for (size_t i = 0; i < g->n_conditions; i++) {
    const cudart_condition *x = g->conditions[i];
    if (x->assign && x->generation == c->generation) {
      c->d->ops->copy_in(c->d, x->at, &x->value, sizeof x->value, NULL, NULL);
    }
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    cudaGraph_t *inside;
    const size_t n = cudart_work_graphs(&g->nodes.p[i]->work, &inside);
    for (size_t k = 0; k < n; k++) {
      assign_defaults(c, inside[k]);
    }
  }
}

cudaError_t emu_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  cudart_work child = {.type = cudaGraphNodeTypeGraph};
  cudaError_t error;
  CUDART_ENTER(c);
  if (!exec) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  child.child = exec->graph;
  if (!cudart_capture_work(c, stream, &child, &error)) {
    assign_defaults(c, exec->graph);
    error = cudart_graph_launch(c, exec->graph);
  }
  return cudart_leave(c, error);
}

/* ---- changes --------------------------------------------------------------------------------- */

cudaError_t emu_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                        unsigned enabled) {
  CUDART_NEEDS(exec && node);
  CUDART_ENTER(c);
  cudaGraphNode_t own = cudart_graph_find(exec->graph, node);
  if (own) {
    own->disabled = !enabled;
  }
  return cudart_leave(c, own ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t emu_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node,
                                        unsigned *enabled) {
  CUDART_NEEDS(exec && node && enabled);
  CUDART_ENTER(c);
  const cudaGraphNode_t own = cudart_graph_find(exec->graph, node);
  *enabled = own && !own->disabled;
  return cudart_leave(c, own ? cudaSuccess : cudaErrorInvalidValue);
}

/* The first node that differs in kind or in what it waits for; NULL: none. Both are numbered. */
static cudaGraphNode_t first_difference(cudaGraph_t a, cudaGraph_t b) {
  for (size_t i = 0; i < a->nodes.n && i < b->nodes.n; i++) {
    const cudart_nodes *x = &a->nodes.p[i]->before, *y = &b->nodes.p[i]->before;
    bool same = a->nodes.p[i]->work.type == b->nodes.p[i]->work.type && x->n == y->n;
    for (size_t k = 0; same && k < x->n; k++) {
      same = x->p[k]->mark == y->p[k]->mark;
    }
    if (!same) {
      return b->nodes.p[i];
    }
  }
  return a->nodes.n < b->nodes.n ? b->nodes.p[a->nodes.n] : NULL;
}

static cudaError_t update(cudart *c, cudaGraph_t own, cudaGraph_t g, cudaGraphNode_t *wrong) {
  cudart_graph_number(own);
  cudart_graph_number(g);
  *wrong = first_difference(own, g);
  if (*wrong || own->nodes.n != g->nodes.n) {
    return cudaErrorGraphExecUpdateFailure;
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const cudaError_t error = cudart_work_replace(c, &own->nodes.p[i]->work, &g->nodes.p[i]->work);
    if (error) {
      return error;
    }
  }
  return cudart_graph_sort(own) ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t emu_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t g,
                                    cudaGraphExecUpdateResultInfo *info) {
  CUDART_NEEDS(exec && g && info);
  cudaGraphNode_t wrong = NULL;
  CUDART_ENTER(c);
  const cudaError_t error = update(c, exec->graph, g, &wrong);
  *info = (cudaGraphExecUpdateResultInfo){.errorNode = wrong};
  info->result = error == cudaErrorGraphExecUpdateFailure ? cudaGraphExecUpdateErrorTopologyChanged
                 : error                                  ? cudaGraphExecUpdateError
                                                          : cudaGraphExecUpdateSuccess;
  return cudart_leave(c, error);
}
