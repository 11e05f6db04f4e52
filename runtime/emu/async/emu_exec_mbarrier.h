/* emu_exec_mbarrier.h -- mbarriers, for bulk copies and for the loop over blocks. */
#ifndef EMU_EXEC_MBARRIER_H
#define EMU_EXEC_MBARRIER_H

#include "emu_state.h"

/* emu_mbarrier_complete -- bytes have come, by a copy that the thread issued at its clock `when` */
int emu_mbarrier_complete(emu_warp *w, const emu_insn *in, int lane, uint32_t when, emu_block *home,
                          uint32_t address, uint32_t nbytes);
/* emu_mbarrier_timeout -- nobody can move: the waits whose time is limited give up; false: there
 * are none, or they did so too often without anything happening between */
bool emu_mbarrier_timeout(emu_block *b);
/* emu_mbarrier_note -- "waits for phase 1 of the mbarrier s[3], ..." */
void emu_mbarrier_note(const emu_block *b, const emu_frag *f, char *out, size_t n);

#endif
