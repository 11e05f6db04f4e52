/* The table that a template file returns becomes a gen_template and its rules: the head, problem,
 * tolerance, rates and sizes, and the order in which names come to be known. */
#define _GNU_SOURCE
#include <string.h>

#include "gen_lex.h"
#include "gen_metric.h"
#include "gen_read.h"

/* ---- problem --------------------------------------------------------------------------------- */

static void read_enumeration(gen_reader *r, gen_field *f) {
  size_t n;
  const gen_value *v = gen_read_choices(r, &n);
  const char **names = GEN_MAKE(r, const char *, n + 1); /* NULL at the end */
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
  if (!gen_enter(r, "default")) {
    if (f->feature) { /* GEN_UNKNOWN */
      return gen_expr_new(r->b, r->a, "-1", gen_here(r), &r->t->symbols, GEN_READS_PROBLEM);
    }
    gen_need(r, "default"); /* reports it */
  }
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

static void read_class(gen_reader *r, gen_field *f) {
  if (!gen_enter(r, "class")) {
    return;
  }
  const char *word = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : "";
  f->is_promise = !strcmp(word, "promise");
  f->is_class = f->is_promise || (lua_isboolean(r->L, -1) && lua_toboolean(r->L, -1));
  if (!f->is_class || !f->names) {
    gen_bad(r, "class = true or 'promise', and of a field of names");
  }
  gen_leave(r);
}

/* The place of a name among the field's. */
static size_t read_name(gen_reader *r, const gen_field *f) {
  const char *name = gen_text(r, "like");
  for (size_t i = 0; i < f->n_names; i++) {
    if (!strcmp(name, f->names[i])) {
      return i;
    }
  }
  gen_bad(r, "like: '%s' is no value of the field '%s'", name, f->name);
}

/* A value that is like another has no values that are like it: no chain is followed. */
static void check_like(gen_reader *r, const gen_field *f) {
  for (size_t i = 0; i < f->n_names; i++) {
    const uint8_t of = f->like[i];
    if (f->like[of] != of) {
      gen_bad(r, "like: '%s' is like '%s', which is like '%s': name that one", f->names[i],
              f->names[of], f->names[f->like[of]]);
    }
  }
}

/* A table NAME = "NAME", or one name that all the others are like. */
static void read_likes(gen_reader *r, gen_field *f, uint8_t *like) {
  const bool all = gen_is_text(r);
  const uint8_t first = all ? (uint8_t)read_name(r, f) : 0;
  if (!all) {
    gen_keys(r, f->names);
  }
  for (size_t i = 0; i < f->n_names; i++) {
    like[i] = all ? first : (uint8_t)i;
    if (!all && gen_enter(r, f->names[i])) {
      like[i] = (uint8_t)read_name(r, f);
      gen_leave(r);
    }
  }
}

static void read_like(gen_reader *r, gen_field *f) {
  if (!gen_enter(r, "like")) {
    return;
  }
  if (!f->names || f->is_class) {
    gen_bad(r, "like is for fields of names that are no class");
  }
  uint8_t *like = GEN_MAKE(r, uint8_t, f->n_names);
  read_likes(r, f, like);
  gen_leave(r);
  f->like = like;
  check_like(r, f);
}

static void read_field(gen_reader *r, gen_field *f, gen_field_rule *rule, size_t i) {
  static const char *const keys[] = {"default", "brief", "class", "like",
                                     "feature", "at",    "scale", NULL};
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
  read_class(r, f);
  read_like(r, f);
  gen_read_feature(r, f, rule);
  rule->preset = read_preset(r, f);
  f->preset = rule->preset->text;
  gen_declare(r, f->name, GEN_SYMBOL_FIELD, i)->types = f->names ? EXPR_TEXT : EXPR_INTEGER;
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

/* ---- matrix ---------------------------------------------------------------------------------- */

static int read_role(gen_reader *r, const char *role) {
  if (!gen_enter(r, role)) {
    return -1;
  }
  const char *name = gen_text(r, role);
  const gen_field *f = gen_field_find(&r->t->pub, name, strlen(name));
  if (!f || f->names || f->choices) {
    gen_bad(r, f ? "'%s' is no range of whole numbers" : "there is no field '%s'", name);
  }
  gen_leave(r);
  return (int)(f - r->t->pub.fields);
}

/* matrix = { rows = "rows", columns = "columns", entries = "nnz" }: fields */
static void read_matrix(gen_reader *r) {
  static const char *const keys[] = {"rows", "columns", "entries", NULL};
  tmpl *t = r->t;
  if (!gen_enter(r, "matrix")) {
    return;
  }
  gen_keys(r, keys);
  for (size_t i = 0; i < GEN_MATRIX_ROLES; i++) {
    t->matrix[i] = read_role(r, keys[i]);
  }
  if (t->matrix[0] < 0 || t->matrix[2] < 0) {
    gen_bad(r, "matrix = { rows = FIELD, entries = FIELD }: '%s' is missing",
            t->matrix[0] < 0 ? "rows" : "entries");
  }
  if (gen_field_find(&t->pub, "matrix", strlen("matrix"))) {
    gen_bad(r, "problems name their matrix as matrix=...: no field can have that name");
  }
  t->has_matrix = true;
  gen_leave(r);
}

/* ---- tolerance, rates, sizes ----------------------------------------------------------------- */

static const gen_expr *need_expression(gen_reader *r, const char *key, unsigned kinds) {
  gen_need(r, key);
  const gen_expr *x = gen_numeric(r, kinds);
  gen_leave(r);
  return x;
}

/* The workspace of the reference that an output's bounds are in. */
static void find_bound(gen_reader *r, gen_tolerance *x) {
  const gen_program *p = &r->t->reference;
  size_t i = 0;
  if (x->error != GEN_ERROR_BOUND) {
    return;
  }
  while (i < p->n_workspaces && strcmp(p->workspaces[i].name, x->bound_name) != 0) {
    i++;
  }
  const gen_element *of = i < p->n_workspaces ? &p->workspaces[i].element : NULL;
  if (!of || of->field >= 0 || (of->type != DTYPE_f32 && of->type != DTYPE_f64)) {
    gen_fail(r->b, ERR_TEMPLATE, x->at,
             "the bound '%s' %s: workspace = { { \"%s\", \"f64\", count } }, in the reference",
             x->bound_name, of ? "has to be of f32 or f64" : "is no workspace of the reference",
             x->bound_name);
  }
  x->bound = i;
}

/* The template's tolerance is that of all outputs without their own, and a bound that of one. */
static void find_bounds(gen_reader *r) {
  tmpl *t = r->t;
  size_t n = 0;
  find_bound(r, &t->tolerance);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    gen_tolerance *own = &((gen_arg_rule *)t->args)[i].tolerance;
    find_bound(r, own);
    n += t->pub.args[i].dir >= GEN_OUT && !t->pub.args[i].judged && !own->abs;
  }
  if (t->tolerance.error == GEN_ERROR_BOUND && n > 1) {
    gen_fail(r->b, ERR_TEMPLATE, t->tolerance.at,
             "%zu outputs are compared: give each a tolerance with a bound of its own", n);
  }
}

static void read_rates(gen_reader *r) {
  tmpl *t = r->t;
  gen_need(r, "tolerance");
  gen_read_tolerance(r, GEN_READS_PROBLEM, &t->tolerance);
  gen_leave(r);
  find_bounds(r);
  t->flops = need_expression(r, "flops", GEN_READS_PROBLEM);
  t->bytes = need_expression(r, "bytes", GEN_READS_PROBLEM);
}

static bool is_kind(const char *name, size_t n) {
  for (const char *const *known = gen_kind_names(); *known; known++) {
    if (strlen(*known) == n && !memcmp(*known, name, n)) {
      return true;
    }
  }
  return false;
}

static void check_kinds(gen_reader *r, const char *names) {
  for (const char *p = names; *p; p += strspn(p, ",")) {
    const size_t n = strcspn(p, ",");
    if (!is_kind(p, n)) {
      gen_bad(r, "'%.*s' is no kind of data; there are sorted, equal, small", (int)n, p);
    }
    p += n;
  }
}

/* "sorted,equal", or { "sorted,equal", when = "words == 1" } */
static void read_kinds(gen_reader *r) {
  static const char *const keys[] = {"when", NULL};
  if (!gen_enter(r, "kinds")) {
    return;
  }
  if (gen_is_text(r)) {
    r->t->kinds = gen_text(r, "kinds of data");
  } else {
    gen_list(r, "kinds of data", keys);
    r->t->kinds = gen_first_name(r, "kinds of data");
    r->t->kinds_when = gen_condition_at(r, "when", GEN_READS_PROBLEM);
  }
  check_kinds(r, r->t->kinds);
  gen_leave(r);
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

/* Without sizes, the problem with its defaults. */
static const char *const *read_size_list(gen_reader *r, bool there, const char *key, size_t *n) {
  static const char *const preset[] = {""};
  *n = !there;
  return there ? read_texts(r, key, n) : preset;
}

static void read_sizes(gen_reader *r) {
  static const char *const keys[] = {"emu", "test", "bench", NULL};
  gen_template *t = &r->t->pub;
  const bool there = gen_enter(r, "sizes");
  if (there) {
    gen_keys(r, keys);
  }
  t->sizes_emu = read_size_list(r, there, "emu", &t->n_sizes_emu);
  t->sizes_test = read_size_list(r, there, "test", &t->n_sizes_test);
  t->sizes_bench = read_size_list(r, there, "bench", &t->n_sizes_bench);
  if (there) {
    gen_leave(r);
  }
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

static void read_macros(gen_reader *r) {
  if (gen_enter(r, "macros")) {
    if (!lua_isboolean(r->L, -1)) {
      gen_bad(r, "macros is true or false");
    }
    r->t->macros = lua_toboolean(r->L, -1);
    gen_leave(r);
  }
}

/* A text that is compiled as a CUDA file is, and where its headers are. */
static void read_plain(gen_reader *r) {
  if (gen_enter(r, "plain")) {
    if (!lua_isboolean(r->L, -1)) {
      gen_bad(r, "plain is true or false");
    }
    r->t->plain = lua_toboolean(r->L, -1);
    r->t->macros = r->t->macros || r->t->plain;
    r->t->pub.is_plain = r->t->plain;
    gen_leave(r);
  }
  r->t->include = read_texts(r, "include", &r->t->n_include);
  r->t->replaced = read_texts(r, "replace", &r->t->n_replaced);
  if ((r->t->n_include || r->t->n_replaced) && !r->t->plain) {
    gen_bad(r, "'include' and 'replace' are for plain = true");
  }
}

static void declare_device(gen_reader *r) {
  for (size_t i = 0; gen_device_names[i]; i++) {
    gen_symbol_add(&r->t->symbols, gen_device_names[i], GEN_SYMBOL_DEVICE, i);
  }
}

void gen_read(tmpl *t) {
  static const char *const keys[] = {
      "name",         "version",  "brief",      "cite",      "problem",  "args",      "call",
      "call_require", "space",    "algorithms", "order",     "derive",   "require",   "default",
      "base",         "untuned",  "workspace",  "stages",    "options",  "macros",    "plain",
      "include",      "replace",  "source",     "reference", "cases",    "tolerance", "flops",
      "bytes",        "metrics",  "sizes",      "kinds",     "textbook", "checks",    "matrix",
      "prepare",      "features", NULL};
  gen_reader r = gen_reader_start(t);
  if (!gen_is_table(&r)) {
    gen_bad(&r, "a template returns one table: return { name = ..., ... }");
  }
  gen_keys(&r, keys);
  declare_device(&r);
  read_head(&r);
  read_problem(&r);
  read_matrix(&r);
  gen_read_space(&r);
  gen_read_args(&r);
  gen_read_call(&r);
  read_macros(&r);
  read_plain(&r);
  gen_read_prepare(&r);
  gen_read_features(&r);
  gen_read_program(&r, &t->program, GEN_READS_CONFIG);
  t->pub.n_workspaces = t->program.n_workspaces;
  t->has_checks = gen_enter(&r, "checks");
  if (t->has_checks) {
    gen_leave(&r);
  }
  gen_need(&r, "reference");
  gen_read_reference(&r);
  gen_leave(&r);
  gen_read_checks(&r);
  gen_read_cases(&r);
  read_rates(&r);
  gen_read_metrics(&r);
  read_sizes(&r);
  read_kinds(&r);
}
