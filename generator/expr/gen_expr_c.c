/* An expression as C, for exported headers and the typed calls.
 *
 * Lua's operators bind as C's do, with one exception: == binds like < in Lua and weaker in C. Where
 * that matters one operand of == would be a condition and the other a number, and a condition is
 * never a number here; so the types, which are tracked for `and` and `or` anyway, exclude it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"
#include "gen_lex.h"

typedef enum type { FAILED, NUMBER, CONDITION, TEXT } type;

typedef struct writer {
  gen_lexer lexer;
  gen_token now;
  const char *text;
  const char *(*name)(void *, const char *);
  void *ud;
  str *out;
  err *e;
  int depth;
} writer;

enum { MAX_DEPTH = 100 };

static type fail(writer *w, const char *why) {
  err_set(w->e, ERR_TEMPLATE, "%s, in \"%s\"", why, w->text);
  return FAILED;
}

static void advance(writer *w) {
  w->now = gen_lex_next(&w->lexer);
}
static bool is(const writer *w, const char *text) {
  return gen_token_is(&w->now, text);
}

static bool accept(writer *w, const char *text) {
  bool yes = w->now.kind != GEN_TOKEN_STRING && is(w, text);
  if (yes) {
    advance(w);
  }
  return yes;
}

/* Put text in front of what was written since `start`. */
static void insert(writer *w, size_t start, const char *text) {
  size_t n = strlen(text);
  str_add(w->out, text);
  if (!w->out->failed) {
    memmove(w->out->p + start + n, w->out->p + start, w->out->n - n - start);
    memcpy(w->out->p + start, text, n);
  }
}

static type expression(writer *w, int floor);

/* ---- operands -------------------------------------------------------------------------------- */

static bool copy_token(const gen_token *t, char *out, size_t size) {
  return (size_t)snprintf(out, size, "%.*s", (int)t->n, t->p) < size;
}

/* A whole number, or false. */
static bool whole(const gen_token *t, long long *v) {
  char text[64], *end;
  errno = 0;
  if (t->kind != GEN_TOKEN_NUMBER || !copy_token(t, text, sizeof text)) {
    return false;
  }
  *v = strtoll(text, &end, strpbrk(text, "xX") ? 16 : 10);
  return !*end && !errno;
}

/* LL from 2^15 on, so that no product of two constants overflows an int. */
static void add_whole(writer *w, long long v) {
  str_addf(w->out, v > SHRT_MAX ? "%lldLL" : "%lld", v);
}

/* 2^24: the one power that C can be given. */
static type power(writer *w, long long base) {
  long long n, v = 1;
  if (!whole(&w->now, &n) || n > 62) {
    return fail(w, "C has no ^ but of two whole numbers");
  }
  for (; n > 0; n--) {
    if (__builtin_mul_overflow(v, base, &v)) {
      return fail(w, "a number is too large");
    }
  }
  advance(w);
  add_whole(w, v);
  return NUMBER;
}

static type number(writer *w) {
  long long v;
  gen_token t = w->now;
  bool is_whole = whole(&t, &v);
  advance(w);
  if (accept(w, "^")) {
    return is_whole ? power(w, v) : fail(w, "C has no ^ but of two whole numbers");
  }
  if (is_whole) {
    add_whole(w, v);
  } else {
    str_add_n(w->out, t.p, t.n);
  }
  return NUMBER;
}

static type group(writer *w) {
  str_add(w->out, "(");
  type t = expression(w, 0);
  if (t && !accept(w, ")")) {
    return fail(w, "a ) is missing");
  }
  str_add(w->out, ")");
  return t;
}

/* sel(c, a, b) is ((c) ? (a) : (b)) */
static type choice(writer *w) {
  str_add(w->out, "((");
  type c = expression(w, 0);
  if (c != CONDITION || !accept(w, ",")) {
    return c ? fail(w, "sel needs a condition and two values") : FAILED;
  }
  str_add(w->out, ") ? (");
  type a = expression(w, 0);
  if (!a || !accept(w, ",")) {
    return a ? fail(w, "sel needs a condition and two values") : FAILED;
  }
  str_add(w->out, ") : (");
  type b = expression(w, 0);
  str_add(w->out, "))");
  return !b ? FAILED : a != b || !accept(w, ")") ? fail(w, "sel needs two values of one kind") : a;
}

typedef struct helper {
  const char *name;
  int n; /* arguments; 0: any number above 0, taken two at a time */
  type result;
} helper;

static const helper helpers[] = {
    {"ceildiv", 2, NUMBER}, {"roundup", 2, NUMBER},   {"min", 0, NUMBER},     {"max", 0, NUMBER},
    {"log2", 1, NUMBER},    {"ispow2", 1, CONDITION}, {"pow2div", 2, NUMBER}, {"abs", 1, NUMBER}};

/* min(a, b, c) is tuned_min(tuned_min(a, b), c) */
static type call(writer *w, const helper *h) {
  char open[32];
  int n = 0;
  size_t start = w->out->n;
  snprintf(open, sizeof open, "tuned_%s(", h->name);
  do {
    if (n > 0) {
      str_add(w->out, ", ");
    }
    type t = expression(w, 0);
    if (t != NUMBER) {
      return t ? fail(w, "a helper needs numbers") : FAILED;
    }
    n++;
    if (h->n == 0 && n > 1) {
      insert(w, start, open);
      str_add(w->out, ")");
    }
  } while (accept(w, ","));
  if (!accept(w, ")") || (h->n && n != h->n)) {
    return fail(w, "a helper has too few or too many arguments, or a ) is missing");
  }
  if (h->n || n == 1) {
    insert(w, start, h->n ? open : "(");
    str_add(w->out, ")");
  }
  return h->result;
}

static type word(writer *w) {
  char name[128];
  bool fits = copy_token(&w->now, name, sizeof name);
  advance(w);
  if (!fits) {
    return fail(w, "a name is too long");
  }
  if (!accept(w, "(")) {
    const char *c = w->name ? w->name(w->ud, name) : name;
    str_add(w->out, c ? c : name);
    return c ? NUMBER : fail(w, "a name is not available in C");
  }
  if (!strcmp(name, "sel")) {
    return choice(w);
  }
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
    if (!strcmp(helpers[i].name, name)) {
      return call(w, &helpers[i]);
    }
  }
  return fail(w, "C lacks a function of these");
}

/* 'n': the caller knows what stands for it */
static type quoted(writer *w) {
  char text[128];
  bool fits = copy_token(&w->now, text, sizeof text) && w->now.n >= 2 && text[0] != '[';
  advance(w);
  if (!w->name || !fits) {
    return fail(w, "C cannot compare texts");
  }
  text[0] = text[strlen(text) - 1] = '\'';
  const char *c = w->name(w->ud, text);
  str_add(w->out, c ? c : "");
  return c ? TEXT : fail(w, "a text is not available in C");
}

static type operand(writer *w);

static type operand_here(writer *w) {
  if (accept(w, "-")) {
    str_add(w->out, is(w, "-") ? "- " : "-"); /* not a decrement */
    type t = operand(w);
    return t > NUMBER ? fail(w, "only a number has a sign") : t;
  }
  if (accept(w, "not")) {
    str_add(w->out, "!");
    type t = operand(w);
    return t && t != CONDITION ? fail(w, "'not' needs a condition") : t;
  }
  if (accept(w, "(")) {
    return group(w);
  }
  if (is(w, "true") || is(w, "false")) {
    str_add(w->out, is(w, "true") ? "1" : "0");
    advance(w);
    return CONDITION;
  }
  switch (w->now.kind) {
  case GEN_TOKEN_NUMBER: return number(w);
  case GEN_TOKEN_NAME: return word(w);
  case GEN_TOKEN_STRING: return quoted(w);
  default: return fail(w, "something is missing");
  }
}

/* Everything that nests does so through here. */
static type operand(writer *w) {
  if (w->depth == MAX_DEPTH) {
    return fail(w, "too deeply nested");
  }
  w->depth++;
  type t = operand_here(w);
  w->depth--;
  return t;
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct operation {
  const char *lua, *c;
  int level;             /* of binding */
  type operands, result; /* operands FAILED: any, both of a kind */
} operation;

static const operation operations[] = {
    {"or", " || ", 1, CONDITION, CONDITION}, {"and", " && ", 2, CONDITION, CONDITION},
    {"==", " == ", 3, FAILED, CONDITION},    {"~=", " != ", 3, FAILED, CONDITION},
    {"<", " < ", 3, NUMBER, CONDITION},      {"<=", " <= ", 3, NUMBER, CONDITION},
    {">", " > ", 3, NUMBER, CONDITION},      {">=", " >= ", 3, NUMBER, CONDITION},
    {"+", " + ", 4, NUMBER, NUMBER},         {"-", " - ", 4, NUMBER, NUMBER},
    {"*", " * ", 5, NUMBER, NUMBER},         {"//", " / ", 5, NUMBER, NUMBER},
    {"%", " % ", 5, NUMBER, NUMBER}};

static const operation *operator_here(const writer *w) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    if (w->now.kind != GEN_TOKEN_STRING && is(w, operations[i].lua)) {
      return &operations[i];
    }
  }
  return NULL;
}

/* A name may stand for a choice, so it can be compared with a text; which names do, the caller
 * knows. */
static bool suits(const operation *o, type left, type right) {
  if (o->operands) {
    return left == o->operands && right == o->operands;
  }
  return left == right || (left != CONDITION && right != CONDITION);
}

/* Operands joined by operators that bind at least as strongly as `floor`. */
static type expression(writer *w, int floor) {
  size_t start = w->out->n;
  type left = operand(w);
  for (const operation *o = operator_here(w); left && o && o->level >= floor;
       o = operator_here(w)) {
    advance(w);
    str_add(w->out, o->c);
    type right = expression(w, o->level + 1);
    if (!right) {
      return FAILED;
    }
    if (!suits(o, left, right)) {
      return fail(w, o->level <= 2 ? "'and' and 'or' must join conditions (for a value, use sel)"
                                   : "a condition or a text is used as a number");
    }
    if (o->level <= 2) { /* compilers warn about && in || without parentheses */
      insert(w, start, "(");
      str_add(w->out, ")");
    }
    left = o->result;
  }
  return left;
}

int gen_expression_c(const char *text, const char *(*name)(void *, const char *), void *ud,
                     str *out, err *e) {
  writer w = {.lexer = gen_lex(text, strlen(text), 1),
              .text = text,
              .name = name,
              .ud = ud,
              .out = out,
              .e = e};
  advance(&w);
  if (!expression(&w, 0)) {
    return ERR_TEMPLATE;
  }
  if (w.now.kind != GEN_TOKEN_END) {
    fail(&w, w.now.n == 1 && *w.now.p == '/' ? "C divides whole numbers: write // for /"
                                             : "C cannot say this");
    return ERR_TEMPLATE;
  }
  return out->failed ? err_set(e, ERR_NOMEM, "out of memory") : 0;
}
