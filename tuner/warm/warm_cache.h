/* warm_cache.h -- compiles wanted images into the cache that all programs share. */
#ifndef TUNE_WARM_CACHE_H
#define TUNE_WARM_CACHE_H

#include <signal.h>

#include "device.h"
#include "wanted_images.h"

typedef struct warm_state {
  size_t n, done; /* images */
  size_t made, there, failed;
  int64_t nbytes; /* of those made */
  bool is_full;   /* it ended at the limit */
  double sec;
  err why; /* of the first that failed */
} warm_state;

typedef struct warm_options {
  const rt_info *device; /* architecture and format */
  int jobs;              /* compile workers; 0: one per core */
  double timeout_sec;    /* for one compilation */
  int64_t limit;         /* bytes of the cache, with what is there already */
  const volatile sig_atomic_t *stop;
  void (*report)(void *self, const warm_state *s); /* after each image; may be NULL */
  void *self;
} warm_options;

/* warm_cache -- in the order of the list; processes of autotune and libtuned may use the cache
 * meanwhile.
 *   out  *s  also after an error
 *   err  ERR_INTERRUPTED  *stop was set; what was compiled is kept
 *        ERR_DB  the cache cannot be used;  ERR_DEVICE  there is no NVRTC */
int warm_cache(const wanted_images *w, const warm_options *o, warm_state *s, err *e);

#endif
