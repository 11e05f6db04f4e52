/* serve_hook.h -- how capture and online tuning take part in serving, which knows neither: as
 * function pointers that they set when they are switched on. */
#ifndef SERVE_HOOK_H
#define SERVE_HOOK_H

#include <stdbool.h>

#include "err.h"
#include "tuned.h"

typedef struct serve_hook serve_hook;
struct serve_hook { /* of a context; the first member of its owner's struct */
  serve_hook *next;
  /* found -- a kernel was made and nobody launches it yet; under the context's lock */
  void (*found)(serve_hook *h, tuned_kernel *k);
  /* launch -- before a launch whose arguments were checked, without a lock; NULL: not called. One
   * hook of a context has it */
  void (*launch)(serve_hook *h, tuned_kernel *k, tuned_stream stream, const void *const *args);
  /* close -- ends what the hook does and frees it; the context's kernels are still there */
  void (*close)(serve_hook *h);
};

typedef struct serve_detour serve_detour;
struct serve_detour { /* of a kernel: takes some of its launches over */
  /* launch -- false: declined, the kernel is to be launched as ever; else *rc is the result */
  bool (*launch)(serve_detour *d, tuned_stream stream, const void *const *args, int *rc, err *e);
};

#endif
