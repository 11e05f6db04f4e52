#define _GNU_SOURCE
#include "base_forms.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "emu.h"
#include "run.h"

enum { COMBINATIONS_MOST = 1 << 14, SIZES_MOST = 256 };

typedef struct sized { /* a problem; NULL: there is none */
  gen_instance *most;  /* with what promises most */
  gen_instance *least; /* with what promises least, if that is something else */
} sized;

typedef struct maker {
  base_forms *forms;
  gen_template *t;
  const rt_info *info;            /* of the device that problems are added for */
  bool is_choice[GEN_MAX_FIELDS]; /* fields whose every value is gone through */
  gen_problem chosen;             /* their values now */
  sized sizes[SIZES_MOST];        /* problems that have these values */
  size_t n_sizes;
} maker;

/* ---- devices -------------------------------------------------------------------------------- */

static int info_of(const char *profile, rt_info *info, err *e) {
  rt_device *d;
  TRY(rt_emu_open(profile, &d, e));
  *info = d->info;
  d->ops->close(d);
  return 0;
}

static bool is_nearer(int cc, int than, int to) {
  return !than || (cc <= to && (cc > than || than > to));
}

#define LEAST(field) least->field = other->field < least->field ? other->field : least->field
static void take_least(rt_info *least, const rt_info *other) {
  LEAST(sms);
  LEAST(threads_block);
  LEAST(threads_sm);
  LEAST(blocks_sm);
  LEAST(regs_block);
  LEAST(regs_sm);
  LEAST(smem_block);
  LEAST(smem_sm);
  LEAST(l2_nbytes);
  LEAST(memory_nbytes);
}

int base_forms_limits(int cc, rt_info limits[BASE_LIMITS], err *e) {
  rt_info *nearest = &limits[0], *least = &limits[1], info;
  *nearest = *least = (rt_info){0};
  for (const char *const *name = rt_emu_profiles(); *name; name++) {
    TRY(info_of(*name, &info, e));
    *nearest = is_nearer(info.cc, nearest->cc, cc) ? info : *nearest;
    *least = least->cc ? *least : info;
    if (info.cc >= 80) {
      take_least(least, &info);
    }
  }
  nearest->cc = least->cc = cc;
  return 0;
}

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

/* Kernels are the same for all values of a class, or serve weaker promises, too. A template without a
 * typed call is asked for by its fields. */
static bool is_gone_through(const gen_template *t, const gen_field *f) {
  return n_choices(f) && !f->is_class && (!t->n_call || is_of_call(t, f));
}

static int find_choices(maker *m, err *e) {
  size_t n = 1;
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const gen_field *f = &m->t->fields[i];
    m->is_choice[i] = is_gone_through(m->t, f);
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

static bool is_size(const gen_field *f) {
  return !n_choices(f);
}

/* A problem counts if the template takes it at all: its default is valid for every such. */
static gen_instance *new_instance(maker *m, const gen_problem *p) {
  gen_instance *g;
  gen_config c;
  if (rt_instance_new(m->t, p, m->info, &g, NULL)) {
    return NULL;
  }
  gen_config_default(m->t, &c);
  if (gen_config_check(g, &c, NULL)) {
    gen_instance_free(g);
    return NULL;
  }
  return g;
}

static int add_problem(maker *m, gen_problem *p, bool *given, err *e) {
  for (size_t i = 0; i < m->t->n_fields; i++) {
    given[i] = given[i] || m->is_choice[i];
    p->values[i] = m->is_choice[i] ? m->chosen.values[i] : p->values[i];
  }
  if (m->n_sizes == SIZES_MOST) {
    return err_at(e, ERR_LIMIT, m->t->path, "more than %d sizes", SIZES_MOST);
  }
  if (gen_problem_complete(m->t, p, given, NULL)) {
    return 0;
  }
  const gen_problem least = *p;
  const bool differ = gen_problem_promise_most(m->t, p);
  sized *size = &m->sizes[m->n_sizes];
  *size = (sized){.most = new_instance(m, p), .least = differ ? new_instance(m, &least) : NULL};
  m->n_sizes += size->most || size->least;
  return 0;
}

static int add_listed(maker *m, const char *const *texts, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    gen_problem p;
    bool given[GEN_MAX_FIELDS];
    TRY(gen_problem_parse(m->t, texts[i], &p, e));
    for (size_t k = 0; k < m->t->n_fields; k++) {
      given[k] = is_size(&m->t->fields[k]);
    }
    TRY(add_problem(m, &p, given, e));
  }
  return 0;
}

/* Each size at either end of its range, the others at their defaults. */
static int add_extremes(maker *m, err *e) {
  for (size_t i = 0; i < 2 * m->t->n_fields; i++) {
    const gen_field *f = &m->t->fields[i / 2];
    gen_problem p = {0};
    bool given[GEN_MAX_FIELDS] = {0};
    if (is_size(f)) {
      p.values[i / 2].i = i % 2 ? f->max : f->min;
      given[i / 2] = true;
      TRY(add_problem(m, &p, given, e));
    }
  }
  return 0;
}

/* The default sizes come first. */
static int find_sizes(maker *m, const rt_info *info, err *e) {
  const gen_template *t = m->t;
  gen_problem p = {0};
  bool given[GEN_MAX_FIELDS] = {0};
  m->info = info;
  TRY(add_problem(m, &p, given, e));
  TRY(add_listed(m, t->sizes_test, t->n_sizes_test, e));
  TRY(add_listed(m, t->sizes_bench, t->n_sizes_bench, e));
  return add_extremes(m, e);
}

static void forget_sizes(maker *m) {
  while (m->n_sizes) {
    const sized *size = &m->sizes[--m->n_sizes];
    gen_instance_free(size->most);
    gen_instance_free(size->least);
  }
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

/* The hash of the configuration's text for a problem; the text is added if `is_first`. */
static int read_text(maker *m, gen_instance *g, const gen_config *c, bool is_first,
                     char hash[HASH_TEXT], err *e) {
  auto_str text = {0};
  size_t body;
  if (gen_source_hash(g, c, hash) && (!is_first || has(m->forms, hash))) {
    return 0;
  }
  TRY(gen_source_make(g, c, &text, &body, e));
  hash_bytes(text.p + body, text.n - body, hash);
  gen_source_remember(g, c, hash);
  return is_first && !has(m->forms, hash) ? add_text(m->forms, &text, body, hash, e) : 0;
}

static bool is_valid(gen_instance *g, const gen_config *c) {
  return g && !gen_config_check(g, c, NULL);
}

/* Adds the configuration's text for the first size that it is valid for; and another for the first that
 * it is valid for only while less is promised.
 *   out  *serves_all  it is valid for every size and promise, with one text */
static int add_config(maker *m, const gen_config *c, bool *serves_all, err *e) {
  char of_most[HASH_TEXT] = "", of_least[HASH_TEXT] = "", hash[HASH_TEXT];
  *serves_all = m->n_sizes > 0;
  for (size_t i = 0; i < m->n_sizes && !(*of_most && *of_least); i++) {
    const sized *size = &m->sizes[i];
    const bool most = is_valid(size->most, c);
    char *first = most ? of_most : of_least;
    *serves_all = *serves_all && most;
    if ((*first && !*serves_all) || (!most && !is_valid(size->least, c))) {
      continue;
    }
    TRY(read_text(m, most ? size->most : size->least, c, !*first, hash, e));
    *serves_all = *serves_all && (!*first || !strcmp(hash, first));
    if (!*first) {
      memcpy(first, hash, sizeof hash);
    }
  }
  return 0;
}

static int add_combination(maker *m, const rt_info limits[BASE_LIMITS], err *e) {
  bool serves_all = false;
  gen_config c;
  for (size_t i = 0; i < BASE_LIMITS; i++) {
    TRY(find_sizes(m, &limits[i], e));
  }
  for (size_t i = 0; !serves_all && gen_config_base(m->t, i, &c); i++) {
    TRY(add_config(m, &c, &serves_all, e));
  }
  return 0;
}

int base_forms_add(base_forms *f, gen_template *t, const rt_info limits[BASE_LIMITS], err *e) {
  maker m = {.forms = f, .t = t};
  TRY(find_choices(&m, e));
  for (size_t number = 0; choose(&m, number); number++) {
    const int rc = add_combination(&m, limits, e);
    forget_sizes(&m);
    TRY(rc);
  }
  return 0;
}

void base_forms_clear(base_forms *f) {
  free(f->list);
  arena_clear(&f->memory);
  *f = (base_forms){0};
}
