/* gen_diagram_build.h -- finding the valid points of a space as a decision diagram. */
#ifndef GEN_DIAGRAM_BUILD_H
#define GEN_DIAGRAM_BUILD_H

#include "gen_diagram.h"

/* gen_diagram_new --
 *   out  rejected  by requirement, as in gen_tally
 *   err  ERR_LIMIT     its layers grow too wide, or over 2^63 points are valid
 *        ERR_TEMPLATE  an expression could not be evaluated; the place is the template only */
int gen_diagram_new(gen_instance *g, double *rejected, gen_diagram **out, err *e);

#endif
