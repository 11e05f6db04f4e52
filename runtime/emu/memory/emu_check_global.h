/* emu_check_global.h -- checks of accesses to global memory; they return RUN_ON or RUN_FAULT. */
#ifndef EMU_CHECK_GLOBAL_H
#define EMU_CHECK_GLOBAL_H

#include "emu_state.h"

int emu_check_global(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                     int n, emu_access access);
/* emu_check_race -- a plain store by this block; values: n bytes for each lane */
int emu_check_race(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                   int n, const uint8_t *values);

#endif
