/* show_objective.c -- autotune show --objective: the best of a problem's trials by it, or of several
 * objectives the Pareto front; and the template's own metrics of a trial. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json_writer.h"
#include "known.h"
#include "print.h"
#include "verbs.h"

static double joules_of(db *d, const db_result *row) {
  auto_arena a = {0};
  db_sample x;
  return db_sample_get(d, row->trial, &a, &x, NULL) ? 0 : x.energy_j;
}

/* ---- the template's metrics ------------------------------------------------------------------ */

typedef void add_value(str *s, const char *name, double value);

static void add_text(str *s, const char *name, double value) {
  str_addf(s, "  %s %.4g", name, value);
}

static void add_json(str *s, const char *name, double value) {
  jw_real(s, name, 6, value);
}

void show_metrics(const cli *c, const cli_kernel *k, db *d, const db_result *row, str *s) {
  gen_config config;
  double x[GEN_MEASURED], value;
  add_value *add = c->json ? add_json : add_text;
  if (!k->t->n_metrics || gen_config_parse(k->t, row->t.config, &config, NULL)) {
    return;
  }
  measured_of(row, joules_of(d, row), x);
  for (size_t i = 0; i < k->t->n_metrics; i++) {
    const gen_metric m = gen_metric_of(k->t, i);
    const bool known = !(m.measured >> GEN_MEASURED_joules & 1) || x[GEN_MEASURED_joules] > 0;
    if (known && !gen_metric_value(k->g, &config, &m, x, &value, NULL)) {
      add(s, k->t->metrics[i].name, value);
    }
  }
}

/* ---- objectives ------------------------------------------------------------------------------ */

typedef struct table { /* trials with a score, the best first */
  const scorer *by;
  scored *rows;
  size_t n;
} table;

static int by_score(const void *a, const void *b) {
  const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
  return x < y ? -1 : x > y;
}

/* Energy that was not measured is not shown as if it were. */
static bool is_known(const scorer *by, db *d, const scored *x) {
  return isfinite(x->score) &&
         (!tune_objective_reads(by->o, GEN_MEASURED_joules) || joules_of(d, x->row) > 0);
}

static void keep_known(table *t, db *d) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++) {
    if (is_known(t->by, d, &t->rows[i])) {
      t->rows[n++] = t->rows[i];
    }
  }
  t->n = n;
  qsort(t->rows, n, sizeof *t->rows, by_score);
}

static int keep_front(table *t, arena *a, err *e) {
  double(*values)[OBJECTIVE_MOST] = arena_new(a, (t->n + 1) * sizeof *values);
  bool *front = ARENA_ARRAY(a, bool, t->n + 1);
  size_t n = 0;
  TRY(values && front ? 0 : err_nomem(e));
  for (size_t i = 0; i < t->n; i++) {
    memcpy(values[i], t->rows[i].values, sizeof values[i]);
  }
  pareto_front(t->by, (const double(*)[OBJECTIVE_MOST])values, t->n, front);
  for (size_t i = 0; i < t->n; i++) {
    if (front[i]) {
      t->rows[n++] = t->rows[i];
    }
  }
  t->n = n;
  return 0;
}

static void add_row(const cli *c, const cli_kernel *k, const table *t, const scored *x, str *s) {
  const tune_objective *o = t->by->o;
  if (c->json) {
    jw_event(s, "objective");
    jw_text(s, "config", x->row->t.config);
    jw_seconds(s, !(x->row->median > 0), db_result_sec(x->row));
    jw_open(s, "objectives");
    for (size_t i = 0; i < o->n; i++) {
      jw_real(s, o->goals[i].text, 6, x->values[i]);
    }
    jw_close(s);
    jw_end_line(s);
    return;
  }
  const size_t start = s->n;
  for (size_t i = 0; i < o->n; i++) {
    str_addf(s, "  %10.4g", x->values[i]);
  }
  str_add(s, "  ");
  format_sec(s, db_result_sec(x->row));
  str_add(s, "  ");
  config_words(k->t, &k->device->info, str_text(&k->problem_text), x->row->t.config, s);
  str_add(s, "\n");
  fit_line(s, start);
}

static void add_head(const table *t, size_t n, str *s) {
  const tune_objective *o = t->by->o;
  if (o->n > 1) {
    str_addf(s, "  Pareto front: %zu of %zu\n", t->n, n);
  }
  for (size_t i = 0; i < o->n; i++) {
    str_addf(s, "  %10s", o->goals[i].text);
  }
  str_add(s, "\n");
}

int show_objective(const cli *c, cli_kernel *k, db *d, const db_result *rows, size_t n, int64_t top,
                   err *e) {
  tune_objective o;
  scorer by;
  table t = {.by = &by, .n = n};
  str s = {0};
  TRY(tune_objective_parse(k->t, c->objective, &k->memory, &o, e));
  TRY(scorer_init(&by, &o, k->t, k->g, e));
  TRY(known_score(k->t, d, &by, rows, n, &k->memory, &t.rows, e));
  keep_known(&t, d);
  if (!t.n) {
    return err_set(e, ERR_NOTFOUND,
                   tune_objective_reads(&o, GEN_MEASURED_joules)
                       ? "no trial has its energy measured: tune with --objective \"%s\", on a GPU "
                         "that counts energy"
                       : "no trial has a value of %s",
                   o.text);
  }
  const size_t all = t.n;
  TRY(o.n > 1 ? keep_front(&t, &k->memory, e) : 0);
  if (!c->json) {
    add_head(&t, all, &s);
  }
  for (size_t i = 0; i < t.n && (o.n > 1 || (int64_t)i < top); i++) {
    add_row(c, k, &t, &t.rows[i], &s);
  }
  print_str(&s);
  return 0;
}
