/* greedy_select.h -- the few of many items that serve a set of places best: which adapted variants
 * an exported portfolio holds. */
#ifndef TUNE_GREEDY_SELECT_H
#define TUNE_GREEDY_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

typedef struct greedy_item { /* it serves the places from, from + 1, ... */
  const float *lost;         /* what each loses by it */
  size_t from, n;
} greedy_item;

/* greedy_select -- at most `most` of n items, each the one by which the places gain most. A place
 * loses what it loses by the best item that is kept, and `nothing` where none serves it.
 *   out  kept[n]
 *        *mean  what a place loses
 *   err  ERR_NOMEM */
int greedy_select(const greedy_item *items, size_t n, size_t n_places, float nothing, size_t most,
                  bool *kept, double *mean, err *e);

#endif
