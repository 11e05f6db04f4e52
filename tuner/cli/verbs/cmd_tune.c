/* cmd_tune.c -- autotune FAMILY ...: tune one problem, a list of problems, or the template's sizes. */
#include "tuning.h"
#include "verbs.h"

/* The problem that the words name. */
static int read_one(tuning *x, err *e) {
  x->problems = (sizes){.p = ARENA_ARRAY(&x->memory, gen_problem, 1), .n = 1};
  x->is_single = true;
  return x->problems.p ? cli_problem(x->c, x->t, x->problems.p, e) : err_nomem(e);
}

/* --sizes; the words are fields of all its problems. */
static int read_list(tuning *x, err *e) {
  auto_str common = {0};
  TRY(cli_fields(x->c, &common, e));
  return sizes_read(x->t, x->c->sizes, str_text(&common), &x->memory, &x->problems, e);
}

static int tune(tuning *x, const cli *c, err *e) {
  TRY(cli_open_template(c, &x->memory, &x->t, e));
  TRY(c->sizes ? read_list(x, e) : c->n_words > 1 ? read_one(x, e) : 0);
  TRY(tune_settings(c, x->t, &x->memory, &x->progress, &x->options, e));
  TRY(cli_number("top", c->top, 1, 1000, 5, &x->top, e));
  return tuning_run(x, e);
}

int cmd_tune(const cli *c, err *e) {
  tuning x = {.c = c};
  const int rc = tune(&x, c, e);
  tuning_close(&x);
  return rc;
}
