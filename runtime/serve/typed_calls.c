/* typed_calls.c -- the program that writes the typed calls: tuned_calls.h and tuned_calls.c.
 *
 *   typed_calls HEADER SOURCE [TEMPLATE]
 *
 * Runs at build time over the built-in templates, or a given one. A family whose template has a `call` gets a C
 * function tuned_FAMILY with those arguments in that order, and a tuned_FAMILY_with where the
 * template has workspaces; one whose template prepares gets tuned_FAMILY_plan, which takes the fields and
 * what preparing reads, tuned_FAMILY, which runs a plan, and tuned_FAMILY_values. How a name of the call becomes a C parameter:
 *   field, whole number              int64_t        field, one-letter choice      char
 *   field, other choice              const char *   scalar argument               its type
 *   buffer, read only                const T *      buffer                        T *
 * Half-precision buffers, and those whose type is a field, are void *. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "c_name.h"
#include "file.h"
#include "gen.h"
#include "serve_key.h"

enum { COLUMNS = 100 };

/* ---- what a name of the call stands for ----------------------------------------------------- */

typedef struct parameter {
  const char *name;       /* the template's */
  char id[C_NAME];        /* the C parameter's */
  const gen_field *field; /* NULL: an argument only */
  const gen_arg *arg;     /* NULL: a field only */
} parameter;

/* Which parameters a function takes. */
typedef enum view { VIEW_ALL, VIEW_PLAN, VIEW_RUN, VIEW_VALUES } view;

typedef struct maker { /* one family */
  const gen_template *t;
  view view;
  parameter list[GEN_MAX_FIELDS + 64];
  size_t n;
  char function[80];
  str name_text; /* what the last name() call returned */
  err *e;
} maker;

static parameter *parameter_of(maker *m, const char *name) {
  for (size_t i = 0; i < m->n; i++) {
    if (!strcmp(m->list[i].name, name)) {
      return &m->list[i];
    }
  }
  return NULL;
}

static bool in_view(const maker *m, const parameter *p) {
  const gen_role role = p->field ? GEN_OF_PLAN : p->arg->role;
  return m->view == VIEW_ALL || (m->view == VIEW_VALUES ? role == GEN_OF_VALUES
                                 : m->view == VIEW_RUN  ? role == GEN_OF_RUN
                                                        : role != GEN_OF_RUN);
}

static int take_parameters(maker *m) {
  for (size_t i = 0; i < m->t->n_call; i++) {
    const char *name = m->t->call[i];
    parameter *p = &m->list[m->n++];
    if (m->n >= sizeof m->list / sizeof *m->list) {
      return err_at(m->e, ERR_LIMIT, m->t->path, "call has more than %zu names", m->n);
    }
    *p = (parameter){.name = name,
                     .field = gen_field_find(m->t, name, strlen(name)),
                     .arg = gen_arg_find(m->t, name)};
    c_name(name, p->id);
    if (!p->field && !p->arg) {
      return err_at(m->e, ERR_TEMPLATE, m->t->path, "call: %s is neither a field nor an argument",
                    name);
    }
  }
  return 0;
}

/* ---- C types -------------------------------------------------------------------------------- */

static bool one_letter(const gen_field *f) {
  for (size_t i = 0; i < f->n_names; i++) {
    if (!isalpha((unsigned char)f->names[i][0]) || f->names[i][1]) {
      return false;
    }
  }
  return f->names;
}

/* A choice among words is a word in the key; a number is itself. */
static bool is_word(const gen_field *f) {
  return f && f->names;
}

/* How often a plan is used: the caller has a number, the problem the nearest of some. */
static bool is_uses(const gen_field *f) {
  return is_word(f) && f->is_class && !strcmp(f->name, "uses");
}

/* NULL: a field chooses the type */
static const char *scalar_type(const char *name) {
  dtype type;
  return dtype_parse(name, &type) ? dtype_c_name(type) : NULL;
}

static const char *element_type(const char *name) {
  dtype type;
  const bool named = dtype_parse(name, &type) && type != DTYPE_f16 && type != DTYPE_bf16;
  return named ? dtype_c_name(type) : "void";
}

static void add_type(str *s, const parameter *p) {
  if (p->field) {
    str_add(s, !is_word(p->field) || is_uses(p->field) ? "int64_t "
               : one_letter(p->field)                  ? "char "
                                                       : "const char *");
  } else if (p->arg->dir == GEN_SCALAR) {
    const char *type = scalar_type(p->arg->type);
    str_add(s, type ? type : "const void *"); /* of a type that a field chooses: its address */
    str_add(s, type ? " " : "");
  } else {
    str_addf(s, "%s%s *", p->arg->dir == GEN_IN ? "const " : "", element_type(p->arg->type));
  }
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Add a piece to a list that breaks before the right margin. */
static void add_wrapped(str *s, const char *piece, const char *indent) {
  const char *text = str_text(s), *line = strrchr(text, '\n');
  const size_t column = s->n - (line ? (size_t)(line + 1 - text) : 0);
  if (column + strlen(piece) + 2 > COLUMNS) {
    while (s->n && s->p[s->n - 1] == ' ') {
      s->p[--s->n] = 0;
    }
    str_addf(s, "\n%s", indent);
  }
  str_add(s, piece);
}

static void add_literal(str *s, const char *text) {
  str_add(s, "\"");
  for (; *text; text++) {
    str_addf(s, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  }
  str_add(s, "\"");
}

/* name: "int tuned_sgemm"; more: parameters that stand before the error */
static void add_prototype(str *s, const maker *m, const char *name, const char *more) {
  auto_str piece = {0};
  const bool of_plan = m->view == VIEW_RUN || m->view == VIEW_VALUES;
  str_addf(s, "%s(%s, tuned_stream stream, ", name,
           of_plan ? "tuned_plan *plan" : "tuned_context *ctx");
  for (size_t i = 0; i < m->n; i++) {
    if (!in_view(m, &m->list[i])) {
      continue;
    }
    str_reset(&piece);
    add_type(&piece, &m->list[i]);
    str_addf(&piece, "%s, ", m->list[i].id);
    add_wrapped(s, str_text(&piece), "    ");
  }
  add_wrapped(s, more, "    ");
  add_wrapped(s, "tuned_error *err)", "    ");
}

static const char OWN[] = "void *workspace, size_t *nbytes, ";

static void add_public(str *s, const maker *m, const char *suffix, const char *more) {
  char name[sizeof m->function + 16];
  snprintf(name, sizeof name, "int %s%s", m->function, suffix);
  add_prototype(s, m, name, more);
}

static bool is_choice(const gen_field *f) {
  return f && f->n_names + f->n_choices;
}

/* ---- the header ----------------------------------------------------------------------------- */

static void add_parameter_comment(str *s, const parameter *p) {
  const char *brief = p->arg && p->arg->brief ? p->arg->brief : p->field ? p->field->brief : NULL;
  str_addf(s, " *   %s", p->id);
  if (brief) {
    str_addf(s, "  %s", brief);
  }
  if (is_uses(p->field)) {
    str_add(s, "  how many runs of the plan are to be expected; 0: many");
  } else if (is_choice(p->field)) {
    str_add(s, brief ? "; one of " : "  one of ");
    gen_field_choices(p->field, ", ", s);
  }
  str_add(s, "\n");
}

static bool worth_telling(const parameter *p) {
  return (p->arg && p->arg->brief) || (p->field && (p->field->brief || is_choice(p->field)));
}

static const char PLAN[] = "tuned_plan **plan, ";

static bool has_values(const maker *m) {
  bool has = false;
  for (size_t i = 0; i < m->t->n_args; i++) {
    has |= m->t->args[i].role == GEN_OF_VALUES;
  }
  return has;
}

static void add_declared(str *s, maker *m, view v, const char *suffix, const char *more) {
  m->view = v;
  str_add(s, "TUNED_API ");
  add_public(s, m, suffix, more);
  str_add(s, ";\n");
  m->view = VIEW_ALL;
}

static void add_declarations(str *s, maker *m) {
  if (!m->t->has_prepare) {
    add_declared(s, m, VIEW_ALL, "", "");
    if (m->t->n_workspaces) {
      add_declared(s, m, VIEW_ALL, "_with", OWN);
    }
    return;
  }
  add_declared(s, m, VIEW_PLAN, "_plan", PLAN);
  add_declared(s, m, VIEW_RUN, "", "");
  if (has_values(m)) {
    add_declared(s, m, VIEW_VALUES, "_values", "");
  }
}

static void add_declaration(str *s, maker *m) {
  str_addf(s, "/* %s -- %s\n", m->function, m->t->brief ? m->t->brief : m->t->name);
  for (size_t i = 0; i < m->n; i++) {
    if (worth_telling(&m->list[i])) {
      add_parameter_comment(s, &m->list[i]);
    }
  }
  for (size_t i = 0; i < m->t->n_call_requirements; i++) {
    str_addf(s, " *   refused: %s\n", m->t->call_requirements[i].name);
  }
  while (s->n && s->p[s->n - 1] == '\n') {
    s->p[--s->n] = 0;
  }
  str_add(s, " */\n");
  add_declarations(s, m);
  str_add(s, "\n");
}

/* ---- expressions ---------------------------------------------------------------------------- */

/* Choices are compared as words: 'n' is itself, longer ones their hash. */
static const char *quoted_name(maker *m, const char *quoted) {
  char word[80];
  snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
  str_addf(&m->name_text, "INT64_C(%lld)", (long long)serve_key_word(word));
  return str_text(&m->name_text);
}

/* name -- what stands for a name of an expression in C; gen_expression_c asks */
static const char *name_in_c(void *ud, const char *name) {
  maker *m = ud;
  const parameter *p = parameter_of(m, name);
  str_reset(&m->name_text);
  if (name[0] == '\'') {
    return quoted_name(m, name);
  }
  if (!p || !in_view(m, p)) {
    err_at(m->e, ERR_TEMPLATE, m->t->path,
           "call: an expression reads %s, which is not in the call%s", name,
           p ? " of the plan" : "");
    return name;
  }
  const bool address = p->arg && p->arg->dir != GEN_SCALAR;
  str_addf(&m->name_text, "%s%s",
           address             ? "(int64_t)(intptr_t)"
           : is_word(p->field) ? "word_"
                               : "",
           p->id);
  return str_text(&m->name_text);
}

static int add_expression(str *s, maker *m, const char *expression) {
  err e = {0};
  if (gen_expression_c(expression, name_in_c, m, s, &e)) {
    err_at(m->e, e.code, m->t->path, "call: %s: %s", expression, e.message);
  }
  return m->e->code;
}

/* ---- the source ----------------------------------------------------------------------------- */

static const char *computed_expression(const maker *m, const char *field) {
  for (size_t i = 0; i < m->t->n_call_fields; i++) {
    if (!strcmp(m->t->call_fields[i].name, field)) {
      return m->t->call_fields[i].expression;
    }
  }
  return NULL;
}

static void add_fields(str *s, const maker *m, size_t *n) {
  *n = 0;
  str_addf(s, "static const char *const fields_%s[] = {", m->t->name);
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const char *name = m->t->fields[i].name;
    if (computed_expression(m, name) || parameter_of((maker *)m, name)) {
      str_addf(s, "%s\"%s\"", (*n)++ ? ", " : "", name);
    }
  }
  str_add(s, "};\n");
}

static void add_description(str *s, const maker *m) {
  size_t n;
  char signature[HASH_TEXT];
  serve_signature(m->t, signature);
  add_fields(s, m, &n);
  str_addf(s,
           "static const serve_call call_%s = {\"%s\", \"%s\", fields_%s, %zu,\n"
           "                                 \"%s\"};\n\n",
           m->t->name, m->t->name, m->function, m->t->name, n, signature);
}

static void add_range_check(str *s, const maker *m, const parameter *p) {
  const long long min = p->field->min, max = p->field->max;
  str_addf(s, "  if (%s < %lld || %s > %lld) {\n", p->id, min, p->id, max);
  str_addf(s, "    return serve_refuse_range(err, \"%s\", \"%s\", %s, %lld, %lld);\n  }\n",
           m->function, p->name, p->id, min, max);
}

static void add_word(str *s, const parameter *p) {
  str_addf(s, "  const int64_t word_%s = ", p->id);
  if (is_uses(p->field)) {
    auto_str names = {0};
    gen_field_choices(p->field, " ", &names);
    str_addf(s, "serve_key_uses(%s, \"%s\");\n", p->id, str_text(&names));
  } else if (one_letter(p->field)) {
    /* for real matrices the conjugate transpose is the transpose */
    size_t i;
    const bool real = gen_field_choice(p->field, "n", &i) && gen_field_choice(p->field, "t", &i) &&
                      !gen_field_choice(p->field, "c", &i);
    str_addf(s, "serve_key_letter(%s, %d, %d);\n", p->id,
             isupper((unsigned char)p->field->names[0][0]) ? 1 : 0, real);
  } else {
    str_addf(s, "serve_key_word(%s);\n", p->id);
  }
}

static void add_field_checks(str *s, const maker *m) {
  for (size_t i = 0; i < m->n; i++) {
    const parameter *p = &m->list[i];
    if (is_word(p->field)) {
      add_word(s, p);
    } else if (p->field) {
      add_range_check(s, m, p);
    }
  }
}

static int add_requirements(str *s, maker *m) {
  for (size_t i = 0; i < m->t->n_call_requirements; i++) {
    const gen_pair *r = &m->t->call_requirements[i];
    str_add(s, "  if (!(");
    TRY(add_expression(s, m, r->expression));
    str_addf(s, ")) {\n    return serve_refuse_requirement(err, \"%s\", ", m->function);
    add_literal(s, r->name);
    str_add(s, ",\n                                    ");
    add_literal(s, r->expression);
    str_add(s, ");\n  }\n");
  }
  return 0;
}

static int add_key(str *s, maker *m) {
  str_addf(s, "  const int64_t key[] = {(int64_t)(intptr_t)&call_%s", m->t->name);
  for (size_t i = 0; i < m->t->n_fields; i++) {
    const gen_field *f = &m->t->fields[i];
    const char *computed = computed_expression(m, f->name);
    if (computed) {
      str_add(s, ",\n                         ");
      TRY(add_expression(s, m, computed));
    } else if (parameter_of(m, f->name)) {
      str_addf(s, ", %s%s", is_word(f) ? "word_" : "", parameter_of(m, f->name)->id);
    }
  }
  str_add(s, "};\n");
  return 0;
}

/* A kernel's argument that has a field's name but another type gets a copy of that type. */
static bool needs_copy(const parameter *p) {
  return p->field && p->arg && p->arg->dir == GEN_SCALAR && !p->arg->value;
}

static void add_copies(str *s, const maker *m) {
  for (size_t i = 0; i < m->n; i++) {
    const parameter *p = &m->list[i];
    const char *type = in_view(m, p) && needs_copy(p) ? scalar_type(p->arg->type) : NULL;
    if (type) {
      str_addf(s, "  const %s arg_%s = (%s)%s;\n", type, p->id, type, p->id);
    }
  }
}

static int add_arg(str *s, maker *m, const gen_arg *a) {
  const parameter *p = parameter_of(m, a->name);
  if ((a->dir == GEN_SCALAR && a->value) || (p && !in_view(m, p))) {
    str_add(s, "NULL");
  } else if (!p && a->optional) {
    str_add(s, "&serve_no_buffer");
  } else if (!p) {
    return err_at(m->e, ERR_TEMPLATE, m->t->path, "call: it does not give the argument %s",
                  a->name);
  } else if (a->dir == GEN_SCALAR && !scalar_type(a->type)) {
    str_add(s, p->id);
  } else {
    str_addf(s, "&%s%s", needs_copy(p) ? "arg_" : "", p->id);
  }
  return 0;
}

static int add_args(str *s, maker *m) {
  add_copies(s, m);
  str_add(s, "  const void *const args[] = {");
  for (size_t i = 0; i < m->t->n_args; i++) {
    auto_str piece = {0};
    const int rc = add_arg(&piece, m, &m->t->args[i]);
    str_add(&piece, i + 1 < m->t->n_args ? ", " : "};\n");
    add_wrapped(s, str_text(&piece), "                              ");
    TRY(rc);
  }
  return 0;
}

/* Both functions have the whole body: pointers to arguments that come on the stack stay valid. */
static int add_body(str *s, maker *m, const char *own) {
  add_field_checks(s, m);
  TRY(add_requirements(s, m));
  TRY(add_key(s, m));
  TRY(add_args(s, m));
  str_addf(s,
           "  return serve_call_launch(ctx, &call_%s, key, sizeof key, stream, args, %s, "
           "err);\n}\n\n",
           m->t->name, own);
  return 0;
}

static int add_plan(str *s, maker *m) {
  m->view = VIEW_PLAN;
  add_public(s, m, "_plan", PLAN);
  str_add(s, " {\n");
  add_field_checks(s, m);
  TRY(add_requirements(s, m));
  TRY(add_key(s, m));
  TRY(add_args(s, m));
  str_addf(s, "  return serve_call_plan(ctx, &call_%s, key, stream, args, plan, err);\n}\n\n",
           m->t->name);
  return 0;
}

static int add_with_plan(str *s, maker *m, view v, const char *suffix, const char *function) {
  m->view = v;
  add_public(s, m, suffix, "");
  str_add(s, " {\n");
  TRY(add_args(s, m));
  str_addf(s, "  return %s(plan, &call_%s, stream, args, err);\n}\n\n", function, m->t->name);
  return 0;
}

static int add_plan_functions(str *s, maker *m) {
  TRY(add_plan(s, m));
  TRY(add_with_plan(s, m, VIEW_RUN, "", "serve_call_run"));
  return has_values(m) ? add_with_plan(s, m, VIEW_VALUES, "_values", "serve_call_values") : 0;
}

static int add_functions(str *s, maker *m) {
  add_description(s, m);
  if (m->t->has_prepare) {
    return add_plan_functions(s, m);
  }
  add_public(s, m, "", "");
  str_add(s, " {\n");
  TRY(add_body(s, m, "NULL"));
  if (m->t->n_workspaces) {
    add_public(s, m, "_with", OWN);
    str_add(s, " {\n  const serve_own own = {workspace, nbytes};\n");
    TRY(add_body(s, m, "&own"));
  }
  return 0;
}

/* ---- all families --------------------------------------------------------------------------- */

static int make_family(const char *family, str *header, str *source, err *e) {
  gen_template *t;
  TRY(gen_open(NULL, family, &t, e));
  maker m = {.t = t, .e = e};
  snprintf(m.function, sizeof m.function, "tuned_%.64s", t->name);
  int rc = t->n_call ? take_parameters(&m) : 0;
  if (!rc && t->n_call) {
    add_declaration(header, &m);
    rc = add_functions(source, &m);
  }
  str_clear(&m.name_text);
  gen_close(t);
  return rc;
}

static int make_all(const char *only, str *header, str *source, err *e) {
  auto_arena a = {0};
  const char *const *families;
  size_t n;
  int rc = gen_families(NULL, &a, &families, &n, e);
  str_add(
      header,
      "/* tuned_calls.h -- made by typed_calls from the templates; included by tuned.h.\n"
      " * Buffers are device addresses; one that has no elements in this call may be NULL, as A "
      "and B\n"
      " * are without a k, or where alpha is 0. Letters are taken in either case.\n"
      " *\n"
      " * tuned_FAMILY_plan makes a plan, as tuned_plan_new does: tuned_FAMILY runs it, and\n"
      " * tuned_FAMILY_values tells it of other numbers in its inputs (tuned_plan_values).\n"
      " *\n"
      " * tuned_FAMILY_with is tuned_FAMILY in scratch memory of the caller's own, see\n"
      " * tuned_launch_with. workspace NULL: nothing runs, and *nbytes is what the launch with\n"
      " * these arguments needs, at least 1; else *nbytes is its size. */\n\n");
  str_add(source, "/* tuned_calls.c -- made by typed_calls from the templates. */\n"
                  "#include \"serve_call.h\"\n#include \"expression_math.h\"\n\n");
  for (size_t i = 0; !rc && !only && i < n; i++) {
    rc = make_family(families[i], header, source, e);
  }
  return rc || !only ? rc : make_family(only, header, source, e);
}

int main(int argc, char **argv) {
  err e = {0};
  auto_str header = {0}, source = {0};
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: typed_calls HEADER SOURCE [TEMPLATE]\n");
    return 2;
  }
  int rc = make_all(argc > 3 ? argv[3] : NULL, &header, &source, &e);
  if (!rc && !(rc = file_write(argv[1], header.p, header.n, &e))) {
    rc = file_write(argv[2], source.p, source.n, &e);
  }
  if (rc) {
    fprintf(stderr, "typed_calls: %s%s%s\n", e.place, e.place[0] ? ": " : "", e.message);
  }
  return rc ? 1 : 0;
}
