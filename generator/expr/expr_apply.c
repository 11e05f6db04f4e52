/* Operators and helpers. */
#include <math.h>
#include <string.h>

#include "expr_value.h"

static bool is_number(const expr_value *v) {
  return v->type & EXPR_NUMBER;
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
  const expr_value down = expr_real(floor(d));
  int64_t below;
  if (isnan(d)) {
    return UNORDERED;
  }
  if (!expr_is_whole(&down, &below)) { /* beyond the integers */
    return d > 0 ? -1 : 1;
  }
  return i > below ? 1 : i < below || d > down.d ? -1 : 0;
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
  if (!expr_is_whole(&v[0], &a) || !expr_is_whole(&v[op != EXPR_BITNOT], &b)) {
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
  if (!expr_is_whole(&v[0], &a) || !expr_is_whole(&v[1], &b) || b == 0) {
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
  if (!expr_is_whole(v, &x) || x <= 0) {
    return false;
  }
  *out = expr_integer(63 - __builtin_clzll((uint64_t)x));
  return true;
}

static bool is_power(const expr_value *v, expr_value *out) {
  int64_t x;
  const bool ok = expr_is_whole(v, &x);
  *out = expr_condition(ok && x > 0 && !(x & (x - 1)));
  return ok;
}

static bool power_dividing(const expr_value *v, expr_value *out) {
  int64_t x, most;
  uint64_t p = 1;
  if (!expr_is_whole(&v[0], &x) || !expr_is_whole(&v[1], &most) || most <= 0) {
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
