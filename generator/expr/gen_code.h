/* gen_code.h -- expressions that C evaluates, some ten times as fast as Lua does.
 *
 * An expression is Lua's and Lua says what it means. This says the same of what expressions mostly
 * are, numbers, names and conditions, and nothing of the rest: whatever could be an error there (a
 * division by zero, a text as a number) or is too rare to be worth it is left to Lua, which then
 * has the message too. So nobody sees which of the two it was. A template that is asked a lot, as
 * when a new size is served or a space is searched, is translated once, all of it; one that was
 * opened lazily, expression by expression when asked, which takes a third of what Lua's compiler
 * takes.
 */
#ifndef GEN_CODE_H
#define GEN_CODE_H

#include "gen_expr.h"

typedef enum gen_op {
  GEN_OP_VALUE,
  GEN_OP_FIELD, /* index: which */
  GEN_OP_PARAM,
  GEN_OP_DEVICE,
  GEN_OP_DERIVED,
  GEN_OP_SCALAR, /* index: of the argument */
  GEN_OP_FAIL,   /* Lua must say */
  GEN_OP_OR,
  GEN_OP_AND,
  GEN_OP_EQ,
  GEN_OP_NE,
  GEN_OP_LT,
  GEN_OP_LE,
  GEN_OP_GT,
  GEN_OP_GE,
  GEN_OP_BITOR,
  GEN_OP_BITXOR,
  GEN_OP_BITAND,
  GEN_OP_SHL,
  GEN_OP_SHR,
  GEN_OP_ADD,
  GEN_OP_SUB,
  GEN_OP_MUL,
  GEN_OP_DIV,
  GEN_OP_IDIV,
  GEN_OP_MOD,
  GEN_OP_POW,
  GEN_OP_NOT,
  GEN_OP_NEG,
  GEN_OP_BITNOT,
  GEN_OP_WHOLE, /* a derived value: a whole number or a condition */
  GEN_OP_CEILDIV,
  GEN_OP_ROUNDUP,
  GEN_OP_MIN,
  GEN_OP_MAX,
  GEN_OP_LOG2,
  GEN_OP_ISPOW2,
  GEN_OP_POW2DIV,
  GEN_OP_SEL,
  GEN_OP_ABS,
  GEN_OP_SQRT,
  GEN_OP_FLOOR,
  GEN_OP_CEIL
} gen_op;

typedef struct gen_atom { /* a value; GEN_REAL is a float of Lua's, even where it is whole */
  gen_type type;
  union {
    int64_t i;
    double d;
    bool yes;
    const char *s; /* the template's */
  };
} gen_atom;

typedef struct gen_code {
  uint8_t op, n;
  uint32_t index;
  union {
    gen_atom value;                 /* of GEN_OP_VALUE */
    const struct gen_code *kids[3]; /* n; what takes more is nested */
  };
} gen_code;

struct gen_instance;

enum { GEN_MAX_SCALARS = 64 }; /* expressions that read others are left to Lua */

typedef struct gen_codes { /* of a template */
  const struct tmpl *t;
  gen_expr *exprs;              /* all of them, newest first */
  const gen_value *fields;      /* of the problem that is bound, or being completed */
  uint64_t n_asked, most_asked; /* of Lua, until they are translated */
  bool made;                    /* all are translated */
  bool by_c;     /* each is, at the latest when it is asked: Lua's table waits until Lua is */
  bool is_ahead; /* of Lua's table: gen_catch_up */
  gen_atom scalars[GEN_MAX_SCALARS];
  bool has_scalar[GEN_MAX_SCALARS];
} gen_codes;

/* gen_codes_make -- translate them all; those that can't be keep none. Inside gen_box_run */
void gen_codes_make(gen_box *b, gen_codes *c);
/* gen_codes_make_one -- likewise */
void gen_codes_make_one(gen_box *b, gen_codes *c, gen_expr *x);
/* gen_code_run -- with the values that are bound; false: Lua must say */
bool gen_code_run(const gen_codes *c, const gen_code *x, gen_atom *out);
/* gen_op_apply -- of an operator or helper but `and` and `or`, to as many values as it takes, 3 at
 * most; false: Lua must say */
bool gen_op_apply(gen_op op, const gen_atom *v, gen_atom *out);
/* gen_atom_true -- as `and`, `or` and `not` see it */
static inline bool gen_atom_true(const gen_atom *v) {
  return v->type != GEN_CONDITION || v->yes;
}
gen_atom gen_atom_of(const gen_value *v);
gen_result gen_atom_result(const gen_atom *v);
gen_atom gen_result_atom(const gen_result *r);

#endif
