#define _GNU_SOURCE
#include "serve_find.h"

#include <stdlib.h>
#include <string.h>

#include "serve_build.h"
#include "serve_choose.h"
#include "serve_family.h"
#include "serve_kernel.h"

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* ---- a new kernel --------------------------------------------------------------------------- */

enum { TRIES_MOST = 6 }; /* that pass the requirements and then can't be had; the default is left */

/* A candidate that can't be had (its image is damaged and there is no NVRTC, say) leaves its place
 * to the next; the error, if all fail, is the default's. */
static int load_first(tuned_kernel *k, serve_build *b, serve_choose *choose, err *e) {
  for (int tries = 0;; tries++) {
    err why = {0};
    if (tries == TRIES_MOST) {
      serve_choose_default(choose);
    }
    TRY(serve_choose_next(choose, &b->pick, e));
    const int rc = serve_build_load(b, &k->loaded, &why);
    if (!rc) {
      return 0;
    }
    if (b->pick.origin == TUNED_DEFAULT || serve_build_is_final(b, rc)) {
      return err_at(e, rc, why.place, "%s", why.message);
    }
  }
}

static int fill(tuned_kernel *k, serve_build *b, const gen_problem *p, err *e) {
  gen_number limits[RT_NUMBERS];
  rt_numbers(&b->s->device->info, limits);
  TRY(gen_instance_new(b->t, p, limits, RT_NUMBERS, &b->g, e));
  serve_choose choose = {.from = &b->s->sources,
                         .t = b->t,
                         .p = p,
                         .g = b->g,
                         .problem = k->info.problem,
                         .known = serve_known_of(b->s, b->t),
                         .memory = &b->memory};
  TRY(load_first(k, b, &choose, e));
  TRY(serve_kernel_describe(k, b->g, b->plan, &b->pick, b->spill, e));
  return serve_build_share(b, k, e);
}

static int make(serve *s, gen_template *t, const gen_problem *p, const char *problem,
                tuned_kernel **k, err *e) {
  serve_build b;
  TRY(serve_kernel_new(s, t, serve_family_name(s, t), problem, k, e));
  serve_build_init(&b, s, t);
  serve_turn_take(s);
  const int rc = fill(*k, &b, p, e);
  if (rc) {
    serve_kernel_free(*k);
    *k = NULL;
  }
  serve_turn_end(s);
  gen_instance_free(b.g);
  serve_build_clear(&b);
  return rc;
}

/* ---- a problem's kernel --------------------------------------------------------------------- */

int serve_remember(serve *s, const void *key, size_t nbytes, tuned_kernel *k, err *e) {
  if (serve_table_get(&s->front.kernels, key, nbytes)) {
    return 0;
  }
  return serve_table_put(&s->front.kernels, key, nbytes, k) ? 0 : no_room(e);
}

static int find_by_key(serve *s, gen_template *t, const gen_problem *p, const char *problem,
                       const str *key, tuned_kernel **k, err *e) {
  if ((*k = serve_table_get(&s->front.kernels, key->p, key->n))) {
    return 0;
  }
  TRY(make(s, t, p, problem, k, e));
  (*k)->next = s->newest;
  s->newest = *k;
  for (serve_hook *h = s->hooks; h; h = h->next) {
    h->found(h, *k);
  }
  return serve_remember(s, key->p, key->n, *k, e);
}

/* Two templates may share a family's name (one by its path), so the key names the template. */
int serve_find(serve *s, gen_template *t, const gen_problem *p, tuned_kernel **k, err *e) {
  str key = {0};
  str_add_n(&key, &t, sizeof t);
  gen_problem_text(t, p, &key);
  const int rc = key.failed ? no_room(e) : find_by_key(s, t, p, key.p + sizeof t, &key, k, e);
  str_clear(&key);
  return rc;
}

/* ---- a problem in words --------------------------------------------------------------------- */

/* The first word is the family or a template's path; the path may hold spaces, up to ".lua". */
static size_t name_length(const char *text) {
  const char *lua = strstr(text, ".lua");
  const bool path = lua && strchr(" \t\n", lua[4]);
  return path ? (size_t)(lua + 4 - text) : strcspn(text, " \t\n");
}

static int get_family(serve *s, const char *text, size_t n, gen_template **t, err *e) {
  char *name = strndup(text, n);
  if (!name) {
    return no_room(e);
  }
  const int rc = serve_family_get(s, name, t, e);
  free(name);
  return rc;
}

int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e) {
  const char *words = text + strspn(text, " \t\n");
  const size_t n = name_length(words);
  gen_template *t;
  gen_problem p;
  TRY(get_family(s, words, n, &t, e));
  TRY(gen_problem_parse(t, words + n, &p, e));
  TRY(serve_find(s, t, &p, k, e));
  return serve_remember(s, text, strlen(text), *k, e);
}
