/* cudart_stream.c -- streams, in which everything has ended when its call returns, and events, whose times are
 * those that the device models. */
#include <stdlib.h>

#include "cudart_api.h"
#include "cudart_process.h"

struct CUstream_st {
  unsigned flags;
  int priority;
  unsigned long long id;
};

struct CUevent_st {
  rt_event *event;
  uint64_t generation; /* of the device that recorded it; 0: not recorded */
};

/* The default streams are small numbers. */
static bool is_own(cudaStream_t s) {
  return (uintptr_t)s > 2;
}

cudaError_t emu_cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority) {
  static unsigned long long last_id = 2;
  CUDART_ENTER(c);
  *s = malloc(sizeof **s);
  if (!*s) {
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  **s = (struct CUstream_st){flags, priority, ++last_id};
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaStreamCreate(cudaStream_t *s) {
  return emu_cudaStreamCreateWithPriority(s, cudaStreamDefault, 0);
}

cudaError_t emu_cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  return emu_cudaStreamCreateWithPriority(s, flags, 0);
}

cudaError_t emu_cudaStreamDestroy(cudaStream_t s) {
  CUDART_ENTER(c);
  if (!is_own(s)) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  free(s);
  return cudart_leave(c, cudaSuccess);
}

/* Whatever was asked for is done, or failed. */
static cudaError_t all_done(void) {
  CUDART_ENTER(c);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaStreamSynchronize(cudaStream_t s) {
  (void)s;
  return all_done();
}

cudaError_t emu_cudaStreamQuery(cudaStream_t s) {
  (void)s;
  return all_done();
}

cudaError_t emu_cudaDeviceSynchronize(void) {
  return all_done();
}

cudaError_t emu_cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags) {
  (void)s, (void)event, (void)flags;
  return all_done();
}

cudaError_t emu_cudaStreamGetFlags(cudaStream_t s, unsigned *flags) {
  *flags = is_own(s) ? s->flags : cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamGetPriority(cudaStream_t s, int *priority) {
  *priority = is_own(s) ? s->priority : 0;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamGetId(cudaStream_t s, unsigned long long *id) {
  *id = is_own(s) ? s->id : (unsigned long long)(uintptr_t)s;
  return cudaSuccess;
}

cudaError_t emu_stream_device(cudaStream_t s, int *device) {
  (void)s;
  *device = 0;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t call, void *data,
                                      unsigned flags) {
  (void)flags;
  const cudaError_t error = all_done();
  call(s, error, data);
  return error;
}

cudaError_t emu_cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t call, void *data) {
  (void)s;
  const cudaError_t error = all_done();
  if (!error) {
    call(data);
  }
  return error;
}

/* ---- capture: there is none ------------------------------------------------------------------ */

cudaError_t emu_cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status) {
  return emu_no_capture(s, status, NULL);
}

cudaError_t emu_no_capture(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                           unsigned long long *id) {
  (void)s, (void)id;
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t emu_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  (void)mode;
  return cudaSuccess;
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t emu_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  CUDART_ENTER(c);
  *event = calloc(1, sizeof **event);
  return cudart_leave(c, *event ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t emu_cudaEventCreate(cudaEvent_t *event) {
  return emu_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t emu_cudaEventDestroy(cudaEvent_t event) {
  CUDART_ENTER(c);
  if (!event) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  if (event->event) {
    c->d->ops->event_free(c->d, event->event);
  }
  free(event);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaEventRecord(cudaEvent_t event, cudaStream_t s) {
  (void)s;
  CUDART_ENTER(c);
  if (!event) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  if (!event->event && c->d->ops->event_new(c->d, &event->event, NULL)) {
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  c->d->ops->event_record(c->d, event->event, NULL, NULL);
  event->generation = c->generation;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags) {
  (void)flags;
  return emu_cudaEventRecord(event, s);
}

static cudaError_t event_done(cudaEvent_t event) {
  CUDART_ENTER(c);
  return cudart_leave(c, event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t emu_cudaEventQuery(cudaEvent_t event) {
  return event_done(event);
}

cudaError_t emu_cudaEventSynchronize(cudaEvent_t event) {
  return event_done(event);
}

cudaError_t emu_cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  double sec = 0;
  CUDART_ENTER(c);
  if (!from || !to || from->generation != c->generation || to->generation != c->generation) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  c->d->ops->elapsed(c->d, from->event, to->event, &sec, NULL);
  *ms = (float)(sec * 1e3);
  return cudart_leave(c, cudaSuccess);
}
