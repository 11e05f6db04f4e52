#define _GNU_SOURCE
#include "serve_former.h"

#include <string.h>

/* The built-in template of the last configuration; NULL: none yet. */
typedef struct renamer {
  gen_template *t;
} renamer;

static int rename_config(void *self, const char *family, const char *config, str *out) {
  renamer *r = self;
  gen_config c;
  if (!r->t || strcmp(r->t->name, family) != 0) {
    const gen_options lazily = {.lazy = true, .names_only = true};
    gen_close(r->t);
    r->t = NULL;
    TRY(gen_open(&lazily, family, &r->t, NULL));
  }
  TRY(gen_config_parse(r->t, config, &c, NULL));
  gen_config_text(r->t, &c, out);
  return out->failed ? ERR_NOMEM : 0;
}

static int rename_problem(void *self, const char *family, const char *problem, str *out) {
  (void)self;
  gen_problem_update(family, problem, out);
  return out->failed ? ERR_NOMEM : 0;
}

int serve_follow(db *d, err *e) {
  auto_arena a = {0};
  gen_former *known;
  size_t n;
  renamer r = {NULL};
  int rc = gen_former_list(&a, &known, &n, e);
  db_former *list = rc ? NULL : ARENA_ARRAY(&a, db_former, n + 1);
  for (size_t i = 0; list && i < n; i++) {
    list[i] = (db_former){known[i].family, known[i].digest, known[i].present};
  }
  if (!rc && !list) {
    rc = err_nomem(e);
  }
  const db_formers f = {list, n, rename_config, rename_problem, &r};
  rc = rc ? rc : db_follow(d, &f, e);
  gen_close(r.t);
  return rc;
}
