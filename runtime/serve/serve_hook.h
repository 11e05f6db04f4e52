/* serve_hook.h -- function pointers by which capture and online tuning take part in serving while
 * they are switched on; serving knows neither of them. */
#ifndef SERVE_HOOK_H
#define SERVE_HOOK_H

#include <stdbool.h>

#include "err.h"
#include "tuned.h"

typedef struct serve_hook serve_hook;
struct serve_hook { /* of a context; the first member of its owner's struct */
  serve_hook *next;
  /* found -- a kernel was made, and no call can launch it yet; under the context's lock */
  void (*found)(serve_hook *h, tuned_kernel *k);
  /* replaced -- it has taken the place of an earlier kernel of its problem; under the context's lock.
   * NULL: not called */
  void (*replaced)(serve_hook *h, tuned_kernel *better);
  /* launch -- before every launch, with checked arguments and without a lock. NULL: not called; at
   * most one hook of a context has it */
  void (*launch)(serve_hook *h, tuned_kernel *k, tuned_stream stream, const void *const *args);
  /* close -- ends what the hook does and frees it; the context's kernels are still there */
  void (*close)(serve_hook *h);
};

typedef struct serve_detour serve_detour;
struct serve_detour { /* of a kernel: performs some of its launches */
  /* launch -- true: done, *rc is the result; false: the kernel is launched as usual */
  bool (*launch)(serve_detour *d, tuned_stream stream, const void *const *args, int *rc, err *e);
};

#endif
