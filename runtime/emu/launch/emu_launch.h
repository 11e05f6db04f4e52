/* emu_launch.h -- runs all blocks of a launch on several host threads. */
#ifndef EMU_LAUNCH_H
#define EMU_LAUNCH_H

#include "emu_state.h"

/* emu_launch_done -- receives the counts of all blocks that ran. last: counts of a block that
 * arrived last, for a sample whose blocks count their arrivals; else NULL */
typedef void (*emu_launch_done)(void *context, const emu_launch *l, const emu_worker *all,
                                const emu_worker *last);
/* emu_launch_run -- `threads`: number of host threads; a finding is stored in l->finding */
int emu_launch_run(emu_launch *l, int threads, emu_launch_done done, void *context, err *e);

#endif
