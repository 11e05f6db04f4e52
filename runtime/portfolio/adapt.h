/* adapt.h -- a configuration made to fit a problem that it was not tuned for.
 *
 * A kernel tuned for a size that is a multiple of four loads four floats at a time; for the next
 * odd size that is not allowed, but nearly everything else about the kernel is still right. So the
 * parameters that a failing requirement reads are changed, one at a time and as little as possible,
 * until all requirements hold. */
#ifndef ADAPT_H
#define ADAPT_H

#include "gen.h"

/* adapt_config -- false when a few changes do not make it valid
 *   out  *changed  how many parameters
 *   cost an evaluation of the requirements per value tried: some dozens */
bool adapt_config(const gen_template *t, gen_instance *g, gen_config *c, int *changed);
/* adapt_to_space -- the same until it is a point of the space, which may take more than validity does
 */
bool adapt_to_space(const gen_template *t, gen_instance *g, gen_config *c);

/* ---- for feasibility_cache.h, which does the same faster ------------------------------------- */

enum { ADAPT_CHANGES_MOST = 6 };

typedef struct adapt_change {
  size_t param, value;
  size_t failing; /* the first requirement that fails then */
  size_t steps;   /* along the parameter's values */
} adapt_change;

static inline bool adapt_change_better(const adapt_change *a, const adapt_change *b) {
  return a->failing != b->failing ? a->failing > b->failing : a->steps < b->steps;
}

#endif
