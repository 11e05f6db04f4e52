/* cudart_capture.c -- see cudart_capture.h.
 *
 * src: CUDA Programming Guide, Creating a Graph Using Stream Capture; the modes as in the reference of
 * cudaThreadExchangeStreamCaptureMode. Default streams of threads cannot be told from the legacy stream here. */
#include "cudart_capture.h"

#include <pthread.h>
#include <stdlib.h>

#include "array.h"
#include "cudart_api.h"

typedef struct member {
  cudaStream_t stream;
  cudart_nodes last; /* what the stream's next work waits for */
} member;

typedef struct mark { /* an event that was recorded */
  cudaEvent_t event;
  cudart_nodes last;
} mark;

typedef struct capture {
  struct capture *next;
  unsigned long long id;
  cudaGraph_t graph;
  bool own; /* the graph is not the caller's */
  bool invalid;
  enum cudaStreamCaptureMode mode;
  pthread_t thread;
  member *members; /* the first began it */
  size_t n_members, members_room;
  mark *marks;
  size_t n_marks, marks_room;
} capture;

static capture *captures;
static _Thread_local enum cudaStreamCaptureMode thread_mode;

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_legacy(cudaStream_t s) {
  return (uintptr_t)s <= 1;
}

static member *find_member(cudaStream_t s, capture **of) {
  for (capture *x = captures; x; x = x->next) {
    for (size_t i = 0; i < x->n_members; i++) {
      if (x->members[i].stream == s) {
        *of = x;
        return &x->members[i];
      }
    }
  }
  *of = NULL;
  return NULL;
}

static member *add_member(capture *x, cudaStream_t s) {
  if (!array_reserve(&x->members, x->n_members + 1, &x->members_room, sizeof *x->members)) {
    return NULL;
  }
  x->members[x->n_members] = (member){.stream = s};
  return &x->members[x->n_members++];
}

static mark *find_mark(cudaEvent_t event, capture **of) {
  for (capture *x = captures; x; x = x->next) {
    for (size_t i = 0; i < x->n_marks; i++) {
      if (x->marks[i].event == event) {
        *of = x;
        return &x->marks[i];
      }
    }
  }
  return NULL;
}

static bool merge(cudart_nodes *to, const cudart_nodes *from) {
  for (size_t i = 0; i < from->n; i++) {
    if (!cudart_nodes_have(to, from->p[i]) && !cudart_nodes_add(to, from->p[i])) {
      return false;
    }
  }
  return true;
}

static void free_capture(capture *x) {
  for (size_t i = 0; i < x->n_members; i++) {
    free(x->members[i].last.p);
  }
  for (size_t i = 0; i < x->n_marks; i++) {
    free(x->marks[i].last.p);
  }
  free(x->members);
  free(x->marks);
  free(x);
}

static void unlink_capture(const capture *x) {
  capture **at = &captures;
  while (*at != x) {
    at = &(*at)->next;
  }
  *at = x->next;
}

void cudart_capture_end_all(void) {
  while (captures) {
    capture *x = captures;
    captures = x->next;
    free_capture(x);
  }
}

/* ---- what captures forbid ---------------------------------------------------------------------- */

static cudaError_t invalidate(capture *x, cudaError_t error) {
  x->invalid = true;
  return error;
}

static bool waits_for_legacy(const capture *x) {
  unsigned flags = 0;
  emu_cudaStreamGetFlags(x->members[0].stream, &flags);
  return !(flags & cudaStreamNonBlocking);
}

cudaError_t cudart_capture_forbids(cudaStream_t s, bool all) {
  cudaError_t error = cudaSuccess;
  for (capture *x = captures; x; x = x->next) {
    if (all) {
      error = invalidate(x, cudaErrorStreamCaptureUnsupported);
    } else if (is_legacy(s) && waits_for_legacy(x)) {
      error = invalidate(x, cudaErrorStreamCaptureImplicit);
    }
  }
  capture *of;
  return !error && find_member(s, &of) ? invalidate(of, cudaErrorStreamCaptureUnsupported) : error;
}

cudaError_t cudart_capture_unsafe(void) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) {
    return cudaSuccess;
  }
  for (capture *x = captures; x; x = x->next) {
    const bool here = pthread_equal(x->thread, pthread_self());
    if (x->mode == cudaStreamCaptureModeGlobal ? here || thread_mode == cudaStreamCaptureModeGlobal
                                               : here && x->mode != cudaStreamCaptureModeRelaxed) {
      return invalidate(x, cudaErrorStreamCaptureUnsupported);
    }
  }
  return cudaSuccess;
}

/* ---- work ------------------------------------------------------------------------------------ */

static cudaError_t add_work(cudart *c, capture *x, member *m, cudart_work *w) {
  cudaGraphNode_t node;
  if (x->invalid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  const cudaError_t error = cudart_graph_add(c, x->graph, m->last.p, m->last.n, w, &node);
  if (error) {
    return invalidate(x, error);
  }
  m->last.n = 0;
  return cudart_nodes_add(&m->last, node) ? cudaSuccess : cudaErrorMemoryAllocation;
}

bool cudart_capture_work(cudart *c, cudaStream_t s, cudart_work *w, cudaError_t *error) {
  capture *x;
  if (!captures) {
    return false;
  }
  member *m = find_member(s, &x);
  *error = m ? add_work(c, x, m, w) : cudart_capture_forbids(s, false);
  return m || *error;
}

/* ---- events ---------------------------------------------------------------------------------- */

void cudart_capture_forget(cudaEvent_t event) {
  capture *x;
  mark *m = find_mark(event, &x);
  if (m) {
    free(m->last.p);
    *m = x->marks[--x->n_marks];
  }
}

bool cudart_capture_has(cudaEvent_t event) {
  capture *x;
  return find_mark(event, &x);
}

static cudaError_t record(capture *x, const member *m, cudaEvent_t event) {
  if (x->invalid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (!array_reserve(&x->marks, x->n_marks + 1, &x->marks_room, sizeof *x->marks)) {
    return cudaErrorMemoryAllocation;
  }
  mark *to = &x->marks[x->n_marks++];
  *to = (mark){.event = event};
  return merge(&to->last, &m->last) ? cudaSuccess : cudaErrorMemoryAllocation;
}

bool cudart_capture_record(cudart *c, cudaStream_t s, cudaEvent_t event, unsigned flags,
                           cudaError_t *error) {
  cudart_work w = {.type = cudaGraphNodeTypeEventRecord, .event = event};
  capture *x;
  if (!captures) {
    return false;
  }
  member *m = find_member(s, &x);
  cudart_capture_forget(event);
  *error = !m                                ? cudart_capture_forbids(s, false)
           : flags & cudaEventRecordExternal ? add_work(c, x, m, &w)
                                             : record(x, m, event);
  return m || *error;
}

/* The stream joins the capture of the event. */
static cudaError_t join(capture *x, const mark *from, cudaStream_t s) {
  capture *of;
  member *m = find_member(s, &of);
  if (of && of != x) {
    of->invalid = x->invalid = true;
    return cudaErrorStreamCaptureMerge;
  }
  if (x->invalid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  if (is_legacy(s)) {
    return invalidate(x, cudaErrorStreamCaptureImplicit);
  }
  m = m ? m : add_member(x, s);
  return m && merge(&m->last, &from->last) ? cudaSuccess : cudaErrorMemoryAllocation;
}

bool cudart_capture_wait(cudart *c, cudaStream_t s, cudaEvent_t event, unsigned flags,
                         cudaError_t *error) {
  cudart_work w = {.type = cudaGraphNodeTypeWaitEvent, .event = event};
  capture *x, *of;
  if (!captures) {
    return false;
  }
  member *m = find_member(s, &of);
  const mark *from = find_mark(event, &x);
  *error = m && flags & cudaEventWaitExternal ? add_work(c, of, m, &w)
           : from                             ? join(x, from, s)
           : m                                ? invalidate(of, cudaErrorStreamCaptureIsolation)
                                              : cudart_capture_forbids(s, false);
  return m || *error || from;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static cudaError_t begin(cudaStream_t s, cudaGraph_t g, const cudaGraphNode_t *before, size_t n,
                         enum cudaStreamCaptureMode mode) {
  static unsigned long long last_id;
  capture *x, *of;
  if (is_legacy(s)) {
    return cudaErrorStreamCaptureUnsupported;
  }
  if (find_member(s, &of) || mode > cudaStreamCaptureModeRelaxed) {
    return of ? cudaErrorIllegalState : cudaErrorInvalidValue;
  }
  x = calloc(1, sizeof *x);
  if (!x) {
    return cudaErrorMemoryAllocation;
  }
  *x = (capture){captures,
                 ++last_id,
                 g ? g : cudart_graph_new(),
                 !g,
                 false,
                 mode,
                 pthread_self(),
                 NULL,
                 0,
                 0,
                 NULL,
                 0,
                 0};
  member *m = add_member(x, s);
  const cudart_nodes first = {(cudaGraphNode_t *)(uintptr_t)before, n, 0};
  if (!x->graph || !m || !merge(&m->last, &first)) {
    free_capture(x);
    return cudaErrorMemoryAllocation;
  }
  captures = x;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode) {
  CUDART_ENTER(c);
  return cudart_leave(c, begin(s, NULL, NULL, 0, mode));
}

cudaError_t emu_cudaStreamBeginCaptureToGraph(cudaStream_t s, cudaGraph_t g,
                                              const cudaGraphNode_t *before,
                                              const cudaGraphEdgeData *data, size_t n,
                                              enum cudaStreamCaptureMode mode) {
  (void)data;
  CUDART_ENTER(c);
  return cudart_leave(c, g ? begin(s, g, before, n, mode) : cudaErrorInvalidValue);
}

static void reach(const cudart_nodes *l) {
  for (size_t i = 0; i < l->n; i++) {
    l->p[i]->mark = 1;
  }
}

/* Does the first stream wait for all that the others were given? Nodes wait for earlier ones. */
static bool is_joined(const capture *x) {
  for (size_t i = 0; i < x->graph->nodes.n; i++) {
    x->graph->nodes.p[i]->mark = 0;
  }
  reach(&x->members[0].last);
  for (size_t i = x->graph->nodes.n; i-- > 0;) {
    if (x->graph->nodes.p[i]->mark) {
      reach(&x->graph->nodes.p[i]->before);
    }
  }
  for (size_t k = 1; k < x->n_members; k++) {
    for (size_t i = 0; i < x->members[k].last.n; i++) {
      if (!x->members[k].last.p[i]->mark) {
        return false;
      }
    }
  }
  return true;
}

/* g NULL: the caller has the graph, into which it captured. */
static cudaError_t finish(cudaStream_t s, cudaGraph_t *g) {
  capture *x;
  const member *m = find_member(s, &x);
  if (g) {
    *g = NULL;
  }
  if (!m) {
    return cudaErrorIllegalState;
  }
  if (m != x->members) {
    return invalidate(x, cudaErrorStreamCaptureUnmatched);
  }
  if (x->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(x->thread, pthread_self())) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const cudaError_t error = x->invalid      ? cudaErrorStreamCaptureInvalidated
                            : !is_joined(x) ? cudaErrorStreamCaptureUnjoined
                                            : cudaSuccess;
  if (x->own && (error || !g)) {
    cudart_graph_free(x->graph);
  } else if (!error && g) {
    *g = x->graph;
  }
  unlink_capture(x);
  free_capture(x);
  return error;
}

cudaError_t emu_cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
  CUDART_ENTER(c);
  return cudart_leave(c, finish(s, g));
}

cudaError_t emu_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  const enum cudaStreamCaptureMode old = thread_mode;
  thread_mode = *mode;
  *mode = old;
  return cudaSuccess;
}

/* ---- asking ---------------------------------------------------------------------------------- */

cudaError_t emu_capture_info_3(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *g,
                               const cudaGraphNode_t **before, const void **data, size_t *n) {
  CUDART_NEEDS(status);
  static const unsigned char no_data[8]; /* cudaGraphEdgeData, at most one is asked for */
  capture *x;
  cudart_lock();
  const member *m = captures ? find_member(s, &x) : NULL;
  *status = !m           ? cudaStreamCaptureStatusNone
            : x->invalid ? cudaStreamCaptureStatusInvalidated
                         : cudaStreamCaptureStatusActive;
  if (m && id) {
    *id = x->id;
  }
  if (m && g) {
    *g = x->graph;
  }
  if (m && before) {
    *before = m->last.p;
  }
  if (m && n) {
    *n = m->last.n;
  }
  if (data) {
    *data = m && m->last.n == 1 ? (const void *)no_data : NULL;
  }
  cudart_unlock();
  return cudaSuccess;
}

cudaError_t emu_capture_info_2(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id, cudaGraph_t *g,
                               const cudaGraphNode_t **before, size_t *n) {
  return emu_capture_info_3(s, status, id, g, before, NULL, n);
}

cudaError_t emu_capture_info_1(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                               unsigned long long *id) {
  return emu_capture_info_3(s, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t emu_cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) {
  return emu_capture_info_1(s, status, NULL);
}

cudaError_t emu_update_capture_12(cudaStream_t s, cudaGraphNode_t *before, size_t n,
                                  unsigned flags) {
  capture *x;
  CUDART_ENTER(c);
  member *m = find_member(s, &x);
  const cudart_nodes more = {before, n, 0};
  if (!m) {
    return cudart_leave(c, cudaErrorIllegalState);
  }
  if (flags == cudaStreamSetCaptureDependencies) {
    m->last.n = 0;
  }
  return cudart_leave(c, merge(&m->last, &more) ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t emu_update_capture_13(cudaStream_t s, cudaGraphNode_t *before, const void *data,
                                  size_t n, unsigned flags) {
  (void)data;
  return emu_update_capture_12(s, before, n, flags);
}
