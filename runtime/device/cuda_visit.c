/* cuda_visit.c -- see cuda_visit.h. */
#include "cuda_visit.h"

__attribute__((cold)) int cuda_enter(rt_device *d, cuda_visit *v, err *e) {
  const cuda *c = cuda_of(d);
  CUcontext current = NULL;
  if (d->dead) {
    return err_set(e, ERR_LAUNCH,
                   "the GPU's context was lost to an earlier fault; reopen the device");
  }
  c->api.cuCtxGetCurrent(&current);
  CUresult r = c->api.cuCtxSetCurrent(c->context);
  *v = (cuda_visit){c, r ? NULL : current};
  return r ? FAIL(d, e, r, "entering the GPU's context") : 0;
}
