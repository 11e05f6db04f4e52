/* emu_fragment.h -- fragments of the running warp, and results for some of its lanes. */
#ifndef EMU_FRAGMENT_H
#define EMU_FRAGMENT_H

#include "emu_state.h"

/* emu_store -- lanes of `from` to a register, where mask says so */
void emu_store(void *to, const void *from, int bytes, uint32_t mask);
/* emu_warp_split -- a new fragment; the caller takes its lanes from the running one */
emu_frag *emu_warp_split(emu_warp *w, uint32_t lanes, int pc, emu_frame *frame);
/* emu_warp_sync -- may the lanes of mask go on, given the members they name? RUN_ON: all are here
 */
int emu_warp_sync(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t members);

/* emu_warp_park -- let the lanes of mask wait for others, with the rest going on */
emu_frag *emu_warp_park(emu_warp *w, uint32_t mask, emu_frag_state state, int barrier);

#endif
