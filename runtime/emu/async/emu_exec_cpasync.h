/* emu_exec_cpasync.h -- cp.async. */
#ifndef EMU_EXEC_CPASYNC_H
#define EMU_EXEC_CPASYNC_H

#include "emu_state.h"

/* emu_async_land -- the lanes' cp.async arrive, but for the `flying` youngest groups; -1: all */
int emu_async_land(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t flying);

#endif
