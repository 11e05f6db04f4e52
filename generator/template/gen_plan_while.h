/* gen_plan_while.h -- loops of a plan that run until a word is 0. Inside gen_box_run. */
#ifndef GEN_PLAN_WHILE_H
#define GEN_PLAN_WHILE_H

#include "gen_tmpl.h"

/* gen_while_new -- the loop around s, without its launches
 *   in  p           whose stage it is
 *       workspaces  bytes of each */
gen_loop *gen_while_new(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                        const uint64_t *workspaces);
/* gen_while_begins -- the launch before a graph's iterations; gen_while_goes_on -- after each, false: one
 * of the n launches of an iteration does it itself */
void gen_while_begins(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                      const gen_loop *loop, gen_launch *l);
bool gen_while_goes_on(gen_instance *g, arena *a, const gen_program *p, const gen_stage *s,
                       const gen_loop *loop, size_t n, gen_launch *l);

#endif
