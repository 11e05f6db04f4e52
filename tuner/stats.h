/* stats.h -- what the emulated device counted, for people and for machines. */
#ifndef TUNE_STATS_H
#define TUNE_STATS_H

#include "emu.h"
#include "str.h"

/* stats_text -- a few lines: instructions by class, memory, occupancy, the modelled time and its
 * bound */
void stats_text(str *s, const char *kernel, const rt_emu_stats *x);
/* stats_json -- one object, one line */
void stats_json(str *s, const char *kernel, const rt_emu_stats *x);

#endif
