/* cuda_visit.h -- entering a GPU's context, for the files that implement its rt_device_ops.
 *
 * Every entry point may be called from a thread that has another context current, or none: libtuned
 * is called from its users' threads. ENTER compares contexts, which takes a few nanoseconds, sets
 * ours only if necessary, and restores the other one when the function returns. */
#ifndef RT_CUDA_VISIT_H
#define RT_CUDA_VISIT_H

#include "cuda_device.h"

static inline cuda *cuda_of(rt_device *d) {
  return (cuda *)d;
}

/* Every failure of a driver call ends here. */
#define FAIL(d, e, r, ...) cuda_explain(&cuda_of(d)->api, r, &(d)->dead, e, __VA_ARGS__)

typedef struct cuda_visit {
  const cuda *c;
  CUcontext before; /* the thread's own context, to be restored; NULL: nothing to restore */
} cuda_visit;

static inline void cuda_leave(cuda_visit *v) {
  if (v->before) {
    v->c->api.cuCtxSetCurrent(v->before);
  }
}

static inline bool cuda_is_inside(rt_device *d) {
  const cuda *c = cuda_of(d);
  CUcontext current = NULL;
  return !d->dead && c->api.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == c->context;
}

/* cuda_enter -- make our context current; err ERR_LAUNCH: it was lost */
int cuda_enter(rt_device *d, cuda_visit *v, err *e);

#define ENTER(d, e)                                                                                \
  cuda_visit visit_ __attribute__((cleanup(cuda_leave))) = {NULL, NULL};                           \
  TRY(cuda_is_inside(d) ? 0 : cuda_enter(d, &visit_, e))

/* For functions that return nothing: a dead context has already lost what would be freed. */
#define ENTER_OR_RETURN(d)                                                                         \
  cuda_visit visit_ __attribute__((cleanup(cuda_leave))) = {NULL, NULL};                           \
  if (!cuda_is_inside(d) && cuda_enter(d, &visit_, NULL)) {                                        \
    return;                                                                                        \
  }

#endif
