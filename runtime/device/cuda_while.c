/* cuda_while.c -- WHILE nodes, which are added to the graph that a stream is being captured into.
 * src: CUDA Driver API, conditional nodes; cuStreamBeginCaptureToGraph. */
#include "cuda_streams.h"

#include "cuda_visit.h"

#if CUDA_VERSION >= 13000

typedef int while_record(void *self, rt_stream s, uint64_t handle, bool body, err *e);

static bool has_while(const cuda_api *api) {
  return api->cuStreamGetCaptureInfo && api->cuStreamUpdateCaptureDependencies &&
         api->cuStreamBeginCaptureToGraph && api->cuStreamEndCapture && api->cuGraphAddNode &&
         api->cuGraphConditionalHandleCreate;
}

typedef struct
    captured { /* where a capture is: owned by the driver, until the next call with the stream */
  CUgraph graph;
  const CUgraphNode *nodes;
  const CUgraphEdgeData *edges;
  size_t n;
} captured;

static int find(rt_device *d, CUstream s, captured *c, err *e) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult r = cuda_of(d)->api.cuStreamGetCaptureInfo(s, &status, NULL, &c->graph, &c->nodes,
                                                      &c->edges, &c->n);
  if (r) {
    return FAIL(d, e, r, "reading the state of a capture");
  }
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE
             ? 0
             : err_set(e, ERR_USAGE,
                       "a loop is added to a graph while its stream is captured only");
}

/* Behind all that s holds; what follows on s comes behind the node. */
static int add_node(rt_device *d, CUstream s, CUgraphConditionalHandle handle, CUgraph *body,
                    err *e) {
  const cuda_api *api = &cuda_of(d)->api;
  captured c = {0};
  CUgraphNode node = NULL;
  CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
  p.conditional.handle = handle;
  p.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  p.conditional.size = 1;
  p.conditional.ctx = cuda_of(d)->context;
  TRY(find(d, s, &c, e));
  CUresult r = api->cuGraphAddNode(&node, c.graph, c.nodes, c.edges, c.n, &p);
  r = r ? r
        : api->cuStreamUpdateCaptureDependencies(s, &node, NULL, 1,
                                                 CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  *body = r ? NULL : p.conditional.phGraph_out[0];
  return r ? FAIL(d, e, r, "adding a loop to a graph") : 0;
}

/* The capture must be ended in any case, or the stream stays unusable. */
static int fill(rt_device *d, CUgraph body, uint64_t handle, while_record *record, void *self,
                err *e) {
  const cuda_api *api = &cuda_of(d)->api;
  rt_stream s;
  CUgraph same = NULL;
  TRY(cuda_stream_new(d, &s, e)); /* it captures at the same time as the caller's */
  CUresult r =
      api->cuStreamBeginCaptureToGraph(s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  int rc = r ? FAIL(d, e, r, "recording a loop") : 0;
  if (!rc) {
    rc = record(self, s, handle, true, e);
    r = api->cuStreamEndCapture(s, &same);
    rc = rc ? rc : r ? FAIL(d, e, r, "recording a loop") : 0;
  }
  cuda_stream_free(d, s);
  return rc;
}

int cuda_while_add(rt_device *d, rt_stream s, while_record *record, void *self, err *e) {
  const cuda_api *api = &cuda_of(d)->api;
  captured c = {0};
  CUgraphConditionalHandle handle = 0;
  CUgraph body = NULL;
  ENTER(d, e);
  if (!has_while(api)) {
    return err_set(
        e, ERR_USAGE,
        "the NVIDIA driver is too old for loops in graphs; install one for CUDA 12.4 or later");
  }
  TRY(find(d, s, &c, e));
  CUresult r = api->cuGraphConditionalHandleCreate(&handle, c.graph, cuda_of(d)->context, 0,
                                                   CU_GRAPH_COND_ASSIGN_DEFAULT);
  if (r) {
    return FAIL(d, e, r, "adding a loop to a graph");
  }
  TRY(record(self, s, handle, false, e));
  TRY(add_node(d, s, handle, &body, e));
  return fill(d, body, handle, record, self, e);
}

#else

int cuda_while_add(rt_device *d, rt_stream s,
                   int (*record)(void *, rt_stream, uint64_t, bool, err *), void *self, err *e) {
  (void)d, (void)s, (void)record, (void)self;
  return err_set(e, ERR_USAGE, "loops in graphs need a library that was built with CUDA 13");
}

#endif
