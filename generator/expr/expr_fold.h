/* expr_fold.h -- what is left of expressions when some of their names are known: partial values.
 *
 * With the parameters and the device's limits given, most of a requirement is a constant, and what
 * remains is about the problem's fields: `align >= 4`, `16 < max(m, 16)`. Equal partial values are
 * one, whichever expression they come from, and are computed once for all that read them.
 */
#ifndef EXPR_FOLD_H
#define EXPR_FOLD_H

#include "expr.h"

typedef uint16_t expr_partial; /* as long as the fold */
enum {
  EXPR_PARTIAL_NONE, /* unknown: no value, or no memory */
  EXPR_PARTIAL_FALSE,
  EXPR_PARTIAL_TRUE
};

typedef struct expr_folded { /* a constant has a partial value only where one is made of it */
  bool is_constant;
  expr_value value;
  expr_partial partial;
} expr_folded;

typedef struct expr_fold {
  /* while folding: of parameters, device limits and those scalars that have a type; of fields later,
   * for values */
  expr_env env;
  /* the derived value of that index, folded */
  expr_folded (*derived)(void *ud, uint32_t index);
  void *ud;
  struct expr_fold_node *nodes;
  uint32_t n, most;
  expr_partial *slots; /* hash table of nodes; 0 is free */
  uint32_t n_slots;
  uint8_t *truth; /* of each node at `stamp`: 0 not known, else EXPR_PARTIAL_TRUE or FALSE */
  uint32_t stamp;
} expr_fold;

/* expr_fold_init -- env, derived and ud are set by the caller, the rest is zero */
int expr_fold_init(expr_fold *f, err *e);
void expr_fold_clear(expr_fold *f);
/* expr_fold_is_full -- there is hardly room for more partial values */
bool expr_fold_is_full(const expr_fold *f);
size_t expr_fold_nbytes(const expr_fold *f);

expr_folded expr_fold_tree(expr_fold *f, const expr_node *x);
/* expr_fold_whole -- as a derived value: an integer or a condition */
expr_folded expr_fold_whole(expr_fold *f, const expr_folded *x);
expr_partial expr_fold_partial(expr_fold *f, const expr_folded *x);
/* expr_fold_fails -- may it have no value? */
bool expr_fold_fails(const expr_fold *f, const expr_folded *x);

/* expr_fold_fields -- the values that partial values are computed from, from now on */
void expr_fold_fields(expr_fold *f, const expr_value *fields);
/* expr_partial_value -- NULL: it has none */
const expr_value *expr_partial_value(expr_fold *f, expr_partial p);
/* expr_partial_condition -- false: it is none, or has no value */
bool expr_partial_condition(expr_fold *f, expr_partial p, bool *yes);

#endif
