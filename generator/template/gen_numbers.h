/* gen_numbers.h -- the values of a template's expressions for an instance that gen_bind has bound. Inside
 * gen_box_run: what has no value, or not one that is wanted, fails with ERR_TEMPLATE. */
#ifndef GEN_NUMBERS_H
#define GEN_NUMBERS_H

#include "gen_tmpl.h"

/* gen_new -- zeroed memory of the arena; never NULL */
void *gen_new(gen_instance *g, arena *a, size_t nbytes);
double gen_real(gen_instance *g, const gen_expr *x);
bool gen_holds(gen_instance *g, const gen_expr *x);
/* gen_bounded -- a whole number of least..most; `what` names it for the message */
int64_t gen_bounded(gen_instance *g, const gen_expr *x, int64_t least, int64_t most,
                    const char *what);
/* gen_encode -- v as the bits of an element. Whole numbers stay exact up to 64 bits */
uint64_t gen_encode(gen_instance *g, const gen_expr *x, const expr_value *v, dtype type);
/* gen_scalar -- the same of x's value */
uint64_t gen_scalar(gen_instance *g, const gen_expr *x, gen_element element);
/* gen_nbytes -- of an array of that many elements */
uint64_t gen_nbytes(gen_instance *g, const gen_expr *count, dtype type);
/* gen_tolerance_value -- finite, and 0 or more */
double gen_tolerance_value(gen_instance *g, const gen_expr *x);

#endif
