/* expr_value.h -- values of expressions, and the operators and helpers that make them: Lua's (Lua
 * 5.4 manual, 3.4), and those of expr.h.
 */
#ifndef EXPR_VALUE_H
#define EXPR_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits: a set of them is what a value may be. An integer and a real number are both numbers; as in
 * Lua they differ in arithmetic only. */
typedef enum expr_type {
  EXPR_NOTHING = 0, /* the value is not known */
  EXPR_INTEGER = 1,
  EXPR_REAL = 2,
  EXPR_CONDITION = 4,
  EXPR_TEXT = 8,
  EXPR_NUMBER = EXPR_INTEGER | EXPR_REAL,
  EXPR_ANY = EXPR_NUMBER | EXPR_CONDITION | EXPR_TEXT
} expr_type;

typedef struct expr_value {
  expr_type type; /* one bit, or EXPR_NOTHING */
  union {
    int64_t i;
    double d;
    bool yes;
    const char *s; /* borrowed */
  };
} expr_value;

static inline expr_value expr_integer(int64_t i) {
  return (expr_value){.type = EXPR_INTEGER, .i = i};
}
static inline expr_value expr_real(double d) {
  return (expr_value){.type = EXPR_REAL, .d = d};
}
static inline expr_value expr_condition(bool yes) {
  return (expr_value){.type = EXPR_CONDITION, .yes = yes};
}
static inline expr_value expr_text(const char *s) {
  return (expr_value){.type = EXPR_TEXT, .s = s};
}
/* expr_true -- as `and`, `or` and `not` see it */
static inline bool expr_true(const expr_value *v) {
  return v->type != EXPR_CONDITION || v->yes;
}
/* expr_number -- of a number */
static inline double expr_number(const expr_value *v) {
  return v->type == EXPR_INTEGER ? (double)v->i : v->d;
}
/* expr_same -- same type and bits */
bool expr_same(const expr_value *a, const expr_value *b);
/* expr_is_whole -- an integer, or a real number without a fraction that fits one */
bool expr_is_whole(const expr_value *v, int64_t *i);
/* expr_whole -- a real number without a fraction as the integer; others as they are */
expr_value expr_whole(const expr_value *v);
/* expr_numeral -- the number that n characters spell in Lua; false: none */
bool expr_numeral(const char *text, size_t n, expr_value *out);

typedef enum expr_op {
  /* names: `index` is the place among the values of its kind (expr_env) */
  EXPR_FIELD,
  EXPR_PARAM,
  EXPR_DERIVED,
  EXPR_DEVICE,
  EXPR_SCALAR,
  EXPR_PART, /* a value that was computed before (expr_parts.h) */
  EXPR_N_SOURCES,
  EXPR_NAME = EXPR_N_SOURCES, /* one without a value: of a typed call, or any */
  EXPR_VALUE,
  EXPR_OR,
  EXPR_AND,
  EXPR_EQ,
  EXPR_NE,
  EXPR_LT,
  EXPR_LE,
  EXPR_GT,
  EXPR_GE,
  EXPR_BITOR,
  EXPR_BITXOR,
  EXPR_BITAND,
  EXPR_SHL,
  EXPR_SHR,
  EXPR_ADD,
  EXPR_SUB,
  EXPR_MUL,
  EXPR_DIV,
  EXPR_IDIV,
  EXPR_MOD,
  EXPR_POW,
  EXPR_NOT,
  EXPR_NEG,
  EXPR_BITNOT,
  EXPR_CEILDIV,
  EXPR_ROUNDUP,
  EXPR_MIN,
  EXPR_MAX,
  EXPR_ONE, /* min or max of one number */
  EXPR_LOG2,
  EXPR_ISPOW2,
  EXPR_POW2DIV,
  EXPR_SEL,
  EXPR_ABS,
  EXPR_SQRT,
  EXPR_FLOOR,
  EXPR_CEIL,
  EXPR_WHOLE, /* what a derived value must be: an integer or a condition */
  EXPR_N_OPS
} expr_op;

typedef struct expr_law { /* of an operator or helper */
  const char *text;
  uint8_t n;           /* operands */
  uint8_t left, right; /* how strongly a binary operator binds */
  bool helper;
  bool regular; /* has a value for any operands of the right types */
} expr_law;
extern const expr_law expr_laws[EXPR_N_OPS]; /* text is NULL for what has neither */

/* expr_apply -- to as many values as it takes (`and` and `or` too, of both). False: it has no value
 * for these */
bool expr_apply(expr_op op, const expr_value *v, expr_value *out);
/* expr_apply_integers -- the same for two integers, as most operands are; false: not one of these
 * operations */
static inline bool expr_apply_integers(expr_op op, int64_t a, int64_t b, expr_value *out) {
  switch (op) {
  case EXPR_EQ: *out = expr_condition(a == b); return true;
  case EXPR_NE: *out = expr_condition(a != b); return true;
  case EXPR_LT: *out = expr_condition(a < b); return true;
  case EXPR_LE: *out = expr_condition(a <= b); return true;
  case EXPR_GT: *out = expr_condition(a > b); return true;
  case EXPR_GE: *out = expr_condition(a >= b); return true;
  case EXPR_ADD: *out = expr_integer((int64_t)((uint64_t)a + (uint64_t)b)); return true;
  case EXPR_SUB: *out = expr_integer((int64_t)((uint64_t)a - (uint64_t)b)); return true;
  case EXPR_MUL: *out = expr_integer((int64_t)((uint64_t)a * (uint64_t)b)); return true;
  case EXPR_MIN: *out = expr_integer(a < b ? a : b); return true;
  case EXPR_MAX: *out = expr_integer(a > b ? a : b); return true;
  default: return false;
  }
}
/* expr_types_of -- what the value may be, by what the operands may be; 0: it never has one */
unsigned expr_types_of(expr_op op, const uint8_t *types);
/* expr_is_safe -- has it a value for any operands of these types?
 *   in  positive  the second is an integer above 0 */
bool expr_is_safe(expr_op op, const uint8_t *types, bool positive);
/* expr_describe -- "a number", of that type or these types */
const char *expr_describe(unsigned types);
/* expr_complaint -- why it has no value for the values, or, if v is NULL, for any of the types */
void expr_complaint(expr_op op, const expr_value *v, const uint8_t *types, char *out, size_t size);

#endif
