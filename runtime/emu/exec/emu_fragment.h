/* emu_fragment.h -- splits and suspends the running fragment; stores results for some lanes. */
#ifndef EMU_FRAGMENT_H
#define EMU_FRAGMENT_H

#include "emu_state.h"

/* emu_store -- store the lanes of mask in a register */
void emu_store(void *to, const void *from, int bytes, uint32_t mask);
/* emu_store_same -- the same 32 bits in all lanes of mask; bytes 0: a predicate */
void emu_store_same(void *to, uint32_t value, int bytes, uint32_t mask);
/* emu_warp_split -- a new fragment; the caller removes its lanes from the running one */
emu_frag *emu_warp_split(emu_warp *w, uint32_t lanes, int pc, emu_frame *frame);
/* emu_warp_sync -- may the lanes of mask continue, given their members? RUN_ON: all have arrived */
int emu_warp_sync(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t members);

/* emu_warp_park -- suspend the lanes of mask; the others continue */
emu_frag *emu_warp_park(emu_warp *w, uint32_t mask, emu_frag_state state, int barrier);

#endif
