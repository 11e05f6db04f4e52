/* gen_space.h -- spaces, for those who compare the ways to find their points. */
#ifndef GEN_SPACE_H
#define GEN_SPACE_H

#include "gen.h"

/* gen_space_by_loops -- gen_space_new without diagrams */
int gen_space_by_loops(gen_instance *g, gen_space **out, err *e);

#endif
