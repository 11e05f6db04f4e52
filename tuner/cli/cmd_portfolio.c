/* cmd_portfolio.c -- autotune portfolio: makes, from what is tuned, a portfolio that serves a range of sizes. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt.h"
#include "cli.h"
#include "feasibility_cache.h"
#include "file.h"
#include "timing_table.h"
#include "numbers.h"
#include "portfolio_learn.h"
#include "portfolio_models.h"
#include "portfolio_select.h"
#include "portfolio_report.h"
#include "sample_sizes.h"
#include "verbs.h"

enum {
  SAMPLE = 100,
  SAMPLE_MOST = PORTFOLIO_SIZES,
  DRAWN_LEAST = 1500, /* sizes that only models know */
  DRAWN_MOST = 30000,
  DRAWN_PER_SIZE = 25,
  CANDIDATES_MOST = 512,
  PROBLEMS_MOST = 8192
};

typedef struct portfolio_run {
  const cli *c;
  arena memory;
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  timing_table *timings;
  double loss, budget;
  int64_t sample, seed;
  sizes sizes;
  size_t n_before; /* with --more: the first of them, which are the stored portfolio's */
  gen_config *candidates;
  size_t n_candidates;
  gen_config *chosen; /* of them: those that are measured, then the portfolio */
  size_t n_chosen;
} portfolio_run;

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- the command line ----------------------------------------------------------------------- */

/* "5%" or "0.05" */
static int parse_loss(const char *text, double *loss, err *e) {
  char *end;
  *loss = 0.05;
  if (!text) {
    return 0;
  }
  *loss = strtod(text, &end);
  if (end != text && !strcmp(end, "%")) {
    *loss /= 100;
    end++;
  }
  return end != text && !*end && *loss >= 0 && *loss <= 10
             ? 0
             : err_set(e, ERR_USAGE, "--loss '%s' is not a share such as 5%% or 0.05", text);
}

static int parse_seconds(const char *text, double *sec, err *e) {
  char *end;
  *sec = text ? strtod(text, &end) : 0;
  return !text || (end != text && !strcmp(end, "s") && *sec > 0)
             ? 0
             : err_set(e, ERR_USAGE, "--budget '%s' is not a number of seconds such as 90s", text);
}

static void report(void *self, const timing_progress *p) {
  (void)self;
  if (p->why) {
    fprintf(stderr, "autotune: %s is left out: %s\n", p->problem, p->why);
  } else {
    fprintf(stderr, "%4zu of %zu  %s  %llu measured\n", p->i, p->n, p->problem,
            (unsigned long long)p->measured);
  }
}

static int parse_options(portfolio_run *r, timing_options *o, err *e) {
  const cli *c = r->c;
  int64_t jobs, timeout;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("timeout", c->timeout, 1, 86400, 0, &timeout, e));
  TRY(cli_number("sample", c->sample, 1, SAMPLE_MOST, SAMPLE, &r->sample, e));
  TRY(cli_number("seed", c->seed, 0, INT64_MAX, 1, &r->seed, e));
  TRY(parse_loss(c->loss, &r->loss, e));
  TRY(parse_seconds(c->budget, &r->budget, e));
  o->device = cli_device(c);
  o->jobs = (int)jobs;
  o->timeout_sec = (double)timeout;
  o->stop = cli_catch_signals();
  o->report = c->quiet || c->json ? NULL : report;
  return 0;
}

/* ---- sizes and candidates ------------------------------------------------------------------- */

/* What was only measured for an earlier portfolio was never searched: it holds that portfolio's
 * configurations, and no new one. An imported result has no image. */
static int was_tuned(const portfolio_run *r, const db_known *row, bool *yes, err *e) {
  double sec = 0;
  *yes = !row->image;
  if (!*yes) {
    TRY(db_effort_get(r->db, timing_table_template_id(r->timings),
                      timing_table_device_id(r->timings), row->problem, &sec, e));
    *yes = sec > 0;
  }
  return 0;
}

static void add_candidate(portfolio_run *r, const gen_config *c) {
  for (size_t i = 0; i < r->n_candidates; i++) {
    if (!memcmp(r->candidates[i].index, c->index, r->t->n_params * sizeof *c->index)) {
      return;
    }
  }
  if (r->n_candidates < CANDIDATES_MOST) {
    r->candidates[r->n_candidates++] = *c;
  }
}

/* Of the transpositions, types and so on that are to be served? */
static bool is_wanted(const portfolio_run *r, const gen_problem *p) {
  for (size_t f = 0; f < r->t->n_fields; f++) {
    bool any = !r->sizes.n || !r->t->fields[f].names;
    for (size_t i = 0; i < r->sizes.n && !any; i++) {
      any = r->sizes.p[i].values[f].i == p->values[f].i;
    }
    if (!any) {
      return false;
    }
  }
  return true;
}

static int find_candidates(portfolio_run *r, const db_known *rows, size_t n, sizes *tuned, err *e) {
  r->candidates = ARENA_ARRAY(&r->memory, gen_config, CANDIDATES_MOST);
  tuned->p = ARENA_ARRAY(&r->memory, gen_problem, n + 1);
  if (!r->candidates || !tuned->p) {
    return no_room(e);
  }
  for (size_t i = 0; i < n; i++) {
    gen_config c;
    bool yes;
    TRY(was_tuned(r, &rows[i], &yes, e));
    if (yes && !gen_problem_parse(r->t, rows[i].problem, &tuned->p[tuned->n], NULL) &&
        is_wanted(r, &tuned->p[tuned->n]) && !gen_config_parse(r->t, rows[i].config, &c, NULL)) {
      tuned->n++;
      add_candidate(r, &c);
    }
  }
  if (!tuned->n) {
    return err_set(
        e, ERR_NOTFOUND,
        "nothing of %s is tuned on %s with this template; autotune %s --sizes FILE first",
        r->t->name, timing_table_device(r->timings)->name, r->t->name);
  }
  return 0;
}

static int gather(portfolio_run *r, err *e) {
  size_t n = 0;
  sizes tuned = {0};
  gen_config def;
  str key = {0};
  db_known *rows = ARENA_ARRAY(&r->memory, db_known, PROBLEMS_MOST);
  if (!rows) {
    return no_room(e);
  }
  rt_device_key(timing_table_device(r->timings), &key);
  const int rc =
      db_known_list(r->db, r->t->hash, str_text(&key), -1, PROBLEMS_MOST, &r->memory, rows, &n, e);
  str_clear(&key);
  TRY(rc);
  TRY(find_candidates(r, rows, n, &tuned, e));
  gen_config_default(r->t, &def);
  add_candidate(r, &def);
  if (!r->sizes.n) {
    r->sizes = tuned;
  }
  return 0;
}

/* ---- the portfolio that there is ------------------------------------------------------------- */

static int read_stored(portfolio_run *r, portfolio *pf, err *e) {
  const char *text;
  str key = {0};
  err why = {0};
  rt_device_key(timing_table_device(r->timings), &key);
  const int rc = db_portfolio_get(r->db, r->t->hash, str_text(&key), &r->memory, &text, &why);
  str_clear(&key);
  if (rc == ERR_NOTFOUND) {
    return err_set(e, rc,
                   "--more: there is no portfolio of %s on %s yet; autotune portfolio %s makes one",
                   r->t->name, timing_table_device(r->timings)->name, r->t->name);
  }
  TRY(rc ? err_at(e, rc, why.place, "%s", why.message)
         : portfolio_read_all(r->t, text, &r->memory, pf, e));
  return pf->model.sizes.n
             ? 0
             : err_set(
                   e, ERR_USAGE,
                   "--more: the portfolio is of too few sizes to have models, and does not tell "
                   "them; autotune portfolio %s with a larger --sample makes another",
                   r->t->name);
}

static bool is_among(const gen_template *t, const sizes *s, const gen_problem *p) {
  for (size_t i = 0; i < s->n; i++) {
    size_t f = 0;
    while (f < t->n_fields && s->p[i].values[f].i == p->values[f].i) {
      f++;
    }
    if (f == t->n_fields) {
      return true;
    }
  }
  return false;
}

static int size_of(gen_template *t, const int64_t *values, gen_problem *p, err *e) {
  bool given[GEN_MAX_FIELDS];
  for (size_t f = 0; f < t->n_fields; f++) {
    p->values[f].i = values[f];
    given[f] = true;
  }
  return gen_problem_complete(t, p, given, e);
}

/* Those of `more` that are not among them, up to so many in all. */
static int add_sizes(portfolio_run *r, sizes *s, const sizes *more, size_t most, err *e) {
  sizes all = {.p = ARENA_ARRAY(&r->memory, gen_problem, most + 1), .n = s->n};
  if (!all.p) {
    return no_room(e);
  }
  for (size_t i = 0; i < s->n; i++) {
    all.p[i] = s->p[i];
  }
  for (size_t i = 0; i < more->n && all.n < most; i++) {
    if (!is_among(r->t, &all, &more->p[i])) {
      all.p[all.n++] = more->p[i];
    }
  }
  *s = all;
  return 0;
}

/* Its sizes, then those of the command line, as many as a portfolio may have. */
static int gather_more(portfolio_run *r, err *e) {
  portfolio pf;
  TRY(read_stored(r, &pf, e));
  const size_t n = pf.model.sizes.n;
  sizes all = {.p = ARENA_ARRAY(&r->memory, gen_problem, n + 1)};
  if (!all.p) {
    return no_room(e);
  }
  r->candidates = (gen_config *)pf.configs;
  r->n_candidates = pf.n_configs;
  for (; all.n < n; all.n++) {
    TRY(size_of(r->t, pf.model.values + all.n * r->t->n_fields, &all.p[all.n], e));
  }
  r->n_before = n;
  TRY(add_sizes(r, &all, &r->sizes, PORTFOLIO_SIZES, e));
  r->sizes = all;
  return 0;
}

/* Those of a file first, then those drawn. */
static int read_sizes(portfolio_run *r, err *e) {
  sizes drawn = {0};
  if (r->c->sizes) {
    TRY(sizes_read(r->t, r->c->sizes, "", &r->memory, &r->sizes, e));
  }
  if (r->c->grid) {
    TRY(sample_sizes(r->t, r->c->grid, (size_t)r->sample, (uint64_t)r->seed, true, &r->memory,
                     &drawn, e));
  }
  return drawn.n ? add_sizes(r, &r->sizes, &drawn, r->sizes.n + drawn.n, e) : 0;
}

/* ---- what they do ---------------------------------------------------------------------------- */

/* What a configuration does at a size, in the form libtuned would give it there. */
static void find_work(portfolio_run *r, gen_instance *g, const gen_config *config,
                      model_work *out) {
  gen_config c = *config;
  int changed;
  if (adapt_config(r->t, g, &c, &changed)) {
    model_work_of(g, &c, out);
  }
}

typedef struct subset { /* of the table's configurations */
  size_t which[PORTFOLIO_CONFIGS], n;
} subset;

static int find_works(portfolio_run *r, const subset *of, const gen_problem *p, size_t stride,
                      model_work *work, err *e) {
  gen_number numbers[RT_NUMBERS];
  gen_instance *g;
  rt_numbers(timing_table_device(r->timings), numbers);
  TRY(gen_instance_new(r->t, p, numbers, RT_NUMBERS, &g, e));
  for (size_t i = 0; i < of->n; i++) {
    find_work(r, g, &r->chosen[of->which[i]], &work[of->which[i] * stride]);
  }
  gen_instance_free(g);
  return 0;
}

/* As find_works, a hundred times as fast. */
static int cached_works(portfolio_run *r, feasibility_cache *cache, const subset *of,
                        const gen_problem *p, size_t stride, model_work *work, err *e) {
  feasibility_cache_problem(cache, p);
  for (size_t i = 0; i < of->n; i++) {
    feasibility is;
    if (!feasibility_cache_get(cache, i, &is)) {
      return find_works(r, of, p, stride, work, e);
    }
    work[of->which[i] * stride] = is.fits ? is.work : (model_work){0};
  }
  return 0;
}

static int open_cache(portfolio_run *r, const subset *of, feasibility_cache **cache, err *e) {
  gen_config configs[PORTFOLIO_CONFIGS];
  gen_number numbers[RT_NUMBERS];
  rt_numbers(timing_table_device(r->timings), numbers);
  for (size_t i = 0; i < of->n; i++) {
    configs[i] = r->chosen[of->which[i]];
  }
  return feasibility_cache_new(r->t, configs, of->n, numbers, RT_NUMBERS, cache, e);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* The candidates, or those that are left, at the first sizes. Times of earlier rounds are kept. */
typedef struct times {
  double *sec;      /* [configuration * stride + size] */
  model_work *work; /* likewise */
  size_t n, stride, n_done;
} times;

static int times_new(portfolio_run *r, size_t n, times *x, err *e) {
  *x = (times){.n = n, .stride = r->sizes.n};
  x->sec = ARENA_ARRAY(&r->memory, double, n * x->stride + 1);
  x->work = ARENA_ARRAY(&r->memory, model_work, n * x->stride + 1);
  return x->sec && x->work ? 0 : no_room(e);
}

/* Sizes that were looked at, and that something serves. */
static int make_table(portfolio_run *r, const times *x, portfolio_table *out, err *e) {
  const size_t nf = r->t->n_fields;
  double *sec = ARENA_ARRAY(&r->memory, double, x->n * x->n_done + 1);
  model_work *work = ARENA_ARRAY(&r->memory, model_work, x->n * x->n_done + 1);
  int64_t *values = ARENA_ARRAY(&r->memory, int64_t, nf * x->n_done + 1);
  size_t *which = ARENA_ARRAY(&r->memory, size_t, x->n_done + 1), n = 0;
  if (!sec || !work || !values || !which) {
    return no_room(e);
  }
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

/* For these sizes too, in the table. */
static int make_room(portfolio_run *r, const sizes *more, portfolio_table *t, err *e) {
  const size_t all = t->n_sizes + more->n, nf = t->n_fields;
  int64_t *values = ARENA_ARRAY(&r->memory, int64_t, nf * all + 1);
  model_work *work = ARENA_ARRAY(&r->memory, model_work, t->n_configs * all + 1);
  if (!values || !work) {
    return no_room(e);
  }
  memcpy(values, t->values, t->n_sizes * nf * sizeof *values);
  for (size_t i = 0; i < t->n_configs; i++) {
    memcpy(work + i * all, t->work + i * t->n_sizes, t->n_sizes * sizeof *work);
  }
  for (size_t j = 0; j < more->n; j++) {
    for (size_t f = 0; f < nf; f++) {
      values[(t->n_sizes + j) * nf + f] = more->p[j].values[f].i;
    }
  }
  t->n_drawn = more->n;
  t->values = values;
  t->work = work;
  return 0;
}

/* The next n sizes, as drawn ones. */
static int add_waiting(portfolio_run *r, const times *x, size_t n, portfolio_table *t, err *e) {
  const size_t all = t->n_sizes + n;
  TRY(make_room(r, &(sizes){.p = r->sizes.p + x->n_done, .n = n}, t, e));
  for (size_t k = 0; k < x->n; k++) {
    memcpy((model_work *)t->work + k * all + t->n_sizes, x->work + k * x->stride + x->n_done,
           n * sizeof *t->work);
  }
  return 0;
}

/* The rounds: all candidates at a few sizes; those that came near the best anywhere at more of
 * them, which tells who is needed; then the few that are, since what learns where each of them is
 * best needs many sizes: those that wait where the models made so far may be most wrong come first.
 * Shares of the budget. */
enum { FIRST_ROUNDS = 2, LAST_ROUNDS = 3 };
static const double FIRST_SHARE[FIRST_ROUNDS] = {0.2, 0.3}, NEAR_BEST = 0.1;

/* A round's configurations at sizes up to n, from where the round before ended; sec 0: at all. */
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

/* Slower than by a tenth at every size so far is seldom best at others. */
static int near_best(const portfolio_run *r, const portfolio_table *t, size_t *which, size_t *n,
                     err *e) {
  const double most = 1 + fmax(NEAR_BEST, r->loss);
  (void)e;
  *n = 0;
  for (size_t i = 0; i < t->n_configs; i++) {
    bool near = false;
    for (size_t j = 0; j < t->n_sizes && !near; j++) {
      double least = INFINITY;
      for (size_t k = 0; k < t->n_configs; k++) {
        least = fmin(least, t->sec[k * t->n_sizes + j]);
      }
      near = t->sec[i * t->n_sizes + j] <= most * least;
    }
    which[*n] = i;
    *n += near;
  }
  return 0;
}

typedef int chooser(const portfolio_run *r, const portfolio_table *t, size_t *which, size_t *n,
                    err *e);

/* Those that go on, with their times. */
static int narrow(portfolio_run *r, chooser *choose, times *x, err *e) {
  size_t which[CANDIDATES_MOST], n;
  times next;
  portfolio_table table;
  TRY(make_table(r, x, &table, e));
  TRY(choose(r, &table, which, &n, e));
  TRY(times_new(r, n, &next, e));
  gen_config *chosen = ARENA_ARRAY(&r->memory, gen_config, n + 1);
  if (!chosen) {
    return no_room(e);
  }
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
  if (!p || !work) {
    return no_room(e);
  }
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

static int sort_waiting(portfolio_run *r, times *x, size_t n, err *e) {
  portfolio_table table;
  waiting *order = ARENA_ARRAY(&r->memory, waiting, n);
  double *regret = ARENA_ARRAY(&r->memory, double, n);
  if (!order || !regret) {
    return no_room(e);
  }
  TRY(make_table(r, x, &table, e));
  TRY(add_waiting(r, x, n, &table, e));
  TRY(portfolio_regret(r->t, &table, regret, e));
  for (size_t i = 0; i < n; i++) {
    order[i] = (waiting){.at = x->n_done + i, .regret = regret[i]};
  }
  qsort(order, n, sizeof *order, by_regret);
  return reorder(r, x, order, n, e);
}

/* What those that are left do at the sizes that wait. */
static int look_ahead(portfolio_run *r, times *x, err *e) {
  feasibility_cache *cache = NULL;
  subset all = {.n = x->n};
  for (size_t k = 0; k < x->n; k++) {
    all.which[k] = k;
  }
  int rc = open_cache(r, &all, &cache, e);
  for (size_t i = x->n_done; !rc && i < r->sizes.n; i++) {
    rc = cached_works(r, cache, &all, &r->sizes.p[i], x->stride, x->work + i, e);
  }
  feasibility_cache_free(cache);
  return rc;
}

/* The few at all the sizes, and where there is no time for all, at those that tell most. */
static int last_rounds(portfolio_run *r, double budget, times *x, err *e) {
  if (!(r->budget > 0)) {
    return time_round(r, r->sizes.n, 0, x, e);
  }
  TRY(look_ahead(r, x, e));
  for (size_t i = 0; i < LAST_ROUNDS && x->n_done < r->sizes.n; i++) {
    TRY(sort_waiting(r, x, r->sizes.n - x->n_done, e));
    TRY(time_round(r, r->sizes.n, budget / LAST_ROUNDS, x, e));
  }
  return 0;
}

static int measure(portfolio_run *r, portfolio_table *table, err *e) {
  chooser *const choose[FIRST_ROUNDS] = {near_best, cover_within};
  double budget = r->budget;
  times x;
  r->chosen = r->candidates;
  r->n_chosen = r->n_candidates;
  TRY(times_new(r, r->n_chosen, &x, e));
  for (size_t i = 0; i < FIRST_ROUNDS; i++) {
    TRY(time_round(r, r->sizes.n, FIRST_SHARE[i] * r->budget, &x, e));
    TRY(narrow(r, choose[i], &x, e));
    budget -= FIRST_SHARE[i] * r->budget;
  }
  TRY(last_rounds(r, budget, &x, e));
  return make_table(r, &x, table, e);
}

/* What was stored is not lost, whatever the budget. */
static int measure_more(portfolio_run *r, portfolio_table *table, err *e) {
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

/* ---- what is stored ------------------------------------------------------------------------- */

static void set_ranges(const gen_template *t, const portfolio_table *table, portfolio *c) {
  for (size_t f = 0; f < t->n_fields; f++) {
    c->least[f] = INT64_MAX;
    c->most[f] = INT64_MIN;
    for (size_t j = 0; j < table->n_sizes; j++) {
      const int64_t v = table->values[j * table->n_fields + f];
      c->least[f] = v < c->least[f] ? v : c->least[f];
      c->most[f] = v > c->most[f] ? v : c->most[f];
      c->choices[f] |= t->fields[f].names && v < 64 ? UINT64_C(1) << v : 0;
    }
  }
}

/* ---- sizes that only a model knows ---------------------------------------------------------- */

/* The table gets these sizes too, without times. */
static int add_drawn(portfolio_run *r, const subset *of, const sizes *more, portfolio_table *t,
                     err *e) {
  feasibility_cache *cache = NULL;
  TRY(make_room(r, more, t, e));
  int rc = open_cache(r, of, &cache, e);
  for (size_t j = 0; !rc && j < more->n; j++) {
    rc = cached_works(r, cache, of, &more->p[j], t->n_sizes + more->n,
                      (model_work *)t->work + t->n_sizes + j, e);
  }
  feasibility_cache_free(cache);
  return rc;
}

static size_t n_drawn(const portfolio_table *t) {
  const size_t n = DRAWN_PER_SIZE * t->n_sizes;
  return n < DRAWN_LEAST ? DRAWN_LEAST : n < DRAWN_MOST ? n : DRAWN_MOST;
}

/* A grid has more sizes than can be timed: the tree learns from some more of them what the models
 * say there. */
static int thin_and_draw(portfolio_run *r, subset *kept, portfolio_table *t, err *e) {
  sizes more = {0};
  if (!r->c->grid) {
    return 0;
  }
  TRY(r->c->more ? 0 : portfolio_thin(r->t, t, kept->which, &kept->n, &r->memory, e));
  TRY(sample_sizes(r->t, r->c->grid, n_drawn(t), (uint64_t)r->seed + 1, true, &r->memory, &more,
                   e));
  return add_drawn(r, kept, &more, t, e);
}

static int learn(portfolio_run *r, portfolio_table *table, portfolio *out, size_t *n_left, err *e) {
  subset kept = {.n = r->n_chosen};
  gen_config *configs = ARENA_ARRAY(&r->memory, gen_config, PORTFOLIO_CONFIGS);
  if (!configs) {
    return no_room(e);
  }
  for (size_t i = 0; i < kept.n; i++) {
    kept.which[i] = i;
  }
  TRY(thin_and_draw(r, &kept, table, e));
  for (size_t i = 0; i < kept.n; i++) {
    configs[i] = r->chosen[kept.which[i]];
  }
  *out = (portfolio){.asked = r->loss, .configs = configs, .n_configs = kept.n};
  TRY(portfolio_learn(r->t, table, kept.which, kept.n, &r->memory, out, e));
  set_ranges(r->t, table, out);
  *n_left = 0;
  for (size_t j = 0; j < table->n_sizes; j++) {
    *n_left += portfolio_loss(table, kept.which, kept.n, j) > log1p(r->loss);
  }
  return 0;
}

static int store(portfolio_run *r, const portfolio *pf, err *e) {
  str text = {0};
  bool stored;
  portfolio_text(r->t, pf, &text);
  int rc = text.failed ? no_room(e)
                       : db_portfolio_put(r->db, timing_table_template_id(r->timings),
                                          timing_table_device_id(r->timings), str_text(&text), NULL,
                                          &stored, e);
  str_clear(&text);
  return rc;
}

static void print(portfolio_run *r, const portfolio *pf, size_t n_left) {
  str s = {0};
  const char *device = timing_table_device(r->timings)->name;
  if (r->c->json) {
    portfolio_json(r->t, pf, device, &s);
  } else {
    str_addf(&s, "%s on %s: %zu candidates; ", r->t->name, device, r->n_candidates);
    portfolio_report(r->t, pf, &s);
    if (n_left) {
      str_addf(&s, "%zu sizes lose more than that with any of them\n", n_left);
    }
    str_addf(&s, "stored in %s\n", db_path(r->db));
  }
  print_str(&s);
}

static int check_sizes(const portfolio_run *r, err *e) {
  return r->sizes.n <= PORTFOLIO_SIZES
             ? 0
             : err_set(e, ERR_USAGE,
                       "%zu sizes are more than the %d that a portfolio may have; name fewer with "
                       "--sizes, or draw fewer with --sample",
                       r->sizes.n, (int)PORTFOLIO_SIZES);
}

static int pf(portfolio_run *r, err *e) {
  timing_options o = {0};
  portfolio_table table;
  portfolio result;
  size_t n_left = 0;
  TRY(parse_options(r, &o, e));
  TRY(cli_open_template(r->c, &r->memory, &r->t, e));
  if (r->c->n_words > 1) {
    return err_set(e, ERR_USAGE, "portfolio takes sizes with --sizes or --grid, not as words: '%s'",
                   r->c->words[1]);
  }
  TRY(read_sizes(r, e));
  TRY(cli_open_db(r->c, DB_WRITE, &r->db, e));
  TRY(rt_compiler_open(&r->compiler, e));
  TRY(timing_table_open(r->t, r->db, r->compiler, &o, &r->timings, e));
  TRY(r->c->more ? gather_more(r, e) : gather(r, e));
  TRY(check_sizes(r, e));
  TRY(r->c->more ? measure_more(r, &table, e) : measure(r, &table, e));
  TRY(learn(r, &table, &result, &n_left, e));
  TRY(store(r, &result, e));
  print(r, &result, n_left);
  return 0;
}

int cmd_portfolio(const cli *c, err *e) {
  portfolio_run r = {.c = c};
  const int rc = pf(&r, e);
  timing_table_close(r.timings);
  rt_compiler_close(r.compiler);
  db_close(r.db);
  gen_close(r.t);
  arena_clear(&r.memory);
  return rc;
}
