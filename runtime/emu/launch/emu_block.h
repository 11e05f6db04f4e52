/* emu_block.h -- blocks on a host thread. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "emu_state.h"

void *emu_worker_main(void *worker);
void emu_worker_clear(emu_worker *w);

#endif
