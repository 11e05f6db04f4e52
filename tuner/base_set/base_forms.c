#define _GNU_SOURCE
#include "base_forms.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "run.h"

enum { COMBINATIONS_MOST = 1 << 14 };

typedef struct maker {
  base_forms *forms;
  gen_template *t;
  const rt_info *info;
  bool is_choice[GEN_MAX_FIELDS]; /* fields whose every value is gone through */
  gen_problem chosen;             /* their values now */
} maker;

/* ---- choices -------------------------------------------------------------------------------- */

static size_t n_choices(const gen_field *f) {
  return f->n_names ? f->n_names : f->n_choices;
}

/* Is the field an argument of the typed call, or computed from its arguments? */
static bool is_of_call(const gen_template *t, const gen_field *f) {
  for (size_t i = 0; i < t->n_call; i++) {
    if (!strcmp(t->call[i], f->name)) {
      return true;
    }
  }
  for (size_t i = 0; i < t->n_call_fields; i++) {
    if (!strcmp(t->call_fields[i].name, f->name)) {
      return true;
    }
  }
  return false;
}

/* A template without a typed call is asked for by its fields. */
static int find_choices(maker *m, err *e) {
  size_t n = 1;
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const gen_field *f = &m->t->fields[i];
    m->is_choice[i] = n_choices(f) && (!m->t->n_call || is_of_call(m->t, f));
    n *= m->is_choice[i] ? n_choices(f) : 1;
    if (n > COMBINATIONS_MOST) {
      return err_at(e, ERR_LIMIT, m->t->path,
                    "its fields have more than %d combinations of choices", COMBINATIONS_MOST);
    }
  }
  return 0;
}

static gen_value nth_choice(const gen_field *f, size_t i) {
  return f->n_names ? (gen_value){.i = (int64_t)i, .s = f->names[i]}
                    : (gen_value){.i = f->choices[i]};
}

/* Sets the combination of this number; false: there are no more. */
static bool choose(maker *m, size_t number) {
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const gen_field *f = &m->t->fields[i];
    if (m->is_choice[i]) {
      m->chosen.values[i] = nth_choice(f, number % n_choices(f));
      number /= n_choices(f);
    }
  }
  return number == 0;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* The i-th problem with the combination; NULL: its sizes are the defaults. */
static const char *nth_size(const gen_template *t, size_t i) {
  if (!i) {
    return NULL;
  }
  return i <= t->n_sizes_test ? t->sizes_test[i - 1] : t->sizes_bench[i - 1 - t->n_sizes_test];
}

static size_t n_sizes(const gen_template *t) {
  return 1 + t->n_sizes_test + t->n_sizes_bench;
}

/* False: no problem has this combination and these sizes. */
static bool make_problem(const maker *m, const char *sizes, gen_problem *p) {
  bool given[GEN_MAX_FIELDS];
  if (sizes && gen_problem_parse(m->t, sizes, p, NULL)) {
    return false;
  }
  for (size_t i = 0; i < m->t->n_fields; i++) {
    given[i] = m->is_choice[i] || (sizes && !n_choices(&m->t->fields[i]));
    p->values[i] = m->is_choice[i] ? m->chosen.values[i] : p->values[i];
  }
  return !gen_problem_complete(m->t, p, given, NULL);
}

/* ---- texts ---------------------------------------------------------------------------------- */

static bool has(const base_forms *f, const char *hash) {
  for (size_t i = 0; i < f->n; i++) {
    if (!strcmp(f->list[i].hash, hash)) {
      return true;
    }
  }
  return false;
}

static int add_text(base_forms *f, const str *text, size_t body, const char *hash, err *e) {
  const char *kept = arena_text_n(&f->memory, str_text(text), text->n);
  if (!kept || !array_reserve(&f->list, f->n + 1, &f->most, sizeof *f->list)) {
    return err_nomem(e);
  }
  base_form *x = &f->list[f->n++];
  *x = (base_form){.text = kept, .body = body};
  memcpy(x->hash, hash, sizeof x->hash);
  return 0;
}

static int add_form(maker *m, gen_instance *g, const gen_config *c, err *e) {
  auto_str text = {0};
  size_t body;
  char hash[HASH_TEXT];
  if (gen_source_hash(g, c, hash) && has(m->forms, hash)) {
    return 0;
  }
  TRY(gen_source_make(g, c, &text, &body, e));
  hash_bytes(text.p + body, text.n - body, hash);
  gen_source_remember(g, c, hash);
  return has(m->forms, hash) ? 0 : add_text(m->forms, &text, body, hash, e);
}

/* Adds the configuration's text, if it is valid for these sizes. */
static int try_sizes(maker *m, const char *sizes, const gen_config *c, bool *valid, err *e) {
  gen_problem p;
  auto_instance *g = NULL;
  *valid = make_problem(m, sizes, &p) && !rt_instance_new(m->t, &p, m->info, &g, NULL) &&
           !gen_config_check(g, c, NULL);
  return *valid ? add_form(m, g, c, e) : 0;
}

static int add_config(maker *m, const gen_config *c, err *e) {
  bool valid = false;
  for (size_t i = 0; i < n_sizes(m->t) && !valid; i++) {
    TRY(try_sizes(m, nth_size(m->t, i), c, &valid, e));
  }
  return 0;
}

int base_forms_add(base_forms *f, gen_template *t, const rt_info *info, err *e) {
  maker m = {.forms = f, .t = t, .info = info};
  gen_config c;
  TRY(find_choices(&m, e));
  for (size_t number = 0; choose(&m, number); number++) {
    for (size_t i = 0; gen_config_base(t, i, &c); i++) {
      TRY(add_config(&m, &c, e));
    }
  }
  return 0;
}

void base_forms_clear(base_forms *f) {
  free(f->list);
  arena_clear(&f->memory);
  *f = (base_forms){0};
}
