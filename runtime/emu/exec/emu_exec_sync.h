/* emu_exec_sync.h -- the barriers of a block. */
#ifndef EMU_EXEC_SYNC_H
#define EMU_EXEC_SYNC_H

#include "emu_state.h"

/* emu_block_release -- wake the fragments at complete barriers; false: none was complete */
bool emu_block_release(emu_block *b);

#endif
