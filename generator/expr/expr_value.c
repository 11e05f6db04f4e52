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

static bool is_number(const expr_value *v) {
  return v->type & EXPR_NUMBER;
}

static const double LIMIT = 9223372036854775808.0; /* 2^63, which is no integer any more */

/* Is the real number an integer? */
static bool fits_integer(double d, int64_t *i) {
  const bool is = d == floor(d) && d >= -LIMIT && d < LIMIT;
  *i = is ? (int64_t)d : 0;
  return is;
}

static bool whole(const expr_value *v, int64_t *i) {
  *i = v->i;
  return v->type == EXPR_INTEGER || (v->type == EXPR_REAL && fits_integer(v->d, i));
}

expr_value expr_whole(const expr_value *v) {
  int64_t i;
  return whole(v, &i) ? expr_integer(i) : *v;
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

/* ---- operators ------------------------------------------------------------------------------- */

static bool both_integers(const expr_value *v) {
  return (v[0].type & v[1].type) == EXPR_INTEGER;
}

static bool both_numbers(const expr_value *v) {
  return is_number(&v[0]) && is_number(&v[1]);
}

/* Integers wrap around. */
static bool arithmetic(expr_op op, const expr_value *v, expr_value *out) {
  if (both_integers(v)) {
    const uint64_t a = (uint64_t)v[0].i, b = (uint64_t)v[1].i;
    *out = expr_integer((int64_t)(op == EXPR_ADD ? a + b : op == EXPR_SUB ? a - b : a * b));
    return true;
  }
  if (!both_numbers(v)) {
    return false;
  }
  const double a = expr_number(&v[0]), b = expr_number(&v[1]);
  *out = expr_real(op == EXPR_ADD ? a + b : op == EXPR_SUB ? a - b : a * b);
  return true;
}

static bool real_arithmetic(expr_op op, const expr_value *v, expr_value *out) {
  if (!both_numbers(v)) {
    return false;
  }
  const double a = expr_number(&v[0]), b = expr_number(&v[1]);
  *out = expr_real(op == EXPR_DIV ? a / b : b == 2 ? a * a : pow(a, b));
  return true;
}

/* Rounded down, and what then remains. */
static bool divide_reals(expr_op op, double a, double b, expr_value *out) {
  double rest = fmod(a, b);
  if (rest > 0 ? b < 0 : rest < 0 && b > 0) {
    rest += b;
  }
  *out = expr_real(op == EXPR_MOD ? rest : floor(a / b));
  return true;
}

static bool divide(expr_op op, const expr_value *v, expr_value *out) {
  if (!both_integers(v)) {
    return both_numbers(v) && divide_reals(op, expr_number(&v[0]), expr_number(&v[1]), out);
  }
  const int64_t a = v[0].i, b = v[1].i;
  if (b == 0) {
    return false;
  }
  if (b == -1) { /* the one quotient that may not fit */
    *out = expr_integer(op == EXPR_MOD ? 0 : (int64_t)(0 - (uint64_t)a));
    return true;
  }
  const int64_t rest = a % b;
  const bool down = rest != 0 && (rest ^ b) < 0;
  *out = expr_integer(op == EXPR_MOD ? rest + (down ? b : 0) : a / b - down);
  return true;
}

enum { UNORDERED = 2 };

static int compare_reals(double a, double b) {
  return isnan(a) || isnan(b) ? UNORDERED : (a > b) - (a < b);
}

/* Exactly, although the integer may be none as a real number. */
static int compare_mixed(int64_t i, double d) {
  if (isnan(d)) {
    return UNORDERED;
  }
  if (d >= LIMIT || d < -LIMIT) {
    return d > 0 ? -1 : 1;
  }
  const int64_t below = (int64_t)floor(d);
  return i > below ? 1 : i < below || d > floor(d) ? -1 : 0;
}

/* Of two numbers: -1, 0, 1 or UNORDERED. */
static int compare(const expr_value *v) {
  if (v[0].type == v[1].type) {
    return v[0].type == EXPR_INTEGER ? (v[0].i > v[1].i) - (v[0].i < v[1].i)
                                     : compare_reals(v[0].d, v[1].d);
  }
  if (v[0].type == EXPR_INTEGER) {
    return compare_mixed(v[0].i, v[1].d);
  }
  const int order = compare_mixed(v[1].i, v[0].d);
  return order == UNORDERED ? order : -order;
}

static bool relation(expr_op op, const expr_value *v, expr_value *out) {
  int order;
  if (both_numbers(v)) {
    order = compare(v);
  } else if ((v[0].type & v[1].type) == EXPR_TEXT) {
    order = strcmp(v[0].s, v[1].s);
  } else {
    return false;
  }
  const bool yes = op == EXPR_LT   ? order < 0
                   : op == EXPR_LE ? order <= 0
                   : op == EXPR_GT ? order > 0
                                   : order >= 0;
  *out = expr_condition(yes && (order != UNORDERED || !both_numbers(v)));
  return true;
}

static bool equality(expr_op op, const expr_value *v, expr_value *out) {
  const bool equal = both_numbers(v) ? compare(v) == 0 : expr_same(&v[0], &v[1]);
  *out = expr_condition(equal == (op == EXPR_EQ));
  return true;
}

static int64_t shifted(uint64_t x, int64_t left) {
  if (left <= -64 || left >= 64) {
    return 0;
  }
  return (int64_t)(left >= 0 ? x << left : x >> -left);
}

static bool bits(expr_op op, const expr_value *v, expr_value *out) {
  int64_t a, b;
  if (!whole(&v[0], &a) || !whole(&v[op != EXPR_BITNOT], &b)) {
    return false;
  }
  switch (op) {
  case EXPR_BITNOT: a = ~a; break;
  case EXPR_BITOR: a |= b; break;
  case EXPR_BITXOR: a ^= b; break;
  case EXPR_BITAND: a &= b; break;
  case EXPR_SHL: a = shifted((uint64_t)a, b); break;
  default: a = shifted((uint64_t)a, b == INT64_MIN ? 64 : -b); break;
  }
  *out = expr_integer(a);
  return true;
}

static bool negate(const expr_value *v, expr_value *out) {
  *out = v->type == EXPR_INTEGER ? expr_integer((int64_t)(0 - (uint64_t)v->i)) : expr_real(-v->d);
  return is_number(v);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static bool ceildiv(expr_op op, const expr_value *v, expr_value *out) {
  int64_t a, b;
  if (!whole(&v[0], &a) || !whole(&v[1], &b) || b == 0) {
    return false;
  }
  const int64_t n =
      b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b + (a % b != 0 && (a < 0) == (b < 0));
  *out = expr_integer(op == EXPR_CEILDIV ? n : (int64_t)((uint64_t)n * (uint64_t)b));
  return true;
}

/* The first of equal ones. */
static bool extreme(expr_op op, const expr_value *v, expr_value *out) {
  if (!both_numbers(v)) {
    return false;
  }
  *out = v[compare(v) == (op == EXPR_MAX ? -1 : 1)];
  return true;
}

static bool logarithm(const expr_value *v, expr_value *out) {
  int64_t x;
  if (!whole(v, &x) || x <= 0) {
    return false;
  }
  *out = expr_integer(63 - __builtin_clzll((uint64_t)x));
  return true;
}

static bool is_power(const expr_value *v, expr_value *out) {
  int64_t x;
  const bool ok = whole(v, &x);
  *out = expr_condition(ok && x > 0 && !(x & (x - 1)));
  return ok;
}

static bool power_dividing(const expr_value *v, expr_value *out) {
  int64_t x, most;
  uint64_t p = 1;
  if (!whole(&v[0], &x) || !whole(&v[1], &most) || most <= 0) {
    return false;
  }
  while (p <= (uint64_t)most / 2 && !((uint64_t)x & p)) {
    p *= 2;
  }
  *out = expr_integer((int64_t)p);
  return true;
}

static bool choose(const expr_value *v, expr_value *out) {
  if (v[0].type != EXPR_CONDITION) {
    return false;
  }
  *out = v[v[0].yes ? 1 : 2];
  return true;
}

static bool absolute(const expr_value *v, expr_value *out) {
  if (v->type == EXPR_INTEGER && v->i < 0) {
    return negate(v, out);
  }
  *out = v->type == EXPR_INTEGER ? *v : expr_real(fabs(v->d));
  return is_number(v);
}

/* An integer where it fits, as Lua's own math.floor. */
static bool rounded(expr_op op, const expr_value *v, expr_value *out) {
  *out = *v;
  if (v->type == EXPR_REAL) {
    *out = expr_real(op == EXPR_FLOOR ? floor(v->d) : ceil(v->d));
    *out = expr_whole(out);
  }
  return is_number(v);
}

bool expr_apply(expr_op op, const expr_value *v, expr_value *out) {
  switch (op) {
  case EXPR_OR: *out = v[expr_true(&v[0]) ? 0 : 1]; return true;
  case EXPR_AND: *out = v[expr_true(&v[0]) ? 1 : 0]; return true;
  case EXPR_EQ:
  case EXPR_NE: return equality(op, v, out);
  case EXPR_LT:
  case EXPR_LE:
  case EXPR_GT:
  case EXPR_GE: return relation(op, v, out);
  case EXPR_BITOR:
  case EXPR_BITXOR:
  case EXPR_BITAND:
  case EXPR_BITNOT:
  case EXPR_SHL:
  case EXPR_SHR: return bits(op, v, out);
  case EXPR_ADD:
  case EXPR_SUB:
  case EXPR_MUL: return arithmetic(op, v, out);
  case EXPR_DIV:
  case EXPR_POW: return real_arithmetic(op, v, out);
  case EXPR_IDIV:
  case EXPR_MOD: return divide(op, v, out);
  case EXPR_NOT: *out = expr_condition(!expr_true(v)); return true;
  case EXPR_NEG: return negate(v, out);
  case EXPR_CEILDIV:
  case EXPR_ROUNDUP: return ceildiv(op, v, out);
  case EXPR_MIN:
  case EXPR_MAX: return extreme(op, v, out);
  case EXPR_ONE: *out = *v; return is_number(v);
  case EXPR_LOG2: return logarithm(v, out);
  case EXPR_ISPOW2: return is_power(v, out);
  case EXPR_POW2DIV: return power_dividing(v, out);
  case EXPR_SEL: return choose(v, out);
  case EXPR_ABS: return absolute(v, out);
  case EXPR_SQRT: *out = is_number(v) ? expr_real(sqrt(expr_number(v))) : *v; return is_number(v);
  case EXPR_FLOOR:
  case EXPR_CEIL: return rounded(op, v, out);
  case EXPR_WHOLE: *out = expr_whole(v); return out->type & (EXPR_INTEGER | EXPR_CONDITION);
  default: return false;
  }
}

/* ---- types ----------------------------------------------------------------------------------- */

/* An integer of integers; else a real number, or either. */
static unsigned arithmetic_types(unsigned a, unsigned b) {
  if (!(a & EXPR_NUMBER) || !(b & EXPR_NUMBER)) {
    return 0;
  }
  return (a & b & EXPR_INTEGER) | ((a | b) & EXPR_REAL);
}

static unsigned relation_types(unsigned a, unsigned b) {
  const bool numbers = (a & EXPR_NUMBER) && (b & EXPR_NUMBER), texts = a & b & EXPR_TEXT;
  return numbers || texts ? EXPR_CONDITION : 0;
}

unsigned expr_types_of(expr_op op, const uint8_t *types) {
  const unsigned n = expr_laws[op].n, a = types[0], b = types[n > 1], numbers = a & EXPR_NUMBER;
  const bool both = numbers && (b & EXPR_NUMBER);
  switch (op) {
  case EXPR_OR: return a | (a & EXPR_CONDITION ? b : 0);
  case EXPR_AND: return (a & EXPR_CONDITION) | b;
  case EXPR_EQ:
  case EXPR_NE:
  case EXPR_NOT: return EXPR_CONDITION;
  case EXPR_LT:
  case EXPR_LE:
  case EXPR_GT:
  case EXPR_GE: return relation_types(a, b);
  case EXPR_BITOR:
  case EXPR_BITXOR:
  case EXPR_BITAND:
  case EXPR_BITNOT:
  case EXPR_SHL:
  case EXPR_SHR:
  case EXPR_CEILDIV:
  case EXPR_ROUNDUP:
  case EXPR_LOG2:
  case EXPR_POW2DIV: return both ? EXPR_INTEGER : 0;
  case EXPR_DIV:
  case EXPR_POW:
  case EXPR_SQRT: return both ? EXPR_REAL : 0;
  case EXPR_ISPOW2: return both ? EXPR_CONDITION : 0;
  case EXPR_MIN:
  case EXPR_MAX: return both ? (a | b) & EXPR_NUMBER : 0;
  case EXPR_SEL: return a & EXPR_CONDITION ? b | types[2] : 0;
  case EXPR_FLOOR:
  case EXPR_CEIL: return numbers == EXPR_REAL ? EXPR_NUMBER : numbers;
  case EXPR_WHOLE: return (a & EXPR_CONDITION) | (numbers ? EXPR_INTEGER : 0);
  default: return arithmetic_types(a, b);
  }
}

bool expr_is_safe(expr_op op, const uint8_t *types, bool positive) {
  const unsigned a = types[0], all = a | types[expr_laws[op].n > 1];
  switch (op) {
  case EXPR_OR:
  case EXPR_AND:
  case EXPR_EQ:
  case EXPR_NE:
  case EXPR_NOT: return true;
  case EXPR_SEL: return a == EXPR_CONDITION;
  case EXPR_WHOLE: return !(a & ~(unsigned)(EXPR_INTEGER | EXPR_CONDITION));
  case EXPR_LOG2: return false;
  case EXPR_IDIV:
  case EXPR_MOD:
  case EXPR_CEILDIV:
  case EXPR_ROUNDUP:
  case EXPR_POW2DIV: return positive && all == EXPR_INTEGER;
  case EXPR_LT:
  case EXPR_LE:
  case EXPR_GT:
  case EXPR_GE: return all == EXPR_TEXT || !(all & ~(unsigned)EXPR_NUMBER);
  default: return !(all & ~(unsigned)(expr_laws[op].regular ? EXPR_NUMBER : EXPR_INTEGER));
  }
}

/* ---- messages -------------------------------------------------------------------------------- */

const char *expr_describe(unsigned types) {
  switch (types) {
  case EXPR_NOTHING: return "nothing";
  case EXPR_TEXT: return "a text";
  case EXPR_CONDITION: return "a condition";
  default: return types & ~(unsigned)EXPR_NUMBER ? "another value" : "a number";
  }
}

static bool is_division(expr_op op) {
  return op == EXPR_IDIV || op == EXPR_MOD || op == EXPR_CEILDIV || op == EXPR_ROUNDUP;
}

/* What the operation needs of its operands. */
static const char *needed(expr_op op) {
  switch (op) {
  case EXPR_SEL: return "a condition";
  case EXPR_CEILDIV:
  case EXPR_ROUNDUP:
  case EXPR_LOG2:
  case EXPR_ISPOW2:
  case EXPR_POW2DIV:
  case EXPR_WHOLE: return "a whole number";
  default: return expr_laws[op].regular || is_division(op) ? "a number" : "a whole number";
  }
}

/* The first operand that is not as needed; n: none. */
static unsigned first_wrong(expr_op op, const expr_value *v, const uint8_t *types) {
  const unsigned n = op == EXPR_SEL ? 1 : expr_laws[op].n;
  const bool integers = !strcmp(needed(op), "a whole number");
  const unsigned wanted = op == EXPR_SEL ? EXPR_CONDITION : EXPR_NUMBER;
  for (unsigned i = 0; i < n; i++) {
    int64_t whole_value;
    if (!(types[i] & wanted) || (v && integers && !whole(&v[i], &whole_value))) {
      return i;
    }
  }
  return n;
}

void expr_complaint(expr_op op, const expr_value *v, const uint8_t *types, char *out, size_t size) {
  const char *text = expr_laws[op].text;
  const unsigned at = first_wrong(op, v, types);
  if (op >= EXPR_LT && op <= EXPR_GE) {
    snprintf(out, size, "'%s' cannot compare %s with %s", text, expr_describe(types[0]),
             expr_describe(types[1]));
  } else if (at == expr_laws[op].n && is_division(op)) {
    snprintf(out, size, "division by zero");
  } else if (at == expr_laws[op].n) {
    snprintf(out, size, "%s: a number above 0 is needed", text);
  } else if (v && v[at].type & EXPR_NUMBER) {
    snprintf(out, size, "%s: %s is needed, not %.17g", text, needed(op), expr_number(&v[at]));
  } else {
    snprintf(out, size, "%s: %s is needed, not %s", text, needed(op), expr_describe(types[at]));
  }
}
