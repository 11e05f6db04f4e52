/* cmd_compare.c -- autotune compare: each value of a parameter with its own best configuration.
 * Every value gets a search, which stored trials shorten; on a GPU the best of each are then timed
 * interleaved in one run, so that the steps are comparable to the percent. A peer is a step before
 * the first. */
#include <string.h>

#include "cached_compiler.h"
#include "bench_case.h"
#include "budget.h"
#include "comparison.h"
#include "data_features.h"
#include "problem_list.h"
#include "print.h"
#include "open_device.h"
#include "suite.h"
#include "verbs.h"

enum { DEFAULT_TRIALS = 30 }; /* a value */

typedef struct compare_run {
  const cli *c;
  arena memory;
  bench_place place;
  db *db;
  suite suite;
  size_t param;
  const peer_kind *peer; /* NULL: none */
  bool stored_only;
  problem_list problems;
  int64_t rounds;
  rt_timing how;
  comparison_head head;
  comparison *comparisons; /* of the suite's problems */
} compare_run;

/* ---- words ----------------------------------------------------------------------------------- */

/* "2^16,2^20" are values of the first field, "m=n=k=256,512" of the named fields. */
static void add_sizes(const compare_run *r, str *line) {
  const char *sizes = r->c->sizes;
  if (sizes) {
    str_addf(line, "%s%s%s ", strchr(sizes, '=') ? "" : r->place.t->fields[0].name,
             strchr(sizes, '=') ? "" : "=", sizes);
  }
}

static int open_problems(compare_run *r, err *e) {
  auto_str line = {0};
  add_sizes(r, &line);
  TRY(cli_fields(r->c, &line, e));
  return suite_expand(r->place.t, "", str_text(&line), &r->memory, &r->suite, e);
}

static const char *value_text(compare_run *r, const gen_value *v) {
  return v->s ? v->s : arena_format(&r->memory, "%lld", (long long)v->i);
}

static int plan_searches(compare_run *r, err *e) {
  const gen_param *p = &r->place.t->params[r->param];
  const char *name = r->c->strategy ? r->c->strategy : search_strategies()[0]->name;
  const search_strategy *strategy; /* only checked here: the searches look it up again */
  search_subspace *within = ARENA_ARRAY(&r->memory, search_subspace, p->n + 1);
  TRY(search_strategy_find(name, &strategy, e));
  r->problems = (problem_list){.c = r->c,
                               .t = r->place.t,
                               .budget.trials = DEFAULT_TRIALS,
                               .within = within,
                               .n_within = p->n};
  for (size_t i = 0; within && i < p->n; i++) {
    within[i] = (search_subspace){r->param, (uint16_t)i};
  }
  TRY(within ? 0 : err_nomem(e));
  r->stored_only = r->c->budget && !strcmp(r->c->budget, "0");
  return r->c->budget && !r->stored_only
             ? budget_parse("budget", r->c->budget, &r->memory, &r->problems.budget, e)
             : 0;
}

static comparison_step *step_of(const compare_run *r, const comparison *l, size_t value) {
  return &l->steps[value + (r->peer != NULL)];
}

/* ---- what is known --------------------------------------------------------------------------- */

/* An empty problem has no trials. */
static bool launches_nothing(compare_run *r, gen_instance *g) {
  gen_config c;
  const gen_plan *plan;
  gen_config_default(r->place.t, &c);
  return !gen_plan_make(g, &c, &r->memory, &plan, NULL) && !plan->n;
}

/* Of a space larger than MOST only points at equal distances are looked at. */
static bool has_point(gen_instance *g, size_t param, size_t value) {
  enum { MOST = 1 << 20 };
  auto_space *space = NULL;
  gen_config c;
  if (gen_space_new(g, &space, NULL)) {
    return false;
  }
  const size_t n = gen_space_count(space), step = n / MOST + 1;
  for (size_t i = 0; i < n; i += step) {
    gen_space_at(space, i, &c);
    if (c.index[param] == value) {
      return true;
    }
  }
  return false;
}

/* Why a value has no trials. Where no point has it, the reason is the requirement that the default
 * with it violates. */
static const char *reason_of(compare_run *r, gen_instance *g, size_t value) {
  gen_config c;
  size_t failing;
  if (has_point(g, r->param, value)) {
    return r->stored_only ? "nothing stored" : "not tried: raise --budget";
  }
  gen_config_default(r->place.t, &c);
  c.index[r->param] = (uint16_t)value;
  if (!gen_config_failing(g, &c, &failing, NULL) && failing < r->place.t->n_requirements) {
    return arena_format(&r->memory, "no valid point: %s", r->place.t->requirements[failing].name);
  }
  return "no valid point";
}

static void take_row(compare_run *r, comparison_step *s, const db_result *row) {
  const double sec = db_result_sec(row);
  s->n_trials++;
  if (row->t.status != DB_OK) {
    s->n_failed++;
    s->why = s->why ? s->why : row->t.reason;
  } else if (sec > 0 && (!(s->sec > 0) || sec < s->sec)) {
    s->sec = sec;
    s->spread = row->spread;
    s->config = row->t.config;
    db_preparation_get(r->db, row->trial, &s->prepare_sec, NULL);
  }
}

static int known_of(compare_run *r, const char *problem, db_result **rows, size_t *n, err *e) {
  int64_t t, d;
  auto_str key = {0};
  *n = 0;
  rt_device_key(&r->place.device->info, &key);
  TRY(key.failed ? err_nomem(e) : 0);
  int rc = db_template_find(r->db, r->place.t->hash, &t, e);
  rc = rc ? rc : db_device_find(r->db, str_text(&key), &d, e);
  rc = rc ? rc : db_results(r->db, t, d, problem, &r->memory, rows, n, e);
  if (rc == ERR_NOTFOUND) {
    err_clear(e);
    rc = 0;
  }
  return rc || *n ? rc
                  : err_set(e, ERR_NOTFOUND,
                            "no trial of '%s' on this device is stored; without "
                            "--budget 0 compare searches",
                            problem);
}

static const char *words_of(compare_run *r, const char *problem, const char *config) {
  auto_str words = {0};
  if (!config) {
    return NULL;
  }
  config_words(r->place.t, &r->place.device->info, problem, config, &words);
  return arena_text(&r->memory, str_text(&words));
}

static int fill(compare_run *r, gen_instance *g, comparison *l, err *e) {
  const gen_param *p = &r->place.t->params[r->param];
  db_result *rows;
  size_t n;
  if (launches_nothing(r, g)) {
    return err_set(e, ERR_USAGE, "'%s' launches nothing: there is nothing to compare", l->problem);
  }
  TRY(known_of(r, l->problem, &rows, &n, e));
  for (size_t i = 0; i < p->n; i++) {
    step_of(r, l, i)->value = value_text(r, &p->values[i]);
  }
  for (size_t i = 0; i < n; i++) {
    gen_config c;
    if (!gen_config_parse(r->place.t, rows[i].t.config, &c, NULL)) {
      take_row(r, step_of(r, l, c.index[r->param]), &rows[i]);
    }
  }
  for (size_t i = 0; i < p->n; i++) {
    comparison_step *s = step_of(r, l, i);
    s->why = s->n_trials ? s->why : reason_of(r, g, i);
    s->words = words_of(r, l->problem, s->config);
  }
  return 0;
}

/* ---- the race -------------------------------------------------------------------------------- */

static int add_peer(compare_run *r, bench_case *x, comparison_step *s, err *e) {
  err why = {0};
  s->value = r->peer->name;
  int rc = bench_case_add_peer(x, r->peer, &why);
  if (rc == ERR_USAGE) { /* it does not support this problem */
    s->why = arena_text(&r->memory, why.message);
    return s->why ? 0 : err_nomem(e);
  }
  TRY(err_copy(e, rc, &why));
  s->config = s->words = arena_text(&r->memory, x->e[x->n - 1].peer.version);
  return s->words ? 0 : err_nomem(e);
}

/* out  at[i]  the step of entrant i */
static int add_steps(compare_run *r, bench_case *x, const comparison *l, size_t *at, err *e) {
  at[0] = 0;
  TRY(r->peer ? add_peer(r, x, &l->steps[0], e) : 0);
  for (size_t i = r->peer != NULL; i < l->n && x->n < BENCH_ENTRANTS; i++) {
    gen_config c;
    if (l->steps[i].sec > 0) {
      TRY(gen_config_parse(r->place.t, l->steps[i].config, &c, e));
      at[x->n] = i;
      TRY(bench_case_add(x, &c, l->steps[i].value, e));
    }
  }
  return 0;
}

/* The model gives the same time in every round, so modelled times are raced with a peer only. */
static int race(compare_run *r, const gen_problem *p, comparison *l, err *e) {
  size_t at[BENCH_ENTRANTS];
  bench_case x = {0};
  int rc = bench_case_open(&x, &r->place, p, e);
  rc = rc ? rc : add_steps(r, &x, l, at, e);
  rc = rc ? rc : bench_case_check(&x, e);
  rc = rc ? rc : bench_case_race(&x, r->rounds, &r->how, e);
  for (size_t i = 0; !rc && i < x.n; i++) {
    l->steps[at[i]].sec = x.e[i].times.median;
    l->steps[at[i]].spread = rt_times_spread(&x.e[i].times);
    l->steps[at[i]].prepare_sec = x.e[i].times.prepare_sec;
  }
  bench_case_close(&x);
  return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int name_steps(compare_run *r, size_t i, comparison *l, err *e) {
  auto_str text = {0};
  gen_problem_text(r->place.t, &r->suite.p[i], &text);
  l->label = r->suite.texts[i];
  l->uses = gen_uses(r->place.t, &r->suite.p[i]);
  l->problem = text.failed ? NULL : arena_text(&r->memory, str_text(&text));
  l->n = r->place.t->params[r->param].n + (r->peer != NULL);
  l->steps = ARENA_ARRAY(&r->memory, comparison_step, l->n + 1);
  return l->problem && l->steps ? 0 : err_nomem(e);
}

static int compare_one(compare_run *r, size_t i, err *e) {
  gen_problem *p = &r->suite.p[i];
  auto_instance *g = NULL;
  TRY(rt_features_find(r->place.device, r->place.compiler, r->place.t, p, e));
  TRY(name_steps(r, i, &r->comparisons[i], e));
  TRY(rt_instance_new(r->place.t, p, &r->place.device->info, &g, e));
  TRY(fill(r, g, &r->comparisons[i], e));
  return r->head.modelled && !r->peer ? 0 : race(r, p, &r->comparisons[i], e);
}

static int open_device(compare_run *r, err *e) {
  TRY(cli_open_db(r->c, DB_READ, &r->db, e));
  TRY(cached_compiler_open(&r->place.compiler, e));
  TRY(rt_device_open(cli_device(r->c), &r->place.device, e));
  r->head = (comparison_head){.family = r->place.t->name,
                              .parameter = r->c->by,
                              .device = r->place.device->info.name,
                              .modelled = r->place.device->info.modelled};
  TRY(r->peer ? peer_prepare(r->peer, r->place.t, r->suite.p, r->suite.n, r->place.device, e) : 0);
  return r->head.modelled && !r->peer
             ? 0
             : rt_checker_new(r->place.device, r->place.compiler, &r->place.checker, e);
}

static int plot(const compare_run *r, err *e) {
  str s = {0};
  comparison_plot(&r->head, r->comparisons, r->suite.n, &s);
  return print_file(r->c->plot, &s, e);
}

static void print(compare_run *r) {
  str s = {0};
  for (size_t i = 0; r->c->json && i < r->suite.n; i++) {
    comparison_json(&r->head, &r->comparisons[i], &s);
  }
  if (!r->c->json && r->suite.n == 1) {
    comparison_text(&r->head, &r->comparisons[0], &s);
  } else if (!r->c->json) {
    comparison_table(&r->head, r->comparisons, r->suite.n, &s);
  }
  print_str(&s);
}

/* Before any search, which may take long. */
static int find_peer(compare_run *r, err *e) {
  TRY(r->c->vs ? peer_find(r->c->vs, r->place.t, &r->peer, e) : 0);
  if (r->peer && !r->peer->config && rt_names_emulator(cli_device(r->c))) {
    return err_set(e, ERR_USAGE, "%s needs a GPU, and %s is emulated: compare without --vs",
                   r->peer->name, cli_device(r->c));
  }
  return 0;
}

static int compare(compare_run *r, err *e) {
  TRY(cli_race(r->c, 25, &r->rounds, &r->how, e));
  TRY(cli_open_template(r->c, &r->memory, &r->place.t, e));
  TRY(cli_param(r->place.t, r->c->by, &r->param, e));
  TRY(find_peer(r, e));
  TRY(open_problems(r, e));
  TRY(plan_searches(r, e));
  r->comparisons = ARENA_ARRAY(&r->memory, comparison, r->suite.n + 1);
  TRY(r->comparisons ? 0 : err_nomem(e));
  TRY(r->stored_only ? 0 : problem_list_tune(&r->problems, r->suite.p, r->suite.n, e));
  TRY(open_device(r, e));
  for (size_t i = 0; i < r->suite.n; i++) {
    TRY(compare_one(r, i, e));
  }
  print(r);
  return r->c->plot ? plot(r, e) : 0;
}

int cmd_compare(const cli *c, err *e) {
  compare_run r = {.c = c};
  if (c->search) {
    return cmd_compare_search(c, e);
  }
  int rc = compare(&r, e);
  bench_place_close(&r.place);
  db_close(r.db);
  arena_clear(&r.memory);
  return rc;
}
