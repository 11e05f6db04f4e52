/* cudart_stream.c -- streams, in which what is not captured has ended when its call returns, and events, whose
 * times are those that the device models. */
#include <stdlib.h>

#include "cudart_api.h"
#include "cudart_capture.h"

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
  CUDART_NEEDS(s);
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

/* Whatever was asked for is done, or failed, or is captured and must not be waited for. */
static cudaError_t done(cudaStream_t s, bool all) {
  CUDART_ENTER(c);
  return cudart_leave(c, cudart_capture_forbids(s, all));
}

cudaError_t emu_cudaStreamSynchronize(cudaStream_t s) {
  return done(s, false);
}

cudaError_t emu_cudaStreamQuery(cudaStream_t s) {
  return done(s, false);
}

cudaError_t emu_cudaDeviceSynchronize(void) {
  return done(NULL, true);
}

cudaError_t emu_cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags) {
  cudaError_t error = cudaSuccess;
  CUDART_ENTER(c);
  if (!event) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  cudart_capture_wait(c, s, event, flags, &error);
  return cudart_leave(c, error);
}

cudaError_t emu_cudaStreamGetFlags(cudaStream_t s, unsigned *flags) {
  CUDART_NEEDS(flags);
  *flags = is_own(s) ? s->flags : cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamGetPriority(cudaStream_t s, int *priority) {
  CUDART_NEEDS(priority);
  *priority = is_own(s) ? s->priority : 0;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamGetId(cudaStream_t s, unsigned long long *id) {
  CUDART_NEEDS(id);
  *id = is_own(s) ? s->id : (unsigned long long)(uintptr_t)s;
  return cudaSuccess;
}

cudaError_t emu_stream_device(cudaStream_t s, int *device) {
  CUDART_NEEDS(device);
  (void)s;
  *device = 0;
  return cudaSuccess;
}

cudaError_t emu_cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t call, void *data,
                                      unsigned flags) {
  CUDART_NEEDS(call);
  (void)flags;
  const cudaError_t error = done(s, false);
  call(s, error, data);
  return error;
}

cudaError_t emu_cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t call, void *data) {
  CUDART_NEEDS(call);
  cudart_work w = {.type = cudaGraphNodeTypeHost, .host = {call, data}};
  cudaError_t error = cudaSuccess;
  CUDART_ENTER(c);
  const bool captured = cudart_capture_work(c, s, &w, &error);
  cudart_leave(c, captured ? error : cudaSuccess);
  if (!captured) {
    call(data); /* without the lock */
  }
  return captured ? error : cudaSuccess;
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t emu_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  CUDART_NEEDS(event);
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
  cudart_capture_forget(event);
  free(event);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags) {
  cudaError_t error;
  CUDART_ENTER(c);
  if (!event) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  if (cudart_capture_record(c, s, event, flags, &error)) {
    return cudart_leave(c, error);
  }
  if (!event->event && c->d->ops->event_new(c->d, &event->event, NULL)) {
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  c->d->ops->event_record(c->d, event->event, NULL, NULL);
  event->generation = c->generation;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaEventRecord(cudaEvent_t event, cudaStream_t s) {
  return emu_cudaEventRecordWithFlags(event, s, cudaEventRecordDefault);
}

static cudaError_t event_done(cudaEvent_t event) {
  CUDART_ENTER(c);
  return cudart_leave(c, !event                      ? cudaErrorInvalidResourceHandle
                         : cudart_capture_has(event) ? cudaErrorCapturedEvent
                                                     : cudaSuccess);
}

cudaError_t emu_cudaEventQuery(cudaEvent_t event) {
  return event_done(event);
}

cudaError_t emu_cudaEventSynchronize(cudaEvent_t event) {
  return event_done(event);
}

cudaError_t emu_cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  CUDART_NEEDS(ms);
  double sec = 0;
  CUDART_ENTER(c);
  if (cudart_capture_has(from) || cudart_capture_has(to)) {
    return cudart_leave(c, cudaErrorCapturedEvent);
  }
  if (!from || !to || from->generation != c->generation || to->generation != c->generation) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  c->d->ops->elapsed(c->d, from->event, to->event, &sec, NULL);
  *ms = (float)(sec * 1e3);
  return cudart_leave(c, cudaSuccess);
}
