/* cmd_show.c -- autotune show: the best configurations of a family's problems, or of one problem. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "break_even.h"
#include "cli.h"
#include "json_writer.h"
#include "portfolio_report.h"
#include "print.h"
#include "verbs.h"

static void add_result(const cli *c, const cli_kernel *k, db *d, const db_result *r, str *s) {
  auto_str time = {0}, words = {0};
  const size_t start = s->n;
  config_words(k->t, &k->device->info, str_text(&k->problem_text), r->t.config, &words);
  if (r->t.status == DB_OK) {
    format_sec(&time, db_result_sec(r));
    str_addf(s, "  %9s %-8s +-%4.1f %%  %3d registers", str_text(&time),
             r->median > 0 ? r->final ? "final" : "screened" : "modelled", 100 * r->spread,
             r->regs);
    show_metrics(c, k, d, r, s);
    str_addf(s, "  %s\n", str_text(&words));
  } else {
    str_addf(s, "  %s%9s %s%s: %s  %s\n", style(stdout, STYLE_NOTE), "-",
             db_status_name(r->t.status), style_end(stdout), r->t.reason ? r->t.reason : "",
             str_text(&words));
  }
  fit_line(s, start);
}

/* Numbers between blanks; what else a database has there is left out. */
static void add_batches_json(str *s, const char *batches) {
  if (batches && batches[0]) {
    const char *comma = "";
    char *end;
    jw_open_list(s, "batches");
    for (const char *p = batches; *p; p = end + strspn(end, " ")) {
      const double sec = strtod(p, &end);
      if (end == p || !isfinite(sec)) {
        break;
      }
      str_addf(s, "%s%.6g", comma, sec);
      comma = ",";
    }
    jw_close_list(s);
  }
}

/* How the sample was taken and the state of the device; what is not known is left out. */
static void add_sample_json(str *s, db *d, int64_t trial) {
  auto_arena a = {0};
  db_sample x;
  const struct {
    const char *name;
    const double *value;
  } numbers[] = {{"clock_mhz", &x.clock_mhz},
                 {"memory_mhz", &x.memory_mhz},
                 {"power_w", &x.power_w},
                 {"temperature_c", &x.temperature_c},
                 {"joules", &x.energy_j}};
  if (db_sample_get(d, trial, &a, &x, NULL)) {
    return;
  }
  jw_integer(s, "launches", x.launches);
  jw_bool(s, "cold", x.cold);
  jw_integer(s, "held", x.held);
  jw_integer(s, "retaken", x.retaken);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (*numbers[i].value > 0) {
      jw_real(s, numbers[i].name, 6, *numbers[i].value);
    }
  }
  if (x.ended && x.replay) {
    jw_text(s, "ended", x.ended);
    jw_text(s, "timing", x.replay);
  }
  add_batches_json(s, x.batches);
}

static void add_preparation_json(const cli_kernel *k, str *s, db *d, const db_result *r) {
  prepared_time t = {.sec = db_result_sec(r)};
  if (!db_preparation_get(d, r->trial, &t.prepare_sec, NULL) && t.prepare_sec > 0) {
    jw_real(s, "prepare_seconds", 6, t.prepare_sec);
    jw_real(s, "run_seconds", 6, run_sec(&t, gen_uses(k->t, &k->problem)));
  }
}

static void add_result_json(const cli *c, const cli_kernel *k, str *s, db *d, const db_result *r) {
  jw_event(s, "configuration");
  jw_text(s, "config", r->t.config);
  jw_text(s, "status", db_status_name(r->t.status));
  if (r->t.status == DB_OK) {
    jw_seconds(s, !(r->median > 0), db_result_sec(r));
    add_preparation_json(k, s, d, r);
    jw_bool(s, "final", r->final);
    jw_real(s, "spread", 3, r->spread);
    jw_integer(s, "registers", r->regs);
    jw_real(s, "error", 6, r->t.error);
    if (k->t->n_metrics) {
      jw_open(s, "metrics");
      show_metrics(c, k, d, r, s);
      jw_close(s);
    }
    add_sample_json(s, d, r->trial);
  } else {
    jw_text(s, "reason", r->t.reason ? r->t.reason : "");
  }
  jw_end_line(s);
}

/* Of those shown, what they prepare and when that pays off. */
static int add_preparations(cli_kernel *k, db *d, const db_result *rows, size_t n, str *s, err *e) {
  auto_arena a = {0};
  prepared_time *list = ARENA_ARRAY(&a, prepared_time, n + 1);
  size_t shown = 0;
  TRY(list ? 0 : err_nomem(e));
  for (size_t i = 0; k->t->has_prepare && i < n; i++) {
    auto_str words = {0};
    if (rows[i].t.status == DB_OK) {
      config_words(k->t, &k->device->info, str_text(&k->problem_text), rows[i].t.config, &words);
      list[shown].name = arena_text(&a, str_text(&words));
      list[shown].sec = db_result_sec(&rows[i]);
      TRY(list[shown].name ? 0 : err_nomem(e));
      TRY(db_preparation_get(d, rows[i].trial, &list[shown++].prepare_sec, e));
    }
  }
  break_even_text(list, shown, gen_uses(k->t, &k->problem), s);
  return 0;
}

/* Show the fastest `top` rows and as many failures. */
static int print_results(const cli *c, cli_kernel *k, db *d, int64_t top, err *e) {
  auto_str s = {0};
  db_result *rows;
  size_t n = 0;
  int64_t shown[2] = {0}, good, bad;
  TRY(cli_kernel_results(c, k, d, (size_t)top, &rows, &n, e));
  TRY(cli_kernel_count(c, k, d, &good, &bad, e));
  for (size_t i = 0; i < n; i++) {
    if (shown[rows[i].t.status == DB_OK]++ >= top) {
      continue;
    }
    if (c->json) {
      add_result_json(c, k, &s, d, &rows[i]);
    } else {
      add_result(c, k, d, &rows[i], &s);
    }
  }
  if (!c->json) {
    printf("%s on %s\n", str_text(&k->problem_text), k->device->info.name);
    TRY(add_preparations(k, d, rows, n, &s, e));
    str_addf(&s, "  %lld right, %lld failed\n", (long long)good, (long long)bad);
  }
  print_str(&s);
  return 0;
}

static int show_problem(const cli *c, db *d, int64_t top, err *e) {
  auto_kernel k = {0};
  db_result *rows;
  size_t n = 0;
  TRY(cli_kernel_open(c, &k, e));
  if (!c->importance && !c->objective) {
    return print_results(c, &k, d, top, e);
  }
  TRY(cli_kernel_results(c, &k, d, 0, &rows, &n, e));
  if (c->importance) {
    return show_importance(c, &k, rows, n, top, e);
  }
  if (!c->json) {
    printf("%s on %s\n", str_text(&k.problem_text), k.device->info.name);
  }
  return show_objective(c, &k, d, rows, n, top, e);
}

/* A portfolio of another version of the template is not served. */
static void add_portfolio(const cli *c, gen_template *t, const db_portfolio *p, str *s) {
  auto_arena a = {0};
  portfolio pf;
  err why = {0};
  const bool stale = strcmp(p->template_hash, t->hash) != 0;
  if (stale || portfolio_read(t, p->text, &a, &pf, &why)) {
    str_addf(s, c->json ? "" : "  portfolio on %s, not served: %s\n", p->device_name,
             stale ? "made with another version of the template; run autotune portfolio again"
                   : why.message);
  } else if (c->json) {
    portfolio_json(t, &pf, p->device_name, s);
  } else {
    str_addf(s, "%s, %.16s: ", p->device_name, p->when);
    portfolio_report(t, &pf, s);
  }
}

static int print_portfolios(const cli *c, db *d, gen_template *t, err *e) {
  auto_arena a = {0};
  db_portfolio *rows;
  size_t n;
  str s = {0};
  const int rc = db_portfolios(d, t->name, &a, &rows, &n, e);
  for (size_t i = 0; !rc && i < n; i++) {
    add_portfolio(c, t, &rows[i], &s);
  }
  print_str(&s);
  return rc;
}

static int show_family(const cli *c, db *d, err *e) {
  auto_arena a = {0};
  auto_template *t = NULL;
  TRY(cli_open_template(c, &a, &t, e));
  if (!c->json) {
    auto_str s = {0};
    str_addf(&s, "%s: %s\n", t->name, t->brief);
    print_str(&s);
  }
  TRY(list_problems(c, d, t->name, e));
  return print_portfolios(c, d, t, e);
}

int cmd_show(const cli *c, err *e) {
  auto_db *d = NULL;
  int64_t top;
  TRY(cli_number("top", c->top, 1, 1000000, 10, &top, e));
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name a family: autotune show sgemm; `autotune list` lists them");
  }
  if (c->importance && c->n_words < 2) {
    return err_set(e, ERR_USAGE,
                   "--importance is of one problem: name it, as in autotune show %s FIELD=VALUE",
                   c->words[0]);
  }
  if (c->objective && c->n_words < 2) {
    return err_set(e, ERR_USAGE, "--objective is of one problem: autotune show %s FIELD=VALUE",
                   c->words[0]);
  }
  TRY(cli_open_db(c, DB_READ, &d, e));
  return c->n_words > 1 ? show_problem(c, d, top, e) : show_family(c, d, e);
}
