/* cudart_graph_work.c -- what nodes do: copying, dropping and running it. */
#include <stdlib.h>
#include <string.h>

#include "cudart_api.h"
#include "cudart_graph.h"
#include "cudart_registry.h"
#include "emu.h"

/* ---- copies ---------------------------------------------------------------------------------- */

enum { ALIGN = 16 };

static size_t aligned(size_t n) {
  return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Pointers and values in one piece. */
static cudaError_t copy_args(cudart *c, cudart_launch *l) {
  cudart_symbol *s;
  const cudaError_t error = cudart_kernel(c, l->func, &s);
  if (error) {
    return error;
  }
  const size_t n = rt_emu_n_params(s->f), pointers = aligned((n + 1) * sizeof(void *));
  size_t nbytes = pointers;
  for (size_t i = 0; i < n; i++) {
    nbytes += aligned(rt_emu_param_nbytes(s->f, i));
  }
  if (n && !l->args) {
    return cudaErrorInvalidValue;
  }
  void **args = malloc(nbytes);
  if (!args) {
    return cudaErrorMemoryAllocation;
  }
  char *to = (char *)args + pointers;
  for (size_t i = 0; i < n; i++) {
    const size_t size = rt_emu_param_nbytes(s->f, i);
    args[i] = memcpy(to, l->args[i], size);
    to += aligned(size);
  }
  l->args = args;
  return cudaSuccess;
}

/* The bodies of a conditional node; new ones where it has none. */
static cudaError_t copy_bodies(cudart *c, struct cudaConditionalNodeParams *p) {
  cudaGraph_t *bodies = calloc(p->size, sizeof *bodies);
  bool ok = bodies;
  for (unsigned i = 0; ok && i < p->size; i++) {
    bodies[i] = p->phGraph_out ? cudart_graph_copy(c, p->phGraph_out[i]) : cudart_graph_new();
    ok = bodies[i];
  }
  p->phGraph_out = bodies;
  return ok ? cudaSuccess : cudaErrorMemoryAllocation;
}

static bool has_condition(cudart *c, const struct cudaConditionalNodeParams *p) {
  static const unsigned most[] = {
      [cudaGraphCondTypeIf] = 2,
      [cudaGraphCondTypeWhile] = 1,
      [2 /* cudaGraphCondTypeSwitch of CUDA 12.8 */] = 1 << 16,
  };
  rt_emu_range range;
  return (unsigned)p->type < sizeof most / sizeof *most && p->size && p->size <= most[p->type] &&
         rt_emu_range_at(c->d, p->handle, &range) && range.alive;
}

static bool can_fill(const struct cudaMemsetParams *p) {
  const unsigned size = p->elementSize;
  return (size == 1 || size == 2 || size == 4) && p->width <= SIZE_MAX / 4;
}

cudaError_t cudart_work_copy(cudart *c, cudart_work *to, const cudart_work *from) {
  cudart_work made = *from;
  cudaError_t error = cudaSuccess;
  switch ((int)made.type) {
  case cudaGraphNodeTypeKernel: error = copy_args(c, &made.kernel); break;
  case cudaGraphNodeTypeGraph:
    made.child = made.child ? cudart_graph_copy(c, made.child) : NULL;
    error = made.child ? cudaSuccess : cudaErrorInvalidValue;
    break;
  case cudaGraphNodeTypeMemset:
    error = can_fill(&made.fill) ? cudaSuccess : cudaErrorInvalidValue;
    break;
  case cudaGraphNodeTypeHost: error = made.host.fn ? cudaSuccess : cudaErrorInvalidValue; break;
  case cudaGraphNodeTypeConditional:
    error =
        has_condition(c, &made.condition) ? copy_bodies(c, &made.condition) : cudaErrorInvalidValue;
    break;
  default: break;
  }
  if (!error) {
    *to = made;
  }
  return error;
}

size_t cudart_work_graphs(const cudart_work *w, cudaGraph_t **graphs) {
  *graphs = (cudaGraph_t *)(uintptr_t)&w->child;
  if (w->type == cudaGraphNodeTypeConditional) {
    *graphs = w->condition.phGraph_out;
    return w->condition.size;
  }
  return w->type == cudaGraphNodeTypeGraph;
}

void cudart_work_clear(cudart_work *w) {
  cudaGraph_t *graphs;
  const size_t n = cudart_work_graphs(w, &graphs);
  for (size_t i = 0; i < n; i++) {
    cudart_graph_free(graphs[i]);
  }
  if (w->type == cudaGraphNodeTypeConditional) {
    free(w->condition.phGraph_out);
  }
  if (w->type == cudaGraphNodeTypeKernel) {
    free(w->kernel.args);
  }
}

cudaError_t cudart_work_replace(cudart *c, cudart_work *w, const cudart_work *by) {
  cudart_work made;
  if (by->type != w->type) {
    return cudaErrorInvalidValue;
  }
  const cudaError_t error = cudart_work_copy(c, &made, by);
  if (!error) {
    cudart_work_clear(w);
    *w = made;
  }
  return error;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Elements of 2 and 4 bytes are copied from the host, `nbytes` of them at `to`. */
static int fill_row(cudart *c, rt_ptr to, size_t nbytes, const struct cudaMemsetParams *p, err *e) {
  uint32_t piece[1024];
  const uint32_t v = p->elementSize == 2 ? (p->value & 0xffff) * 0x10001 : p->value;
  for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
    piece[i] = v;
  }
  int rc = 0;
  for (size_t at = 0; at < nbytes && !rc; at += sizeof piece) {
    const size_t n = nbytes - at < sizeof piece ? nbytes - at : sizeof piece;
    rc = c->d->ops->copy_in(c->d, to + at, piece, n, NULL, e);
  }
  return rc;
}

static cudaError_t fill(cudart *c, const struct cudaMemsetParams *p) {
  const size_t nbytes = p->width * p->elementSize;
  err e = {0};
  int rc = 0;
  if (p->elementSize == 1) {
    return emu_cudaMemset2D(p->dst, p->pitch, (int)p->value, p->width, p->height);
  }
  for (size_t y = 0; y < p->height && nbytes && !rc; y++) {
    rc = fill_row(c, cudart_address(p->dst) + y * p->pitch, nbytes, p, &e);
  }
  if (rc) {
    cudart_finding(&e, "a memset node of a graph");
  }
  return rc ? cudaErrorInvalidValue : cudaSuccess;
}

enum { MOST_ITERATIONS = 10 * 1000 * 1000 }; /* of a loop; a GPU would go on */

static cudaError_t report_endless(cudart *c) {
  err e = {0};
  err_set(&e, ERR_LAUNCH,
          "the loop has not ended after %d iterations: no kernel has set its handle to 0",
          MOST_ITERATIONS);
  cudart_finding(&e, "a WHILE node of a graph");
  return c->sticky = cudaErrorLaunchTimeout;
}

static cudaError_t run_condition(cudart *c, const struct cudaConditionalNodeParams *p) {
  uint32_t value = 0;
  cudaError_t error = cudaSuccess;
  int n = 0;
  do {
    if (n++ == MOST_ITERATIONS) {
      return report_endless(c);
    }
    if (c->d->ops->copy_out(c->d, &value, p->handle, sizeof value, NULL, NULL)) {
      return cudaErrorInvalidValue;
    }
    const unsigned body = p->type == cudaGraphCondTypeIf      ? !value
                          : p->type == cudaGraphCondTypeWhile ? 0
                                                              : value;
    if (p->type == cudaGraphCondTypeWhile && !value) {
      break;
    }
    error = body < p->size ? cudart_graph_launch(c, p->phGraph_out[body]) : cudaSuccess;
  } while (p->type == cudaGraphCondTypeWhile && !error);
  return error;
}

static cudaError_t give_back(cudart *c, void *p) {
  return c->sticky ? c->sticky : emu_cudaFreeAsync(p, cudaStreamPerThread);
}

cudaError_t cudart_work_run(cudart *c, const cudart_work *w) {
  switch ((int)w->type) {
  case cudaGraphNodeTypeKernel: return cudart_launch_run(c, &w->kernel);
  case cudaGraphNodeTypeMemcpy: return emu_cudaMemcpy3D(&w->copy);
  case cudaGraphNodeTypeMemset: return fill(c, &w->fill);
  case cudaGraphNodeTypeHost: w->host.fn(w->host.userData); return cudaSuccess;
  case cudaGraphNodeTypeGraph: return cudart_graph_launch(c, w->child);
  case cudaGraphNodeTypeEventRecord: return emu_cudaEventRecord(w->event, cudaStreamPerThread);
  case cudaGraphNodeTypeMemFree: return give_back(c, w->freed);
  case cudaGraphNodeTypeConditional: return run_condition(c, &w->condition);
  default: return cudaSuccess;
  }
}
