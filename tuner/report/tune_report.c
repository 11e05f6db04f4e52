#include "tune_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "phases.h"
#include "samples.h"

static bool worked(const tune_report *r, size_t i) {
  return i < r->n && r->rows[i].t.status == DB_OK;
}

/* The row of the template's default configuration; r->n: there is none that works. */
static size_t default_row(const tune_report *r) {
  gen_config config;
  auto_str text = {0};
  size_t i = 0;
  gen_config_default(r->t, &config);
  gen_config_text(r->t, &config, &text);
  while (worked(r, i) && strcmp(r->rows[i].t.config, str_text(&text)) != 0) {
    i++;
  }
  return worked(r, i) ? i : r->n;
}

double tune_report_best(const tune_report *r) {
  return worked(r, 0) ? db_result_sec(&r->rows[0]) : 0;
}

double tune_report_default(const tune_report *r) {
  const size_t i = default_row(r);
  return i < r->n ? db_result_sec(&r->rows[i]) : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_config(const tune_report *r, const char *config, str *s) {
  config_words(r->t, r->state->device, r->state->problem, config, s);
  str_add(s, "\n");
}

static void add_row(const tune_report *r, const db_result *row, const char *label, str *s) {
  const tune_state *t = r->state;
  const bool best = row == r->rows;
  const size_t start = s->n;
  auto_str cell = {0};
  format_sec(&cell, db_result_sec(row));
  str_addf(s, "%s  %-9s %9s%s  ", best ? style(stdout, STYLE_GOOD) : "", label, str_text(&cell),
           best ? style_end(stdout) : "");
  str_reset(&cell);
  format_rate(&cell, t->device, t->flops, t->bytes, db_result_sec(row));
  str_addf(s, "%-28s ", str_text(&cell));
  add_config(r, row->t.config, s);
  fit_line(s, start);
}

/* The fastest, and the default wherever it stands. */
static void add_rows(const tune_report *r, str *s) {
  const size_t plain = default_row(r);
  for (size_t i = 0; worked(r, i); i++) {
    char label[24];
    snprintf(label, sizeof label, "%zu.", i + 1);
    if ((int64_t)i < r->top || i == plain) {
      add_row(r, &r->rows[i], i == plain ? "default" : label, s);
    }
  }
  if (r->state->replay == RT_GRAPH) {
    str_add(s, "  timed in CUDA graphs: separate launches from a program take longer\n");
  }
}

/* The best by another objective than time. */
static void add_objective(const tune_report *r, str *s) {
  const tune_state *t = r->state;
  const tune_objective *o = t->objective;
  if (tune_objective_is_time(o) || !isfinite(t->best_sec)) {
    return;
  }
  str_add(s, "  best by ");
  for (size_t i = 0; i < o->n; i++) {
    str_addf(s, "%s%s %.4g", i ? ", " : "", o->goals[i].text, t->best_values[i]);
  }
  str_add(s, ": ");
  format_sec(s, t->best_sec);
  if (t->best_joules > 0) {
    str_addf(s, ", %.4g J, %.0f W", t->best_joules, t->best_joules / t->best_sec);
  }
  str_add(s, "  ");
  add_config(r, t->best_config, s);
  if (o->n > 1) {
    str_addf(s, "  their Pareto front: autotune show ... --objective \"%s\"\n", o->text);
  }
}

static void add_failures(const tune_report *r, str *s) {
  size_t by_status[DB_CRASHED + 1] = {0};
  const char *example[DB_CRASHED + 1] = {0};
  for (size_t i = 0; i < r->n; i++) {
    const db_status status = r->rows[i].t.status;
    by_status[status]++;
    example[status] = example[status] ? example[status] : r->rows[i].t.reason;
  }
  const size_t failed = r->n - by_status[DB_OK];
  str_addf(s, "  %zu trials, %s%zu failed%s", r->n, failed ? style(stdout, STYLE_NOTE) : "", failed,
           failed ? style_end(stdout) : "");
  for (int status = DB_OK + 1; status <= DB_CRASHED; status++) {
    if (by_status[status]) {
      str_addf(s, "\n    %zu %s, e.g. %s", by_status[status], db_status_name((db_status)status),
               example[status] ? example[status] : "");
    }
  }
  str_add(s, "\n");
}

static const char *ordinal(uint64_t n) {
  static const char *const endings[] = {"th", "st", "nd", "rd"};
  return n % 100 / 10 == 1 || n % 10 > 3 ? "th" : endings[n % 10];
}

static void add_effort(const tune_state *t, str *s) {
  if (!t->tried) {
    str_add(s, "  nothing to measure: the budget was spent in earlier runs; a larger --budget or "
               "--effort searches further\n");
    return;
  }
  str_addf(s, "  %llu new in %.1f s (%.1f a second)", (unsigned long long)t->tried, t->sec,
           t->sec > 0 ? (double)t->tried / t->sec : 0.0);
  if (t->settled) {
    str_addf(s, "; the %llu%s was within 3 %% of the best", (unsigned long long)t->settled,
             ordinal(t->settled));
  }
  str_add(s, "\n");
  if (t->shared) {
    str_addf(s, "  %llu trials came from another search of this problem at the same time\n",
             (unsigned long long)t->shared);
  }
  samples_health_text(s, &t->health);
  phases_text(s, &t->phases, t->sec);
}

void tune_report_text(const tune_report *r, str *s) {
  const tune_state *t = r->state;
  str_addf(s, "%s on %s%s\n", t->problem, t->device->name,
           t->device->modelled ? " (emulated: times are modelled, not measured)" : "");
  if (r->data) {
    str_addf(s, "  on data recorded in a program: %s\n", r->data);
  }
  add_rows(r, s);
  add_objective(r, s);
  if (default_row(r) == r->n) {
    str_add(s, "  the default was not measured or failed\n");
  }
  if (r->n && isnan(r->rows[0].t.error)) {
    str_addf(s,
             "  too large to check on the emulated device; a smaller one: autotune check %s %s\n",
             r->t->name, r->t->n_sizes_emu ? r->t->sizes_emu[0] : "");
  }
  add_failures(r, s);
  if (!r->quiet) {
    add_effort(t, s);
  }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_best_json(const tune_report *r, str *s) {
  if (worked(r, 0)) {
    jw_text(s, "config", r->rows[0].t.config);
    jw_seconds(s, !(r->rows[0].median > 0), db_result_sec(&r->rows[0]));
  }
}

static void add_objective_json(const tune_state *t, str *s) {
  const tune_objective *o = t->objective;
  if (tune_objective_is_time(o) || !isfinite(t->best_sec)) {
    return;
  }
  jw_open(s, "best");
  if (t->best_joules > 0) {
    jw_real(s, "joules", 6, t->best_joules);
  }
  jw_real(s, "seconds", 9, t->best_sec);
  jw_open(s, "objectives");
  for (size_t i = 0; i < o->n; i++) {
    jw_real(s, o->goals[i].text, 6, t->best_values[i]);
  }
  jw_close(s);
  jw_text(s, "config", t->best_config);
  jw_close(s);
}

void tune_report_json(const tune_report *r, str *s) {
  const tune_state *t = r->state;
  jw_event(s, "result");
  jw_text(s, "problem", t->problem);
  jw_text(s, "device", t->device->name);
  jw_integer(s, "tried", (int64_t)t->tried);
  jw_integer(s, "known", (int64_t)t->known);
  jw_integer(s, "failed", (int64_t)(t->tried - t->failed[DB_OK]));
  add_best_json(r, s);
  jw_text(s, "timing", t->replay == RT_GRAPH ? "graph" : "stream");
  jw_text(s, "objective", tune_objective_name(t->objective));
  add_objective_json(t, s);
  jw_real(s, "sec", 4, t->sec);
  jw_integer(s, "settled", (int64_t)t->settled);
  if (r->data) {
    jw_text(s, "data", r->data);
  }
  jw_member(s, "phases");
  phases_json(s, &t->phases);
  jw_end_line(s);
}
