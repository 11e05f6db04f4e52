/* emu_exec_cpasync.h -- cp.async copies in flight. */
#ifndef EMU_EXEC_CPASYNC_H
#define EMU_EXEC_CPASYNC_H

#include "emu_state.h"

/* emu_async_land -- write the bytes of the lanes' cp.async, except their `keep` youngest groups;
 * -1: of all groups */
int emu_async_land(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t in_flight);

#endif
