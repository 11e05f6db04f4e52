/* keep.h -- a few of many things, those that serve many places best: of kernels' forms, those that
 * an exported portfolio holds. */
#ifndef TUNE_KEEP_H
#define TUNE_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

typedef struct keep_thing { /* it serves the places from, from + 1, ... */
  const float *lost;        /* what each loses by it */
  size_t from, n;
} keep_thing;

/* keep_few -- at most `most` of n things: one after the other the one by which the places gain
 * most. A place loses by the best that is kept, and `nothing` where none serves it.
 *   out  kept[n]
 *        *mean  what a place loses
 *   err  ERR_NOMEM */
int keep_few(const keep_thing *things, size_t n, size_t n_places, float nothing, size_t most,
             bool *kept, double *mean, err *e);

#endif
