/* What is known of values by the types of operands, and messages about operands of the wrong type. */
#include <stdio.h>
#include <string.h>

#include "expr_value.h"

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
    if (!(types[i] & wanted) || (v && integers && !expr_is_whole(&v[i], &whole_value))) {
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
