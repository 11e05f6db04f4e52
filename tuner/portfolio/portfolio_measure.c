#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "portfolio_models.h"
#include "portfolio_run.h"
#include "portfolio_table.h"

/* ---- tables --------------------------------------------------------------------------------- */

/* Of the configurations that are left, at the first n_done sizes; times of earlier rounds are
 * kept. */
typedef struct times {
  double *sec;      /* [configuration * stride + size] */
  model_work *work; /* likewise */
  size_t n, stride, n_done;
} times;

static int times_new(portfolio_run *r, size_t n, times *x, err *e) {
  *x = (times){.n = n, .stride = r->sizes.n};
  x->sec = ARENA_ARRAY(&r->memory, double, n * x->stride + 1);
  x->work = ARENA_ARRAY(&r->memory, model_work, n * x->stride + 1);
  return x->sec && x->work ? 0 : err_nomem(e);
}

/* Of the sizes that were measured and that some configuration serves. */
static int make_table(portfolio_run *r, const times *x, portfolio_table *out, err *e) {
  const size_t nf = r->t->n_fields;
  double *sec = ARENA_ARRAY(&r->memory, double, x->n * x->n_done + 1);
  model_work *work = ARENA_ARRAY(&r->memory, model_work, x->n * x->n_done + 1);
  int64_t *values = ARENA_ARRAY(&r->memory, int64_t, nf * x->n_done + 1);
  size_t *which = ARENA_ARRAY(&r->memory, size_t, x->n_done + 1), n = 0;
  TRY(sec && work && values && which ? 0 : err_nomem(e));
  for (size_t j = 0; j < x->n_done; j++) {
    bool served = false;
    for (size_t i = 0; i < x->n; i++) {
      served = served || isfinite(x->sec[i * x->stride + j]);
    }
    which[n] = j;
    n += served;
  }
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < x->n; i++) {
      sec[i * n + j] = x->sec[i * x->stride + which[j]];
      work[i * n + j] = x->work[i * x->stride + which[j]];
    }
    for (size_t f = 0; f < nf; f++) {
      values[j * nf + f] = r->sizes.p[which[j]].values[f].i;
    }
  }
  *out = (portfolio_table){.n_configs = x->n,
                           .n_sizes = n,
                           .n_fields = nf,
                           .sec = sec,
                           .work = work,
                           .values = values,
                           .sms = timing_table_device(r->timings)->sms};
  return n ? 0 : err_set(e, ERR_NOTFOUND, "no configuration works for any of these sizes");
}

/* The next n sizes, as drawn ones. */
static int add_waiting(portfolio_run *r, const times *x, size_t n, portfolio_table *t, err *e) {
  const size_t all = t->n_sizes + n;
  TRY(portfolio_extend(r, &(sizes){.p = r->sizes.p + x->n_done, .n = n}, t, e));
  for (size_t k = 0; k < x->n; k++) {
    memcpy((model_work *)t->work + k * all + t->n_sizes, x->work + k * x->stride + x->n_done,
           n * sizeof *t->work);
  }
  return 0;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* All candidates are timed at a few sizes. Those that came near the best anywhere are timed at
 * more, which shows the few that are needed. These are timed at many sizes, as many as learning
 * where each is best takes, in the order of what a measurement would tell. The first rounds have
 * these shares of the budget. */
enum { FIRST_ROUNDS = 2, LAST_ROUNDS = 3 };
static const double FIRST_SHARE[FIRST_ROUNDS] = {0.2, 0.3}, NEAR_BEST = 0.1;

/* The configurations that are left at sizes up to n, from where the round before ended; sec 0:
 * without a limit. */
static int time_round(portfolio_run *r, size_t n, double sec, times *x, err *e) {
  const size_t from = x->n_done;
  const sizes rest = {.p = r->sizes.p + from, .n = n - from};
  size_t n_more = 0;
  if (rest.n) {
    TRY(timing_table_fill(r->timings, r->chosen, x->n, &rest, sec, x->stride, x->sec + from,
                          x->work + from, &n_more, e));
  }
  x->n_done += n_more;
  return 0;
}

/* The fewest that cover the sizes: the portfolio, or what it will be made from. */
static int cover_within(const portfolio_run *r, const portfolio_table *t, size_t *which, size_t *n,
                        err *e) {
  size_t n_left;
  return portfolio_select(t, r->loss, which, n, &n_left, e);
}

/* A configuration that is slower by a tenth at every size so far is seldom best at others. */
static int near_best(const portfolio_run *r, const portfolio_table *t, size_t *which, size_t *n,
                     err *e) {
  const double most = 1 + fmax(NEAR_BEST, r->loss);
  (void)e;
  *n = 0;
  for (size_t i = 0; i < t->n_configs; i++) {
    bool near = false;
    for (size_t j = 0; j < t->n_sizes && !near; j++) {
      near = portfolio_sec(t, i, j) <= most * portfolio_least(t, j);
    }
    which[*n] = i;
    *n += near;
  }
  return 0;
}

typedef int selector(const portfolio_run *r, const portfolio_table *t, size_t *which, size_t *n,
                     err *e);

/* The configurations that go on, with their times. */
static int narrow(portfolio_run *r, selector *select, times *x, err *e) {
  size_t which[PORTFOLIO_CANDIDATES], n;
  times next;
  portfolio_table table;
  TRY(make_table(r, x, &table, e));
  TRY(select(r, &table, which, &n, e));
  TRY(times_new(r, n, &next, e));
  gen_config *chosen = ARENA_ARRAY(&r->memory, gen_config, n + 1);
  TRY(chosen ? 0 : err_nomem(e));
  for (size_t i = 0; i < n; i++) {
    chosen[i] = r->chosen[which[i]];
    memcpy(&next.sec[i * x->stride], &x->sec[which[i] * x->stride], x->stride * sizeof *x->sec);
    memcpy(&next.work[i * x->stride], &x->work[which[i] * x->stride], x->stride * sizeof *x->work);
  }
  next.n_done = x->n_done;
  r->chosen = chosen;
  r->n_chosen = n;
  *x = next;
  return 0;
}

typedef struct waiting { /* a size that is not measured yet */
  size_t at;             /* among all */
  double regret;
} waiting;

static int by_regret(const void *first, const void *second) {
  const waiting *a = first, *b = second;
  return a->regret != b->regret ? (a->regret < b->regret) - (a->regret > b->regret)
                                : (a->at > b->at) - (a->at < b->at);
}

/* The next n sizes, and what the configurations do there, in this order. */
static int reorder(portfolio_run *r, times *x, const waiting *order, size_t n, err *e) {
  gen_problem *p = ARENA_ARRAY(&r->memory, gen_problem, n);
  model_work *work = ARENA_ARRAY(&r->memory, model_work, n);
  TRY(p && work ? 0 : err_nomem(e));
  for (size_t i = 0; i < n; i++) {
    p[i] = r->sizes.p[order[i].at];
  }
  memcpy(r->sizes.p + x->n_done, p, n * sizeof *p);
  for (size_t k = 0; k < x->n; k++) {
    model_work *row = x->work + k * x->stride;
    for (size_t i = 0; i < n; i++) {
      work[i] = row[order[i].at];
    }
    memcpy(row + x->n_done, work, n * sizeof *work);
  }
  return 0;
}

static int sort_by_regret(portfolio_run *r, times *x, size_t n, err *e) {
  portfolio_table table;
  waiting *order = ARENA_ARRAY(&r->memory, waiting, n);
  double *regret = ARENA_ARRAY(&r->memory, double, n);
  TRY(order && regret ? 0 : err_nomem(e));
  TRY(make_table(r, x, &table, e));
  TRY(add_waiting(r, x, n, &table, e));
  TRY(portfolio_regret(r->t, &table, regret, e));
  for (size_t i = 0; i < n; i++) {
    order[i] = (waiting){.at = x->n_done + i, .regret = regret[i]};
  }
  qsort(order, n, sizeof *order, by_regret);
  return reorder(r, x, order, n, e);
}

/* What the configurations that are left do at the sizes that are not measured yet. */
static int look_ahead(portfolio_run *r, times *x, err *e) {
  feasibility_cache *cache = NULL;
  portfolio_subset all = {.n = x->n};
  for (size_t k = 0; k < x->n; k++) {
    all.which[k] = k;
  }
  int rc = portfolio_open_cache(r, &all, &cache, e);
  for (size_t i = x->n_done; !rc && i < r->sizes.n; i++) {
    rc = portfolio_works(r, cache, &all, &r->sizes.p[i], x->stride, x->work + i, e);
  }
  feasibility_cache_free(cache);
  return rc;
}

/* At all sizes; where there is no time for all, at those that tell most. */
static int last_rounds(portfolio_run *r, double budget, times *x, err *e) {
  if (!(r->budget > 0)) {
    return time_round(r, r->sizes.n, 0, x, e);
  }
  TRY(look_ahead(r, x, e));
  for (size_t i = 0; i < LAST_ROUNDS && x->n_done < r->sizes.n; i++) {
    TRY(sort_by_regret(r, x, r->sizes.n - x->n_done, e));
    TRY(time_round(r, r->sizes.n, budget / LAST_ROUNDS, x, e));
  }
  return 0;
}

static int measure_candidates(portfolio_run *r, portfolio_table *table, err *e) {
  selector *const select[FIRST_ROUNDS] = {near_best, cover_within};
  double budget = r->budget;
  times x;
  r->chosen = r->candidates;
  r->n_chosen = r->n_candidates;
  TRY(times_new(r, r->n_chosen, &x, e));
  for (size_t i = 0; i < FIRST_ROUNDS; i++) {
    TRY(time_round(r, r->sizes.n, FIRST_SHARE[i] * r->budget, &x, e));
    TRY(narrow(r, select[i], &x, e));
    budget -= FIRST_SHARE[i] * r->budget;
  }
  TRY(last_rounds(r, budget, &x, e));
  return make_table(r, &x, table, e);
}

/* The stored sizes stay in the portfolio, whatever the budget. */
static int measure_stored(portfolio_run *r, portfolio_table *table, err *e) {
  const double started = now_sec();
  times x;
  r->chosen = r->candidates;
  r->n_chosen = r->n_candidates;
  TRY(times_new(r, r->n_chosen, &x, e));
  TRY(time_round(r, r->n_before, 0, &x, e));
  const double left = r->budget - (now_sec() - started);
  if (!(r->budget > 0) || left > 0) {
    TRY(last_rounds(r, left, &x, e));
  }
  return make_table(r, &x, table, e);
}

int portfolio_measure(portfolio_run *r, portfolio_table *table, err *e) {
  return r->more ? measure_stored(r, table, e) : measure_candidates(r, table, e);
}
