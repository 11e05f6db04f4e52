/* emu_cost.h -- the modelled time of a launch on the profile's card; it is never a measurement. */
#ifndef EMU_COST_H
#define EMU_COST_H

#include "emu_profile.h"
#include "emu_state.h"
#include "emu_stats.h"

/* emu_cost_launch -- counts and modelled seconds of the whole launch, from the blocks that ran.
 * last: counts of a block that arrived last, or NULL */
void emu_cost_launch(const emu_profile *p, const emu_launch *l, const emu_worker *counted,
                     const emu_worker *last, rt_emu_stats *stats);
#endif
