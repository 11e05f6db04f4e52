#include "initial_configs.h"

#include <string.h>

#include "adapt.h"
#include "serve_choose.h"
#include "serve_presets.h"

typedef struct collector {
  const initial_sources *from;
  gen_config *configs;
  size_t n;
  const char *near[INITIAL_NEAR]; /* problems tuned here */
  size_t n_near;
  size_t n_portfolio; /* configurations of a portfolio that were seen */
} collector;

/* What is valid, as the search's point that is as fast. */
static void add(collector *x, const gen_config *c) {
  const initial_sources *f = x->from;
  gen_config point = *c;
  if (gen_config_check(f->g, c, NULL) || !adapt_to_space(f->t, f->g, &point)) {
    return;
  }
  for (size_t i = 0; i < x->n; i++) {
    if (gen_config_equal(f->t, &x->configs[i], &point)) {
      return;
    }
  }
  x->configs[x->n++] = point;
}

/* Those that the user gives for this problem, or for all. */
static size_t add_given(collector *x) {
  const initial_configs *all = &x->from->options->given;
  const size_t before = x->n;
  for (size_t i = 0; i < all->n && x->n < before + INITIAL_FROM_FILE; i++) {
    if (!all->given[i].problem || !strcmp(all->given[i].problem, x->from->problem)) {
      add(x, &all->given[i].config);
    }
  }
  return x->n - before;
}

/* In the order in which they would be served, but at most INITIAL_PORTFOLIO of a portfolio, which
 * leaves room for the nearest problems' own. */
static int add_best(collector *x, serve_choose *choose, size_t most, err *e) {
  serve_pick pick;
  int rc = 0;
  while (x->n < most && !(rc = serve_choose_next(choose, &pick, e))) {
    if (pick.origin == TUNED_NEAREST && x->n_near < INITIAL_NEAR) {
      x->near[x->n_near++] = pick.problem;
    }
    if (pick.origin != TUNED_PORTFOLIO || x->n_portfolio++ < INITIAL_PORTFOLIO) {
      add(x, &pick.config);
    }
  }
  return rc == ERR_NOTFOUND ? 0 : rc;
}

/* Is its image in the database? */
static int is_built(collector *x, const gen_config *c, bool *found, err *e) {
  const pipeline *k = x->from->pipe;
  candidate *built;
  TRY(candidate_new(x->from->g, k->compiler, &k->pool.setting, 0, c, &built, e));
  int rc = candidate_from_db(built, k->db, k->m.info.format, found, e);
  candidate_free(built);
  return rc;
}

/* The fastest of a near problem whose images here are stored. */
static int add_built(collector *x, const char *problem, err *e) {
  const initial_sources *f = x->from;
  db_result *rows;
  size_t n, before = x->n;
  TRY(db_results(f->pipe->db, f->pipe->template_id, f->pipe->device_id, problem, f->memory, &rows,
                 &n, e));
  for (size_t i = 0; i < n && i < 2 * INITIAL_BUILT && x->n < before + INITIAL_BUILT; i++) {
    gen_config c;
    bool found = false;
    if (rows[i].t.status != DB_OK || gen_config_parse(f->t, rows[i].t.config, &c, NULL) ||
        gen_config_check(f->g, &c, NULL)) {
      continue;
    }
    TRY(is_built(x, &c, &found, e));
    if (found) {
      add(x, &c);
    }
  }
  return 0;
}

/* The template's suggestion for an untuned problem, if it has one, then its default: that may be so
 * slow that a budget in seconds is spent by it. */
static int add_template(collector *x, err *e) {
  gen_config c;
  TRY(gen_config_untuned(x->from->g, &c, NULL, e));
  add(x, &c);
  gen_config_default(x->from->t, &c);
  add(x, &c);
  return 0;
}

static int add_all(collector *x, serve_choose *choose, err *e) {
  TRY(add_best(x, choose, 1, e));
  const size_t n_given = add_given(x);
  TRY(add_best(x, choose, n_given + INITIAL_BEST - 2, e));
  TRY(add_template(x, e));
  for (size_t i = 0; i < x->n_near; i++) {
    TRY(add_built(x, x->near[i], e));
  }
  return 0;
}

/* The order is libtuned's, over this session's database. It takes no more than the device's limits,
 * so the measuring process keeps the device. */
static int find_served(collector *x, err *e) {
  const initial_sources *f = x->from;
  auto_str device_key = {0};
  tune_device_key(&f->pipe->m.info, f->options->replay, &device_key);
  TRY(device_key.failed ? err_nomem(e) : 0);
  const bool all = f->options->start == TUNE_START_ALL;
  const serve_sources sources = {.device = &f->pipe->m.info,
                                 .device_key = str_text(&device_key),
                                 .db = f->pipe->db,
                                 .presets = all ? serve_presets : NULL,
                                 .portfolios = all ? serve_portfolios : NULL};
  serve_known known = {0};
  serve_choose choose = {.from = &sources,
                         .t = f->t,
                         .p = f->p,
                         .g = f->g,
                         .problem = f->problem,
                         .known = &known,
                         .memory = f->memory};
  int rc = add_all(x, &choose, e);
  serve_known_clear(&known);
  return rc;
}

int initial_configs_find(const initial_sources *from, gen_config *configs, size_t *n, err *e) {
  collector x = {.from = from, .configs = configs};
  int rc = 0;
  if (from->options->start == TUNE_START_NONE) {
    gen_config_default(from->t, &configs[x.n++]);
    add_given(&x);
  } else {
    rc = find_served(&x, e);
  }
  *n = x.n;
  return rc;
}
