/* serve_front.h -- what a typed call reads when its kernel has been found before: the handle, and
 * the first fields of the open context behind it.
 *
 * Handles are places in a table and never freed, so that a closed context can be told from an open
 * one without reading freed memory. They are given out round-robin, so that a closed one is not
 * reused soon. */
#ifndef SERVE_FRONT_H
#define SERVE_FRONT_H

#include "serve_table.h"
#include "tuned.h"

typedef struct serve serve; /* an open context: serve_context.h */

typedef struct serve_front { /* a context begins with it */
  unsigned forks;            /* serve_process.forks when it was opened */
  serve_table kernels;       /* from a problem's key to its kernel */
} serve_front;

enum { SERVE_MAX_CONTEXTS = 256 };
struct tuned_context {
  _Atomic(serve *) open; /* NULL: closed */
};
#pragma GCC visibility push(hidden)
extern struct serve_process {
  atomic_uint forks; /* between the process that first opened a context and this one */
  atomic_uint next_handle;
  struct tuned_context handles[SERVE_MAX_CONTEXTS];
} serve_process;
#pragma GCC visibility pop

/* serve_is_open -- false: NULL, closed, or opened before a fork */
static inline bool serve_is_open(tuned_context *ctx, serve **s) {
  const uintptr_t at = (uintptr_t)ctx - (uintptr_t)serve_process.handles;
  *s = at < sizeof serve_process.handles ? atomic_load_explicit(&ctx->open, memory_order_acquire)
                                         : NULL;
  return *s && ((serve_front *)*s)->forks ==
                   atomic_load_explicit(&serve_process.forks, memory_order_relaxed);
}

/* serve_launch_known -- launch the kernel of a typed call, whose arguments are complete; returns
 * the error's code */
int serve_launch_known(tuned_kernel *k, tuned_stream stream, const void *const *args,
                       tuned_error *err);

#endif
