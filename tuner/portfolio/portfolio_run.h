/* portfolio_run.h -- making a portfolio of what is tuned: which configurations at which sizes, rounds of
 * measuring, and what is learnt of the times. Its functions are called in this order. */
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
  const char *grid;    /* from which further sizes are drawn (sample_sizes.h); NULL: none are */
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
/* portfolio_gather -- candidates, and where no sizes are named, sizes: of all that is tuned.
 *   err  ERR_NOTFOUND  nothing is */
int portfolio_gather(portfolio_run *r, err *e);
/* portfolio_gather_more -- the stored portfolio's configurations, and its sizes ahead of the others.
 *   err  ERR_NOTFOUND  there is none */
int portfolio_gather_more(portfolio_run *r, err *e);
/* portfolio_measure -- the times of those that are left after each round, at the sizes that the budget
 * sufficed for */
int portfolio_measure(portfolio_run *r, portfolio_table *table, err *e);
/* portfolio_make -- out of the times.
 *   out  *n_left  sizes that lose more than r->loss with any of its configurations */
int portfolio_make(portfolio_run *r, portfolio_table *table, portfolio *out, size_t *n_left,
                   err *e);

/* ---- what configurations do at sizes that are not measured ----------------------------------- */

typedef struct portfolio_subset { /* of the table's configurations */
  size_t which[PORTFOLIO_CONFIGS], n;
} portfolio_subset;

int portfolio_open_cache(portfolio_run *r, const portfolio_subset *of, feasibility_cache **cache,
                         err *e);
/* portfolio_works -- of each of them, in the variant that libtuned would adapt it to here:
 * work[which * stride] */
int portfolio_works(portfolio_run *r, feasibility_cache *cache, const portfolio_subset *of,
                    const gen_problem *p, size_t stride, model_work *work, err *e);
/* portfolio_extend -- the table gets room for these sizes too, as drawn ones */
int portfolio_extend(portfolio_run *r, const sizes *more, portfolio_table *t, err *e);

#endif
