/* emu_exec_sync.h -- the block's barriers. */
#ifndef EMU_EXEC_SYNC_H
#define EMU_EXEC_SYNC_H

#include "emu_state.h"

/* emu_block_release -- let go barriers that are complete; false: a finding */
bool emu_block_release(emu_block *b);

#endif
