/* The table that a template file returns becomes a gen_template and its rules. One function per
 * key, in the order in which names come to be known. */
#define _GNU_SOURCE
#include <string.h>

#include "gen_lex.h"
#include "gen_read.h"
#include "gen_reader.h"

enum { MAX_VALUES = 4096, MAX_REQUIREMENTS = 256, MAX_SUGGESTED = 64 };

/* ---- choices: enumerations of fields, values of parameters ----------------------------------- */

static bool is_word(const char *p) {
  size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return n && !p[n];
}

static gen_value read_choice(gen_reader *r, size_t i) {
  if (!gen_is_text(r)) {
    return (gen_value){.i = gen_integer(r, "a value")};
  }
  gen_value v = {.i = (int64_t)i, .s = gen_text(r, "a value")};
  if (!is_word(v.s)) {
    gen_bad(r, "'%s' cannot be a choice: letters, digits and underscores only", v.s);
  }
  return v;
}

static void check_different(gen_reader *r, const gen_value *v, size_t i) {
  for (size_t j = 0; j < i; j++) {
    if (!v[i].s != !v[j].s) {
      gen_bad(r, "the values are both texts and numbers; make them one or the other");
    }
    if (v[i].s ? !strcmp(v[i].s, v[j].s) : v[i].i == v[j].i) {
      gen_bad(r, "the same value twice");
    }
  }
}

/* The list here: all texts or all whole numbers, each once. */
static gen_value *read_choices(gen_reader *r, size_t *n) {
  *n = gen_bounded_list(r, "the list of values", MAX_VALUES);
  if (!*n) {
    gen_bad(r, "the list of values is empty");
  }
  gen_value *v = GEN_MAKE(r, gen_value, *n);
  for (size_t i = 0; i < *n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a value");
    v[i] = read_choice(r, i);
    check_different(r, v, i);
    gen_leave(r);
  }
  return v;
}

/* ---- problem --------------------------------------------------------------------------------- */

static void read_enumeration(gen_reader *r, gen_field *f) {
  size_t n;
  const gen_value *v = read_choices(r, &n);
  const char **names = GEN_MAKE(r, const char *, n);
  int64_t *choices = GEN_MAKE(r, int64_t, n);
  f->min = f->max = v[0].i;
  for (size_t i = 0; i < n; i++) {
    names[i] = v[i].s;
    choices[i] = v[i].i;
    f->min = v[i].i < f->min ? v[i].i : f->min;
    f->max = v[i].i > f->max ? v[i].i : f->max;
  }
  if (v[0].s) {
    f->names = names;
    f->n_names = n;
  } else {
    f->choices = choices;
    f->n_choices = n;
  }
}

static void read_range(gen_reader *r, gen_field *f) {
  f->min = gen_integer(r, "the least value");
  gen_leave(r);
  gen_need_at(r, 3, "the greatest value");
  f->max = gen_integer(r, "the greatest value");
  if (f->min > f->max) {
    gen_bad(r, "the least value of '%s' is above the greatest", f->name);
  }
}

/* A default that is one of the enumeration's own names means that name; all else is an expression.
 */
static const gen_expr *read_preset(gen_reader *r, const gen_field *f) {
  gen_need(r, "default");
  if (gen_is_text(r) && f->names) {
    const char *text = gen_text(r, "the default");
    for (size_t i = 0; i < f->n_names; i++) {
      if (!strcmp(text, f->names[i])) {
        lua_pushfstring(r->L, "'%s'", text);
        lua_replace(r->L, -2);
        break;
      }
    }
  }
  const gen_expr *x = gen_expression(r, GEN_READS_PROBLEM);
  gen_leave(r);
  return x;
}

static void read_field(gen_reader *r, gen_field *f, gen_field_rule *rule, size_t i) {
  static const char *const keys[] = {"default", "brief", NULL};
  gen_list(r, "a field", keys);
  f->name = gen_first_name(r, "a field's name");
  f->brief = gen_text_at(r, "brief");
  gen_need_at(r, 2, "the least value, or the list of values");
  if (gen_is_table(r)) {
    read_enumeration(r, f);
  } else {
    read_range(r, f);
  }
  gen_leave(r);
  rule->preset = read_preset(r, f);
  f->preset = rule->preset->text;
  gen_declare(r, f->name, GEN_SYMBOL_FIELD, i);
}

static void read_problem(gen_reader *r) {
  gen_need(r, "problem");
  size_t n = gen_bounded_list(r, "problem", GEN_MAX_FIELDS);
  gen_field *fields = GEN_MAKE(r, gen_field, n);
  gen_field_rule *rules = GEN_MAKE(r, gen_field_rule, n);
  r->t->pub.fields = fields;
  r->t->fields = rules;
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a field");
    read_field(r, &fields[i], &rules[i], i);
    r->t->pub.n_fields = i + 1;
    gen_leave(r);
  }
  gen_leave(r);
}

/* ---- space, default, derive, require --------------------------------------------------------- */

static void read_param(gen_reader *r, gen_param *p, size_t i) {
  static const char *const keys[] = {"brief", "when", NULL};
  gen_list(r, "a parameter", keys);
  p->name = gen_first_name(r, "a parameter's name");
  gen_need_at(r, 2, "the list of values");
  p->values = read_choices(r, &p->n);
  gen_leave(r);
  p->brief = gen_text_at(r, "brief");
  if (gen_enter_at(r, 3)) {
    p->brief = gen_text(r, "the description");
    gen_leave(r);
  }
  gen_declare(r, p->name, GEN_SYMBOL_PARAM, i);
}

static void read_space(gen_reader *r) {
  gen_need(r, "space");
  size_t n = gen_bounded_list(r, "space", GEN_MAX_PARAMS);
  gen_param *params = GEN_MAKE(r, gen_param, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a parameter");
    read_param(r, &params[i], i);
    gen_leave(r);
  }
  r->t->pub.params = params;
  r->t->pub.n_params = n;
  gen_leave(r);
}

static gen_pair read_pair(gen_reader *r, const char *what, const gen_expr **x) {
  if (gen_list(r, what, NULL) != 2) {
    gen_bad(r, "%s is two texts, { name, expression }", what);
  }
  const char *name = gen_first_name(r, what);
  gen_need_at(r, 2, "the expression");
  *x = gen_expression(r, GEN_READS_CONFIG);
  gen_leave(r);
  return (gen_pair){name, (*x)->text};
}

/* Derived values read those before them. */
static uint64_t params_read(const gen_expr *x, const uint64_t *derived_reads) {
  uint64_t bits = 0;
  for (size_t i = 0; i < x->n_reads; i++) {
    const gen_symbol *s = x->reads[i];
    bits |= s->kind == GEN_SYMBOL_PARAM ? UINT64_C(1) << s->index
            : gen_is_derived(s)         ? derived_reads[s->index]
                                        : 0;
  }
  return bits;
}

static void read_derive(gen_reader *r) {
  if (!gen_enter(r, "derive")) {
    return;
  }
  size_t n = gen_bounded_list(r, "derive", GEN_MAX_DERIVED);
  bool *fixed = GEN_MAKE(r, bool, n);
  uint64_t *reads = GEN_MAKE(r, uint64_t, n);
  gen_pair *pairs = GEN_MAKE(r, gen_pair, n);
  const gen_expr **x = GEN_MAKE(r, const gen_expr *, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a derived value");
    pairs[i] = read_pair(r, "a derived value", &x[i]);
    fixed[i] = gen_expr_reads_only(x[i], GEN_READS_DEVICE);
    reads[i] = params_read(x[i], reads);
    gen_declare(r, pairs[i].name, fixed[i] ? GEN_SYMBOL_FIXED : GEN_SYMBOL_DERIVED, i);
    gen_leave(r);
  }
  r->t->pub.derived = pairs;
  r->t->pub.n_derived = n;
  r->t->derived = x;
  r->t->fixed = fixed;
  r->t->derived_reads = reads;
  gen_leave(r);
}

static size_t find_choice(gen_reader *r, const gen_param *p) {
  const char *text = gen_is_text(r) ? gen_text(r, "a value") : NULL;
  int64_t v = text ? 0 : gen_integer(r, "a value");
  for (size_t i = 0; i < p->n; i++) {
    const gen_value *c = &p->values[i];
    if (text ? c->s && !strcmp(c->s, text) : !c->s && c->i == v) {
      return i;
    }
  }
  gen_bad(r, "what is given for %s is not one of its values in the space", p->name);
}

/* The table here has parameters as keys, and perhaps one key more. */
static void check_params(gen_reader *r, const char *besides) {
  const gen_template *t = &r->t->pub;
  const char *keys[GEN_MAX_PARAMS + 2] = {NULL};
  for (size_t i = 0; i < t->n_params; i++) {
    keys[i] = t->params[i].name;
  }
  keys[t->n_params] = besides;
  gen_keys(r, keys);
}

static void read_default(gen_reader *r) {
  const gen_template *t = &r->t->pub;
  gen_need(r, "default");
  check_params(r, NULL);
  for (size_t i = 0; i < t->n_params; i++) {
    gen_need(r, t->params[i].name);
    r->t->preset.index[i] = (uint16_t)find_choice(r, &t->params[i]);
    gen_leave(r);
  }
  gen_leave(r);
}

static void read_suggested(gen_reader *r, gen_suggested *s) {
  const gen_template *t = &r->t->pub;
  s->config = r->t->preset;
  check_params(r, "when");
  gen_need(r, "when");
  s->when = gen_expression(r, GEN_READS_DEVICE);
  gen_leave(r);
  for (size_t i = 0; i < t->n_params; i++) {
    if (gen_enter(r, t->params[i].name)) {
      s->config.index[i] = (uint16_t)find_choice(r, &t->params[i]);
      gen_leave(r);
    }
  }
}

static void read_untuned(gen_reader *r) {
  if (!gen_enter(r, "untuned")) {
    return;
  }
  size_t n = gen_bounded_list(r, "untuned", MAX_SUGGESTED);
  gen_suggested *s = GEN_MAKE(r, gen_suggested, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a configuration");
    read_suggested(r, &s[i]);
    gen_leave(r);
  }
  r->t->untuned = s;
  r->t->n_untuned = n;
  gen_leave(r);
}

/* "(condition) or P == its default" of a parameter that is of use only under a condition. */
static const gen_expr *only_when(gen_reader *r, const gen_param *p, const char *condition) {
  const gen_value *v = &p->values[r->t->preset.index[p - r->t->pub.params]];
  if (v->s) {
    lua_pushfstring(r->L, "(%s) or %s == '%s'", condition, p->name, v->s);
  } else {
    lua_pushfstring(r->L, "(%s) or %s == %I", condition, p->name, (LUAI_UACINT)v->i);
  }
  lua_replace(r->L, -2); /* expressions are read from where the reader stands */
  return gen_expression(r, GEN_READS_CONFIG);
}

/* One requirement per parameter that has a condition. */
static size_t read_conditions(gen_reader *r, gen_pair *pairs, const gen_expr **x) {
  const gen_template *t = &r->t->pub;
  const gen_expr **when = GEN_MAKE(r, const gen_expr *, t->n_params);
  size_t n = 0;
  r->t->when = when;
  gen_need(r, "space");
  for (size_t i = 0; i < t->n_params; i++) {
    gen_need_at(r, (int64_t)i + 1, "a parameter");
    if (gen_enter(r, "when")) {
      const char *condition = gen_text(r, "the condition");
      const char *reason =
          lua_pushfstring(r->L, "%s is of use only when %s", t->params[i].name, condition);
      pairs[n].name = strcpy(gen_make(r, strlen(reason) + 1), reason);
      lua_pop(r->L, 1);
      when[i] = gen_expression(r, GEN_READS_CONFIG);
      x[n] = only_when(r, &t->params[i], condition);
      pairs[n].expression = x[n]->text;
      n++;
      gen_leave(r);
    }
    gen_leave(r);
  }
  gen_leave(r);
  return n;
}

static size_t read_requirements(gen_reader *r, gen_pair *pairs, const gen_expr **x) {
  if (!gen_enter(r, "require")) {
    return 0;
  }
  size_t n = gen_bounded_list(r, "require", MAX_REQUIREMENTS);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a requirement");
    pairs[i] = read_pair(r, "a requirement", &x[i]);
    gen_leave(r);
  }
  gen_leave(r);
  return n;
}

static void read_require(gen_reader *r) {
  gen_template *t = &r->t->pub;
  gen_pair *pairs = GEN_MAKE(r, gen_pair, t->n_params + MAX_REQUIREMENTS);
  const gen_expr **x = GEN_MAKE(r, const gen_expr *, t->n_params + MAX_REQUIREMENTS);
  size_t n = read_conditions(r, pairs, x);
  t->n_requirements = n + read_requirements(r, pairs + n, x + n);
  uint64_t *reads = GEN_MAKE(r, uint64_t, t->n_requirements);
  for (size_t i = 0; i < t->n_requirements; i++) {
    reads[i] = params_read(x[i], r->t->derived_reads);
  }
  t->requirements = pairs;
  r->t->requirements = x;
  r->t->requirement_reads = reads;
}

/* ---- tolerance, rates, sizes ----------------------------------------------------------------- */

static const gen_expr *need_expression(gen_reader *r, const char *key, unsigned kinds) {
  gen_need(r, key);
  const gen_expr *x = gen_expression(r, kinds);
  gen_leave(r);
  return x;
}

static void read_rates(gen_reader *r) {
  static const char *const keys[] = {"abs", "rel", NULL};
  tmpl *t = r->t;
  gen_need(r, "tolerance");
  gen_keys(r, keys);
  t->tolerance_abs = need_expression(r, "abs", GEN_READS_PROBLEM);
  t->tolerance_rel = need_expression(r, "rel", GEN_READS_PROBLEM);
  gen_leave(r);
  t->flops = need_expression(r, "flops", GEN_READS_PROBLEM);
  t->bytes = need_expression(r, "bytes", GEN_READS_PROBLEM);
}

static const char *const *read_texts(gen_reader *r, const char *key, size_t *n) {
  if (!gen_enter(r, key)) {
    return NULL;
  }
  *n = gen_bounded_list(r, key, 1000);
  const char **texts = GEN_MAKE(r, const char *, *n);
  for (size_t i = 0; i < *n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a problem");
    texts[i] = gen_text(r, "a problem");
    gen_leave(r);
  }
  gen_leave(r);
  return texts;
}

static void read_sizes(gen_reader *r) {
  static const char *const keys[] = {"emu", "test", "bench", NULL};
  gen_template *t = &r->t->pub;
  gen_need(r, "sizes");
  gen_keys(r, keys);
  t->sizes_emu = read_texts(r, "emu", &t->n_sizes_emu);
  t->sizes_test = read_texts(r, "test", &t->n_sizes_test);
  t->sizes_bench = read_texts(r, "bench", &t->n_sizes_bench);
  gen_leave(r);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void read_head(gen_reader *r) {
  gen_template *t = &r->t->pub;
  gen_need(r, "name");
  t->name = gen_text(r, "name");
  gen_check_name(r, t->name);
  gen_leave(r);
  gen_need(r, "version");
  t->version = gen_integer(r, "version");
  gen_leave(r);
  gen_need(r, "brief");
  t->brief = gen_text(r, "brief");
  gen_leave(r);
  t->cite = gen_text_at(r, "cite");
}

static void declare_device(gen_reader *r) {
  for (size_t i = 0; gen_device_names[i]; i++) {
    gen_symbol_add(&r->t->symbols, gen_device_names[i], GEN_SYMBOL_DEVICE, i);
  }
}

void gen_read(tmpl *t) {
  static const char *const keys[] = {
      "name",      "version",      "brief",  "cite",   "problem",   "args",
      "call",      "call_require", "space",  "derive", "require",   "default",
      "untuned",   "workspace",    "stages", "source", "reference", "cases",
      "tolerance", "flops",        "bytes",  "sizes",  NULL};
  gen_reader r = gen_reader_start(t);
  if (!gen_is_table(&r)) {
    gen_bad(&r, "a template returns one table: return { name = ..., ... }");
  }
  gen_keys(&r, keys);
  declare_device(&r);
  read_head(&r);
  read_problem(&r);
  read_space(&r);
  read_default(&r);
  read_derive(&r);
  read_untuned(&r);
  read_require(&r);
  gen_read_args(&r);
  gen_read_call(&r);
  gen_read_program(&r, &t->program, GEN_READS_CONFIG);
  t->pub.n_workspaces = t->program.n_workspaces;
  gen_need(&r, "reference");
  gen_read_reference(&r);
  gen_leave(&r);
  gen_read_cases(&r);
  read_rates(&r);
  read_sizes(&r);
}
