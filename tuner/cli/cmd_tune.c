/* cmd_tune.c -- autotune FAMILY ...: tune one problem, or the template's own sizes. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "captured.h"
#include "cli.h"
#include "effort.h"
#include "numbers.h"
#include "phases.h"
#include "progress.h"
#include "samples.h"
#include "sizes.h"
#include "summary.h"
#include "verbs.h"

typedef struct run_ { /* what one call of the verb holds */
  const cli *c;
  const captured_data *data; /* of some of the problems */
  size_t n_data;
  arena memory;
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  tune_session *session;
  const char *data_now; /* of the problem at hand; NULL: as the template fills it in */
  progress progress;
  int64_t top;
  summary summary;
} run_;

static int parse_effort(run_ *r, tune_options *o, err *e) {
  const tune_effort *effort;
  TRY(tune_effort_find(r->c->effort, &effort, e));
  o->budget = effort->budget;
  o->finalists = effort->finalists;
  o->rounds = effort->rounds;
  return r->c->budget ? budget_parse("budget", r->c->budget, &r->memory, &o->budget, e) : 0;
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
                 "--start '%s' is none of: all, tuned, none, and no file of configurations (a "
                 "path, or a name that ends in .txt)",
                 text);
}

/* What else is tried first, which can be read when the template is known. */
static int read_starts(run_ *r, tune_options *o, err *e) {
  const char *start = r->c->start;
  return start && is_path(start) ? initial_configs_read(r->t, start, &r->memory, &o->given, e) : 0;
}

static int parse_options(run_ *r, tune_options *o, err *e) {
  const cli *c = r->c;
  int64_t jobs, seed, timeout;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("seed", c->seed, 0, INT64_MAX, 1, &seed, e));
  TRY(cli_number("timeout", c->timeout, 1, 86400, 0, &timeout, e));
  TRY(cli_number("top", c->top, 1, 1000, 5, &r->top, e));
  TRY(parse_effort(r, o, e));
  TRY(parse_start(c->start, &o->start, e));
  TRY(cli_timing(c, &o->replay, e));
  TRY(tune_objective_find(c->objective ? c->objective : "time", &o->objective, e));
  TRY(search_strategy_find(c->strategy ? c->strategy : search_strategies()[0]->name, &o->strategy,
                           e));
  o->device = cli_device(c);
  o->jobs = (int)jobs;
  o->seed = (uint64_t)seed;
  o->timeout_sec = (double)timeout;
  o->stop = cli_catch_signals();
  o->report = progress_report;
  o->report_self = &r->progress;
  return 0;
}

/* ---- the end of one problem ------------------------------------------------------------------ */

static void add_row(str *s, const run_ *x, const tune_state *t, const db_result *r,
                    const char *label) {
  double sec = r->median > 0 ? r->median : r->modelled;
  str line = {0};
  format_sec(&line, sec);
  str_addf(s, "  %-9s %9s  ", label, str_text(&line));
  str_reset(&line);
  format_rate(&line, t->device, t->flops, t->bytes, sec);
  str_addf(s, "%-28s ", str_text(&line));
  cli_config_words(x->t, t->device, t->problem, r->t.config, s);
  str_add(s, "\n");
  str_clear(&line);
}

static void add_failures(str *s, const db_result *rows, size_t n) {
  size_t by_status[DB_CRASHED + 1] = {0};
  const char *example[DB_CRASHED + 1] = {0};
  size_t failed = 0;
  for (size_t i = 0; i < n; i++) {
    db_status status = rows[i].t.status;
    failed += status != DB_OK;
    by_status[status]++;
    example[status] = example[status] ? example[status] : rows[i].t.reason;
  }
  str_addf(s, "  %zu trials, %zu failed", n, failed);
  for (int status = DB_OK + 1; status <= DB_CRASHED; status++) {
    if (by_status[status]) {
      str_addf(s, "\n    %zu %s, e.g. %s", by_status[status], db_status_name((db_status)status),
               example[status] ? example[status] : "");
    }
  }
  str_add(s, "\n");
}

static void add_summary(str *s, run_ *r, const tune_state *t, const db_result *rows, size_t n) {
  gen_config def;
  str def_text = {0};
  bool shown = false;
  gen_config_default(r->t, &def);
  gen_config_text(r->t, &def, &def_text);
  str_addf(s, "%s on %s%s\n", t->problem, t->device->name,
           t->device->modelled ? " (emulated: times are modelled, not measured)" : "");
  if (r->data_now) {
    str_addf(s, "  on data recorded in a program: %s\n", r->data_now);
  }
  for (size_t i = 0; i < n && rows[i].t.status == DB_OK; i++) {
    bool is_default = !strcmp(rows[i].t.config, str_text(&def_text));
    char label[24];
    snprintf(label, sizeof label, is_default ? "default" : "%zu.", i + 1);
    if ((int64_t)i < r->top || is_default) {
      add_row(s, r, t, &rows[i], label);
      shown |= is_default;
    }
  }
  if (t->replay == RT_GRAPH) {
    str_add(s, "  timed in CUDA graphs: launches one by one from a program take longer\n");
  }
  if (t->best_joules > 0) {
    str_addf(s, "  least %s: %.4g J, %.0f W, ",
             t->objective == TUNE_EDP ? "energy x time" : "energy", t->best_joules,
             t->best_joules / t->best_sec);
    format_sec(s, t->best_sec);
    str_add(s, "  ");
    cli_config_words(r->t, t->device, t->problem, t->best_config, s);
    str_add(s, "\n");
  }
  if (!shown) {
    str_add(s, "  the default was not measured or failed\n");
  }
  if (n && isnan(rows[0].t.error)) {
    str_addf(s,
             "  too large to check on the emulated device; a smaller one: autotune check %s %s\n",
             r->t->name, r->t->n_sizes_emu ? r->t->sizes_emu[0] : "");
  }
  add_failures(s, rows, n);
  str_clear(&def_text);
}

static void add_json(str *s, const run_ *r, const tune_state *t, const db_result *rows, size_t n) {
  str_add(s, "{\"event\":\"result\",\"problem\":");
  str_add_json(s, t->problem);
  str_add(s, ",\"device\":");
  str_add_json(s, t->device->name);
  str_addf(s, ",\"tried\":%llu,\"known\":%llu,\"failed\":%llu", (unsigned long long)t->tried,
           (unsigned long long)t->known, (unsigned long long)(t->tried - t->failed[DB_OK]));
  if (n && rows[0].t.status == DB_OK) {
    bool is_measured = rows[0].median > 0;
    str_add(s, ",\"config\":");
    str_add_json(s, rows[0].t.config);
    str_addf(s, ",\"%s\":%.9g", is_measured ? "seconds" : "modelled_seconds",
             is_measured ? rows[0].median : rows[0].modelled);
  }
  str_addf(s, ",\"timing\":\"%s\",\"objective\":\"%s\"", t->replay == RT_GRAPH ? "graph" : "stream",
           tune_objective_name(t->objective));
  if (t->best_joules > 0) {
    str_addf(s, ",\"best\":{\"joules\":%.6g,\"seconds\":%.9g,\"config\":", t->best_joules,
             t->best_sec);
    str_add_json(s, t->best_config);
    str_add(s, "}");
  }
  str_addf(s, ",\"sec\":%.4g,\"settled\":%llu", t->sec, (unsigned long long)t->settled);
  if (r->data_now) {
    str_add(s, ",\"data\":");
    str_add_json(s, r->data_now);
  }
  str_add(s, ",\"phases\":");
  phases_json(s, &t->phases);
  str_add(s, "}\n");
}

static const char *ordinal(uint64_t n) {
  static const char *const endings[] = {"th", "st", "nd", "rd"};
  return n % 100 / 10 == 1 || n % 10 > 3 ? "th" : endings[n % 10];
}

static void add_end(str *s, const tune_state *t) {
  if (!t->tried) {
    str_add(s, "  nothing to measure: its budget was spent before; a larger --budget or --effort "
               "searches further\n");
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
    str_addf(s, "  %llu trials came from another search beside this one\n",
             (unsigned long long)t->shared);
  }
  samples_health_text(s, &t->health);
  phases_text(s, &t->phases, t->sec);
}

static double sec_of(const db_result *r) {
  return r->median > 0 ? r->median : r->modelled;
}

static void note_in_summary(run_ *r, const tune_state *t, const db_result *rows, size_t n) {
  gen_config def;
  str text = {0};
  double def_sec = 0;
  gen_config_default(r->t, &def);
  gen_config_text(r->t, &def, &text);
  for (size_t i = 0; i < n && rows[i].t.status == DB_OK; i++) {
    def_sec = strcmp(rows[i].t.config, str_text(&text)) ? def_sec : sec_of(&rows[i]);
  }
  str_clear(&text);
  summary_add(&r->summary, t, n && rows[0].t.status == DB_OK ? sec_of(&rows[0]) : 0, def_sec);
}

static int summarise(run_ *r, const tune_state *t, err *e) {
  arena a = {0};
  db_result *rows;
  size_t n;
  str s = {0};
  int rc = db_results(r->db, tune_template_id(r->session), tune_device_id(r->session), t->problem,
                      &a, &rows, &n, e);
  if (!rc && r->c->json) {
    add_json(&s, r, t, rows, n);
  } else if (!rc) {
    add_summary(&s, r, t, rows, n);
    add_end(&s, t);
  }
  if (!rc) {
    note_in_summary(r, t, rows, n);
  }
  print_str(&s);
  fflush(stdout);
  arena_clear(&a);
  return rc;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* NULL: nothing was recorded. */
static const char *data_of(const run_ *r, const gen_problem *p) {
  gen_problem other = {0};
  for (size_t i = 0; i < r->n_data; i++) {
    if (!gen_problem_parse(r->t, r->data[i].fields, &other, NULL) &&
        !memcmp(other.values, p->values, r->t->n_fields * sizeof *p->values)) {
      return r->data[i].path;
    }
  }
  return NULL;
}

static int tune_one(run_ *r, const gen_problem *p, err *e) {
  tune_state last;
  r->data_now = data_of(r, p);
  tune_data(r->session, r->data_now);
  int rc = tune_problem(r->session, p, &last, e);
  progress_end(&r->progress);
  return rc ? rc : summarise(r, &last, e);
}

/* The problems of this template that this device has results of. */
static int tuned_problems(run_ *r, gen_problem **out, size_t *n, err *e) {
  db_problem *rows;
  size_t n_rows;
  *n = 0;
  TRY(db_problems(r->db, r->t->name, &r->memory, &rows, &n_rows, e));
  *out = ARENA_ARRAY(&r->memory, gen_problem, n_rows + 1);
  if (!*out) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < n_rows; i++) {
    const bool ours = rows[i].template_id == tune_template_id(r->session) &&
                      rows[i].device_id == tune_device_id(r->session) && rows[i].config;
    *n += ours && !gen_problem_parse(r->t, rows[i].problem, &(*out)[*n], NULL);
  }
  return 0;
}

static bool ends_all(int code) {
  return code == ERR_INTERRUPTED || code == ERR_DB || code == ERR_DEVICE || code == ERR_IO;
}

/* A problem that can't be tuned costs its row of the table, not the others. */
static int tune_next(run_ *r, const gen_problem *p, int *worst, err *e) {
  err why = {0};
  int rc = tune_one(r, p, &why);
  if (ends_all(rc)) {
    return err_at(e, rc, why.place, "%s", why.message);
  }
  if (rc) {
    str problem = {0};
    gen_problem_text(r->t, p, &problem);
    summary_failed(&r->summary, str_text(&problem), why.message);
    if (r->data_now || r->summary.wanted < 2) { /* of one problem there is no table */
      fprintf(stderr, "%s is left out: %s\n", str_text(&problem), why.message);
    }
    str_clear(&problem);
    *worst = rc;
  }
  return 0;
}

static int tune_many(run_ *r, const sizes *list, err *e) {
  int worst = 0, rc = 0;
  const bool counted = list->n > 1 && !r->c->quiet && !r->c->json;
  summary_start(&r->summary, list->n);
  for (size_t i = 0; i < list->n && !rc; i++) {
    if (counted) {
      fprintf(stderr, "problem %zu of %zu\n", i + 1, list->n);
    }
    rc = tune_next(r, &list->p[i], &worst, e);
  }
  if (!r->c->json) {
    summary_print(&r->summary);
  }
  if (rc || !worst) {
    return rc;
  }
  return err_set(e, worst, "%zu of %zu problems could not be tuned", r->summary.n_failed, list->n);
}

static int tune_sizes(run_ *r, sizes *list, err *e) {
  gen_problem *tuned = NULL;
  size_t n_tuned = 0;
  TRY(tuned_problems(r, &tuned, &n_tuned, e));
  TRY(sizes_order(r->t, list, tuned, n_tuned, e));
  return tune_many(r, list, e);
}

/* Without fields: the template's own sizes. */
static int own_sizes(run_ *r, sizes *out, err *e) {
  bool emu = tune_device(r->session)->modelled;
  const char *const *texts = emu ? r->t->sizes_emu : r->t->sizes_bench;
  size_t n = emu ? r->t->n_sizes_emu : r->t->n_sizes_bench;
  *out = (sizes){.p = ARENA_ARRAY(&r->memory, gen_problem, n + 1)};
  for (; out->p && out->n < n; out->n++) {
    TRY(gen_problem_parse(r->t, texts[out->n], &out->p[out->n], e));
  }
  return out->p ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

static void announce(const run_ *r, const tune_options *o) {
  const rt_info *info = tune_device(r->session);
  if (r->c->quiet || r->c->json) {
    return;
  }
  if (info->modelled) {
    fprintf(stderr, "%s: kernels run on the CPU's emulated device; times are modelled\n",
            r->c->device ? o->device : "no GPU here");
  }
  fprintf(stderr, "device %s, %d multiprocessors, strategy %s\n", info->name, info->sms,
          o->strategy->name);
  if (tune_note(r->session)[0]) {
    fprintf(stderr, "%s: clocks, temperature and power are not recorded\n", tune_note(r->session));
  }
}

static int read_sizes(run_ *r, sizes *out, err *e) {
  str common = {0};
  for (size_t i = 1; i < r->c->n_words; i++) {
    str_addf(&common, "%s ", r->c->words[i]);
  }
  int rc = sizes_read(r->t, r->c->sizes, str_text(&common), &r->memory, out, e);
  str_clear(&common);
  return rc;
}

static int check_data(const run_ *r, err *e) {
  gen_problem p;
  for (size_t i = 0; i < r->n_data; i++) {
    if (gen_problem_parse(r->t, r->data[i].fields, &p, NULL)) {
      return err_set(e, ERR_USAGE, "'%s' has data, so it must be one problem, not a list",
                     r->data[i].fields);
    }
  }
  return 0;
}

static int tune(run_ *r, err *e) {
  tune_options o = {0};
  gen_problem p;
  sizes list = {0};
  const bool one = r->c->n_words > 1 && !r->c->sizes;
  TRY(parse_options(r, &o, e));
  TRY(cli_open_template(r->c, &r->memory, &r->t, e));
  TRY(read_starts(r, &o, e));
  if (r->c->sizes) { /* complain about the words before any device is touched */
    TRY(read_sizes(r, &list, e));
    TRY(check_data(r, e));
  } else if (one) {
    TRY(cli_problem(r->c, r->t, &p, e));
  }
  TRY(cli_open_db(r->c, DB_WRITE, &r->db, e));
  TRY(rt_compiler_open(&r->compiler, e));
  TRY(tune_open(r->t, r->db, r->compiler, &o, &r->session, e));
  announce(r, &o);
  if (!one && !r->c->sizes) {
    TRY(own_sizes(r, &list, e));
  }
  TRY(one ? tune_one(r, &p, e) : tune_sizes(r, &list, e));
  if (!r->c->json && !r->c->quiet) {
    printf("stored in %s\n", db_path(r->db));
  }
  return 0;
}

int cmd_tune(const cli *c, err *e) {
  return tune_captured(c, NULL, 0, e);
}

int tune_captured(const cli *c, const captured_data *data, size_t n, err *e) {
  run_ r = {.c = c, .data = data, .n_data = n};
  progress_init(&r.progress, c->json, c->quiet);
  int rc = tune(&r, e);
  summary_clear(&r.summary);
  tune_close(r.session);
  rt_compiler_close(r.compiler);
  db_close(r.db);
  gen_close(r.t);
  arena_clear(&r.memory);
  return rc;
}
