/* portfolio_select.h -- which few configurations serve all sizes: a greedy set cover, in which a
 * configuration covers a size if it is at most `loss` slower than the best, then made smaller and
 * better by exchanges. */
#ifndef TUNE_PORTFOLIO_SELECT_H
#define TUNE_PORTFOLIO_SELECT_H

#include "portfolio_table.h"

/* portfolio_select -- the configurations, at most PORTFOLIO_CONFIGS, most useful first.
 *   in   loss     0.05: at most 5 % slower than the best
 *   out  chosen[PORTFOLIO_CONFIGS], *n
 *        *n_left  sizes that none of them serves within the loss, since there may be no more; sizes
 *                 that nothing serves are not counted
 *   err  ERR_NOMEM */
int portfolio_select(const portfolio_table *t, double loss, size_t *chosen, size_t *n,
                     size_t *n_left, err *e);

#endif
