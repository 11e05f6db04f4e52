#define _GNU_SOURCE
#include "python.h"

#include <stdlib.h>
#include <string.h>

#include "python_lex.h"

const char python_lists[] = "local function range(from, to, step)\n"
                            "  if not to then from, to = 0, from end\n"
                            "  local r = {}\n"
                            "  for i = from, to - ((step or 1) > 0 and 1 or -1), step or 1 do\n"
                            "    r[#r + 1] = i\n"
                            "  end\n"
                            "  return r\n"
                            "end\n"
                            "local function join(a, b)\n"
                            "  local r = {}\n"
                            "  for _, v in ipairs(a) do r[#r + 1] = v end\n"
                            "  for _, v in ipairs(b) do r[#r + 1] = v end\n"
                            "  return r\n"
                            "end\n"
                            "local function each(list, f)\n"
                            "  local r = {}\n"
                            "  for _, v in ipairs(list) do r[#r + 1] = f(v) end\n"
                            "  return r\n"
                            "end\n"
                            "local function sel(c, a, b) if c then return a end return b end\n"
                            "local sqrt = math.sqrt\n"
                            "local min, max, abs = math.min, math.max, math.abs\n"
                            "local floor, ceil = math.floor, math.ceil\n";

enum { MAX_DEPTH = 60, MAX_NAMES = 128, MAX_ITEMS = 64 };

typedef enum type { FAILED, NUMBER, CONDITION, TEXT, LIST } type;

typedef struct translator {
  const char *text;
  python_lexer x;
  python_name names[MAX_NAMES];
  size_t n_names;
  int depth;
  err *e;
} translator;

static type fail(translator *t, const char *what, const char *word) {
  err_set(t->e, ERR_USAGE, "%s%s%s%s in \"%.200s\"", what, *word ? " '" : "", word,
          *word ? "'" : "", t->text);
  return FAILED;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool advance(translator *t) {
  python_next(&t->x);
  return t->x.kind != PYTHON_BAD || fail(t, "unsupported Python:", t->x.token) != FAILED;
}

static bool is(const translator *t, const char *word) {
  return python_is(&t->x, word);
}

/* Skip the token if it is this one. An error in the next token is reported when that is read. */
static bool accept(translator *t, const char *word) {
  bool yes = is(t, word);
  if (yes) {
    advance(t);
  }
  return yes;
}

static type unexpected(translator *t) {
  return fail(t, t->x.kind == PYTHON_END ? "unexpected end" : "unexpected", t->x.token);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Wrap what was written since `start`. */
static void wrap(str *out, size_t start, const char *before, const char *after) {
  size_t n = strlen(before);
  str_add(out, before);
  if (!out->failed) {
    memmove(out->p + start + n, out->p + start, out->n - n - start);
    memcpy(out->p + start, before, n);
  }
  str_add(out, after);
}

/* A failure stays one, here and below. */
static type as_number(str *out, size_t start, type t) {
  if (t == CONDITION) {
    wrap(out, start, "sel(", ", 1, 0)");
    return NUMBER;
  }
  return t;
}

static type as_condition(translator *t, str *out, size_t start, type is_type) {
  switch (is_type) {
  case NUMBER: wrap(out, start, "(", " ~= 0)"); return CONDITION;
  case TEXT: wrap(out, start, "(", " ~= '')"); return CONDITION;
  case LIST: return fail(t, "a list is not a condition", "");
  default: return is_type;
  }
}

/* ---- operands -------------------------------------------------------------------------------- */

static type expression(translator *t, str *out);
static type operators(translator *t, str *out, int floor);
static type logic(translator *t, str *out, const char *op);

static type number_value(translator *t, str *out) {
  size_t start = out->n;
  type k = as_number(out, start, expression(t, out));
  return !k || k == NUMBER ? k : fail(t, "a number is needed", "");
}

static type literal(translator *t, str *out) {
  char *end;
  strtoll(t->x.token, &end, 0);
  bool whole = !*end;
  if (!whole) {
    strtod(t->x.token, &end);
  }
  if (*end) {
    return fail(t, "not a number:", t->x.token);
  }
  if (whole) {
    str_addf(out, "%lld", strtoll(t->x.token, NULL, 0));
  } else {
    str_add(out, t->x.token);
  }
  return advance(t) ? NUMBER : FAILED;
}

static type string(translator *t, str *out) {
  if (strpbrk(t->x.token, "\\\n")) {
    return fail(t, "a string with a backslash", "");
  }
  str_add(out, t->x.token);
  return advance(t) ? TEXT : FAILED;
}

static const python_name *find_name(const translator *t, const char *name) {
  for (size_t i = t->n_names; i-- > 0;) {
    if (!strcmp(t->names[i].name, name)) {
      return &t->names[i];
    }
  }
  return NULL;
}

typedef struct function {
  const char *name, *lua;
  size_t least, most;
} function;

static const function functions[] = {
    {"min", "min", 1, 200},      {"max", "max", 1, 200},   {"abs", "abs", 1, 1},
    {"int", "floor", 1, 1},      {"round", "round", 1, 1}, {"math.floor", "floor", 1, 1},
    {"math.ceil", "ceil", 1, 1}, {"floor", "floor", 1, 1}, {"ceil", "ceil", 1, 1},
    {"math.sqrt", "sqrt", 1, 1}, {"sqrt", "sqrt", 1, 1},   {"bool", "bool", 1, 1},
};

/* min([a, b]) is min(a, b) */
static type arguments(translator *t, str *out, const function *f) {
  bool list = accept(t, "[");
  size_t n = 0;
  do {
    str_add(out, n ? ", " : "");
    if (!number_value(t, out)) {
      return FAILED;
    }
    n++;
  } while (accept(t, ","));
  if ((list && !accept(t, "]")) || !accept(t, ")")) {
    return unexpected(t);
  }
  return n >= f->least && n <= f->most ? NUMBER : fail(t, "wrong number of arguments of", f->name);
}

static type call_function(translator *t, const function *f, str *out) {
  size_t start = out->n;
  type k = arguments(t, out, f);
  if (!k) {
    return FAILED;
  }
  if (!strcmp(f->lua, "round")) { /* halves do not occur, since numbers are whole */
    wrap(out, start, "floor(", " + 0.5)");
  } else if (!strcmp(f->lua, "bool")) {
    return as_condition(t, out, start, NUMBER);
  } else {
    auto_str open = {0};
    str_addf(&open, "%s(", f->lua);
    wrap(out, start, str_text(&open), ")");
  }
  return NUMBER;
}

static type call_list(translator *t, const char *name, str *out) {
  if (strcmp(name, "range")) { /* list(...), tuple(...) */
    type k = expression(t, out);
    return !k               ? k
           : k != LIST      ? fail(t, "a list is needed", "")
           : accept(t, ")") ? k
                            : unexpected(t);
  }
  str_add(out, "range(");
  type k = arguments(t, out, &(function){"range", "range", 1, 3});
  str_add(out, ")");
  return k ? LIST : FAILED;
}

static type call(translator *t, const char *name, str *out) {
  if (!strcmp(name, "range") || !strcmp(name, "list") || !strcmp(name, "tuple")) {
    return call_list(t, name, out);
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (!strcmp(name, functions[i].name)) {
      return call_function(t, &functions[i], out);
    }
  }
  return fail(t, "unknown function:", name);
}

static type word(translator *t, str *out) {
  char name[PYTHON_MAX_TOKEN];
  strcpy(name, t->x.token);
  if (!advance(t)) {
    return FAILED;
  }
  if (!strcmp(name, "True") || !strcmp(name, "False")) {
    str_add(out, name[0] == 'T' ? "true" : "false");
    return CONDITION;
  }
  if (accept(t, "(")) {
    return call(t, name, out);
  }
  const python_name *known = find_name(t, name);
  if (!known) {
    return fail(t, "unknown parameter", name);
  }
  str_add(out, name);
  return known->is_text ? TEXT : NUMBER;
}

/* [e for i in list if c], from `for` on; the element was written since `start` */
static type comprehension(translator *t, str *out, size_t start, const char *variable) {
  auto_str element = {0}, condition = {0};
  str_add_n(&element, str_text(out) + start, out->n - start);
  if (!out->failed) {
    out->n = start;
    out->p[start] = 0;
  }
  str_add(out, "each(");
  t->n_names--; /* the list does not see the variable */
  type k = accept(t, "in") ? operators(t, out, 0) : unexpected(t);
  t->n_names++;
  if (k && k != LIST) {
    k = fail(t, "a list is needed after `in`", "");
  }
  if (k && accept(t, "if")) {
    k = as_condition(t, &condition, 0, logic(t, &condition, "or"));
  }
  str_addf(out, ", function(%s) if %s then return %s end end)", variable,
           condition.n ? str_text(&condition) : "true", str_text(&element));
  out->failed = out->failed || element.failed || condition.failed;
  return k ? LIST : FAILED;
}

/* A comprehension names its variable after using it: look ahead for `for NAME in` at this bracket's
 * level. */
static bool find_variable(const translator *t, char *name) {
  translator ahead = *t;
  ahead.e = NULL;
  for (int depth = 0; depth >= 0 && ahead.x.kind != PYTHON_END;) {
    depth += is(&ahead, "[") || is(&ahead, "(");
    depth -= is(&ahead, "]") || is(&ahead, ")");
    bool here = depth == 0 && is(&ahead, "for");
    if (!advance(&ahead)) {
      return false;
    }
    if (here) {
      strcpy(name, ahead.x.token);
      return ahead.x.kind == PYTHON_NAME && !strchr(name, '.');
    }
  }
  return false;
}

static type element(translator *t, str *out) {
  size_t start = out->n;
  type k = as_number(out, start, expression(t, out));
  return k == LIST ? fail(t, "a list in a list", "") : k;
}

/* After [, or after ( when `end` is ) */
static type list(translator *t, str *out, const char *end) {
  size_t start = out->n;
  char variable[PYTHON_MAX_TOKEN];
  if (find_variable(t, variable)) {
    if (t->n_names == MAX_NAMES) {
      return fail(t, "too many names", "");
    }
    t->names[t->n_names++] = (python_name){variable, false};
    type k = element(t, out);
    k = !k                     ? k
        : !accept(t, "for")    ? unexpected(t)
        : !accept(t, variable) ? unexpected(t)
                               : comprehension(t, out, start, variable);
    t->n_names--;
    return !k ? k : accept(t, end) ? LIST : unexpected(t);
  }
  str_add(out, "{");
  while (!is(t, end)) {
    if (!element(t, out) || (!is(t, end) && !accept(t, ","))) {
      return t->e && t->e->code ? FAILED : unexpected(t);
    }
    str_add(out, ", ");
  }
  str_add(out, "}");
  return accept(t, end) ? LIST : FAILED;
}

static type parentheses(translator *t, str *out) {
  str_add(out, "(");
  type k = expression(t, out);
  if (k && is(t, ",")) {
    return fail(t, "a tuple is allowed only after `in`", "");
  }
  str_add(out, ")");
  return !k ? k : accept(t, ")") ? k : unexpected(t);
}

static type operand(translator *t, str *out) {
  enum { UNARY = 11 };
  static const char *const signs[] = {"-", "+", "~"};
  for (size_t i = 0; i < 3; i++) {
    if (accept(t, signs[i])) {
      str_add(out, i == 1 ? "(" : i ? "(~" : "(-");
      size_t start = out->n;
      type k = as_number(out, start, operators(t, out, UNARY));
      str_add(out, ")");
      return !k || k == NUMBER ? k : fail(t, "a number is needed after", signs[i]);
    }
  }
  switch (t->x.kind) {
  case PYTHON_NUMBER: return literal(t, out);
  case PYTHON_STRING: return string(t, out);
  case PYTHON_NAME: return word(t, out);
  default: break;
  }
  return accept(t, "(") ? parentheses(t, out) : accept(t, "[") ? list(t, out, "]") : unexpected(t);
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct arithmetic {
  const char *python, *lua;
  int left, right;
} arithmetic;

static const arithmetic table[] = {
    {"|", "|", 5, 5},     {"^", "~", 6, 6},   {"&", "&", 7, 7},   {"<<", "<<", 8, 8},
    {">>", ">>", 8, 8},   {"+", "+", 9, 9},   {"-", "-", 9, 9},   {"*", "*", 10, 10},
    {"//", "//", 10, 10}, {"/", "/", 10, 10}, {"%", "%", 10, 10}, {"**", "^", 14, 10},
};

static const arithmetic *arithmetic_at(const translator *t) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (t->x.kind == PYTHON_OPERATOR && !strcmp(t->x.token, table[i].python)) {
      return &table[i];
    }
  }
  return NULL;
}

static type apply(translator *t, str *out, size_t start, const arithmetic *a, type left) {
  auto_str right = {0};
  type k = advance(t) ? operators(t, &right, a->right) : FAILED;
  if (k && left == LIST && k == LIST && !strcmp(a->python, "+")) {
    wrap(out, start, "join(", ", ");
    str_addf(out, "%s)", str_text(&right));
  } else if (k) {
    left = as_number(out, start, left);
    k = as_number(&right, 0, k);
    if (left != NUMBER || k != NUMBER) {
      k = fail(t, "numbers are needed on both sides of", a->python);
    }
    wrap(out, start, "(", "");
    str_addf(out, " %s %s)", a->lua, str_text(&right));
  }
  out->failed = out->failed || right.failed;
  return k;
}

/* Arithmetic only; comparisons and logic bind more loosely. */
static type operators(translator *t, str *out, int floor) {
  size_t start = out->n;
  if (++t->depth > MAX_DEPTH) {
    return fail(t, "nested too deeply", "");
  }
  type k = operand(t, out);
  for (const arithmetic *a; k && (a = arithmetic_at(t)) && a->left > floor;) {
    k = apply(t, out, start, a, k);
  }
  t->depth--;
  return k;
}

/* x in (a, b): (x == a or x == b). `left` holds x; called after `in` */
static type membership(translator *t, const char *left, bool negated, str *out) {
  const char *end = accept(t, "[") ? "]" : accept(t, "(") ? ")" : NULL;
  if (!end) {
    return fail(t, "a list in brackets is needed after `in`", "");
  }
  str_add(out, negated ? "(not (" : "((");
  for (size_t n = 0; !is(t, end); n++) {
    str_addf(out, "%s%s == ", n ? " or " : "", left);
    if (n == MAX_ITEMS) {
      return fail(t, "the list after `in` is too long", "");
    }
    if (!element(t, out) || (!is(t, end) && !accept(t, ","))) {
      return t->e && t->e->code ? FAILED : unexpected(t);
    }
  }
  if (out->n && out->p[out->n - 1] == '(') {
    str_add(out, "false");
  }
  str_add(out, "))");
  return accept(t, end) ? CONDITION : FAILED;
}

static const char *comparison_at(translator *t) {
  static const char *const words[][2] = {{"==", "=="}, {"!=", "~="}, {"<=", "<="},
                                         {">=", ">="}, {"<", "<"},   {">", ">"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (accept(t, words[i][0])) {
      return words[i][1];
    }
  }
  return NULL;
}

/* Convert both sides to one kind: Lua distinguishes 1 from true and rejects 1 < "a". */
static type compare(translator *t, const char *op, str *left, type *left_type, str *out) {
  str right = {0};
  type k = as_number(&right, 0, operators(t, &right, 0));
  *left_type = as_number(left, 0, *left_type);
  if (k && (k != *left_type || k == LIST)) {
    bool never = k != LIST && *left_type != LIST && op[1] == '=' && (op[0] == '=' || op[0] == '~');
    k = never ? k : fail(t, "cannot compare these by", op);
  }
  str_addf(out, "(%s %s %s)", str_text(left), op, str_text(&right));
  str_clear(left);
  *left = right;
  *left_type = k;
  return k ? CONDITION : FAILED;
}

/* One comparison of a chain: a < b <= c is (a < b) and (b <= c). FAILED without an error: none
 * follows. */
static type comparison(translator *t, str *left, type *left_type, str *out, bool first) {
  bool negated = is(t, "not");
  if (negated || is(t, "in")) {
    if ((negated && !accept(t, "not")) || !is(t, "in") || !accept(t, "in")) {
      return unexpected(t);
    }
    str_add(out, first ? "" : " and ");
    *left_type = as_number(left, 0, *left_type);
    return membership(t, str_text(left), negated, out);
  }
  const char *op = comparison_at(t);
  if (!op) {
    return FAILED;
  }
  str_add(out, first ? "" : " and ");
  return compare(t, op, left, left_type, out);
}

static bool at_comparison(const translator *t) {
  static const char *const words[] = {"==", "!=", "<=", ">=", "<", ">", "in", "not"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (is(t, words[i])) {
      return true;
    }
  }
  return false;
}

static type comparisons(translator *t, str *out) {
  auto_str left = {0}, all = {0};
  size_t n = 0;
  type left_type = operators(t, &left, 0), k = left_type;
  while (k && at_comparison(t)) {
    k = comparison(t, &left, &left_type, &all, n++ == 0);
  }
  if (n) {
    str_addf(out, n > 1 ? "(%s)" : "%s", str_text(&all));
  } else {
    str_add(out, str_text(&left));
  }
  out->failed = out->failed || left.failed || all.failed;
  return k;
}

static type negation(translator *t, str *out) {
  size_t start = out->n;
  if (!accept(t, "not")) {
    return comparisons(t, out);
  }
  if (++t->depth > MAX_DEPTH) {
    return fail(t, "nested too deeply", "");
  }
  type k = as_condition(t, out, start, negation(t, out));
  t->depth--;
  wrap(out, start, "(not ", ")");
  return k;
}

/* op: "and" or "or"; a single operand keeps its type */
static type logic(translator *t, str *out, const char *op) {
  size_t start = out->n;
  bool is_or = !strcmp(op, "or");
  type k = is_or ? logic(t, out, "and") : negation(t, out);
  bool any = false;
  while (k && is(t, op)) {
    accept(t, op);
    k = any ? CONDITION : as_condition(t, out, start, k);
    str_addf(out, " %s ", op);
    size_t from = out->n;
    type right = !k ? FAILED : is_or ? logic(t, out, "and") : negation(t, out);
    k = as_condition(t, out, from, right);
    any = true;
  }
  if (any) {
    wrap(out, start, "(", ")");
  }
  return k;
}

/* x if c else y */
static type choice(translator *t, str *out, size_t start, type k) {
  auto_str c = {0}, other = {0};
  type is_c = as_condition(t, &c, 0, logic(t, &c, "or"));
  type k2 = !is_c ? FAILED : accept(t, "else") ? expression(t, &other) : unexpected(t);
  if (k2 && k2 != k) {
    k = as_number(out, start, k);
    k2 = as_number(&other, 0, k2);
  }
  auto_str head = {0};
  str_addf(&head, "sel(%s, ", str_text(&c));
  wrap(out, start, str_text(&head), ", ");
  str_addf(out, "%s)", str_text(&other));
  return !k2 ? FAILED : k == k2 ? k : fail(t, "`if` needs two values of one kind", "");
}

static type expression(translator *t, str *out) {
  size_t start = out->n;
  if (++t->depth > MAX_DEPTH) {
    return fail(t, "nested too deeply", "");
  }
  type k = logic(t, out, "or");
  if (k && accept(t, "if")) {
    k = choice(t, out, start, k);
  }
  t->depth--;
  return k;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int finish(translator *t, type k, str *out, err *e) {
  if (k && t->x.kind != PYTHON_END) {
    k = unexpected(t);
  }
  if (!k || t->e->code) {
    return err_set(e, t->e->code ? t->e->code : ERR_USAGE, "%s", t->e->message);
  }
  return out->failed ? err_nomem(e) : 0;
}

static translator over(const char *text, const python_name *names, size_t n, err *inner) {
  translator t = {.text = text, .x.p = text, .e = inner};
  for (; t.n_names < n && t.n_names < MAX_NAMES; t.n_names++) {
    t.names[t.n_names] = names[t.n_names];
  }
  return t;
}

int python_condition(const char *text, const python_name *names, size_t n, str *out, err *e) {
  err inner = {0};
  translator t = over(text, names, n, &inner);
  size_t start = out->n;
  type k = advance(&t) ? as_condition(&t, out, start, expression(&t, out)) : FAILED;
  return finish(&t, k, out, e);
}

int python_number(const char *text, const python_name *names, size_t n, str *out, err *e) {
  err inner = {0};
  translator t = over(text, names, n, &inner);
  size_t start = out->n;
  type k = advance(&t) ? as_number(out, start, expression(&t, out)) : FAILED;
  if (k && k != NUMBER) {
    k = fail(&t, "a number is needed", "");
  }
  return finish(&t, k, out, e);
}

int python_list(const char *text, str *out, err *e) {
  err inner = {0};
  translator t = {.text = text, .x.p = text, .e = &inner};
  type k = advance(&t) ? expression(&t, out) : FAILED;
  if (k && k != LIST) {
    k = fail(&t, "a list is needed", "");
  }
  return finish(&t, k, out, e);
}
