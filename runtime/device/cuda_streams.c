/* cuda_streams.c -- see cuda_streams.h. */
#include "cuda_streams.h"

#include "cuda_visit.h"

/* ---- streams and events -------------------------------------------------------------------- */

int cuda_stream_new(rt_device *d, rt_stream *s, err *e) {
  CUstream stream = NULL;
  *s = NULL;
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuStreamCreate(&stream, CU_STREAM_DEFAULT);
  *s = stream;
  return r ? FAIL(d, e, r, "creating a stream") : 0;
}

int cuda_stream_beside(rt_device *d, rt_stream *s, err *e) {
  CUstream stream = NULL;
  *s = NULL;
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  *s = stream;
  return r ? FAIL(d, e, r, "creating a stream") : 0;
}

void cuda_stream_free(rt_device *d, rt_stream s) {
  ENTER_OR_RETURN(d);
  if (s) {
    cuda_of(d)->api.cuStreamDestroy(s);
  }
}

int cuda_stream_sync(rt_device *d, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuStreamSynchronize(s);
  return r ? FAIL(d, e, r, "running on the GPU") : 0;
}

int cuda_event_new(rt_device *d, rt_event **ev, err *e) {
  CUevent event = NULL;
  *ev = NULL;
  ENTER(d, e);
  if (!cuda_of(d)->api.cuEventElapsedTime) {
    return err_set(e, ERR_DEVICE, "the NVIDIA driver has no event times; install a newer one");
  }
  CUresult r = cuda_of(d)->api.cuEventCreate(&event, CU_EVENT_DEFAULT);
  *ev = (rt_event *)event;
  return r ? FAIL(d, e, r, "creating an event") : 0;
}

void cuda_event_free(rt_device *d, rt_event *ev) {
  ENTER_OR_RETURN(d);
  if (ev) {
    cuda_of(d)->api.cuEventDestroy((CUevent)ev);
  }
}

int cuda_event_record(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuEventRecord((CUevent)ev, s);
  return r ? FAIL(d, e, r, "recording an event") : 0;
}

int cuda_stream_wait(rt_device *d, rt_stream s, rt_event *ev, err *e) {
  if (!cuda_of(d)->api.cuStreamWaitEvent) {
    return err_set(e, ERR_DEVICE, "this driver cannot make a stream wait for an event");
  }
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuStreamWaitEvent(s, (CUevent)ev, 0);
  return r ? FAIL(d, e, r, "making a stream wait for an event") : 0;
}

int cuda_event_sync(rt_device *d, rt_event *ev, err *e) {
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuEventSynchronize((CUevent)ev);
  return r ? FAIL(d, e, r, "running on the GPU") : 0;
}

int cuda_elapsed(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e) {
  float msec = 0;
  *sec = 0;
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuEventSynchronize((CUevent)to);
  if (r) {
    return FAIL(d, e, r, "running on the GPU");
  }
  r = cuda_of(d)->api.cuEventElapsedTime(&msec, (CUevent)from, (CUevent)to);
  *sec = 1e-3 * (double)msec;
  return r ? FAIL(d, e, r, "reading the time between two events") : 0;
}

/* ---- graphs -------------------------------------------------------------------------------- */

static bool has_graphs(const cuda_api *api) {
  return api->cuStreamBeginCapture && api->cuStreamEndCapture && api->cuGraphInstantiate &&
         api->cuGraphLaunch && api->cuGraphExecDestroy && api->cuGraphDestroy;
}

/* An error of `record` takes precedence; the capture must be ended in any case, or the stream stays
 * unusable. */
static int capture(rt_device *d, CUstream s, int (*record)(void *, rt_stream, err *), void *self,
                   CUgraph *graph, err *e) {
  CUresult r = cuda_of(d)->api.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (r) {
    return FAIL(d, e, r, "recording a graph");
  }
  int rc = record(self, s, e);
  r = cuda_of(d)->api.cuStreamEndCapture(s, graph);
  return rc ? rc : r ? FAIL(d, e, r, "recording a graph") : 0;
}

int cuda_graph_new(rt_device *d, int (*record)(void *, rt_stream, err *), void *self, rt_graph **g,
                   err *e) {
  CUgraph graph = NULL;
  CUgraphExec made = NULL;
  rt_stream s;
  *g = NULL;
  ENTER(d, e);
  if (!has_graphs(&cuda_of(d)->api)) {
    return err_set(e, ERR_USAGE, "the NVIDIA driver is too old for graphs; install a newer one");
  }
  TRY(cuda_stream_new(d, &s, e)); /* the default stream cannot be captured */
  int rc = capture(d, s, record, self, &graph, e);
  if (!rc) {
    CUresult r = cuda_of(d)->api.cuGraphInstantiate(&made, graph, 0);
    rc = r ? FAIL(d, e, r, "instantiating a graph") : 0;
  }
  if (graph) {
    cuda_of(d)->api.cuGraphDestroy(graph);
  }
  cuda_stream_free(d, s);
  *g = (rt_graph *)made;
  return rc;
}

void cuda_graph_free(rt_device *d, rt_graph *g) {
  ENTER_OR_RETURN(d);
  if (g) {
    cuda_of(d)->api.cuGraphExecDestroy((CUgraphExec)g);
  }
}

int cuda_graph_launch(rt_device *d, rt_graph *g, rt_stream s, err *e) {
  ENTER(d, e);
  CUresult r = cuda_of(d)->api.cuGraphLaunch((CUgraphExec)g, s);
  return r ? FAIL(d, e, r, "launching a graph") : 0;
}

bool cuda_capturing(rt_device *d, rt_stream s) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const cuda_api *api = &cuda_of(d)->api;
  cuda_visit visit_ __attribute__((cleanup(cuda_leave))) = {NULL, NULL};
  return api->cuStreamIsCapturing && !cuda_enter(d, &visit_, NULL) &&
         !api->cuStreamIsCapturing(s, &status) && status != CU_STREAM_CAPTURE_STATUS_NONE;
}
