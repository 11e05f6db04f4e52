/* gen_formula.h -- an expression as a tree, to see what of it can be computed when only some of the
 * parameters are known.
 *
 * Of `(X * U + 2) * Y <= 4096` with X and U known, all that the rest depends on is the number X * U
 * + 2: a part. Operands of + and * are regrouped where every one is a whole number for certain, so
 * that of `A + B + C` with A and C known the part is A + C. A part that could fail to evaluate
 * (division, helpers) and that `and` or `or` may skip is not taken out of its place.
 */
#ifndef GEN_FORMULA_H
#define GEN_FORMULA_H

#include "gen_tmpl.h"

typedef enum gen_formula_kind {
  GEN_FORMULA_PARAM,
  GEN_FORMULA_CONSTANT, /* a number, text, field or device limit */
  GEN_FORMULA_DERIVED,  /* one kid: its expression; none: it is not taken apart */
  GEN_FORMULA_OPERATOR, /* 2 kids or more, taken together from the left */
  GEN_FORMULA_UNARY,
  GEN_FORMULA_CALL
} gen_formula_kind;

typedef struct gen_formula {
  gen_formula_kind kind;
  const char *text; /* the name, number, operator or helper */
  bool whole;       /* a whole number for certain */
  bool condition;   /* true or false for certain */
  bool fails;       /* may fail to evaluate */
  bool logic;       /* `and`, `or` */
  bool sum;         /* a sum or product of whole numbers, in any order */
  uint64_t reads;   /* bits of parameters */
  const struct gen_formula **kids;
  size_t n;
} gen_formula;

typedef struct gen_formulas { /* those of a template; zeroed but for the first four at the start */
  arena *a;
  const tmpl *t;
  bool scalars; /* may be read: the arguments of a call */
  bool alone;   /* derived values are taken as they are, not apart */
  const gen_formula *derived[GEN_MAX_DERIVED];
  size_t n_nodes;
} gen_formulas;

/* gen_formula_new -- NULL: out of memory, or too large to be worth it */
const gen_formula *gen_formula_new(gen_formulas *f, const gen_expr *x);

typedef struct gen_part { /* of a formula: what is known of it */
  const gen_formula *x;
  uint64_t known; /* an operator's kids that read more are left out */
  bool guarded;   /* `and` or `or` may skip it */
} gen_part;

typedef void gen_part_visitor(void *ud, const gen_part *part);
/* gen_formula_parts -- the largest parts that read parameters, and only known ones */
void gen_formula_parts(const gen_formula *x, uint64_t known, gen_part_visitor *visit, void *ud);

typedef struct gen_held { /* parts that have been computed, and go by another name */
  uint64_t known;
  void (*add_name)(void *ud, const gen_part *part, str *out);
  void *ud;
} gen_held;
/* gen_part_text -- append it in Lua; NULL: nothing is held. Two parts with the same text are equal
 */
void gen_part_text(const gen_part *part, const gen_held *held, str *out);

#endif
