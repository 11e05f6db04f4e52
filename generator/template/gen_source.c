/* The CUDA text of a configuration: where it comes from, its constants, and what the script writes.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"
#include "compiler_option.h"
#include "gen_directives.h"
#include "gen_plain.h"
#include "gen_read.h"

typedef struct job {
  gen_instance *g;
  const gen_config *c; /* NULL: not of a configuration */
  const gen_program *program;
  gen_script *script;
  str *text;     /* what the script writes */
  str *flags;    /* the compiler's, each after a space */
  str *defines;  /* lines of macros of the reference */
  str *controls; /* lines with the contents of files that the flags name */
} job;

/* ---- compiler options ------------------------------------------------------------------------ */

static const gen_program *program_of(const job *j) {
  return j->program;
}

static void add_flag_value(const expr_value *v, str *out) {
  switch (v->type) {
  case EXPR_INTEGER: str_addf(out, "%lld", (long long)v->i); break;
  case EXPR_REAL: str_addf(out, "%.17g", v->d); break;
  case EXPR_CONDITION: str_add(out, v->yes ? "true" : "false"); break;
  default: str_add(out, v->s);
  }
}

static void write_flag(gen_box *b, const job *j, const gen_flag *f) {
  str *out = j->flags;
  err e = {0};
  if (f->when && !gen_expr_condition(b, f->when)) {
    return;
  }
  str_add(out, " ");
  const size_t from = out->n;
  str_add(out, f->text);
  if (f->value) {
    const expr_value v = gen_expr_value(b, f->value);
    add_flag_value(&v, out);
  }
  if (!out->failed && compiler_option_check(str_text(out) + from, &e)) {
    gen_fail(b, ERR_TEMPLATE, f->at, "%s", e.message);
  }
  gen_write_controls(b, j->g->t, f, from, out, j->controls);
}

static void write_flags(gen_box *b, const job *j) {
  const gen_program *p = program_of(j);
  for (size_t i = 0; i < p->n_flags; i++) {
    write_flag(b, j, &p->flags[i]);
  }
}

static void write_defines(gen_box *b, const job *j) {
  const gen_program *p = program_of(j);
  for (size_t i = 0; i < p->n_defines; i++) {
    const expr_value v = gen_expr_value(b, p->defines[i].value);
    str_addf(j->defines, "#define %s ", p->defines[i].name);
    add_flag_value(&v, j->defines);
    str_add(j->defines, "\n");
  }
}

static void add_names(const gen_expr *x, gen_names *out) {
  if (x) {
    out->fields |= x->reads.fields;
    out->params |= x->reads.params;
    out->derived |= x->reads.derived;
    out->device |= x->reads.device;
  }
}

/* ---- the text -------------------------------------------------------------------------------- */

static void write_text(gen_box *b, void *ud) {
  job *j = ud;
  gen_script_compile(b, &j->g->t->a, j->script);
  gen_bind(j->g, j->c);
  gen_derive_all(j->g, j->c);
  write_flags(b, j);
  write_defines(b, j);
  gen_push_values(j->g, j->c);
  gen_script_run(b, j->script, j->g->t->max_source_nbytes, j->text);
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Does the text use the word, or one that starts with it and an underscore? What it does not use is
 * not defined, so that configurations that differ only in how they are launched are compiled once.
 */
static bool uses(const str *text, const char *word) {
  size_t n = strlen(word);
  const char *start = str_text(text);
  for (const char *p = start; (p = strstr(p, word)); p++) {
    bool before = p > start && c_name_has(p[-1]);
    if (!before && !isalnum((unsigned char)p[n])) {
      return true;
    }
  }
  return false;
}

static void add_integer(str *out, const char *name, int64_t v) {
  if (v == INT64_MIN) { /* C++ has no literal for it */
    str_addf(out, "constexpr long long %s = -9223372036854775807 - 1;\n", name);
  } else {
    str_addf(out, "constexpr %s %s = %lld;\n", v >= INT_MIN && v <= INT_MAX ? "int" : "long long",
             name, (long long)v);
  }
}

/* The length of NAME_value at p, else 0. Values start with a small letter or a digit. */
static size_t enumerator_length(const char *start, const char *p, const char *name) {
  size_t n = strlen(name);
  const unsigned char first = (unsigned char)(p[n] == '_' ? p[n + 1] : 0);
  if ((p > start && c_name_has(p[-1])) || !isalnum(first) || isupper(first)) {
    return 0;
  }
  return n + c_name_length(p + n);
}

static bool has_word(const char *text, const char *word, size_t n) {
  for (const char *p = text; *p; p++) {
    if (!strncmp(p, word, n) && !c_name_has(p[n]) && (p == text || !c_name_has(p[-1]))) {
      return true;
    }
  }
  return false;
}

/* A copy of a template may have fewer values than its text compares with. */
static void add_absent_values(const str *text, const char *name, size_t from, str *out) {
  const char *start = str_text(text);
  for (const char *p = start; (p = strstr(p, name)); p++) {
    const size_t n = enumerator_length(start, p, name);
    if (n && !has_word(str_text(out) + from, p, n)) {
      str_addf(out, ", %.*s", (int)n, p);
    }
  }
}

typedef const char *nth_name(const void *of, size_t i);

static void add_choice(const str *text, const char *name, nth_name *nth, const void *of, size_t n,
                       const char *chosen, str *out) {
  const size_t from = out->n;
  str_add(out, "enum {");
  for (size_t i = 0; i < n; i++) {
    str_addf(out, "%s %s_%s", i ? "," : "", name, nth(of, i));
  }
  add_absent_values(text, name, from, out);
  str_addf(out, " };\nconstexpr int %s = %s_%s;\n", name, name, chosen);
}

static const char *value_name(const void *param, size_t i) {
  return ((const gen_param *)param)->values[i].s;
}

static const char *field_name(const void *field, size_t i) {
  return ((const gen_field *)field)->names[i];
}

static const char *type_name(const void *none, size_t i) {
  (void)none;
  return dtype_name((dtype)i);
}

static void add_macro(const char *name, const char *value, str *out) {
  str_addf(out, "#define %s %s\n", name, value);
}

static void add_param(const job *j, size_t i, str *out) {
  const gen_param *p = &j->g->t->pub.params[i];
  const gen_value *v = &p->values[j->c->index[i]];
  if (j->g->t->macros) {
    auto_str text = {0};
    gen_add_value(v, &text);
    add_macro(p->name, str_text(&text), out);
  } else if (v->s) {
    add_choice(j->text, p->name, value_name, p, p->n, v->s, out);
  } else {
    add_integer(out, p->name, v->i);
  }
}

static void add_derived(const job *j, size_t i, str *out) {
  const char *name = j->g->t->pub.derived[i].name;
  const expr_value *v = &j->g->derived[i];
  if (j->g->t->macros) {
    auto_str text = {0};
    str_addf(&text, "%lld", v->type == EXPR_CONDITION ? (long long)v->yes : (long long)v->i);
    add_macro(name, str_text(&text), out);
  } else if (v->type == EXPR_CONDITION) {
    str_addf(out, "constexpr bool %s = %s;\n", name, v->yes ? "true" : "false");
  } else {
    add_integer(out, name, v->i);
  }
}

/* All its values are types, so these have the same numbers in every family (elements.cuh). */
static bool has_types(const gen_field *f) {
  dtype ignored;
  for (size_t i = 0; i < f->n_names; i++) {
    if (!dtype_parse(f->names[i], &ignored)) {
      return false;
    }
  }
  return f->n_names;
}

/* The name in capitals, which nothing else in the template has; false: there is none. */
static bool constant_of_field(const tmpl *t, size_t i, char name[64]) {
  const gen_field *f = &t->pub.fields[i];
  if (!f->n_names || strlen(f->name) >= 64) {
    return false;
  }
  for (size_t k = 0; (name[k] = (char)toupper((unsigned char)f->name[k])); k++) {
  }
  return !gen_symbol_find(&t->symbols, name, ~0u);
}

static void add_field(const job *j, size_t i, const char *name, str *out) {
  const gen_field *f = &j->g->t->pub.fields[i];
  const gen_value *v = &j->g->problem.values[i];
  if (has_types(f)) {
    add_choice(j->text, name, type_name, NULL, DTYPE_COUNT, f->names[v->i], out);
  } else {
    add_choice(j->text, name, field_name, f, f->n_names, f->names[v->i], out);
  }
}

static void add_fields(const job *j, str *out) {
  tmpl *t = j->g->t;
  char name[64];
  for (size_t i = 0; i < t->pub.n_fields; i++) {
    if (constant_of_field(t, i, name) && uses(j->text, name)) {
      t->sources.used.fields |= UINT64_C(1) << i;
      add_field(j, i, name, out);
    }
  }
}

static void add_constants(const job *j, str *out) {
  const gen_template *t = &j->g->t->pub;
  gen_names *used = &j->g->t->sources.used;
  *used = (gen_names){0};
  for (size_t i = 0; i < program_of(j)->n_flags; i++) {
    add_names(program_of(j)->flags[i].value, used);
    add_names(program_of(j)->flags[i].when, used);
  }
  add_fields(j, out);
  for (size_t i = 0; j->c && i < t->n_params; i++) {
    if (uses(j->text, t->params[i].name)) {
      used->params |= UINT64_C(1) << i;
      add_param(j, i, out);
    }
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    if (gen_has_derived(j->g, i, j->c) && uses(j->text, t->derived[i].name)) {
      used->derived |= UINT64_C(1) << i;
      add_derived(j, i, out);
    }
  }
}

/* ---- directives ------------------------------------------------------------------------------ */

static const char *describe_symbol(const job *j, const gen_symbol *s, bool *constant) {
  switch (s->kind) {
  case GEN_SYMBOL_PARAM: *constant = j->c; return "a parameter";
  case GEN_SYMBOL_DERIVED: *constant = j->c; return "a derived value";
  case GEN_SYMBOL_FIXED: *constant = true; return "a derived value";
  case GEN_SYMBOL_FIELD: *constant = false; return "a field";
  default: *constant = false; return "a device limit";
  }
}

/* Is the word the name, or NAME_value? */
static bool is_choice(const char *word, size_t n, const char *name) {
  const size_t length = strlen(name);
  return n >= length && !memcmp(word, name, length) &&
         (n == length || enumerator_length(word, word, name) == n);
}

static const char *describe_word(const void *ud, const char *word, size_t n, bool *constant) {
  const job *j = ud;
  const tmpl *t = j->g->t;
  char name[64];
  const gen_symbol *s = gen_symbol_find_n(&t->symbols, word, n, GEN_READS_CONFIG);
  if (s) {
    return j->g->t->macros && s->kind != GEN_SYMBOL_FIELD && s->kind != GEN_SYMBOL_DEVICE
               ? NULL
               : describe_symbol(j, s, constant);
  }
  *constant = true;
  for (size_t i = 0; i < t->pub.n_fields; i++) {
    if (constant_of_field(t, i, name) && is_choice(word, n, name)) {
      return "a field";
    }
  }
  for (size_t i = 0; j->c && !t->macros && i < t->pub.n_params; i++) {
    if (!gen_is_number(&t->pub.params[i]) && is_choice(word, n, t->pub.params[i].name)) {
      return "a parameter's value";
    }
  }
  return NULL;
}

/* ---- plain files ----------------------------------------------------------------------------- */

/* Does the text define the macro, and always as this value? */
static bool defines_as(const char *text, const char *name, const gen_value *v) {
  auto_str value = {0};
  bool found = false;
  gen_add_value(v, &value);
  for (const char *p = text; (p = strstr(p, "#define")); p += 7) {
    const char *q = p + 7 + strspn(p + 7, " \t");
    const size_t n = strlen(name);
    if (strncmp(q, name, n) || c_name_has(q[n])) {
      continue;
    }
    q += n + strspn(q + n, " \t");
    const size_t length = strcspn(q, " \t\r\n/");
    found = length == value.n && !memcmp(q, str_text(&value), length);
    if (!found) {
      return false;
    }
  }
  return found;
}

/* A parameter of one value is as well defined by the text. */
static bool is_tuned(const job *j, const gen_param *p) {
  return p->n > 1 || !defines_as(str_text(j->text), p->name, &p->values[0]);
}

static int check_macros(const job *j, err *e) {
  const gen_template *t = &j->g->t->pub;
  const char *names[GEN_MAX_PARAMS + GEN_MAX_DERIVED];
  size_t n = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    if (is_tuned(j, &t->params[i])) {
      names[n++] = t->params[i].name;
    }
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    names[n++] = t->derived[i].name;
  }
  const bool kernel_tuner = strstr(str_text(j->flags), " -Dkernel_tuner");
  return gen_plain_check_macros(str_text(j->text), names, n, kernel_tuner ? "kernel_tuner" : NULL,
                                e);
}

/* A pointer for whatever elements the template wants. */
static const char any_buffer[] =
    "struct tuned_any_buffer {\n"
    "  void *p;\n"
    "  template <class T> __device__ __forceinline__ operator T *() const { return (T *)p; }\n"
    "};\n";

static void add_parameter(const tmpl *t, const gen_stage_operand *o, size_t i, str *out) {
  const bool scalar = (o->from == GEN_FROM_ARG && t->pub.args[o->index].dir == GEN_SCALAR) ||
                      o->from == GEN_FROM_VALUE;
  const gen_element x = o->from == GEN_FROM_ARG ? t->args[o->index].element : o->element;
  str_addf(out, "%s%s a%zu", i ? ", " : "", scalar ? dtype_cuda_name(x.type) : "tuned_any_buffer",
           i);
}

/* A kernel that calls an instance of a C++ template, under a name that can be found. */
static void add_wrapper(const job *j, const gen_stage *s, str *out) {
  str_addf(out, "extern \"C\" __global__ void %s(", s->kernel);
  for (size_t i = 0; i < s->n_operands; i++) {
    add_parameter(j->g->t, &s->operands[i], i, out);
  }
  str_addf(out, ") { %s(", s->instance);
  for (size_t i = 0; i < s->n_operands; i++) {
    str_addf(out, "%sa%zu", i ? ", " : "", i);
  }
  str_add(out, "); }\n");
}

static void add_wrappers(const job *j, str *out) {
  const gen_program *p = program_of(j);
  bool any = false;
  for (size_t i = 0; i < p->n_stages; i++) {
    if (p->stages[i].instance) {
      str_add(out, any ? "" : any_buffer);
      add_wrapper(j, &p->stages[i], out);
      any = true;
    }
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A template that is not built in is found again by its path. */
static void add_head(const job *j, str *out) {
  const gen_template *t = &j->g->t->pub;
  str_addf(out, "// %s%s",
           j->c                                ? "autotune emit "
           : j->program == &j->g->t->reference ? "the reference of "
                                               : "features of ",
           j->g->t->folder ? t->path : t->name);
  gen_add_fields(t, &j->g->problem, out);
  if (j->c && t->n_params) {
    str_add(out, " --config ");
    gen_config_text(t, j->c, out);
  }
  str_addf(out, "\n// %s version %lld of %s, %s\n\n", t->name, (long long)t->version, t->path,
           t->hash);
}

static int make(job *j, str *out, size_t *body, err *e) {
  tmpl *t = j->g->t;
  TRY(gen_box_run(&t->box, write_text, j, true, e));
  TRY(t->plain ? check_macros(j, e)
               : gen_directives_check(str_text(j->text), j->text->n, describe_word, j, e));
  add_wrappers(j, j->text);
  add_head(j, out);
  *body = out->n;
  if (j->flags->n) {
    str_addf(out, COMPILER_OPTIONS "%s\n", str_text(j->flags));
    str_add_n(out, str_text(j->controls), j->controls->n);
  }
  str_add_n(out, str_text(j->defines), j->defines->n);
  add_constants(j, out);
  str_add_n(out, str_text(j->text), j->text->n);
  return out->failed || j->flags->failed || j->controls->failed ? err_nomem(e) : 0;
}

static int make_source(gen_instance *g, const gen_config *c, gen_program *p, gen_script *script,
                       str *out, size_t *body, err *e) {
  auto_str text = {0}, flags = {0}, defines = {0}, controls = {0};
  job j = {g, c, p, script, &text, &flags, &defines, &controls};
  return make(&j, out, body, e);
}

gen_device_code *gen_code_of(tmpl *t, const gen_config *c) {
  return &t->program.codes[t->n_algorithms ? t->algorithm_of[c->index[0]] : 0];
}

int gen_source_make(gen_instance *g, const gen_config *c, str *out, size_t *body, err *e) {
  gen_device_code *code = gen_code_of(g->t, c);
  g->t->sources.code = code;
  return make_source(g, c, &g->t->program, &code->script, out, body, e);
}

int gen_reference_source(gen_instance *g, str *out, size_t *body, err *e) {
  gen_program *p = &g->t->reference;
  return make_source(g, NULL, p, &p->codes[0].script, out, body, e);
}

int gen_features_source(gen_instance *g, str *out, size_t *body, err *e) {
  gen_program *p = &g->t->features;
  return make_source(g, NULL, p, &p->codes[0].script, out, body, e);
}
