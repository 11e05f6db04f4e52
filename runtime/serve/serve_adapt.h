/* serve_adapt.h -- a configuration made to fit a problem that it was not tuned for.
 *
 * A kernel tuned for a size that is a multiple of four loads four floats at a time; for the next
 * odd size that is not allowed, and nearly everything else about the kernel is still right. So the
 * parameters that a failing requirement reads are changed, one at a time and as little as will do,
 * until all requirements hold. */
#ifndef SERVE_ADAPT_H
#define SERVE_ADAPT_H

#include "gen.h"

/* serve_adapt -- false when it can't be made valid in a few changes
 *   out  *changed  how many parameters
 *   cost an evaluation of the requirements per value tried: some dozens, a few us each */
bool serve_adapt(const gen_template *t, gen_instance *g, gen_config *c, int *changed);

/* ---- for those who do the same faster (serve_judge.h) ---------------------------------------- */

enum { SERVE_CHANGES_MOST = 6 };

typedef struct serve_change {
  size_t param, value;
  size_t failing; /* the first requirement that fails then */
  size_t steps;   /* along the parameter's values */
} serve_change;

static inline bool serve_change_better(const serve_change *a, const serve_change *b) {
  return a->failing != b->failing ? a->failing > b->failing : a->steps < b->steps;
}

#endif
