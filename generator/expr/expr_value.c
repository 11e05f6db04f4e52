#define _GNU_SOURCE
#include "expr_value.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The binding is that of the Lua 5.4 manual, 3.4.8. */
const expr_law expr_laws[EXPR_N_OPS] = {
    [EXPR_OR] = {"or", 2, 1, 1, false, true},
    [EXPR_AND] = {"and", 2, 2, 2, false, true},
    [EXPR_EQ] = {"==", 2, 3, 3, false, true},
    [EXPR_NE] = {"~=", 2, 3, 3, false, true},
    [EXPR_LT] = {"<", 2, 3, 3, false, true},
    [EXPR_LE] = {"<=", 2, 3, 3, false, true},
    [EXPR_GT] = {">", 2, 3, 3, false, true},
    [EXPR_GE] = {">=", 2, 3, 3, false, true},
    [EXPR_BITOR] = {"|", 2, 4, 4, false, false},
    [EXPR_BITXOR] = {"~", 2, 5, 5, false, false},
    [EXPR_BITAND] = {"&", 2, 6, 6, false, false},
    [EXPR_SHL] = {"<<", 2, 7, 7, false, false},
    [EXPR_SHR] = {">>", 2, 7, 7, false, false},
    [EXPR_ADD] = {"+", 2, 9, 9, false, true},
    [EXPR_SUB] = {"-", 2, 9, 9, false, true},
    [EXPR_MUL] = {"*", 2, 10, 10, false, true},
    [EXPR_DIV] = {"/", 2, 10, 10, false, true},
    [EXPR_IDIV] = {"//", 2, 10, 10, false, false},
    [EXPR_MOD] = {"%", 2, 10, 10, false, false},
    [EXPR_POW] = {"^", 2, 14, 13, false, true},
    [EXPR_NOT] = {"not", 1, 0, 0, false, true},
    [EXPR_NEG] = {"-", 1, 0, 0, false, true},
    [EXPR_BITNOT] = {"~", 1, 0, 0, false, false},
    [EXPR_CEILDIV] = {"ceildiv", 2, 0, 0, true, false},
    [EXPR_ROUNDUP] = {"roundup", 2, 0, 0, true, false},
    [EXPR_MIN] = {"min", 2, 0, 0, true, true},
    [EXPR_MAX] = {"max", 2, 0, 0, true, true},
    [EXPR_ONE] = {"min, max", 1, 0, 0, false, true},
    [EXPR_LOG2] = {"log2", 1, 0, 0, true, false},
    [EXPR_ISPOW2] = {"ispow2", 1, 0, 0, true, false},
    [EXPR_POW2DIV] = {"pow2div", 2, 0, 0, true, false},
    [EXPR_SEL] = {"sel", 3, 0, 0, true, true},
    [EXPR_ABS] = {"abs", 1, 0, 0, true, true},
    [EXPR_SQRT] = {"sqrt", 1, 0, 0, true, true},
    [EXPR_FLOOR] = {"floor", 1, 0, 0, true, true},
    [EXPR_CEIL] = {"ceil", 1, 0, 0, true, true},
    [EXPR_WHOLE] = {"a derived value", 1, 0, 0, false, false},
};

/* ---- values ---------------------------------------------------------------------------------- */

bool expr_same(const expr_value *a, const expr_value *b) {
  if (a->type != b->type) {
    return false;
  }
  switch (a->type) {
  case EXPR_CONDITION: return a->yes == b->yes;
  case EXPR_TEXT: return a->s == b->s || !strcmp(a->s, b->s);
  default: return a->i == b->i; /* the bits of a real number as well */
  }
}

static const double LIMIT = 9223372036854775808.0; /* 2^63, which is no integer any more */

/* Is the real number an integer? */
static bool fits_integer(double d, int64_t *i) {
  const bool is = d == floor(d) && d >= -LIMIT && d < LIMIT;
  *i = is ? (int64_t)d : 0;
  return is;
}

bool expr_is_whole(const expr_value *v, int64_t *i) {
  *i = v->i;
  return v->type == EXPR_INTEGER || (v->type == EXPR_REAL && fits_integer(v->d, i));
}

expr_value expr_whole(const expr_value *v) {
  int64_t i;
  return expr_is_whole(v, &i) ? expr_integer(i) : *v;
}

/* ---- numerals (Lua 5.4 manual, 3.1) ---------------------------------------------------------- */

/* Hexadecimal integers wrap around; decimal ones that do not fit are real numbers. */
static bool integer_numeral(const char *text, bool hex, expr_value *out) {
  uint64_t v = 0;
  const char *p = text + (hex ? 2 : 0);
  bool any = false;
  for (; hex ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p); p++, any = true) {
    const unsigned digit = (unsigned)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
    if (!hex && v > (INT64_MAX - (uint64_t)digit) / 10) {
      return false;
    }
    v = v * (hex ? 16 : 10) + digit;
  }
  *out = expr_integer((int64_t)v);
  return any && !*p;
}

bool expr_numeral(const char *text, size_t n, expr_value *out) {
  char copy[256], *end, *point;
  const size_t n_copy = n < sizeof copy ? n : 0;
  memcpy(copy, text, n_copy);
  copy[n_copy] = 0;
  if (!n_copy || strpbrk(copy, "nN")) { /* inf, nan */
    return false;
  }
  const bool hex = copy[0] == '0' && (copy[1] | 32) == 'x';
  if (integer_numeral(copy, hex, out)) {
    return true;
  }
  if ((point = strchr(copy, '.'))) {
    *point = *localeconv()->decimal_point;
  }
  *out = expr_real(strtod(copy, &end));
  return !*end && !isspace((unsigned char)copy[0]);
}
