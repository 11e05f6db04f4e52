/* cudart_graph_nodes.c -- adding nodes to graphs, and asking and changing what they do. */
#include "cudart_api.h"
#include "cudart_graph.h"
#include "cudart_graph_params.h"
#include "cudart_registry.h"

/* ---- from and to the structures of the calls --------------------------------------------------- */

static cudart_work kernel_work(const struct cudaKernelNodeParams *p) {
  return (cudart_work){.type = cudaGraphNodeTypeKernel,
                       .kernel = cudart_launch_of(p->func, p->gridDim, p->blockDim,
                                                  p->sharedMemBytes, p->kernelParams)};
}

static cudart_work copy_work(const struct cudaMemcpy3DParms *p) {
  return (cudart_work){.type = cudaGraphNodeTypeMemcpy, .copy = *p};
}

static cudart_work fill_work(const struct cudaMemsetParams *p) {
  return (cudart_work){.type = cudaGraphNodeTypeMemset, .fill = *p};
}

static cudart_work host_work(const struct cudaHostNodeParams *p) {
  return (cudart_work){.type = cudaGraphNodeTypeHost, .host = *p};
}

static cudart_work event_work(enum cudaGraphNodeType type, cudaEvent_t event) {
  return (cudart_work){.type = type, .event = event};
}

cudart_work cudart_copy_work(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) {
  const struct cudaMemcpy3DParms p = {.dstPtr = {to, n, n, 1},
                                      .srcPtr = {(void *)(uintptr_t)from, n, n, 1},
                                      .extent = {n, 1, 1},
                                      .kind = kind};
  return copy_work(&p);
}

static struct cudaKernelNodeParams kernel_params(const cudart_work *w) {
  const cudart_launch *l = &w->kernel;
  return (struct cudaKernelNodeParams){
      .func = (void *)(uintptr_t)l->func,
      .gridDim = {l->grid[0], l->grid[1], l->grid[2]},
      .blockDim = {l->block[0], l->block[1], l->block[2]},
      .sharedMemBytes = (unsigned)l->smem,
      .kernelParams = l->args,
  };
}

cudaError_t cudart_work_of(const struct cudaGraphNodeParams *p, cudart_work *w) {
  *w = (cudart_work){.type = p->type};
  switch ((int)p->type) {
  case cudaGraphNodeTypeKernel:
    w->kernel = cudart_launch_of(p->kernel.func, p->kernel.gridDim, p->kernel.blockDim,
                                 p->kernel.sharedMemBytes, p->kernel.kernelParams);
    return p->kernel.extra ? cudaErrorInvalidValue : cudaSuccess;
  case cudaGraphNodeTypeMemcpy: w->copy = p->memcpy.copyParams; break;
  case cudaGraphNodeTypeMemset:
    w->fill = (struct cudaMemsetParams){p->memset.dst,         p->memset.pitch, p->memset.value,
                                        p->memset.elementSize, p->memset.width, p->memset.height};
    break;
  case cudaGraphNodeTypeHost:
    w->host = (struct cudaHostNodeParams){p->host.fn, p->host.userData};
    break;
  case cudaGraphNodeTypeGraph: w->child = p->graph.graph; break;
  case cudaGraphNodeTypeWaitEvent: w->event = p->eventWait.event; break;
  case cudaGraphNodeTypeEventRecord: w->event = p->eventRecord.event; break;
  case cudaGraphNodeTypeMemAlloc: w->alloc.bytesize = p->alloc.bytesize; break;
  case cudaGraphNodeTypeMemFree: w->freed = p->free.dptr; break;
  case cudaGraphNodeTypeConditional:
    w->condition = p->conditional;
    w->condition.phGraph_out = NULL;
    break;
  case cudaGraphNodeTypeEmpty: break;
  default: return cudaErrorNotSupported;
  }
  return cudaSuccess;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before,
                       size_t n, cudart_work w) {
  CUDART_ENTER(c);
  return cudart_leave(c, cudart_graph_add(c, g, before, n, &w, node));
}

cudaError_t emu_add_node_13(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before,
                            const void *data, size_t n, struct cudaGraphNodeParams *p) {
  CUDART_NEEDS(p);
  cudart_work w;
  cudaError_t error = cudart_work_of(p, &w);
  (void)data;
  CUDART_ENTER(c);
  error = error ? error : cudart_graph_add(c, g, before, n, &w, node);
  if (!error && p->type == cudaGraphNodeTypeMemAlloc) {
    p->alloc.dptr = (*node)->work.alloc.dptr;
  }
  if (!error && p->type == cudaGraphNodeTypeConditional) {
    p->conditional.phGraph_out = (*node)->work.condition.phGraph_out;
  }
  return cudart_leave(c, error);
}

cudaError_t emu_add_node_12(cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before,
                            size_t n, struct cudaGraphNodeParams *p) {
  return emu_add_node_13(node, g, before, NULL, n, p);
}

cudaError_t emu_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t g,
                                       const cudaGraphNode_t *before, size_t n,
                                       const struct cudaKernelNodeParams *p) {
  CUDART_NEEDS(p);
  return p->extra ? cudaErrorInvalidValue : add(node, g, before, n, kernel_work(p));
}

cudaError_t emu_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t g,
                                       const cudaGraphNode_t *before, size_t n,
                                       const struct cudaMemcpy3DParms *p) {
  CUDART_NEEDS(p);
  return add(node, g, before, n, copy_work(p));
}

cudaError_t emu_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t g,
                                         const cudaGraphNode_t *before, size_t n, void *to,
                                         const void *from, size_t nbytes,
                                         enum cudaMemcpyKind kind) {
  return add(node, g, before, n, cudart_copy_work(to, from, nbytes, kind));
}

cudaError_t emu_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t g,
                                               const cudaGraphNode_t *before, size_t n,
                                               const void *symbol, const void *from, size_t nbytes,
                                               size_t offset, enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, nbytes, offset, &at);
  return error ? error : add(node, g, before, n, cudart_copy_work(at, from, nbytes, kind));
}

cudaError_t emu_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t g,
                                                 const cudaGraphNode_t *before, size_t n, void *to,
                                                 const void *symbol, size_t nbytes, size_t offset,
                                                 enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, nbytes, offset, &at);
  return error ? error : add(node, g, before, n, cudart_copy_work(to, at, nbytes, kind));
}

cudaError_t emu_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t g,
                                       const cudaGraphNode_t *before, size_t n,
                                       const struct cudaMemsetParams *p) {
  CUDART_NEEDS(p);
  return add(node, g, before, n, fill_work(p));
}

cudaError_t emu_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t g,
                                     const cudaGraphNode_t *before, size_t n,
                                     const struct cudaHostNodeParams *p) {
  CUDART_NEEDS(p);
  return add(node, g, before, n, host_work(p));
}

cudaError_t emu_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t g,
                                           const cudaGraphNode_t *before, size_t n,
                                           cudaGraph_t child) {
  return add(node, g, before, n, (cudart_work){.type = cudaGraphNodeTypeGraph, .child = child});
}

cudaError_t emu_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t g,
                                      const cudaGraphNode_t *before, size_t n) {
  return add(node, g, before, n, (cudart_work){.type = cudaGraphNodeTypeEmpty});
}

cudaError_t emu_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t g,
                                            const cudaGraphNode_t *before, size_t n,
                                            cudaEvent_t event) {
  return add(node, g, before, n, event_work(cudaGraphNodeTypeEventRecord, event));
}

cudaError_t emu_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t g,
                                          const cudaGraphNode_t *before, size_t n,
                                          cudaEvent_t event) {
  return add(node, g, before, n, event_work(cudaGraphNodeTypeWaitEvent, event));
}

cudaError_t emu_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t g,
                                         const cudaGraphNode_t *before, size_t n,
                                         struct cudaMemAllocNodeParams *p) {
  CUDART_NEEDS(p);
  const cudaError_t error =
      add(node, g, before, n, (cudart_work){.type = cudaGraphNodeTypeMemAlloc, .alloc = *p});
  p->dptr = error ? NULL : (*node)->work.alloc.dptr;
  return error;
}

cudaError_t emu_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t g,
                                        const cudaGraphNode_t *before, size_t n, void *freed) {
  return add(node, g, before, n, (cudart_work){.type = cudaGraphNodeTypeMemFree, .freed = freed});
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool is_a(cudaGraphNode_t node, enum cudaGraphNodeType type) {
  return node && node->work.type == type;
}

cudaError_t emu_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeKernel) && p);
  *p = kernel_params(&node->work);
  return cudaSuccess;
}

cudaError_t emu_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *p) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeMemcpy) && p);
  *p = node->work.copy;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *p) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeMemset) && p);
  *p = node->work.fill;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *p) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeHost) && p);
  *p = node->work.host;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeGraph) && child);
  *child = node->work.child;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeEventRecord) && event);
  *event = node->work.event;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeWaitEvent) && event);
  *event = node->work.event;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                               struct cudaMemAllocNodeParams *p) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeMemAlloc) && p);
  *p = node->work.alloc;
  return cudaSuccess;
}

cudaError_t emu_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *freed) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeMemFree) && freed);
  *(void **)freed = node->work.freed;
  return cudaSuccess;
}

/* ---- changing: a node of a graph, or the copy of one in an executable graph -------------------- */

static cudaError_t change(cudaGraphExec_t exec, cudaGraphNode_t node, cudart_work w) {
  CUDART_ENTER(c);
  cudaGraphNode_t changed = exec && node ? cudart_graph_find(exec->graph, node) : node;
  if (!changed || changed->work.type != w.type) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  if (w.type == cudaGraphNodeTypeKernel) { /* attributes stay */
    w.kernel.cooperative = changed->work.kernel.cooperative;
    for (int k = 0; k < 3; k++) {
      w.kernel.cluster[k] = changed->work.kernel.cluster[k];
    }
  }
  cudaError_t error = cudart_work_replace(c, &changed->work, &w);
  if (!error && exec && !cudart_graph_sort(exec->graph)) {
    error = cudaErrorInvalidValue;
  }
  return cudart_leave(c, error);
}

cudaError_t emu_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           struct cudaGraphNodeParams *p) {
  CUDART_NEEDS(p);
  cudart_work w;
  const cudaError_t error = cudart_work_of(p, &w);
  return error ? error : change(exec, node, w);
}

cudaError_t emu_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p) {
  return emu_cudaGraphExecNodeSetParams(NULL, node, p);
}

#define SET_PARAMS(call, params, work)                                                             \
  cudaError_t emu_cudaGraph##call(cudaGraphNode_t node, params p) {                                \
    CUDART_NEEDS(p);                                                                               \
    return change(NULL, node, work);                                                               \
  }                                                                                                \
  cudaError_t emu_cudaGraphExec##call(cudaGraphExec_t exec, cudaGraphNode_t node, params p) {      \
    CUDART_NEEDS(p);                                                                               \
    return change(exec, node, work);                                                               \
  }

SET_PARAMS(KernelNodeSetParams, const struct cudaKernelNodeParams *, kernel_work(p))
SET_PARAMS(MemcpyNodeSetParams, const struct cudaMemcpy3DParms *, copy_work(p))
SET_PARAMS(MemsetNodeSetParams, const struct cudaMemsetParams *, fill_work(p))
SET_PARAMS(HostNodeSetParams, const struct cudaHostNodeParams *, host_work(p))
SET_PARAMS(EventRecordNodeSetEvent, cudaEvent_t, event_work(cudaGraphNodeTypeEventRecord, p))
SET_PARAMS(EventWaitNodeSetEvent, cudaEvent_t, event_work(cudaGraphNodeTypeWaitEvent, p))

cudaError_t emu_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaGraph_t child) {
  return change(exec, node, (cudart_work){.type = cudaGraphNodeTypeGraph, .child = child});
}

cudaError_t emu_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   void *to, const void *from, size_t n,
                                                   enum cudaMemcpyKind kind) {
  return change(exec, node, cudart_copy_work(to, from, n, kind));
}

cudaError_t emu_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                               size_t n, enum cudaMemcpyKind kind) {
  return change(NULL, node, cudart_copy_work(to, from, n, kind));
}

cudaError_t emu_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                         const void *symbol, const void *from,
                                                         size_t n, size_t offset,
                                                         enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : change(exec, node, cudart_copy_work(at, from, n, kind));
}

cudaError_t emu_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                     const void *from, size_t n, size_t offset,
                                                     enum cudaMemcpyKind kind) {
  return emu_cudaGraphExecMemcpyNodeSetParamsToSymbol(NULL, node, symbol, from, n, offset, kind);
}

cudaError_t emu_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node, void *to,
                                                           const void *symbol, size_t n,
                                                           size_t offset,
                                                           enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : change(exec, node, cudart_copy_work(to, at, n, kind));
}

cudaError_t emu_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to,
                                                       const void *symbol, size_t n, size_t offset,
                                                       enum cudaMemcpyKind kind) {
  return emu_cudaGraphExecMemcpyNodeSetParamsFromSymbol(NULL, node, to, symbol, n, offset, kind);
}

/* ---- attributes of kernels --------------------------------------------------------------------- */

cudaError_t emu_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                const cudaLaunchAttributeValue *value) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeKernel) && value);
  cudart_launch_attribute(&node->work.kernel, id, value);
  return cudaSuccess;
}

cudaError_t emu_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                cudaLaunchAttributeValue *value) {
  CUDART_NEEDS(is_a(node, cudaGraphNodeTypeKernel) && value);
  const cudart_launch *l = &node->work.kernel;
  *value = (cudaLaunchAttributeValue){0};
  if (id == cudaLaunchAttributeCooperative) {
    value->cooperative = l->cooperative;
  } else if (id == cudaLaunchAttributeClusterDimension) {
    value->clusterDim.x = l->cluster[0];
    value->clusterDim.y = l->cluster[1];
    value->clusterDim.z = l->cluster[2];
  }
  return cudaSuccess;
}

cudaError_t emu_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  CUDART_NEEDS(is_a(to, cudaGraphNodeTypeKernel));
  CUDART_NEEDS(is_a(from, cudaGraphNodeTypeKernel));
  to->work.kernel.cooperative = from->work.kernel.cooperative;
  for (int k = 0; k < 3; k++) {
    to->work.kernel.cluster[k] = from->work.kernel.cluster[k];
  }
  return cudaSuccess;
}
