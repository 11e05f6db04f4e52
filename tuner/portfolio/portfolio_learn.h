/* portfolio_learn.h -- which of a portfolio's configurations a size gets: a tree, and the models.
 *
 * Without models every leaf of the tree takes the configuration that loses the least time over the
 * leaf's sizes; the sizes left out in cross-validation decide how many leaves there are, and what
 * they lost is what the tree promises. With models, and sizes drawn for them, the tree finds short
 * lists: each leaf names the few configurations that the models are asked about there. */
#ifndef TUNE_PORTFOLIO_LEARN_H
#define TUNE_PORTFOLIO_LEARN_H

#include "portfolio_table.h"

/* portfolio_learn -- the tree over the chosen ones, into out's nodes, expected and worst, and the
 * models; in the arena. Leaves name a configuration by its place in `chosen`.
 *   err  ERR_NOMEM */
int portfolio_learn(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                    size_t n, arena *a, portfolio *out, err *e);

#endif
