/* Problems and configurations: their texts, both ways. */
#define _GNU_SOURCE
#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "gen_feature.h"
#include "gen_former.h"
#include "gen_input.h"
#include "gen_tmpl.h"
#include "matrix_text.h"

/* ---- words of a text ------------------------------------------------------------------------- */

typedef struct word { /* "name=value" */
  char name[64], value[64];
  bool has_value;
} word;

typedef struct words {
  const char *p;
  const char *separators;
} words;

/* Thousands of these are read before the first call returns. */
static void copy(char to[64], const char *from, size_t n) {
  n = n < 64 ? n : 63;
  memcpy(to, from, n);
  to[n] = 0;
}

/* The next word; false at the end. What is too long for its place is cut, and matches nothing. */
static bool next_word(words *w, word *out) {
  w->p += strspn(w->p, w->separators);
  size_t n = strcspn(w->p, w->separators);
  const char *equals = memchr(w->p, '=', n);
  size_t n_name = equals ? (size_t)(equals - w->p) : n;
  out->has_value = equals != NULL;
  copy(out->name, w->p, n_name);
  copy(out->value, equals ? equals + 1 : "", equals ? n - n_name - 1 : 0);
  w->p += n;
  return n > 0;
}

/* ---- values of fields ------------------------------------------------------------------------ */

const gen_field *gen_field_find(const gen_template *t, const char *name, size_t n) {
  for (const gen_field *f = t->fields; f < t->fields + t->n_fields; f++) {
    if (strlen(f->name) == n && !memcmp(f->name, name, n)) {
      return f;
    }
  }
  return NULL;
}

bool gen_field_choice(const gen_field *f, const char *name, size_t *i) {
  for (*i = 0; *i < f->n_names && strcmp(f->names[*i], name) != 0; ++*i) {
  }
  return *i < f->n_names;
}

void gen_field_choices(const gen_field *f, const char *between, str *out) {
  for (size_t i = 0; i < f->n_names; i++) {
    str_addf(out, "%s%s", i ? between : "", f->names[i]);
  }
  for (size_t i = 0; i < f->n_choices; i++) {
    str_addf(out, "%s%lld", i ? between : "", (long long)f->choices[i]);
  }
}

static int fail_choice(const gen_field *f, const char *text, err *e) {
  auto_str values = {0};
  gen_field_choices(f, ", ", &values);
  return err_set(e, ERR_USAGE, "%s=%s: %s is one of %s", f->name, text, f->name, str_text(&values));
}

static int set_name(const gen_field *f, const char *text, gen_value *v, err *e) {
  size_t i;
  if (!gen_field_choice(f, text, &i)) {
    return fail_choice(f, text, e);
  }
  *v = (gen_value){(int64_t)i, f->names[i]};
  return 0;
}

static bool is_choice(const gen_field *f, int64_t i) {
  for (size_t k = 0; k < f->n_choices; k++) {
    if (f->choices[k] == i) {
      return true;
    }
  }
  return f->n_choices == 0;
}

static bool may_be(const gen_field *f, int64_t i) {
  return i >= f->min && i <= f->max && is_choice(f, i);
}

/* `text` is how the user or an expression spelled it; NULL: it is only the number. */
static int set_integer(const gen_field *f, int64_t i, const char *text, gen_value *v, err *e) {
  char number[32];
  if (f->feature && i >= GEN_UNKNOWN) {
    *v = (gen_value){.i = gen_feature_round(f, i)};
    return 0;
  }
  if (!text && !may_be(f, i)) {
    snprintf(number, sizeof number, "%lld", (long long)i);
    text = number;
  }
  if (!is_choice(f, i)) {
    return fail_choice(f, text, e);
  }
  if (!may_be(f, i)) {
    return err_set(e, ERR_USAGE, "%s=%s is out of range: %s is %lld to %lld", f->name, text,
                   f->name, (long long)f->min, (long long)f->max);
  }
  *v = (gen_value){.i = i};
  return 0;
}

/* A whole number, but beyond 64 bits? */
static bool is_huge(const char *text) {
  text += *text == '-';
  return isdigit((unsigned char)*text) && !text[strspn(text, "0123456789^")];
}

static int parse_value(const gen_field *f, const char *text, gen_value *v, err *e) {
  int64_t i;
  if (f->names) {
    return set_name(f, text, v, e);
  }
  if (text_integer(text, &i)) {
    return set_integer(f, i, text, v, e);
  }
  if (is_huge(text) && !strchr(text, '^')) {
    return err_set(e, ERR_USAGE, "%s=%s is out of range: %s is %lld to %lld", f->name, text,
                   f->name, (long long)f->min, (long long)f->max);
  }
  return err_set(e, ERR_USAGE, "%s=%s: %s is a whole number, such as 4096, 0x1000, 2^12 or 2^12+1",
                 f->name, text, f->name);
}

/* ---- completing: presets --------------------------------------------------------------------- */

typedef struct completion {
  tmpl *t;
  gen_problem *p;
  const bool *given;
  expr_value fields[GEN_MAX_FIELDS];
} completion;

/* Fields in order: each preset may read those before it. Runs inside gen_box_run. */
static void set_preset(tmpl *t, size_t i, gen_problem *p) {
  const gen_field *f = &t->pub.fields[i];
  const gen_expr *x = t->fields[i].preset;
  const expr_value v = gen_expr_value(&t->box, x);
  err e = {0};
  int rc;
  if (f->names) {
    rc = set_name(f, v.type == EXPR_TEXT ? v.s : "a number", &p->values[i], &e);
  } else {
    rc = set_integer(f, gen_expr_integer(&t->box, x), NULL, &p->values[i], &e);
  }
  if (rc) {
    gen_fail(&t->box, ERR_TEMPLATE, x->at, "the default of %s: %s", f->name, e.message);
  }
}

static void complete(gen_box *b, void *ud) {
  completion *c = ud;
  (void)b;
  c->t->bound = NULL;
  c->t->env = (expr_env){.values = {[EXPR_FIELD] = c->fields}};
  for (size_t i = 0; i < c->t->pub.n_fields; i++) {
    if (!c->given[i]) {
      set_preset(c->t, i, c->p);
    }
    c->fields[i] = gen_value_of(&c->p->values[i]);
  }
}

static int check_given(const gen_field *f, gen_value *v, err *e) {
  if (f->names) {
    if (v->i < 0 || (size_t)v->i >= f->n_names) {
      return err_set(e, ERR_USAGE, "%s has no value number %lld", f->name, (long long)v->i);
    }
    v->s = f->names[v->i];
    return 0;
  }
  return set_integer(f, v->i, NULL, v, e);
}

int gen_problem_complete(gen_template *t, gen_problem *p, const bool *given, err *e) {
  completion c = {.t = gen_tmpl(t), .p = p, .given = given};
  p->open = 0;
  for (size_t i = 0; i < t->n_fields; i++) {
    p->open |= t->fields[i].feature && !given[i] ? UINT64_C(1) << i : 0;
    if (given[i]) {
      TRY(check_given(&t->fields[i], &p->values[i], e));
    }
  }
  const int rc = gen_box_run(&c.t->box, complete, &c, false, e);
  c.t->env = (expr_env){{NULL}};
  return rc;
}

/* ---- problems -------------------------------------------------------------------------------- */

static int fail_field(const gen_template *t, const char *name, err *e) {
  const char *names[GEN_MAX_FIELDS];
  char list[300] = "";
  size_t n = 0;
  for (size_t i = 0; i < t->n_fields; i++) {
    names[i] = t->fields[i].name;
    if (n < sizeof list) {
      n += (size_t)snprintf(list + n, sizeof list - n, " %s", names[i]);
    }
  }
  return err_set(e, ERR_USAGE, "unknown field '%s' of %s%s its fields are%s", name, t->name,
                 *gen_suggestion(name, names, t->n_fields).text
                     ? gen_suggestion(name, names, t->n_fields).text
                     : ";",
                 *list ? list : " none");
}

enum { UPDATES_MOST = 16 };

static bool update_word(const gen_template *t, word *w) {
  gen_setting s;
  memcpy(s.name, w->name, sizeof s.name);
  memcpy(s.value, w->value, sizeof s.value);
  if (!gen_setting_update(t->name, &s)) {
    return false;
  }
  memcpy(w->name, s.name, sizeof s.name);
  memcpy(w->value, s.value, sizeof s.value);
  return true;
}

/* Is there such a field, and may it have this name as its value? */
static bool is_field(const gen_template *t, const word *w) {
  size_t i;
  const gen_field *f = gen_field_find(t, w->name, strlen(w->name));
  return f && (!f->names || gen_field_choice(f, w->value, &i));
}

/* From the names of before, where they lead to present ones. */
static void update_field(const gen_template *t, word *w) {
  word now = *w;
  for (int i = 0; i < UPDATES_MOST && !is_field(t, &now) && update_word(t, &now); i++) {
  }
  *w = is_field(t, &now) ? now : *w;
}

bool gen_setting_find(const gen_template *t, const char *name, size_t n, const char *value,
                      size_t *field, size_t *choice) {
  word w = {.has_value = true};
  snprintf(w.name, sizeof w.name, "%.*s", (int)n, name);
  snprintf(w.value, sizeof w.value, "%s", value);
  update_field(t, &w);
  const gen_field *f = gen_field_find(t, w.name, strlen(w.name));
  *field = f ? (size_t)(f - t->fields) : 0;
  return f && gen_field_choice(f, w.value, choice);
}

static int parse_field(gen_template *t, word *w, gen_problem *p, bool *given, err *e) {
  update_field(t, w);
  const gen_field *f = gen_field_find(t, w->name, strlen(w->name));
  if (!f) {
    return fail_field(t, w->name, e);
  }
  const size_t i = (size_t)(f - t->fields);
  if (given[i]) {
    return err_set(e, ERR_USAGE, "the field '%s' is given twice", w->name);
  }
  given[i] = true;
  return parse_value(f, w->value, &p->values[i], e);
}

static int read_fields(gen_template *t, const char *text, gen_problem *p, bool *given, err *e) {
  words rest = {text, " \t\r\n\v\f"};
  word w;
  for (bool first = true; next_word(&rest, &w); first = false) {
    if (w.has_value) {
      TRY(parse_field(t, &w, p, given, e));
    } else if (!first || strcmp(w.name, t->name)) {
      return err_set(e, ERR_USAGE, "'%s' is not of the form FIELD=VALUE, such as %s=...", w.name,
                     t->n_fields ? t->fields[0].name : "n");
    }
  }
  return 0;
}

static int read_input(gen_template *t, const char *text, gen_problem *p, bool *given, err *e) {
  tmpl *of = gen_tmpl(t);
  auto_str input = {0}, fields = {0}, takes = {0};
  err why = {0};
  if (of->no_inputs) {
    return err_set(e, ERR_USAGE, "matrix= is for autotune: a program passes its matrix to %s",
                   t->name);
  }
  TRY(gen_input_split(of, text, &input, &fields, e));
  const int rc = read_fields(t, str_text(&fields), p, given, &why);
  if (rc) { /* an unknown field may be meant as a parameter */
    matrix_add_parameters(str_text(&input), &takes);
    return err_set(e, rc, "%s%s%s", why.message, takes.n ? "; " : "", str_text(&takes));
  }
  return gen_input_resolve(of, str_text(&input), !of->counts_unknown, p, given, e);
}

int gen_problem_read(gen_template *t, const char *text, gen_problem *p, bool *given, err *e) {
  *p = (gen_problem){0};
  return gen_input_is_named(gen_tmpl(t), text) ? read_input(t, text, p, given, e)
                                               : read_fields(t, text, p, given, e);
}

int gen_problem_parse(gen_template *t, const char *text, gen_problem *p, err *e) {
  bool given[GEN_MAX_FIELDS] = {false};
  TRY(gen_problem_read(t, text, p, given, e));
  return gen_problem_complete(t, p, given, e);
}

void gen_add_value(const gen_value *v, str *out) {
  if (v->s) {
    str_add(out, v->s);
  } else {
    str_addf(out, "%lld", (long long)v->i);
  }
}

void gen_add_fields(const gen_template *t, const gen_problem *p, str *out) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (!t->fields[i].feature || p->values[i].i >= 0) {
      str_addf(out, " %s=", t->fields[i].name);
      gen_add_value(&p->values[i], out);
    }
  }
}

void gen_problem_text(const gen_template *t, const gen_problem *p, str *out) {
  str_add(out, t->name);
  gen_add_fields(t, p, out);
}

bool gen_problem_equal(const gen_template *t, const gen_problem *a, const gen_problem *b) {
  size_t i = 0;
  while (i < t->n_fields && a->values[i].i == b->values[i].i) {
    i++;
  }
  const bool same = a->input && b->input ? !strcmp(a->input, b->input) : a->input == b->input;
  return i == t->n_fields && same;
}

bool gen_problem_promise_most(const gen_template *t, gen_problem *p) {
  bool changed = false;
  for (size_t i = 0; i < t->n_fields; i++) {
    const gen_field *f = &t->fields[i];
    if (f->is_promise && p->values[i].i != (int64_t)f->n_names - 1) {
      p->values[i] = (gen_value){.i = (int64_t)f->n_names - 1, .s = f->names[f->n_names - 1]};
      changed = true;
    }
  }
  return changed;
}

/* ---- configurations -------------------------------------------------------------------------- */

void gen_config_default(const gen_template *t, gen_config *c) {
  *c = gen_tmpl(t)->preset;
}

bool gen_config_base(const gen_template *t, size_t i, gen_config *c) {
  const tmpl *x = gen_tmpl(t);
  *c = i < x->n_base ? x->base[i] : x->preset;
  return i <= x->n_base;
}

bool gen_config_textbook(const gen_template *t, size_t i, gen_config *c) {
  const tmpl *x = gen_tmpl(t);
  *c = i < x->n_textbook ? x->textbook[i] : x->preset;
  return i < x->n_textbook;
}

bool gen_config_equal(const gen_template *t, const gen_config *a, const gen_config *b) {
  return !memcmp(a->index, b->index, t->n_params * sizeof *a->index);
}

static int fail_value(const gen_param *p, const char *text, err *e) {
  auto_str list = {0};
  for (size_t i = 0; i < p->n; i++) {
    str_add(&list, i ? ", " : "");
    gen_add_value(&p->values[i], &list);
  }
  return err_set(e, ERR_USAGE, "%s=%s: %s is one of %s", p->name, text, p->name, str_text(&list));
}

const gen_param *gen_param_find(const gen_template *t, const char *name) {
  for (const gen_param *p = t->params; p < t->params + t->n_params; p++) {
    if (!strcmp(p->name, name)) {
      return p;
    }
  }
  return NULL;
}

bool gen_param_choice(const gen_param *p, const char *text, uint16_t *index) {
  int64_t v = 0;
  const bool number = text_integer(text, &v);
  for (size_t i = 0; i < p->n; i++) {
    const gen_value *c = &p->values[i];
    if (c->s ? !strcmp(c->s, text) : number && c->i == v) {
      *index = (uint16_t)i;
      return true;
    }
  }
  return false;
}

static int fail_param(const gen_template *t, const char *name, err *e) {
  const char *names[GEN_MAX_PARAMS];
  for (size_t i = 0; i < t->n_params; i++) {
    names[i] = t->params[i].name;
  }
  return err_set(e, ERR_USAGE, "unknown parameter '%s' of %s%s", name, t->name,
                 gen_suggestion(name, names, t->n_params).text);
}

static int parse_param(const gen_template *t, const word *w, gen_config *c, bool *given, err *e) {
  const gen_param *p = gen_param_find(t, w->name);
  if (!p) {
    return fail_param(t, w->name, e);
  }
  const size_t i = (size_t)(p - t->params);
  if (given[i]) {
    return err_set(e, ERR_USAGE, "the parameter '%s' is given twice", w->name);
  }
  given[i] = true;
  return gen_param_choice(p, w->value, &c->index[i]) ? 0 : fail_value(p, w->value, e);
}

/* Is there such a parameter, and may it have this value? */
static bool is_setting(const gen_template *t, const word *w) {
  uint16_t index;
  const gen_param *p = gen_param_find(t, w->name);
  return p && gen_param_choice(p, w->value, &index);
}

/* From the names of before; false: there is no such parameter any more. */
static bool update(const gen_template *t, word *w) {
  for (int i = 0; i < UPDATES_MOST && !is_setting(t, w) && update_word(t, w); i++) {
  }
  return w->name[0];
}

bool gen_config_set(const gen_template *t, const char *setting, gen_config *c) {
  words rest = {setting, " "};
  bool given[GEN_MAX_PARAMS] = {false};
  word w;
  return next_word(&rest, &w) && w.has_value &&
         (!update(t, &w) || !parse_param(t, &w, c, given, NULL));
}

int gen_config_parse(const gen_template *t, const char *text, gen_config *c, err *e) {
  words rest = {text, " ,\t\r\n\v\f"};
  bool given[GEN_MAX_PARAMS] = {false};
  word w;
  gen_config_default(t, c);
  while (next_word(&rest, &w)) {
    if (!w.has_value) {
      return err_set(e, ERR_USAGE, "'%s' is not of the form PARAMETER=VALUE", w.name);
    }
    TRY(update(t, &w) ? parse_param(t, &w, c, given, e) : 0);
  }
  return 0;
}

void gen_config_text(const gen_template *t, const gen_config *c, str *out) {
  for (size_t i = 0; i < t->n_params; i++) {
    str_addf(out, "%s%s=", i ? "," : "", t->params[i].name);
    gen_add_value(&t->params[i].values[c->index[i]], out);
  }
}
