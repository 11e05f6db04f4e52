/* expr_parts.h -- what of an expression can be computed when only some of the parameters are known.
 *
 * `(X * U + 2) * Y <= 4096` with X and U known depends on one number only, X * U + 2: a part. Operands of + and * are regrouped where every one is a whole number for certain, so
 * that of `A + B + C` with A and C known the part is A + C. A part that could fail to evaluate
 * (division, helpers) and that `and` or `or` may skip is not taken out of its place.
 *
 * For that an expression becomes a term: derived values are replaced by their expressions, sums and
 * products of whole numbers have all their operands in one list, and a - b is a + -b.
 */
#ifndef EXPR_PARTS_H
#define EXPR_PARTS_H

#include "expr.h"

typedef struct expr_term {
  uint8_t op, types;     /* EXPR_WHOLE: a derived value, its expression is the kid */
  bool fails;            /* may fail to evaluate */
  bool sum;              /* a sum or product of whole numbers, in any order */
  uint64_t reads;        /* bits of parameters */
  const expr_node *leaf; /* without kids */
  size_t n;
  const struct expr_term *const *kids;
} expr_term;

typedef struct expr_terms { /* those of a template; zeroed but for the first two at the start */
  arena *a;
  const expr_node *const *trees; /* of derived values */
  const expr_term *derived[64];
  size_t n_nodes;           /* and operands */
  const expr_node **unique; /* hash table: equal trees of parts are the same */
  size_t n_unique, n_slots;
} expr_terms;

/* expr_term_new -- NULL: out of memory, or too large to be worth it */
const expr_term *expr_term_new(expr_terms *t, const expr_node *x);
void expr_terms_clear(expr_terms *t);

typedef struct expr_part { /* of a term: what is known of it */
  const expr_term *x;
  uint64_t known; /* an operator's kids that read more are left out */
  bool guarded;   /* `and` or `or` may skip it */
} expr_part;

typedef void expr_part_visitor(void *ud, const expr_part *part);
/* expr_parts -- the largest parts that read parameters, and only known ones */
void expr_parts(const expr_term *x, uint64_t known, expr_part_visitor *visit, void *ud);

typedef struct expr_held { /* parts that have been computed, when these parameters were known */
  uint64_t known;
  const expr_node *const *parts; /* their trees; the i-th is the name EXPR_PART, i */
  size_t n;
} expr_held;

/* expr_part_tree -- to evaluate it; NULL: out of memory. Two parts with the same tree are equal.
 *   in  held  what it is computed from besides parameters; NULL: nothing */
const expr_node *expr_part_tree(expr_terms *t, const expr_part *part, const expr_held *held);

#endif
