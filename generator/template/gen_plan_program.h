/* gen_plan_program.h -- the launches of some stages. */
#ifndef GEN_PLAN_PROGRAM_H
#define GEN_PLAN_PROGRAM_H

#include "gen_tmpl.h"

/* gen_plan_program -- inside gen_box_run, after gen_bind and gen_counts_bind; out in the arena */
const gen_plan *gen_plan_program(gen_instance *g, const gen_config *c, const gen_program *p,
                                 arena *a);

#endif
