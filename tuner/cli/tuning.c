#define _GNU_SOURCE
#include "tuning.h"

#include <string.h>

#include "budget.h"
#include "effort.h"
#include "numbers.h"
#include "samples.h"
#include "tune_report.h"

/* ---- options --------------------------------------------------------------------------------- */

static int parse_effort(tuning *x, err *e) {
  const tune_effort *effort;
  tune_options *o = &x->options;
  TRY(tune_effort_find(x->c->effort, &effort, e));
  o->budget = effort->budget;
  o->finalists = effort->finalists;
  o->rounds = effort->rounds;
  return x->c->budget ? budget_parse("budget", x->c->budget, &x->memory, &o->budget, e) : 0;
}

static bool is_path(const char *text) {
  const size_t n = strlen(text);
  return strchr(text, '/') || (n > 4 && !strcmp(text + n - 4, ".txt"));
}

static int parse_start(const char *text, tune_start *out, err *e) {
  static const char *const names[] = {
      [TUNE_START_ALL] = "all", [TUNE_START_TUNED] = "tuned", [TUNE_START_NONE] = "none"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!text || is_path(text) || !strcmp(text, names[i])) {
      *out = (tune_start)i;
      return 0;
    }
  }
  return err_set(e, ERR_USAGE,
                 "--start '%s' is none of: all, tuned, none; and not a file of configurations (a "
                 "path, or a name that ends in .txt)",
                 text);
}

int tuning_common(const cli *c, progress *p, tune_options *o, err *e) {
  int64_t jobs, seed, timeout;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("seed", c->seed, 0, INT64_MAX, 1, &seed, e));
  TRY(cli_number("timeout", c->timeout, 1, 86400, 0, &timeout, e));
  TRY(cli_timing(c, &o->replay, e));
  TRY(search_strategy_find(c->strategy ? c->strategy : search_strategies()[0]->name, &o->strategy,
                           e));
  o->device = cli_device(c);
  o->jobs = (int)jobs;
  o->seed = (uint64_t)seed;
  o->timeout_sec = (double)timeout;
  o->stop = cli_catch_signals();
  o->report = progress_report;
  o->report_self = p;
  return 0;
}

int tuning_options(tuning *x, const cli *c, err *e) {
  tune_options *o = &x->options;
  *x = (tuning){.c = c};
  progress_init(&x->progress, c->json, c->quiet);
  TRY(tuning_common(c, &x->progress, o, e));
  TRY(cli_number("top", c->top, 1, 1000, 5, &x->top, e));
  TRY(parse_effort(x, e));
  TRY(parse_start(c->start, &o->start, e));
  return tune_objective_find(c->objective ? c->objective : "time", &o->objective, e);
}

/* ---- device ---------------------------------------------------------------------------------- */

/* Configurations to try first, from a file. */
static int read_starts(tuning *x, err *e) {
  const char *start = x->c->start;
  return start && is_path(start)
             ? initial_configs_read(x->t, start, &x->memory, &x->options.given, e)
             : 0;
}

static void announce(const tuning *x) {
  const rt_info *info = tune_device(x->session);
  if (x->c->quiet || x->c->json) {
    return;
  }
  if (info->modelled) {
    fprintf(stderr, "%s: kernels run on the CPU's emulated device; times are modelled\n",
            x->c->device ? x->options.device : "no GPU here");
  }
  fprintf(stderr, "device %s, %d multiprocessors, strategy %s\n", info->name, info->sms,
          x->options.strategy->name);
  if (tune_note(x->session)[0]) {
    fprintf(stderr, "%s: clocks, temperature and power are not recorded\n", tune_note(x->session));
  }
}

int tuning_open(tuning *x, err *e) {
  TRY(read_starts(x, e));
  TRY(cli_open_db(x->c, DB_WRITE, &x->db, e));
  TRY(rt_compiler_open(&x->compiler, e));
  TRY(tune_open(x->t, x->db, x->compiler, &x->options, &x->session, e));
  announce(x);
  return 0;
}

void tuning_close(tuning *x) {
  summary_clear(&x->summary);
  tune_close(x->session);
  rt_compiler_close(x->compiler);
  db_close(x->db);
  gen_close(x->t);
  arena_clear(&x->memory);
}

/* ---- one problem ----------------------------------------------------------------------------- */

static int print_report(tuning *x, const tune_state *t, const char *data, err *e) {
  arena a = {0};
  tune_report r = {.t = x->t, .state = t, .data = data, .top = x->top};
  db_result *rows;
  str s = {0};
  int rc = db_results(x->db, tune_template_id(x->session), tune_device_id(x->session), t->problem,
                      &a, &rows, &r.n, e);
  if (!rc) {
    r.rows = rows;
    (x->c->json ? tune_report_json : tune_report_text)(&r, &s);
    summary_add(&x->summary, t, tune_report_best(&r), tune_report_default(&r));
  }
  print_str(&s);
  fflush(stdout);
  arena_clear(&a);
  return rc;
}

/* The data recorded for a problem; NULL: none. */
static const char *data_of(const tuning *x, const gen_problem *p) {
  gen_problem other = {0};
  for (size_t i = 0; i < x->n_data; i++) {
    if (!gen_problem_parse(x->t, x->data[i].fields, &other, NULL) &&
        !memcmp(other.values, p->values, x->t->n_fields * sizeof *p->values)) {
      return x->data[i].path;
    }
  }
  return NULL;
}

int tuning_one(tuning *x, const gen_problem *p, err *e) {
  tune_state last;
  const char *data = data_of(x, p);
  tune_data(x->session, data);
  int rc = tune_problem(x->session, p, &last, e);
  progress_end(&x->progress);
  return rc ? rc : print_report(x, &last, data, e);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* The problems of this template that are tuned on this device. */
static int tuned_problems(tuning *x, gen_problem **out, size_t *n, err *e) {
  db_problem *rows;
  size_t n_rows;
  *n = 0;
  TRY(db_problems(x->db, x->t->name, &x->memory, &rows, &n_rows, e));
  *out = ARENA_ARRAY(&x->memory, gen_problem, n_rows + 1);
  if (!*out) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < n_rows; i++) {
    const bool ours = rows[i].template_id == tune_template_id(x->session) &&
                      rows[i].device_id == tune_device_id(x->session) && rows[i].config;
    *n += ours && !gen_problem_parse(x->t, rows[i].problem, &(*out)[*n], NULL);
  }
  return 0;
}

static void report_failure(tuning *x, const gen_problem *p, const err *why) {
  str problem = {0};
  gen_problem_text(x->t, p, &problem);
  summary_failed(&x->summary, str_text(&problem), why->message);
  if (data_of(x, p) || x->summary.wanted < 2) { /* a single problem has no table */
    fprintf(stderr, "%s is left out: %s\n", str_text(&problem), why->message);
  }
  str_clear(&problem);
}

static bool stops_all(int code) {
  return code == ERR_INTERRUPTED || code == ERR_DB || code == ERR_DEVICE || code == ERR_IO;
}

static int tune_next(tuning *x, const gen_problem *p, int *worst, err *e) {
  err why = {0};
  const int rc = tuning_one(x, p, &why);
  if (stops_all(rc)) {
    return err_at(e, rc, why.place, "%s", why.message);
  }
  if (rc) {
    report_failure(x, p, &why);
    *worst = rc;
  }
  return 0;
}

static int tune_all(tuning *x, const sizes *list, err *e) {
  int worst = 0, rc = 0;
  const bool counted = list->n > 1 && !x->c->quiet && !x->c->json;
  summary_start(&x->summary, list->n);
  for (size_t i = 0; i < list->n && !rc; i++) {
    if (counted) {
      fprintf(stderr, "problem %zu of %zu\n", i + 1, list->n);
    }
    rc = tune_next(x, &list->p[i], &worst, e);
  }
  if (!x->c->json) {
    summary_print(&x->summary);
  }
  if (rc || !worst) {
    return rc;
  }
  return err_set(e, worst, "%zu of %zu problems could not be tuned", x->summary.n_failed, list->n);
}

int tuning_list(tuning *x, sizes *list, err *e) {
  gen_problem *tuned = NULL;
  size_t n_tuned = 0;
  TRY(tuned_problems(x, &tuned, &n_tuned, e));
  TRY(sizes_order(x->t, list, tuned, n_tuned, e));
  return tune_all(x, list, e);
}
