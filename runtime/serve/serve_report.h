/* serve_report.h -- from the internal error object to the caller's. */
#ifndef SERVE_REPORT_H
#define SERVE_REPORT_H

#include "err.h"
#include "tuned.h"

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
