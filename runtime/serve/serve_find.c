#define _GNU_SOURCE
#include "serve_find.h"

#include <stdlib.h>
#include <string.h>

#include "serve_build.h"
#include "serve_choose.h"
#include "serve_kernel.h"

/* ---- templates in use ------------------------------------------------------------------------- */

static int family_new(const serve *s, const char *name, serve_family **out, err *e) {
  serve_family *f = calloc(1, sizeof *f);
  if (!f || !(f->name = strdup(name))) {
    free(f);
    return err_nomem(e);
  }
  const int rc = gen_open(&s->options, name, &f->t, e);
  if (rc) {
    free(f->name);
    free(f);
    return rc;
  }
  *out = f;
  return 0;
}

int serve_family_get(serve *s, const char *name, serve_family **family, err *e) {
  for (*family = s->families; *family; *family = (*family)->next) {
    if (!strcmp((*family)->name, name)) {
      return 0;
    }
  }
  TRY(family_new(s, name, family, e));
  (*family)->next = s->families;
  s->families = *family;
  return 0;
}

void serve_families_free(serve *s) {
  for (serve_family *f = s->families, *next; f; f = next) {
    next = f->next;
    serve_known_clear(&f->known);
    gen_close(f->t);
    free(f->name);
    free(f);
  }
}

/* ---- a new kernel --------------------------------------------------------------------------- */

enum { TRIES_MOST = 6 }; /* of loading valid candidates, before the default */

/* A candidate that can't be loaded (its image is damaged and there is no NVRTC, say) is skipped; if
 * all fail, the error is the default's. */
static int load_first(serve_build *b, serve_choose *choose, rt_loaded **loaded, err *e) {
  for (int tries = 0;; tries++) {
    err why = {0};
    if (tries == TRIES_MOST) {
      serve_choose_default(choose);
    }
    TRY(serve_choose_next(choose, &b->pick, e));
    const int rc = serve_build_load(b, loaded, &why);
    if (!rc) {
      return 0;
    }
    if (b->pick.origin == TUNED_DEFAULT || serve_build_is_final(b, rc)) {
      return err_copy(e, rc, &why);
    }
  }
}

static int make_from(serve_build *b, serve_family *f, const gen_problem *p, const char *problem,
                     tuned_kernel **k, err *e) {
  serve_choose choose = {.from = &b->s->sources,
                         .t = f->t,
                         .p = p,
                         .g = b->g,
                         .problem = problem,
                         .known = &f->known,
                         .memory = &b->memory};
  serve_parts parts = {.owner = b->s,
                       .family = f,
                       .t = f->t,
                       .name = f->name,
                       .problem = problem,
                       .g = b->g,
                       .pick = &b->pick};
  TRY(load_first(b, &choose, &parts.loaded, e));
  parts.plan = b->plan;
  parts.spill = b->spill;
  TRY(serve_kernel_new(&parts, k, e));
  return serve_build_share(b, *k, e);
}

static int make(serve *s, serve_family *f, const gen_problem *p, const char *problem,
                tuned_kernel **k, err *e) {
  serve_build b = {.s = s, .t = f->t};
  *k = NULL;
  serve_turn_take(s);
  int rc = rt_instance_new(f->t, p, &s->device->info, &b.g, e);
  rc = rc ? rc : make_from(&b, f, p, problem, k, e);
  if (rc && *k) {
    serve_kernel_free(*k);
    *k = NULL;
  }
  serve_turn_end(s);
  gen_instance_free(b.g);
  serve_build_clear(&b);
  return rc;
}

/* ---- a problem's kernel --------------------------------------------------------------------- */

static int remember(serve *s, const void *key, size_t nbytes, tuned_kernel *k, err *e) {
  if (serve_table_get(&s->front.kernels, key, nbytes)) {
    return 0;
  }
  return serve_table_put(&s->front.kernels, key, nbytes, k) ? 0 : err_nomem(e);
}

static int find_or_make(serve *s, serve_family *f, const gen_problem *p, const char *problem,
                        const str *key, tuned_kernel **k, err *e) {
  if ((*k = serve_table_get(&s->front.kernels, key->p, key->n))) {
    return 0;
  }
  TRY(make(s, f, p, problem, k, e));
  (*k)->next = s->newest;
  s->newest = *k;
  for (serve_hook *h = s->hooks; h; h = h->next) {
    h->found(h, *k);
  }
  return remember(s, key->p, key->n, *k, e);
}

/* A problem's own key is its canonical text. Two templates may share a family's name (one by its
 * path), so the key begins with the template. */
int serve_find(serve *s, serve_family *f, const gen_problem *p, const void *key, size_t nbytes,
               tuned_kernel **k, err *e) {
  auto_str own = {0};
  str_add_n(&own, &f->t, sizeof f->t);
  gen_problem_text(f->t, p, &own);
  TRY(own.failed ? err_nomem(e) : find_or_make(s, f, p, own.p + sizeof f->t, &own, k, e));
  return remember(s, key, nbytes, *k, e);
}

/* ---- what a problem leaves open ---------------------------------------------------------------- */

/* A field `reproducible` of a template without such a value keeps its preset. */
static void set_reproducible(const serve *s, const gen_template *t, gen_problem *p, bool *given) {
  static const char name[] = "reproducible";
  const gen_field *f = *s->reproducible ? gen_field_find(t, name, sizeof name - 1) : NULL;
  size_t choice;
  if (f && !given[f - t->fields] && gen_field_choice(f, s->reproducible, &choice)) {
    p->values[f - t->fields].i = (int64_t)choice;
    given[f - t->fields] = true;
  }
}

int serve_complete(const serve *s, gen_template *t, gen_problem *p, bool *given, err *e) {
  set_reproducible(s, t, p, given);
  return gen_problem_complete(t, p, given, e);
}

/* ---- a problem in words --------------------------------------------------------------------- */

/* The first word is the family or a template's path; the path may hold spaces, up to ".lua". */
static size_t name_length(const char *text) {
  const char *lua = strstr(text, ".lua");
  const bool path = lua && strchr(" \t\n", lua[4]);
  return path ? (size_t)(lua + 4 - text) : strcspn(text, " \t\n");
}

static int get_family(serve *s, const char *text, size_t n, serve_family **f, err *e) {
  char *name = strndup(text, n);
  if (!name) {
    return err_nomem(e);
  }
  const int rc = serve_family_get(s, name, f, e);
  free(name);
  return rc;
}

int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e) {
  const char *words = text + strspn(text, " \t\n");
  const size_t n = name_length(words);
  serve_family *f;
  gen_problem p;
  bool given[GEN_MAX_FIELDS] = {0};
  TRY(get_family(s, words, n, &f, e));
  TRY(gen_problem_read(f->t, words + n, &p, given, e));
  TRY(serve_complete(s, f->t, &p, given, e));
  return serve_find(s, f, &p, text, strlen(text), k, e);
}
