/* portfolio_learn.h -- which few configurations serve all sizes, and which of them a size gets.
 *
 * Pure: it sees a table of times, a row per configuration and a column per size. The set is a
 * greedy set cover (a configuration covers a size if it is at most `loss` slower than the best),
 * then made smaller and better by exchanges. The tree is grown best gain first; every leaf takes
 * the configuration that loses the least time over the leaf's sizes; how many leaves it gets is
 * decided by the sizes left out in cross-validation, and what they lost is what the tree promises.
 */
#ifndef TUNE_PORTFOLIO_LEARN_H
#define TUNE_PORTFOLIO_LEARN_H

#include "fit_model.h"
#include "portfolio.h"

typedef struct portfolio_table {
  size_t n_configs, n_sizes, n_fields;
  const double *sec; /* [config * n_sizes + size]; INFINITY: it does not fit, or failed */
  size_t n_drawn;    /* further sizes, not timed: the tree learns from what a model says of them */
  const int64_t *values; /* [size * n_fields + field]; as in serve_known_row; the drawn ones last */
  const model_work *work; /* [config * (n_sizes + n_drawn) + size]; NULL: none is drawn, all stay */
  double sms;             /* the device's multiprocessors */
} portfolio_table;

/* portfolio_select -- the configurations, at most PORTFOLIO_CONFIGS, most useful first.
 *   in   loss     0.05: at most 5 % slower than the best
 *   out  chosen[PORTFOLIO_CONFIGS], *n
 *        *n_left  sizes that none of them serves within the loss, since there may be no more; sizes
 *                 that nothing serves are not counted
 *   err  ERR_NOMEM */
int portfolio_select(const portfolio_table *t, double loss, size_t *chosen, size_t *n,
                     size_t *n_left, err *e);
/* portfolio_loss -- of the best of these for a size: log(sec / least); INFINITY when none serves it */
double portfolio_loss(const portfolio_table *t, const size_t *chosen, size_t n, size_t size);
/* portfolio_thin -- fewer of them, when little is lost by it: each costs time wherever it is
 * considered, and two that are hard to tell apart by a problem's size cost more by mistakes than
 * they gain. A model that has not seen the size picks, and those whose absence costs less than half
 * a per cent, all together, go. Needs the table's work, else all stay. err ERR_NOMEM */
int portfolio_thin(const gen_template *t, const portfolio_table *table, size_t *chosen, size_t *n,
                   arena *a, err *e);
/* portfolio_regret -- where a measurement would tell most. For each of the drawn sizes: by how much,
 * added up, the others may yet turn out to be faster than the one that is taken; a logarithm.
 *   in   the table  at most PORTFOLIO_CONFIGS
 *   out  regret[n_drawn]
 *   err  ERR_NOMEM */
int portfolio_regret(const gen_template *t, const portfolio_table *table, double *regret, err *e);
/* portfolio_learn -- the tree over the chosen ones, into out's nodes, expected and worst; in the arena.
 * Leaves name a configuration by its place in `chosen`.
 *   err  ERR_NOMEM */
int portfolio_learn(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                    size_t n, arena *a, portfolio *out, err *e);

#endif
