/* cmd_portfolio.c -- autotune portfolio: makes, from what is tuned, a portfolio that serves a range
 * of sizes. */
#include <stdlib.h>
#include <string.h>

#include "cached_compiler.h"
#include "cli.h"
#include "print.h"
#include "portfolio_report.h"
#include "portfolio_run.h"
#include "sizes.h"
#include "verbs.h"

enum { SAMPLE = 100 };

typedef struct command {
  const cli *c;
  portfolio_run run;
  rt_compiler *compiler;
  int64_t sample;
} command;

/* ---- options -------------------------------------------------------------------------------- */

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

static int parse_options(command *x, timing_options *o, err *e) {
  const cli *c = x->c;
  int64_t jobs, timeout;
  TRY(cli_number("jobs", c->jobs, 1, 256, 0, &jobs, e));
  TRY(cli_number("timeout", c->timeout, 1, 86400, 0, &timeout, e));
  TRY(cli_number("sample", c->sample, 1, PORTFOLIO_SIZES, SAMPLE, &x->sample, e));
  TRY(cli_number("seed", c->seed, 0, INT64_MAX, 1, &x->run.seed, e));
  TRY(parse_loss(c->loss, &x->run.loss, e));
  TRY(parse_seconds(c->budget, &x->run.budget, e));
  o->device = cli_device(c);
  o->jobs = (int)jobs;
  o->timeout_sec = (double)timeout;
  o->stop = cli_catch_signals();
  o->report = c->quiet || c->json ? NULL : report;
  return 0;
}

/* Those of a file first, then those drawn. */
static int read_sizes(command *x, err *e) {
  portfolio_run *r = &x->run;
  sizes drawn = {0};
  if (x->c->sizes) {
    TRY(sizes_read(r->t, x->c->sizes, "", &r->memory, &r->sizes, e));
  }
  if (r->grid) {
    TRY(sample_sizes(r->t, r->grid, (size_t)x->sample, (uint64_t)r->seed, true, &r->memory, &drawn,
                     e));
  }
  return drawn.n ? portfolio_add_sizes(r, &r->sizes, &drawn, r->sizes.n + drawn.n, e) : 0;
}

static int store(portfolio_run *r, const portfolio *pf, err *e) {
  auto_str text = {0};
  bool stored;
  portfolio_text(r->t, pf, &text);
  return text.failed ? err_nomem(e)
                     : db_portfolio_put(r->db, timing_table_template_id(r->timings),
                                        timing_table_device_id(r->timings), str_text(&text), NULL,
                                        &stored, e);
}

static void print(const command *x, const portfolio *pf, size_t n_left) {
  const portfolio_run *r = &x->run;
  str s = {0};
  const char *device = timing_table_device(r->timings)->name;
  if (x->c->json) {
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

static int run(command *x, err *e) {
  portfolio_run *r = &x->run;
  timing_options o = {0};
  portfolio_table table;
  portfolio result;
  size_t n_left = 0;
  TRY(parse_options(x, &o, e));
  TRY(cli_open_template(x->c, &r->memory, &r->t, e));
  if (x->c->n_words > 1) {
    return err_set(e, ERR_USAGE, "portfolio takes sizes with --sizes or --grid, not as words: '%s'",
                   x->c->words[1]);
  }
  TRY(read_sizes(x, e));
  TRY(cli_open_db(x->c, DB_WRITE, &r->db, e));
  TRY(cached_compiler_open(&x->compiler, e));
  TRY(timing_table_open(r->t, r->db, x->compiler, &o, &r->timings, e));
  TRY(r->more ? portfolio_gather_more(r, e) : portfolio_gather(r, e));
  TRY(check_sizes(r, e));
  TRY(portfolio_measure(r, &table, e));
  TRY(portfolio_make(r, &table, &result, &n_left, e));
  TRY(store(r, &result, e));
  print(x, &result, n_left);
  return 0;
}

int cmd_portfolio(const cli *c, err *e) {
  command x = {.c = c, .run = {.grid = c->grid, .more = c->more}};
  portfolio_run *r = &x.run;
  const int rc = run(&x, e);
  timing_table_close(r->timings);
  rt_compiler_close(x.compiler);
  db_close(r->db);
  gen_close(r->t);
  arena_clear(&r->memory);
  return rc;
}
