/* warm_problems.h -- the problems of a family that a program is likely to ask for. */
#ifndef TUNE_WARM_PROBLEMS_H
#define TUNE_WARM_PROBLEMS_H

#include "serve_known.h"
#include "sizes.h"

/* warm_problems -- the tuned ones, the template's own sizes, every value of every choice, and
 * `drawn` sizes from the portfolio's range, else from the range of the others. In the arena.
 *   err  ERR_INTERRUPTED, ERR_NOMEM, or what is wrong with a size of the template */
int warm_problems(gen_template *t, const serve_known *k, size_t drawn, arena *a, sizes *out,
                  err *e);
/* warm_combinations -- a problem for each combination of the names in the portfolio's range, with
 * sizes in its middle; none without a portfolio */
int warm_combinations(gen_template *t, const portfolio *pf, arena *a, sizes *out, err *e);

#endif
