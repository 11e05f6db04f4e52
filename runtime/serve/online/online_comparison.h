/* online_comparison.h -- a variant beside the served kernel, over some of the program's own
 * launches: is it faster, and are its results right?
 *
 * In each launch the served kernel does the caller's work, and the variant gets the caller's inputs
 * and a scratch copy of the outputs. Times are compared in pairs first, and a variant that is far
 * behind is dropped after a launch or two. Only one that was faster is then launched a few times
 * more to compare its results, since that takes the host longer than most kernels run. */
#ifndef ONLINE_COMPARISON_H
#define ONLINE_COMPARISON_H

#include "online_scratch.h"
#include "serve_context.h"

enum { ONLINE_PAIRS = 5 }; /* that count, after one for warming up */

typedef enum online_verdict {
  ONLINE_GO_ON,
  ONLINE_ACCEPT,
  ONLINE_REJECT,
  ONLINE_GIVE_UP /* nothing can be tried for this problem */
} online_verdict;

typedef struct online_comparison { /* of one problem's variants, one after the other */
  const tuned_kernel *k;           /* the problem's, as it was found */
  gen_instance *g;                 /* used under the context's lock; borrowed */
  online_scratch scratch;
  rt_event *events[3];
  double served[ONLINE_PAIRS + 1], tried[ONLINE_PAIRS + 1]; /* seconds */
  int n_pairs, n_checks;
} online_comparison;

/* online_comparison_init -- k and g are borrowed; lists in the arena */
int online_comparison_init(online_comparison *c, const tuned_kernel *k, gen_instance *g, arena *a,
                           err *e);
void online_comparison_clear(online_comparison *c);
/* online_comparison_begin -- with another variant */
void online_comparison_begin(online_comparison *c);

typedef struct online_launch { /* of the caller's */
  tuned_stream stream;
  const void *const *args;
  bool launched; /* out: was the served kernel launched? */
  int rc;        /* out: the result of that launch */
  err *e;
} online_launch;
/* online_comparison_run -- one pair; waits for both */
online_verdict online_comparison_run(online_comparison *c, tuned_kernel *served,
                                     tuned_kernel *variant, online_launch *l);
/* online_comparison_is_timed -- all pairs were run */
bool online_comparison_is_timed(const online_comparison *c);
/* online_comparison_sec -- the median time, of the variant or of the served kernel, as far as there
 * are times; INFINITY: none */
double online_comparison_sec(const online_comparison *c, bool of_variant);

#endif
