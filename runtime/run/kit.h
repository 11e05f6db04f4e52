/* kit.h -- the runtime's own device code (kit.cu), built into the library as text. */
#ifndef RT_KIT_H
#define RT_KIT_H

#include "gen.h"

extern const gen_file rt_kit[]; /* ends with a NULL name */

#endif
