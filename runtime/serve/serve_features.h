/* serve_features.h -- the kernel of a plan: features of its inputs are computed first, where the problem
 * leaves them open and the template has any. Without a compiler, problems go by their sizes. */
#ifndef SERVE_FEATURES_H
#define SERVE_FEATURES_H

#include "serve_find.h"

/* serve_features_find -- of a complete problem; under the context's lock.
 *   in   args   per argument of the template; waits for the stream where features are computed */
int serve_features_find(serve *s, serve_family *f, const gen_problem *p, tuned_stream stream,
                        const void *const *args, tuned_kernel **k, err *e);
/* serve_features_find_text -- of a problem as text; takes the lock */
int serve_features_find_text(serve *s, const char *text, tuned_stream stream,
                             const void *const *args, tuned_kernel **k, err *e);

#endif
