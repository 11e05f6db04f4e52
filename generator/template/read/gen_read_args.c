/* The part of a template about its arguments: what a kernel is called with, how tests and timing
 * make it up, and the typed call. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "gen_read.h"

enum { MAX_ARGS = GEN_MAX_ARGS };

static void fail_unknown(gen_reader *r, const char *what, const char *name,
                         const char *const *names, size_t n) {
  gen_bad(r, "there is no %s '%s'%s", what, name, gen_suggestion(name, names, n).text);
}

/* ---- args ------------------------------------------------------------------------------------ */

/* The element type that the text here names: a type, or a field all of whose values are types. */
gen_element gen_read_element(gen_reader *r, const char **text) {
  gen_element x = {.field = -1};
  dtype ignored;
  *text = gen_text(r, "an element type");
  const gen_symbol *s = gen_symbol_find(&r->t->symbols, *text, GEN_SYMBOL_FIELD);
  if (!s) {
    if (!dtype_parse(*text, &x.type)) {
      gen_bad(r, "'%s' is not an element type such as f32 or i64, nor a field of such", *text);
    }
    return x;
  }
  const gen_field *f = &r->t->pub.fields[s->index];
  for (size_t i = 0; i < f->n_names; i++) {
    if (!dtype_parse(f->names[i], &ignored)) {
      gen_bad(r, "the field '%s' has a value '%s', which is not an element type", f->name,
              f->names[i]);
    }
  }
  if (!f->n_names) {
    gen_bad(r, "the field '%s' is a number and cannot be an element type", f->name);
  }
  x.field = (int)s->index;
  return x;
}

static gen_dir read_dir(gen_reader *r) {
  static const char *const names[] = {"in", "out", "inout"};
  gen_need_at(r, 3, "the direction");
  const char *text = gen_text(r, "the direction");
  for (int i = 0; i < 3; i++) {
    if (!strcmp(text, names[i])) {
      gen_leave(r);
      return (gen_dir)(GEN_IN + i);
    }
  }
  gen_bad(r, "the direction is \"in\", \"out\" or \"inout\", not \"%s\"%s", text,
          strcmp(text, "scratch") ? "" : "; " GEN_SCRATCH_HINT);
}

static void declare_scalar(gen_reader *r, const gen_arg *arg, gen_arg_rule *rule, size_t i) {
  if (gen_symbol_find(&r->t->symbols, arg->name, GEN_SYMBOL_FIELD)) {
    if (!arg->value || strcmp(arg->value, arg->name)) {
      gen_bad(r, "'%s' is a field too; an argument of that name must have it for its value",
              arg->name);
    }
    rule->is_field = true;
    return;
  }
  bool known = rule->sample || gen_expr_reads_only(rule->value, GEN_READS_PROBLEM);
  gen_declare(r, arg->name, known ? GEN_SYMBOL_SCALAR : GEN_SYMBOL_OTHER, i);
}

static void read_scalar(gen_reader *r, gen_arg *arg, gen_arg_rule *rule, size_t i) {
  rule->value = gen_numeric_at(r, "value", GEN_READS_CONFIG);
  rule->sample = gen_numeric_at(r, "sample", GEN_READS_CASE);
  if (!rule->value == !rule->sample) {
    gen_bad(r,
            "a scalar needs either value (always this) or sample (the caller's; tests pass this)");
  }
  arg->value = rule->value ? rule->value->text : NULL;
  arg->sample = rule->sample ? rule->sample->text : NULL;
  declare_scalar(r, arg, rule, i);
}

/* Name, type and direction; scalars wholly, so that the counts of all buffers can read them. */
static void read_arg(gen_reader *r, gen_arg *arg, gen_arg_rule *rule, size_t i) {
  static const char *const scalar[] = {"value", "sample", "brief", NULL};
  static const char *const buffer[] = {"count",     "fill",  "overwritten", "optional",
                                       "tolerance", "brief", "host",        "shift",
                                       "valid",     "order", "each",        NULL};
  if (!gen_is_table(r)) {
    gen_bad(r, "an argument is a list that starts with a name and a type");
  }
  bool is_buffer = gen_enter_at(r, 3);
  if (is_buffer) {
    gen_leave(r);
  }
  size_t n = gen_list(r, "an argument", is_buffer ? buffer : scalar);
  arg->name = gen_first_name(r, "an argument's name");
  arg->brief = gen_text_at(r, "brief");
  gen_need_at(r, 2, "the element type");
  rule->element = gen_read_element(r, &arg->type);
  gen_leave(r);
  if (!is_buffer) {
    read_scalar(r, arg, rule, i);
    return;
  }
  arg->dir = read_dir(r);
  gen_declare(r, arg->name, GEN_SYMBOL_OTHER, i);
  if (n > 3) {
    gen_bad(r, "an argument is { name, type, direction, count = ... } and no more");
  }
}

/* An output's own; of an input that kernels must not change there is none. */
static void read_tolerance(gen_reader *r, const gen_arg *arg, gen_arg_rule *rule) {
  if (!gen_enter(r, "tolerance")) {
    return;
  }
  if (arg->dir == GEN_IN) {
    gen_bad(r, "'%s' is an input, which must stay as it is; tolerances are of outputs", arg->name);
  }
  gen_read_tolerance(r, GEN_READS_PROBLEM, &rule->tolerance);
  gen_leave(r);
}

/* What x, a part of the whole, is the tree of. */
static const gen_expr *part(gen_reader *r, const gen_expr *whole, const expr_node *x) {
  gen_expr *out = GEN_MAKE(r, gen_expr, 1);
  *out = (gen_expr){.text = whole->text, .at = whole->at, .tree = x};
  expr_reads(x, &out->reads);
  return out;
}

static bool is_integer(const expr_node *x, int64_t i) {
  return x->op == EXPR_VALUE && x->types == EXPR_INTEGER && x->value.i == i;
}

/* Of ld * max(0, lines - 1), ld an argument; NULL: it is something else. */
static const expr_node *lines_of(const expr_node *x) {
  const bool spaced =
      x->op == EXPR_MUL && x->kids[0]->op == EXPR_SCALAR && x->kids[1]->op == EXPR_MAX;
  const expr_node *const *of = spaced ? x->kids[1]->kids : NULL;
  const bool lines =
      of && is_integer(of[0], 0) && of[1]->op == EXPR_SUB && is_integer(of[1]->kids[1], 1);
  return lines ? of[1]->kids[0] : NULL;
}

/* Of a sum that begins with that product: what is added to it. */
static const expr_node *added(gen_reader *r, const expr_node *x, const expr_node **lines) {
  if (x->op != EXPR_ADD && x->op != EXPR_SUB) {
    return NULL;
  }
  if (x->op == EXPR_ADD && (*lines = lines_of(x->kids[0]))) {
    return x->kids[1];
  }
  const expr_node *const kids[] = {added(r, x->kids[0], lines), x->kids[1]};
  return kids[0] ? expr_node_new(r->a, x->op, kids) : NULL;
}

/* ld * max(0, lines - 1) + line: an array of lines that lie ld apart. Of no lines, and of lines of
 * nothing, it has no element, whatever this comes to. */
static void read_lines(gen_reader *r, gen_arg_rule *rule) {
  const expr_node *lines, *line = added(r, rule->count->tree, &lines);
  if (line) {
    rule->lines = part(r, rule->count, lines);
    rule->line = part(r, rule->count, line);
  }
}

static void read_buffer(gen_reader *r, gen_arg *arg, gen_arg_rule *rule) {
  gen_need(r, "count");
  rule->count = gen_numeric(r, GEN_READS_CASE);
  read_lines(r, rule);
  gen_leave(r);
  rule->overwritten = gen_condition_at(r, "overwritten", GEN_READS_CASE);
  rule->optional = gen_condition_at(r, "optional", GEN_READS_CASE);
  arg->optional = rule->optional;
  rule->shift = gen_numeric_at(r, "shift", GEN_READS_CASE);
  rule->host = gen_condition_at(r, "host", GEN_READS_PROBLEM);
  arg->host = rule->host;
  if (rule->host && !gen_expr_reads_only(rule->count, GEN_READS_PROBLEM)) {
    gen_bad(r, "'%s' may be in the host's memory: its count can read fields only", arg->name);
  }
  if (rule->overwritten && arg->dir != GEN_INOUT) {
    gen_bad(r, "'overwritten' is for inout buffers; in is never and out always overwritten");
  }
  read_tolerance(r, arg, rule);
  bool fill = gen_enter(r, "fill");
  if (fill) {
    gen_read_fill(r, rule);
    gen_leave(r);
  }
  if (fill && arg->dir == GEN_OUT) {
    gen_bad(r, "'%s' is poisoned before each launch, being an out buffer; leave out its fill",
            arg->name);
  }
}

void gen_read_args(gen_reader *r) {
  gen_need(r, "args");
  size_t n = gen_bounded_list(r, "args", MAX_ARGS);
  gen_arg *args = GEN_MAKE(r, gen_arg, n);
  gen_arg_rule *rules = GEN_MAKE(r, gen_arg_rule, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an argument");
    read_arg(r, &args[i], &rules[i], i);
    gen_leave(r);
  }
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an argument");
    if (args[i].dir != GEN_SCALAR) {
      read_buffer(r, &args[i], &rules[i]);
    }
    gen_leave(r);
  }
  r->t->pub.args = args;
  r->t->pub.n_args = n;
  r->t->args = rules;
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "an argument");
    if (args[i].dir != GEN_SCALAR) {
      gen_read_valid(r, &args[i], &rules[i]);
    }
    gen_leave(r);
  }
  gen_leave(r);
}

/* ---- call ------------------------------------------------------------------------------------ */

static const char *call_name(gen_reader *r) {
  const gen_template *t = &r->t->pub;
  const char *names[GEN_MAX_FIELDS + MAX_ARGS];
  size_t n = 0;
  for (size_t i = 0; i < t->n_fields; i++) {
    names[n++] = t->fields[i].name;
  }
  for (size_t i = 0; i < t->n_args; i++) {
    names[n++] = t->args[i].name;
  }
  const char *name = gen_text(r, "an argument of the call");
  for (size_t i = 0; i < n; i++) {
    if (!strcmp(names[i], name)) {
      return names[i];
    }
  }
  fail_unknown(r, "field or argument", name, names, n);
  return NULL;
}

/* The names that the computed fields of the call may read: its arguments. */
static gen_symbols *call_symbols(gen_reader *r, const char *const *call, size_t n) {
  gen_symbols *s = GEN_MAKE(r, gen_symbols, 1);
  for (size_t i = 0; i < n; i++) {
    if (gen_symbol_find(s, call[i], ~0u)) {
      gen_bad(r, "the call has '%s' twice", call[i]);
    }
    gen_symbol_add(s, call[i], GEN_SYMBOL_CALL, i);
  }
  return s;
}

/* What the caller alone knows must be handed over. */
static void check_call(gen_reader *r, const gen_symbols *call) {
  const gen_template *t = &r->t->pub;
  for (size_t i = 0; i < t->n_args; i++) {
    const bool needed = !t->args[i].value && !t->args[i].optional;
    if (needed && !gen_symbol_find(call, t->args[i].name, ~0u)) {
      gen_bad(r, "the call lacks the argument '%s'", t->args[i].name);
    }
  }
}

static const char *any_name(void *ud, const char *name) {
  (void)ud;
  return name;
}

/* The expression here, over the call's arguments; it must be one that C can have. */
static const char *call_expression(gen_reader *r, const gen_symbols *call) {
  err e = {0};
  str c = {0};
  const char *text = gen_text(r, "an expression");
  const gen_expr *x = gen_expr_new(r->b, r->a, text, gen_here(r), call, GEN_READS_CALL);
  int rc = gen_expression_c(x->text, any_name, NULL, &c, &e);
  str_clear(&c);
  if (rc) {
    gen_bad(r, "%s", e.message);
  }
  return x->text;
}

static void read_call_fields(gen_reader *r, const gen_symbols *call) {
  gen_template *t = &r->t->pub;
  gen_pair *pairs = GEN_MAKE(r, gen_pair, t->n_fields);
  t->call_fields = pairs;
  for (size_t i = 0; i < t->n_fields; i++) {
    const char *name = t->fields[i].name;
    if (!gen_enter(r, name)) {
      continue;
    }
    if (gen_symbol_find(call, name, ~0u) && t->fields[i].names) {
      gen_bad(r, "the field '%s' is an argument of the call already", name);
    }
    pairs[t->n_call_fields++] = (gen_pair){name, call_expression(r, call)};
    gen_leave(r);
  }
}

static void read_call_require(gen_reader *r, const gen_symbols *call) {
  gen_template *t = &r->t->pub;
  if (!gen_enter(r, "call_require")) {
    return;
  }
  size_t n = gen_bounded_list(r, "call_require", 256);
  gen_pair *pairs = GEN_MAKE(r, gen_pair, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a requirement");
    const char *reason = gen_first_name(r, "a reason");
    gen_need_at(r, 2, "the expression");
    pairs[i] = (gen_pair){reason, call_expression(r, call)};
    gen_leave(r);
    gen_leave(r);
  }
  t->call_requirements = pairs;
  t->n_call_requirements = n;
  gen_leave(r);
}

void gen_read_call(gen_reader *r) {
  gen_template *t = &r->t->pub;
  const char *keys[GEN_MAX_FIELDS + 1] = {NULL};
  for (size_t i = 0; i < t->n_fields; i++) {
    keys[i] = t->fields[i].name;
  }
  if (!gen_enter(r, "call")) {
    return;
  }
  size_t n = gen_list(r, "call", keys);
  if (n > GEN_MAX_FIELDS + MAX_ARGS) {
    gen_bad(r, "the call has too many arguments");
  }
  const char **names = GEN_MAKE(r, const char *, n);
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a name");
    names[i] = call_name(r);
    gen_leave(r);
  }
  t->call = names;
  t->n_call = n;
  const gen_symbols *symbols = call_symbols(r, names, n);
  check_call(r, symbols);
  read_call_fields(r, symbols);
  gen_leave(r);
  read_call_require(r, symbols);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void read_case(gen_reader *r, const gen_expr **row) {
  const gen_template *t = &r->t->pub;
  const char *keys[MAX_ARGS + 1] = {"(nothing)", NULL};
  size_t n = 0;
  for (size_t i = 0; i < t->n_args; i++) {
    if (t->args[i].sample) {
      keys[n++] = t->args[i].name;
    }
  }
  gen_keys(r, keys);
  for (size_t i = 0; i < t->n_args; i++) {
    if (t->args[i].sample && gen_enter(r, t->args[i].name)) {
      row[i] = gen_numeric(r, GEN_READS_CASE);
      const uint64_t later = row[i]->reads.scalars >> i;
      if (later) {
        gen_bad(r, "'%s' can read only arguments before it, not '%s'", t->args[i].name,
                t->args[i + (size_t)__builtin_ctzll(later)].name);
      }
      gen_leave(r);
    }
  }
}

void gen_read_cases(gen_reader *r) {
  gen_template *t = &r->t->pub;
  bool given = gen_enter(r, "cases");
  size_t n = given ? gen_bounded_list(r, "cases", 1000) : 0;
  t->n_cases = n ? n : 1;
  const gen_expr **cases = GEN_MAKE(r, const gen_expr *, t->n_cases * t->n_args);
  r->t->cases = cases;
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a case");
    read_case(r, cases + i * t->n_args);
    gen_leave(r);
  }
  if (given) {
    gen_leave(r);
  }
}
