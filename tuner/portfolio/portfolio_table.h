/* portfolio_table.h -- a table of times, from which a portfolio is made: a row per configuration, a
 * column per size. */
#ifndef TUNE_PORTFOLIO_TABLE_H
#define TUNE_PORTFOLIO_TABLE_H

#include "portfolio.h"

typedef struct portfolio_table {
  size_t n_configs, n_sizes, n_fields;
  const double *sec; /* [config * n_sizes + size]; INFINITY: it does not fit, or failed */
  size_t n_drawn;    /* further sizes, not timed: the tree learns from what a model says of them */
  const int64_t *values;  /* [size * n_fields + field]; the drawn ones last */
  const model_work *work; /* [config * (n_sizes + n_drawn) + size]; NULL: no models are made */
  double sms;             /* the device's multiprocessors */
} portfolio_table;

static inline double portfolio_sec(const portfolio_table *t, size_t config, size_t size) {
  return t->sec[config * t->n_sizes + size];
}

/* portfolio_least -- of any configuration at this size; INFINITY when none serves it */
double portfolio_least(const portfolio_table *t, size_t size);
/* portfolio_loss -- of the best of these for a size: log(sec / least); INFINITY when none serves
 * it */
double portfolio_loss(const portfolio_table *t, const size_t *chosen, size_t n, size_t size);

/* portfolio_select -- the configurations, at most PORTFOLIO_CONFIGS, most useful first.
 *   in   loss     0.05: at most 5 % slower than the best
 *   out  chosen[PORTFOLIO_CONFIGS], *n
 *        *n_left  sizes that none of them serves within the loss, since there may be no more; sizes
 *                 that nothing serves are not counted
 *   err  ERR_NOMEM */
int portfolio_select(const portfolio_table *t, double loss, size_t *chosen, size_t *n,
                     size_t *n_left, err *e);
/* portfolio_learn -- the tree over the chosen ones, into out's nodes, expected and worst, and the
 * models; in the arena. Leaves name a configuration by its place in `chosen`.
 *   err  ERR_NOMEM */
int portfolio_learn(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                    size_t n, arena *a, portfolio *out, err *e);

#endif
