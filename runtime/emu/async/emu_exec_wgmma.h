/* emu_exec_wgmma.h -- wgmmas in flight. */
#ifndef EMU_EXEC_WGMMA_H
#define EMU_EXEC_WGMMA_H

#include "emu_state.h"

/* emu_wgmma_registers -- checks that the instruction touches no register of a wgmma in flight */
int emu_wgmma_registers(emu_warp *w, const emu_insn *in, uint32_t mask);
void emu_wgmma_start(emu_warp *w);

#endif
