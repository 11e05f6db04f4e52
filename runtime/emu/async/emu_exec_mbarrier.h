/* emu_exec_mbarrier.h -- mbarriers: bytes that arrive, waits that time out. */
#ifndef EMU_EXEC_MBARRIER_H
#define EMU_EXEC_MBARRIER_H

#include "emu_state.h"

/* emu_mbarrier_complete -- a copy has delivered bytes; `when`: the issuing warp's clock */
int emu_mbarrier_complete(emu_warp *w, const emu_insn *in, int lane, uint32_t when, emu_block *home,
                          uint32_t address, uint32_t nbytes);
/* emu_mbarrier_timeout -- no thread can continue: let waits with a time limit fail. false: there
 * are none, or they have failed too often without progress */
bool emu_mbarrier_timeout(emu_block *b);
/* emu_mbarrier_note -- describes what a fragment waits for */
void emu_mbarrier_note(const emu_block *b, const emu_frag *f, char *out, size_t n);

#endif
