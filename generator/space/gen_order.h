/* gen_order.h -- in which order a decision diagram should decide the parameters.
 *
 * A layer has at most as many nodes as the parts that undecided requirements read have combinations
 * of values. The order is chosen by that estimate: greedily, then by moving single parameters while
 * that helps. src: Rudell, Dynamic Variable Ordering for Ordered Binary Decision Diagrams, ICCAD
 * 1993 (sifting).
 */
#ifndef GEN_ORDER_H
#define GEN_ORDER_H

#include "expr_parts.h"
#include "gen.h"

/* gen_order -- a permutation of the parameters; `tests` are what must hold */
void gen_order(const gen_template *t, const expr_term *const *tests, size_t n_tests, size_t *order);

#endif
