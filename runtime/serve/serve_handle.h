/* serve_handle.h -- what public calls begin and end with: from a handle to its context, or to the reason
 * why there is none; from the internal error object to the caller's. */
#ifndef SERVE_HANDLE_H
#define SERVE_HANDLE_H

#include "err.h"
#include "serve_front.h"
#include "tuned.h"

/* serve_of -- the open context behind a handle; err ERR_USAGE: why there is none */
int serve_refuse_context(tuned_context *ctx, err *e) __attribute__((cold));
static inline int serve_of(tuned_context *ctx, serve **s, err *e) {
  return serve_is_open(ctx, s) ? 0 : serve_refuse_context(ctx, e);
}

/* serve_count_forks -- how often the process has forked since the first call */
unsigned serve_count_forks(void);
/* serve_check_fork -- neither CUDA nor SQLite works in the child of a fork; err ERR_USAGE */
int serve_check_fork(const serve_front *s, err *e);
/* serve_handle_take -- a place for a context; NULL: all are taken */
tuned_context *serve_handle_take(serve *s);

void serve_report_failure(tuned_error *to, const err *e) __attribute__((cold));
/* serve_report -- returns the error's code; `to` may be NULL */
static inline int serve_report(tuned_error *to, const err *e) {
  if (to) {
    to->code = e->code;
    to->message[0] = to->place[0] = 0;
    if (e->code) {
      serve_report_failure(to, e);
    }
  }
  return e->code;
}

#endif
