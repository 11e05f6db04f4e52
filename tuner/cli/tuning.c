#define _GNU_SOURCE
#include "cached_compiler.h"
#include "tuning.h"

#include <string.h>

#include "print.h"
#include "run.h"
#include "same_images.h"
#include "tune_report.h"

/* ---- device ---------------------------------------------------------------------------------- */

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

static int open_session(tuning *x, err *e) {
  TRY(cli_open_db(x->c, DB_WRITE, &x->db, e));
  TRY(cached_compiler_open(&x->compiler, e));
  TRY(tune_open(x->t, x->db, x->compiler, &x->options, &x->session, e));
  announce(x);
  return 0;
}

/* ---- one problem ----------------------------------------------------------------------------- */

/* What the author of a plain CUDA file should know. */
static int print_plain(tuning *x, const char *problem, const db_result *rows, size_t n, err *e) {
  auto_instance *g = NULL;
  auto_str s = {0};
  gen_problem p;
  TRY(gen_problem_parse(x->t, problem, &p, e));
  TRY(rt_instance_new(x->t, &p, tune_device(x->session), &g, e));
  TRY(same_images(x->db, x->t, g, rows, n, &s, e));
  if (x->t->self_checked) {
    str_add(&s,
            "  there is no reference: results agree with the default's, which nothing checks\n");
  }
  print_str(&s);
  return 0;
}

static int print_report(tuning *x, const tune_state *t, const char *data, err *e) {
  auto_arena a = {0};
  tune_report r = {
      .t = x->t, .state = t, .data = data, .top = x->top, .quiet = x->c->quiet != NULL};
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
  if (!rc && x->t->is_plain && !x->c->json) {
    rc = print_plain(x, t->problem, rows, r.n, e);
  }
  fflush(stdout);
  return rc || !r.n || r.rows[0].t.status == DB_OK
             ? rc
             : err_set(e, ERR_WRONG, "every trial of '%s' failed", t->problem);
}

/* The data recorded for a problem; NULL: none. */
static const char *data_of(const tuning *x, const gen_problem *p) {
  gen_problem other = {0};
  for (size_t i = 0; i < x->n_data; i++) {
    if (!gen_problem_parse(x->t, x->data[i].fields, &other, NULL) &&
        gen_problem_equal(x->t, &other, p)) {
      return x->data[i].path;
    }
  }
  return NULL;
}

static int tune_one(tuning *x, const gen_problem *p, err *e) {
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
  TRY(*out ? 0 : err_nomem(e));
  for (size_t i = 0; i < n_rows; i++) {
    const bool ours = rows[i].template_id == tune_template_id(x->session) &&
                      rows[i].device_id == tune_device_id(x->session) && rows[i].config;
    *n += ours && !gen_problem_parse(x->t, rows[i].problem, &(*out)[*n], NULL);
  }
  return 0;
}

static void report_failure(tuning *x, const gen_problem *p, const err *why) {
  auto_str problem = {0};
  gen_problem_text(x->t, p, &problem);
  summary_failed(&x->summary, str_text(&problem), why->message);
  if (data_of(x, p) || x->summary.wanted < 2) { /* a single problem has no table */
    fprintf(stderr, "%s is left out: %s\n", str_text(&problem), why->message);
  }
}

static bool stops_all(int code) {
  return code == ERR_INTERRUPTED || code == ERR_DB || code == ERR_DEVICE || code == ERR_IO;
}

static int tune_next(tuning *x, const gen_problem *p, int *worst, err *e) {
  err why = {0};
  const int rc = tune_one(x, p, &why);
  if (stops_all(rc)) {
    return err_copy(e, rc, &why);
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

static int tune_list(tuning *x, sizes *list, err *e) {
  gen_problem *tuned = NULL;
  size_t n_tuned = 0;
  TRY(tuned_problems(x, &tuned, &n_tuned, e));
  TRY(sizes_order(x->t, list, tuned, n_tuned, e));
  return tune_all(x, list, e);
}

/* The template's own sizes for this kind of device; without any, the problem with its defaults. */
static int own_sizes(tuning *x, sizes *out, err *e) {
  const bool emu = tune_device(x->session)->modelled;
  const char *const *texts = emu ? x->t->sizes_emu : x->t->sizes_bench;
  const size_t listed = emu ? x->t->n_sizes_emu : x->t->n_sizes_bench, n = listed ? listed : 1;
  *out = (sizes){.p = ARENA_ARRAY(&x->memory, gen_problem, n + 1)};
  for (; out->p && out->n < n; out->n++) {
    TRY(gen_problem_parse(x->t, listed ? texts[out->n] : "", &out->p[out->n], e));
  }
  return out->p ? 0 : err_nomem(e);
}

/* ---- all ------------------------------------------------------------------------------------- */

int tuning_run(tuning *x, err *e) {
  progress_init(&x->progress, x->c->json, x->c->quiet);
  TRY(open_session(x, e));
  if (!x->problems.n) {
    TRY(own_sizes(x, &x->problems, e));
  }
  TRY(x->is_single ? tune_one(x, &x->problems.p[0], e) : tune_list(x, &x->problems, e));
  if (!x->c->json && !x->c->quiet) {
    printf("stored in %s\n", db_path(x->db));
  }
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
