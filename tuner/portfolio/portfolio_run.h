/* portfolio_run.h -- making a portfolio of what is tuned: which configurations at which sizes,
 * rounds of measuring, and what is learnt of the times. Its functions are called in this order. */
#ifndef TUNE_PORTFOLIO_RUN_H
#define TUNE_PORTFOLIO_RUN_H

#include "db.h"
#include "feasibility_cache.h"
#include "portfolio_table.h"
#include "timing_table.h"

enum { PORTFOLIO_CANDIDATES = 512 };

typedef struct portfolio_run {
  arena memory;
  gen_template *t;
  db *db;
  timing_table *timings;
  double loss, budget; /* budget: seconds of measuring; 0: no limit */
  const char *grid;    /* from which further sizes are drawn (sizes.h); NULL: none are */
  int64_t seed;
  bool more; /* keep the stored portfolio's configurations, and time them at further sizes */
  sizes sizes;
  size_t n_before; /* with `more`: the first of them, which are the stored portfolio's */
  gen_config *candidates;
  size_t n_candidates;
  gen_config *chosen; /* of them: those that are measured, then the portfolio */
  size_t n_chosen;
} portfolio_run;

/* portfolio_add_sizes -- those of `more` that are not among s yet, up to `most` in all */
int portfolio_add_sizes(portfolio_run *r, sizes *s, const sizes *more, size_t most, err *e);
/* portfolio_gather -- all that is tuned and the stored portfolio give the candidates, what is tuned
 * the sizes where none are named.
 *   err  ERR_NOTFOUND  nothing is tuned */
int portfolio_gather(portfolio_run *r, err *e);
/* portfolio_gather_more -- the stored portfolio's configurations, and its sizes ahead of the
 * others.
 *   err  ERR_NOTFOUND  no portfolio is stored */
int portfolio_gather_more(portfolio_run *r, err *e);
/* portfolio_measure -- time the candidates in rounds, each of fewer configurations at more sizes,
 * until the budget is spent */
int portfolio_measure(portfolio_run *r, portfolio_table *table, err *e);
/* portfolio_make -- learn a portfolio from the times.
 *   out  *n_left  sizes that lose more than r->loss with any of its configurations */
int portfolio_make(portfolio_run *r, portfolio_table *table, portfolio *out, size_t *n_left,
                   err *e);

/* ---- what configurations do at sizes that are not measured ----------------------------------- */

typedef struct portfolio_subset { /* of the table's configurations */
  size_t which[PORTFOLIO_CONFIGS], n;
} portfolio_subset;

int portfolio_open_cache(portfolio_run *r, const portfolio_subset *of, feasibility_cache **cache,
                         err *e);
/* portfolio_works -- what each does at this size, adapted as libtuned would adapt it:
 * work[which * stride] */
int portfolio_works(portfolio_run *r, feasibility_cache *cache, const portfolio_subset *of,
                    const gen_problem *p, size_t stride, model_work *work, err *e);
/* portfolio_extend -- add these sizes to the table, as drawn ones, their work still unknown */
int portfolio_extend(portfolio_run *r, const sizes *more, portfolio_table *t, err *e);

#endif
