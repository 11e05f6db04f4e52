#define _GNU_SOURCE
#include <string.h>

#include "portfolio_run.h"

enum { PROBLEMS_MOST = 8192 };

/* ---- from what is tuned --------------------------------------------------------------------- */

/* A problem that was only measured for an earlier portfolio was not searched: it holds that
 * portfolio's configurations and no new one. An imported result has no image. */
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
    if (gen_config_equal(r->t, &r->candidates[i], c)) {
      return;
    }
  }
  if (r->n_candidates < PORTFOLIO_CANDIDATES) {
    r->candidates[r->n_candidates++] = *c;
  }
}

/* Has it names, such as transpositions and types, that are to be served? Results of any class do. */
static bool is_wanted(const portfolio_run *r, const gen_problem *p) {
  for (size_t f = 0; f < r->t->n_fields; f++) {
    bool any = !r->sizes.n || !r->t->fields[f].names || r->t->fields[f].is_class;
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
  r->candidates = ARENA_ARRAY(&r->memory, gen_config, PORTFOLIO_CANDIDATES);
  tuned->p = ARENA_ARRAY(&r->memory, gen_problem, n + 1);
  TRY(r->candidates && tuned->p ? 0 : err_nomem(e));
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

static int read_stored(portfolio_run *r, portfolio *pf, err *e) {
  const char *text;
  auto_str key = {0};
  rt_device_key(timing_table_device(r->timings), &key);
  TRY(key.failed ? err_nomem(e) : 0);
  TRY(db_portfolio_get(r->db, r->t->hash, str_text(&key), &r->memory, &text, e));
  return portfolio_read_all(r->t, text, &r->memory, pf, e);
}

/* Those of the portfolio that is to be replaced, if one can be read: it may be of problems that this
 * database does not hold. */
static void add_stored(portfolio_run *r) {
  portfolio pf = {0};
  if (!read_stored(r, &pf, NULL)) {
    for (size_t i = 0; i < pf.n_configs; i++) {
      add_candidate(r, &pf.configs[i]);
    }
  }
}

int portfolio_gather(portfolio_run *r, err *e) {
  size_t n = 0;
  sizes tuned = {0};
  gen_config def;
  auto_str key = {0};
  db_known *rows = ARENA_ARRAY(&r->memory, db_known, PROBLEMS_MOST);
  TRY(rows ? 0 : err_nomem(e));
  rt_device_key(timing_table_device(r->timings), &key);
  TRY(key.failed ? err_nomem(e) : 0);
  TRY(db_known_list(r->db, r->t->hash, str_text(&key), -1, PROBLEMS_MOST, &r->memory, rows, &n, e));
  TRY(find_candidates(r, rows, n, &tuned, e));
  add_stored(r);
  gen_config_default(r->t, &def);
  add_candidate(r, &def);
  if (!r->sizes.n) {
    r->sizes = tuned;
  }
  return 0;
}

/* ---- from the stored portfolio -------------------------------------------------------------- */

static int read_stored_to_continue(portfolio_run *r, portfolio *pf, err *e) {
  err why = {0};
  const int rc = read_stored(r, pf, &why);
  if (rc == ERR_NOTFOUND) {
    return err_set(e, rc,
                   "--more: there is no portfolio of %s on %s yet; autotune portfolio %s makes one",
                   r->t->name, timing_table_device(r->timings)->name, r->t->name);
  }
  TRY(rc ? err_copy(e, rc, &why) : 0);
  return pf->model.sizes.n
             ? 0
             : err_set(
                   e, ERR_USAGE,
                   "--more: the portfolio is of too few sizes to have models, and does not tell "
                   "them; autotune portfolio %s with a larger --sample makes another",
                   r->t->name);
}

static int size_of(gen_template *t, const int64_t *values, gen_problem *p, err *e) {
  bool given[GEN_MAX_FIELDS];
  for (size_t f = 0; f < t->n_fields; f++) {
    p->values[f].i = values[f];
    given[f] = true;
  }
  return gen_problem_complete(t, p, given, e);
}

int portfolio_add_sizes(portfolio_run *r, sizes *s, const sizes *more, size_t most, err *e) {
  sizes all = {.p = ARENA_ARRAY(&r->memory, gen_problem, most + 1), .n = s->n};
  TRY(all.p ? 0 : err_nomem(e));
  memcpy(all.p, s->p, s->n * sizeof *s->p);
  for (size_t i = 0; i < more->n && all.n < most; i++) {
    if (!sizes_hold(r->t, &all, &more->p[i])) {
      all.p[all.n++] = more->p[i];
    }
  }
  *s = all;
  return 0;
}

int portfolio_gather_more(portfolio_run *r, err *e) {
  portfolio pf;
  TRY(read_stored_to_continue(r, &pf, e));
  const size_t n = pf.model.sizes.n;
  sizes all = {.p = ARENA_ARRAY(&r->memory, gen_problem, n + 1)};
  TRY(all.p ? 0 : err_nomem(e));
  r->candidates = (gen_config *)pf.configs;
  r->n_candidates = pf.n_configs;
  for (; all.n < n; all.n++) {
    TRY(size_of(r->t, pf.model.values + all.n * r->t->n_fields, &all.p[all.n], e));
  }
  r->n_before = n;
  TRY(portfolio_add_sizes(r, &all, &r->sizes, PORTFOLIO_SIZES, e));
  r->sizes = all;
  return 0;
}
