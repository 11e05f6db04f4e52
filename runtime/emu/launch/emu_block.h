/* emu_block.h -- a host thread's loop over blocks. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "emu_state.h"

void *emu_worker_main(void *worker);
void emu_worker_clear(emu_worker *w);

#endif
