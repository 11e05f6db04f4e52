/* emu_launch.h -- a launch from start to end. */
#ifndef EMU_LAUNCH_H
#define EMU_LAUNCH_H

#include "emu_state.h"

/* emu_launch_done -- called with the counts of all blocks that ran and, of a sample whose blocks
 * count their arrivals, of one that came last, else NULL */
typedef void (*emu_launch_done)(void *context, const emu_launch *l, const emu_worker *all,
                                const emu_worker *last);
/* emu_launch_run -- all blocks, on so many host threads; a finding is in l->finding */
int emu_launch_run(emu_launch *l, int threads, emu_launch_done done, void *context, err *e);

#endif
