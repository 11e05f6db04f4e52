/* fill_check.h -- the runtime's own device code (fill_check.cu), built into the library as text. */
#ifndef RT_FILL_CHECK_H
#define RT_FILL_CHECK_H

#include "gen.h"

extern const gen_file rt_fill_check[]; /* ends with a NULL name */

#endif
