#define _GNU_SOURCE
#include "serve_find.h"

#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "serve_base.h"
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
    serve_notes_clear(&f->notes);
    rt_features_clear(&f->features);
    gen_close(f->t);
    free(f->name);
    free(f);
  }
}

/* ---- a new kernel --------------------------------------------------------------------------- */

enum { OTHERS_MOST = 24 }; /* candidates that are looked for among the loaded images */

/* What another size has loaded, in the order of the models. A call does not wait for many to be
 * ranked: the base set serves meanwhile. */
static int load_other(serve_make *m, err *e) {
  for (int i = 0; i < OTHERS_MOST && serve_choose_is_quick(&m->choose); i++) {
    TRY(serve_make_next(m, e));
    const int rc = serve_make_load(m, SERVE_LOADED, NULL);
    if (!rc || serve_build_is_final(&m->b, rc)) {
      return rc;
    }
  }
  return ERR_NOTFOUND;
}

static int load_at_hand(serve_make *m, err *e) {
  const int rc = load_other(m, e);
  return rc == ERR_NOTFOUND ? serve_base_load(m) : rc;
}

/* From the first candidate again. */
static int load_anew(serve *s, serve_make *m, err *e) {
  serve_family *f = m->f;
  const gen_problem *p = m->p;
  const char *problem = m->problem;
  serve_make_end(m);
  TRY(serve_make_begin(m, s, f, p, problem, e));
  return serve_make_load_first(m, e);
}

static int load_now_or_behind(serve *s, serve_make *m, background_want *want, err *e) {
  TRY(serve_make_first(m, e));
  int rc = serve_make_load(m, SERVE_AT_HAND, NULL);
  if (rc == ERR_NOTFOUND) {
    TRY(background_want_of(want, &m->b, e));
    rc = load_at_hand(m, e);
    want->is_wanted = !rc;
  }
  return rc ? load_anew(s, m, e) : 0;
}

/* A kernel that must not be exchanged later is waited for. */
static bool may_wait_behind(const serve *s, const char *problem) {
  return s->background && !serve_keeps_kernel(problem);
}

/* The base set serves as well where nothing can be compiled. */
static int load_now(serve_make *m, err *e) {
  err why = {0};
  const int rc = serve_make_load_first(m, &why);
  if (!rc || serve_build_is_final(&m->b, rc)) {
    return err_copy(e, rc, &why);
  }
  return serve_base_load(m) ? err_copy(e, rc, &why) : 0;
}

/* What takes long in the call may take a little longer. */
static void write_news(serve *s, bool has_compiled) {
  serve_news news = {0};
  if (has_compiled) {
    serve_make_news(s, &news);
    serve_news_write(&news);
  }
}

static int make(serve *s, serve_family *f, const gen_problem *p, const char *problem,
                tuned_kernel **k, err *e) {
  serve_make m;
  background_want want = {0};
  *k = NULL;
  serve_turn_take(s);
  int rc = serve_make_begin(&m, s, f, p, problem, e);
  rc = rc                            ? rc
       : may_wait_behind(s, problem) ? load_now_or_behind(s, &m, &want, e)
                                     : load_now(&m, e);
  rc = rc ? rc : serve_make_kernel(&m, k, e);
  const bool has_compiled = m.b.built.sec > 0;
  serve_make_end(&m);
  serve_turn_end(s);
  write_news(s, has_compiled);
  if (!rc && want.is_wanted) {
    background_add(s->background, s->keeps_first ? NULL : *k, &want);
  }
  background_want_clear(&want);
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
  for (serve_hook *h = s->hooks; h; h = h->next) {
    h->found(h, *k);
  }
  return remember(s, key->p, key->n, *k, e);
}

/* A problem's own key is its canonical text. Two templates may share a family's name (one by its
 * path), so the key begins with the template. */
static void add_own_key(const serve_family *f, const gen_problem *p, str *key) {
  str_add_n(key, &f->t, sizeof f->t);
  gen_problem_text(f->t, p, key);
}

int serve_find(serve *s, serve_family *f, const gen_problem *p, const void *key, size_t nbytes,
               tuned_kernel **k, err *e) {
  auto_str own = {0};
  add_own_key(f, p, &own);
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

int serve_parse_text(serve *s, const char *text, serve_family **f, gen_problem *p, err *e) {
  const char *words = text + strspn(text, " \t\n");
  const size_t n = name_length(words);
  bool given[GEN_MAX_FIELDS] = {0};
  TRY(get_family(s, words, n, f, e));
  TRY(gen_problem_read((*f)->t, words + n, p, given, e));
  return serve_complete(s, (*f)->t, p, given, e);
}

int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e) {
  serve_family *f;
  gen_problem p;
  TRY(serve_parse_text(s, text, &f, &p, e));
  return serve_find(s, f, &p, text, strlen(text), k, e);
}

/* ---- ahead of its first call ---------------------------------------------------------------- */

static int prepare_new(serve *s, serve_family *f, const gen_problem *p, const char *problem,
                       err *e) {
  serve_make m;
  background_want want = {0};
  serve_turn_take(s);
  int rc = serve_make_begin(&m, s, f, p, problem, e);
  rc = rc ? rc : serve_make_first(&m, e);
  const bool lacks = !rc && serve_make_load(&m, SERVE_AT_HAND, NULL) == ERR_NOTFOUND;
  rc = lacks ? background_want_of(&want, &m.b, e) : rc;
  serve_make_end(&m);
  serve_turn_end(s);
  if (!rc && lacks) {
    background_add(s->background, NULL, &want);
  }
  background_want_clear(&want);
  return rc;
}

int serve_prepare_text(serve *s, const char *text, err *e) {
  serve_family *f;
  gen_problem p;
  auto_str own = {0};
  TRY(serve_parse_text(s, text, &f, &p, e));
  add_own_key(f, &p, &own);
  if (!s->background || own.failed || serve_table_get(&s->front.kernels, own.p, own.n)) {
    return own.failed ? err_nomem(e) : 0;
  }
  return prepare_new(s, f, &p, own.p + sizeof f->t, e);
}
