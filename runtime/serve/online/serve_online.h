/* serve_online.h -- tuning while the program runs, off unless switched on (tuned_online).
 *
 * A call on a problem that is not tuned is served at once. Meanwhile threads of the context, half
 * as many as there are processors and at low priority, compile variants (online_chooser.h). When
 * one is ready, some of the program's next launches try it beside the served kernel, as long as the
 * trials take no more than their share of the time (online_comparison.h). A variant that is faster,
 * and whose results agree each time, replaces the served kernel. When none of the last dozens was
 * better, or after some hundreds, the problem settles and the best is stored. */
#ifndef SERVE_ONLINE_H
#define SERVE_ONLINE_H

#include "serve_context.h"

/* serve_online_set -- switch it on, change the share of the time, or with 0 pause it; takes the
 * context's lock. Closing the context waits for compilations under way, a second or so.
 *   err  ERR_DEVICE  there is no NVRTC to compile with */
int serve_online_set(serve *s, double fraction, err *e);

typedef struct serve_online_tally {
  size_t tried;     /* variants */
  size_t better;    /* of them: took the served one's place */
  size_t stale;     /* since the last that did */
  double spent_sec; /* of the callers' time, in trials */
} serve_online_tally;
/* serve_online_tell -- what tuning this kernel has taken so far; false: it was not tuned here */
bool serve_online_tell(serve *s, const tuned_kernel *k, serve_online_tally *out);

#endif
