/* gen_expr.h -- an expression of a template: its text, where it stands, and its tree (expr.h). */
#ifndef GEN_EXPR_H
#define GEN_EXPR_H

#include "expr.h"
#include "gen_sandbox.h"

typedef struct gen_expr {
  const char *text; /* one line */
  gen_line at;
  gen_names reads;
  const expr_node *tree;
} gen_expr;

/* gen_expr_reads_only -- does it read names of those kinds only? */
static inline bool gen_expr_reads_only(const gen_expr *x, unsigned kinds) {
  return !(x->reads.kinds & ~kinds);
}

/* gen_params_read -- bits of parameters, by way of derived values too, each of which reads those */
static inline uint64_t gen_params_read(const gen_expr *x, const uint64_t *derived_reads) {
  uint64_t bits = x->reads.params;
  for (uint64_t derived = x->reads.derived; derived; derived &= derived - 1) {
    bits |= derived_reads[__builtin_ctzll(derived)];
  }
  return bits;
}

/* Inside gen_box_run: */

/* gen_expr_new -- parse and check.
 *   in   text     may span lines and have comments; what is kept does not
 *        symbols  what it may read: those of the kinds among them
 *   err  ERR_TEMPLATE  at `at` */
gen_expr *gen_expr_new(gen_box *b, arena *a, const char *text, gen_line at,
                       const gen_symbols *symbols, unsigned kinds);
/* gen_expr_need -- x, whose value may be of one of these types
 *   err  ERR_TEMPLATE  it never is */
const gen_expr *gen_expr_need(gen_box *b, const gen_expr *x, unsigned types);
/* gen_expr_value -- evaluate with the values now in b->env. A real number without a fraction is
 * given as an integer.
 *   err  ERR_TEMPLATE */
expr_value gen_expr_value(gen_box *b, const gen_expr *x);
/* The same with what the value must be; anything else is ERR_TEMPLATE. */
int64_t gen_expr_integer(gen_box *b, const gen_expr *x);
double gen_expr_real(gen_box *b, const gen_expr *x);
bool gen_expr_condition(gen_box *b, const gen_expr *x);
/* gen_expr_fail -- that x has no value; gen_expr_fail_type -- that it is not what is wanted */
_Noreturn void gen_expr_fail(gen_box *b, const gen_expr *x, const expr_env *env);
_Noreturn void gen_expr_fail_type(gen_box *b, const gen_expr *x, const expr_value *v,
                                  const char *wanted);

#endif
