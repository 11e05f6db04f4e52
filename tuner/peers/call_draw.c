#define _GNU_SOURCE
#include "call_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_kind.h"
#include "expr.h"
#include "tuner_files.h"

enum { NAMES_MOST = 96, ITEMS_MOST = 32, TRIES = 1000 };
enum { ALIGNMENT = 256, SHIFT_MOST = 15, ALIGNED_OF_TEN = 7 };

typedef struct item { /* of a list: an expression, or a range of two */
  const expr_node *from, *to;
} item;

typedef struct axis { /* a name, and what it is drawn from */
  const char *name;
  const gen_field *field; /* NULL: none has that name */
  const gen_arg *arg;
  item items[ITEMS_MOST];
  size_t n; /* 0: drawn by what it is */
} axis;

struct call_drawer {
  gen_template *t;
  arena memory;
  axis axes[NAMES_MOST]; /* in the order in which they are drawn */
  size_t n;
  gen_symbols symbols; /* the axes */
  expr_value values[NAMES_MOST];
  const expr_node *fields[GEN_MAX_FIELDS], *requirements[64];
  int64_t most;
  uint64_t state;
};

/* ---- random numbers -------------------------------------------------------------------------- */

/* src: Vigna, xorshift64* */
static uint64_t next(call_drawer *d) {
  d->state ^= d->state >> 12;
  d->state ^= d->state << 25;
  d->state ^= d->state >> 27;
  return d->state * UINT64_C(2685821657736338717);
}

static double unit(call_drawer *d) {
  return (double)(next(d) >> 11) * 0x1p-53;
}

static size_t below(call_drawer *d, size_t n) {
  return (size_t)(unit(d) * (double)n);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t axis_find(const call_drawer *d, const char *name) {
  size_t i = 0;
  while (i < d->n && strcmp(d->axes[i].name, name)) {
    i++;
  }
  return i;
}

static int axis_add(call_drawer *d, const char *name, axis **out, err *e) {
  if (d->n == NAMES_MOST) {
    return err_set(e, ERR_USAGE, "%s: more than %d names are drawn", d->t->name, NAMES_MOST);
  }
  gen_symbol_add(&d->symbols, name, GEN_SYMBOL_SCALAR, d->n);
  *out = &d->axes[d->n++];
  **out = (axis){.name = name,
                 .field = gen_field_find(d->t, name, strlen(name)),
                 .arg = gen_arg_find(d->t, name)};
  return 0;
}

static bool is_in_call(const gen_template *t, const char *name) {
  size_t i = 0;
  while (i < t->n_call && strcmp(t->call[i], name)) {
    i++;
  }
  return i < t->n_call;
}

static bool is_buffer(const axis *x) {
  return x->arg && x->arg->dir != GEN_SCALAR;
}

static bool is_choice(const axis *x) {
  return x->field && (x->field->names || x->field->choices);
}

static bool is_names(const axis *x) { /* of kinds of data */
  return !strcmp(x->name, "data") || !strcmp(x->name, "cuts");
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static int parse(call_drawer *d, const axis *x, const char *text, const expr_node **out, err *e) {
  const expr_scope scope = {&d->symbols, GEN_SYMBOL_SCALAR};
  size_t choice;
  err why = {0};
  if (is_names(x) || (x->field && x->field->names && gen_field_choice(x->field, text, &choice))) {
    expr_node *node = ARENA_ARRAY(&d->memory, expr_node, 1);
    const char *copy = arena_text(&d->memory, text);
    TRY(node && copy ? 0 : err_nomem(e));
    *node = (expr_node){.op = EXPR_VALUE, .types = EXPR_TEXT, .value = expr_text(copy)};
    *out = node;
    return 0;
  }
  const int rc = expr_parse(&scope, &d->memory, text, NULL, out, &why);
  return rc ? err_set(e, ERR_USAGE, "%s: %s: %s", d->t->name, x->name, why.message) : 0;
}

/* The first of these characters outside of parentheses, or the end of the text. */
static char *find_outside(char *p, const char *ends) {
  int depth = 0;
  for (; *p && (depth || !strchr(ends, *p)); p++) {
    depth += (*p == '(') - (*p == ')');
  }
  return p;
}

static int read_item(call_drawer *d, axis *x, char *text, err *e) {
  char *dots = strstr(text, "..");
  if (x->n == ITEMS_MOST) {
    return err_set(e, ERR_USAGE, "%s: %s has more than %d values", d->t->name, x->name, ITEMS_MOST);
  }
  item *it = &x->items[x->n++];
  if (dots) {
    *dots = 0;
    TRY(parse(d, x, dots + 2, &it->to, e));
  }
  return parse(d, x, text, &it->from, e);
}

/* A name is known to expressions after its own. */
static int read_axis(call_drawer *d, char *word, err *e) {
  char *p = strchr(word, '=');
  axis mine = {0}, *x;
  if (!p || p == word) {
    return err_set(e, ERR_USAGE, "%s: '%s' is not NAME=VALUES", d->t->name, word);
  }
  *p++ = 0;
  if (axis_find(d, word) < d->n) {
    return err_set(e, ERR_USAGE, "%s: %s is drawn twice", d->t->name, word);
  }
  mine.name = word;
  mine.field = gen_field_find(d->t, word, strlen(word));
  for (bool more = true; more;) {
    char *end = find_outside(p, ",");
    more = *end;
    *end = 0;
    TRY(read_item(d, &mine, p, e));
    p = end + 1;
  }
  TRY(axis_add(d, word, &x, e));
  memcpy(x->items, mine.items, sizeof x->items);
  x->n = mine.n;
  return 0;
}

static int read_line(call_drawer *d, char *line, err *e) {
  line[strcspn(line, "#")] = 0;
  for (bool more = true; more;) {
    char *end = find_outside(line, " \t");
    more = *end;
    *end = 0;
    TRY(*line ? read_axis(d, line, e) : 0);
    line = end + 1;
  }
  return 0;
}

static int read_lines(call_drawer *d, char *text, err *e) {
  for (char *line; (line = strsep(&text, "\n"));) {
    TRY(read_line(d, line, e));
  }
  return 0;
}

static bool is_named(const char *lines, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = lines; (p = strstr(p, name)); p += n) {
    if ((p == lines || strchr(" \t\n", p[-1])) && p[n] == '=' && p[n + 1] != '=') {
      return true;
    }
  }
  return false;
}

/* Choices that no line names come first: lines may read them. Buffers come last. */
static int add_rest(call_drawer *d, const char *lines, bool buffers, err *e) {
  for (size_t i = 0; i < d->t->n_call; i++) {
    const char *name = d->t->call[i];
    axis x = {.field = gen_field_find(d->t, name, strlen(name)), .arg = gen_arg_find(d->t, name)};
    axis *added;
    if (!is_named(lines, name) && (buffers ? is_buffer(&x) : is_choice(&x))) {
      TRY(axis_add(d, name, &added, e));
    }
  }
  return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int find_section(call_drawer *d, char **out, err *e) {
  char head[GEN_MAX_NAME + 4];
  const gen_file *file = tuner_file("calls.txt");
  snprintf(head, sizeof head, "[%s]\n", d->t->name);
  const char *at = file ? strstr(file->text, head) : NULL;
  if (!at || !d->t->n_call) {
    return err_set(e, ERR_NOTFOUND, "%s has no typed call whose arguments are known", d->t->name);
  }
  at += strlen(head);
  const char *end = strstr(at, "\n[");
  *out = arena_format(&d->memory, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
  return *out ? 0 : err_nomem(e);
}

static int parse_pairs(call_drawer *d, const gen_pair *list, size_t n, bool named,
                       const expr_node **out, err *e) {
  const expr_scope scope = {&d->symbols, GEN_SYMBOL_SCALAR};
  for (size_t i = 0; i < n; i++) {
    err why = {0};
    if (expr_parse(&scope, &d->memory, list[i].expression, NULL, &out[i], &why)) {
      return err_set(e, ERR_USAGE, "%s: %s: %s: no line says what is drawn", d->t->name,
                     named ? list[i].name : list[i].expression, why.message);
    }
  }
  return 0;
}

static int fill_in(call_drawer *d, const char *lines, err *e) {
  const gen_template *t = d->t;
  char *text = NULL;
  if (lines) {
    text = arena_text(&d->memory, lines);
    TRY(text ? 0 : err_nomem(e));
  } else {
    TRY(find_section(d, &text, e));
  }
  const char *whole = arena_text(&d->memory, text);
  TRY(whole ? 0 : err_nomem(e));
  TRY(add_rest(d, whole, false, e));
  TRY(read_lines(d, text, e));
  TRY(add_rest(d, whole, true, e));
  if (t->n_call_requirements > sizeof d->requirements / sizeof *d->requirements) {
    return err_set(e, ERR_LIMIT, "%s: the call requires too much", t->name);
  }
  TRY(parse_pairs(d, t->call_fields, t->n_call_fields, true, d->fields, e));
  return parse_pairs(d, t->call_requirements, t->n_call_requirements, false, d->requirements, e);
}

int call_drawer_open(gen_template *t, const char *lines, int64_t most, uint64_t seed,
                     call_drawer **out, err *e) {
  call_drawer *d = calloc(1, sizeof *d);
  *out = d;
  TRY(d ? 0 : err_nomem(e));
  d->t = t;
  d->most = most;
  d->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  const int rc = fill_in(d, lines, e);
  if (rc) {
    call_drawer_close(d);
    *out = NULL;
  }
  return rc;
}

void call_drawer_close(call_drawer *d) {
  if (d) {
    arena_clear(&d->memory);
    free(d);
  }
}

/* ---- drawing --------------------------------------------------------------------------------- */

static int evaluate(call_drawer *d, const char *name, const expr_node *x, expr_value *out, err *e) {
  const expr_env env = {.values = {[EXPR_SCALAR] = d->values}};
  char why[200];
  if (expr_eval(x, &env, out)) {
    *out = expr_whole(out);
    return 0;
  }
  expr_explain(x, &env, why, sizeof why);
  return err_set(e, ERR_USAGE, "%s: %s: %s", d->t->name, name, why);
}

static int draw_range(call_drawer *d, const axis *x, const item *it, expr_value *v, err *e) {
  expr_value to;
  TRY(evaluate(d, x->name, it->to, &to, e));
  if (v->type != EXPR_INTEGER || to.type != EXPR_INTEGER) {
    return err_set(e, ERR_USAGE, "%s: %s: a range has two whole ends", d->t->name, x->name);
  }
  const int64_t high = d->most && to.i > d->most ? d->most : to.i;
  const int64_t low = v->i < high ? v->i : high;
  const double from = low > 0 ? log((double)low) : (double)low;
  const double until = low > 0 ? log((double)high + 1) : (double)high + 1;
  const double at = from + unit(d) * (until - from);
  const int64_t i = (int64_t)floor(low > 0 ? exp(at) : at);
  *v = expr_integer(i < low ? low : i > high ? high : i);
  return 0;
}

static expr_value draw_choice(call_drawer *d, const gen_field *f) {
  return f->names ? expr_text(f->names[below(d, f->n_names)])
                  : expr_integer(f->choices[below(d, f->n_choices)]);
}

/* The buffer's place behind an aligned address, in elements. */
static expr_value draw_place(call_drawer *d, bool aligned) {
  return expr_integer(aligned ? 0 : (int64_t)below(d, SHIFT_MOST + 1));
}

static int draw_axis(call_drawer *d, size_t i, bool aligned, err *e) {
  const axis *x = &d->axes[i];
  expr_value *v = &d->values[i];
  if (x->n) {
    const item *it = &x->items[below(d, x->n)];
    TRY(evaluate(d, x->name, it->from, v, e));
    return it->to ? draw_range(d, x, it, v, e) : 0;
  }
  *v = is_buffer(x) ? draw_place(d, aligned) : draw_choice(d, x->field);
  return 0;
}

/* The bytes of an element: its type may be a field's value. */
static int element_nbytes(const call_drawer *d, const gen_arg *a, int64_t *out, err *e) {
  dtype type;
  const size_t i = axis_find(d, a->type);
  const char *name = i < d->n && d->values[i].type == EXPR_TEXT ? d->values[i].s : a->type;
  if (!dtype_parse(name, &type)) {
    return err_set(e, ERR_USAGE, "%s: no line draws %s, the type of %s", d->t->name, a->type,
                   a->name);
  }
  *out = (int64_t)dtype_nbytes(type);
  return 0;
}

/* From elements to the addresses that the call's expressions read. */
static int place_buffers(call_drawer *d, drawn_call *c, err *e) {
  for (size_t i = 0; i < d->n; i++) {
    const axis *x = &d->axes[i];
    if (is_buffer(x)) {
      int64_t size = 0;
      TRY(element_nbytes(d, x->arg, &size, e));
      if (d->values[i].i) {
        str_addf(&c->text, " %s+%" PRId64, x->name, d->values[i].i);
      }
      c->shifts[x->arg - d->t->args] = (uint64_t)(d->values[i].i * size);
      d->values[i].i = ALIGNMENT + d->values[i].i * size;
    }
  }
  return 0;
}

static void add_value(const expr_value *v, str *out) {
  if (v->type == EXPR_TEXT) {
    str_add(out, v->s);
  } else if (v->type == EXPR_INTEGER) {
    str_addf(out, "%" PRId64, v->i);
  } else {
    str_addf(out, "%.9g", expr_number(v));
  }
}

static void describe(const call_drawer *d, str *out) {
  for (size_t i = 0; i < d->n; i++) {
    if (!is_buffer(&d->axes[i])) {
      str_addf(out, "%s%s=", out->n ? " " : "", d->axes[i].name);
      add_value(&d->values[i], out);
    }
  }
}

static int is_allowed(call_drawer *d, bool *yes, err *e) {
  *yes = true;
  for (size_t i = 0; *yes && i < d->t->n_call_requirements; i++) {
    expr_value v;
    TRY(evaluate(d, d->t->call_requirements[i].name, d->requirements[i], &v, e));
    *yes = expr_true(&v);
  }
  return 0;
}

static bool is_computed(const gen_template *t, const char *field) {
  for (size_t i = 0; i < t->n_call_fields; i++) {
    if (!strcmp(t->call_fields[i].name, field)) {
      return true;
    }
  }
  return false;
}

static int make_problem(call_drawer *d, gen_problem *p, err *e) {
  auto_str text = {0};
  for (size_t i = 0; i < d->n; i++) {
    const axis *x = &d->axes[i];
    if (x->field && is_in_call(d->t, x->name) && !is_computed(d->t, x->name)) {
      str_addf(&text, "%s=", x->name);
      add_value(&d->values[i], &text);
      str_add(&text, " ");
    }
  }
  for (size_t i = 0; i < d->t->n_call_fields; i++) {
    expr_value v;
    TRY(evaluate(d, d->t->call_fields[i].name, d->fields[i], &v, e));
    str_addf(&text, "%s=", d->t->call_fields[i].name);
    add_value(&v, &text);
    str_add(&text, " ");
  }
  return gen_problem_parse(d->t, str_text(&text), p, e);
}

static int take_scalars(const call_drawer *d, drawn_call *c, err *e) {
  for (size_t i = 0; i < d->n; i++) {
    const axis *x = &d->axes[i];
    dtype type;
    if (!x->arg || is_buffer(x) || !is_in_call(d->t, x->name)) {
      continue;
    }
    const size_t at = (size_t)(x->arg - d->t->args);
    if (!dtype_parse(x->arg->type, &type) || d->values[i].type == EXPR_TEXT) {
      return err_set(e, ERR_USAGE, "%s: %s is not a number", d->t->name, x->name);
    }
    c->given[at] = true;
    c->bits[at] = d->values[i].type == EXPR_INTEGER && !dtype_is_float(type)
                      ? (uint64_t)d->values[i].i
                      : dtype_encode(type, expr_number(&d->values[i]));
  }
  return 0;
}

static const char *word_of(const call_drawer *d, const char *name) {
  const size_t i = axis_find(d, name);
  return i < d->n ? d->values[i].s : NULL;
}

static int draw_once(call_drawer *d, drawn_call *c, bool *allowed, err *e) {
  const bool aligned = below(d, 10) < ALIGNED_OF_TEN;
  memset(d->values, 0, sizeof d->values);
  for (size_t i = 0; i < d->n; i++) {
    TRY(draw_axis(d, i, aligned, e));
  }
  str_reset(&c->text);
  describe(d, &c->text);
  TRY(place_buffers(d, c, e));
  return is_allowed(d, allowed, e);
}

int call_draw(call_drawer *d, drawn_call *c, err *e) {
  bool allowed = false;
  *c = (drawn_call){.seed = next(d)};
  for (int i = 0; !allowed; i++) {
    if (i == TRIES) {
      return err_set(e, ERR_USAGE, "%s: none of %d draws is a call that it allows", d->t->name,
                     TRIES);
    }
    TRY(draw_once(d, c, &allowed, e));
  }
  c->data = word_of(d, "data");
  c->cuts = word_of(d, "cuts");
  TRY(take_scalars(d, c, e));
  return make_problem(d, &c->p, e);
}

void drawn_call_clear(drawn_call *c) {
  str_clear(&c->text);
}

/* ---- its data -------------------------------------------------------------------------------- */

static int fill_buffer(const drawn_call *c, const gen_datum *m, size_t arg, rt_captured *x,
                       err *e) {
  const char *kind = m->fill == GEN_FILL_SORTED && c->cuts ? c->cuts : c->data;
  if (!kind || !data_kind_applies(kind, m)) {
    return 0;
  }
  unsigned char *bytes = arena_new(&x->memory, m->count * dtype_nbytes(m->type) + 1);
  TRY(bytes ? 0 : err_nomem(e));
  data_kind_fill(kind, m, c->seed + arg, bytes);
  x->bytes[arg] = bytes;
  return 0;
}

int drawn_call_data(const drawn_call *c, gen_instance *g, const gen_template *t, rt_captured *x,
                    err *e) {
  const gen_data *sample;
  uint64_t bits[64];
  *x = (rt_captured){.shifts = c->shifts};
  TRY(gen_data_make(g, 0, &x->memory, &sample, e));
  for (size_t i = 0; i < t->n_args; i++) {
    bits[i] = c->given[i] ? c->bits[i] : sample->args[i].bits;
  }
  TRY(gen_data_given(g, bits, &x->memory, &x->data, e));
  x->bytes = ARENA_ARRAY(&x->memory, const unsigned char *, t->n_args + 1);
  TRY(x->bytes ? 0 : err_nomem(e));
  for (size_t i = 0; i < t->n_args; i++) {
    TRY(t->args[i].dir == GEN_IN ? fill_buffer(c, &x->data->args[i], i, x, e) : 0);
  }
  return 0;
}
