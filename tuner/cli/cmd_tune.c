/* cmd_tune.c -- autotune FAMILY ...: tune one problem, a list of problems, or the template's
 * sizes. */
#include <string.h>

#include "tuning.h"
#include "verbs.h"

/* --sizes; the words are fields of all its problems. */
static int read_list(tuning *x, sizes *out, err *e) {
  str common = {0};
  for (size_t i = 1; i < x->c->n_words; i++) {
    str_addf(&common, "%s ", x->c->words[i]);
  }
  const int rc = sizes_read(x->t, x->c->sizes, str_text(&common), &x->memory, out, e);
  str_clear(&common);
  return rc;
}

static int tune_listed(tuning *x, err *e) {
  sizes list;
  TRY(read_list(x, &list, e));
  TRY(tuning_open(x, e));
  return tuning_list(x, &list, e);
}

static int tune_named(tuning *x, err *e) {
  gen_problem p;
  TRY(cli_problem(x->c, x->t, &p, e));
  TRY(tuning_open(x, e));
  return tuning_one(x, &p, e);
}

/* The template's own sizes for this kind of device. */
static int own_sizes(tuning *x, sizes *out, err *e) {
  const bool emu = tune_device(x->session)->modelled;
  const char *const *texts = emu ? x->t->sizes_emu : x->t->sizes_bench;
  const size_t n = emu ? x->t->n_sizes_emu : x->t->n_sizes_bench;
  *out = (sizes){.p = ARENA_ARRAY(&x->memory, gen_problem, n + 1)};
  for (; out->p && out->n < n; out->n++) {
    TRY(gen_problem_parse(x->t, texts[out->n], &out->p[out->n], e));
  }
  return out->p ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

static int tune_own(tuning *x, err *e) {
  sizes list;
  TRY(tuning_open(x, e));
  TRY(own_sizes(x, &list, e));
  return tuning_list(x, &list, e);
}

static int tune(tuning *x, const cli *c, err *e) {
  TRY(tuning_options(x, c, e));
  TRY(cli_open_template(c, &x->memory, &x->t, e));
  TRY(c->sizes ? tune_listed(x, e) : c->n_words > 1 ? tune_named(x, e) : tune_own(x, e));
  if (!c->json && !c->quiet) {
    printf("stored in %s\n", db_path(x->db));
  }
  return 0;
}

int cmd_tune(const cli *c, err *e) {
  tuning x;
  const int rc = tune(&x, c, e);
  tuning_close(&x);
  return rc;
}
