/* serve_online.h -- tuning while the program runs, off unless asked for (tuned_online).
 *
 * A call on a problem that is not tuned is served at once, as ever. Meanwhile threads of the
 * context, half as many as there are processors and at low priority, compile variants: first what
 * near problems suggest, then what a search makes of the times known so far. When one is ready, some
 * of the program's next calls try it, as long as the trials take no more than their share of
 * the time: the variant gets the caller's inputs and a scratch copy of the outputs, the served
 * kernel does the caller's work, and their times are compared; one that is far behind is dropped
 * after a launch or two. One that was faster is launched beside the served kernel a few times more,
 * and the outputs are compared, with guards around the scratch; if they agreed every time it takes
 * the served kernel's place. When none of the last dozens was better, or after some hundreds, the
 * problem settles and the best is stored. */
#ifndef SERVE_ONLINE_H
#define SERVE_ONLINE_H

#include "serve_context.h"

/* serve_online_set -- begin, change the share, or with 0 end; not under the context's lock. Closing
 * the context waits for a compilation under way, a second or so.
 *   err  ERR_DEVICE  there is no NVRTC to compile with */
int serve_online_set(serve *s, double fraction, err *e);

typedef struct serve_online_tally {
  size_t tried;     /* variants */
  size_t better;    /* of them: took the served one's place */
  size_t stale;     /* since the last that did */
  double spent_sec; /* of the callers' time, in trials */
} serve_online_tally;
/* serve_online_tell -- what tuning this kernel has taken; while it goes on the numbers move.
 * False: it was never tuned here. */
bool serve_online_tell(serve *s, const tuned_kernel *k, serve_online_tally *out);

#endif
