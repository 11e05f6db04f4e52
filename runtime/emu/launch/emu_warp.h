/* emu_warp.h -- runs the warps of a block, and a host thread's loop over blocks. */
#ifndef EMU_WARP_H
#define EMU_WARP_H

#include "emu_state.h"

typedef enum emu_warp_state { WARP_DONE, WARP_WAITS, WARP_YIELDS, WARP_FAULT } emu_warp_state;
emu_warp_state emu_warp_run(emu_warp *w);
/* emu_warp_start -- all lanes of a warp at the kernel's first instruction */
int emu_warp_start(emu_warp *w, uint32_t lanes);
void emu_warp_clear(emu_warp *w);

void *emu_worker_main(void *worker);
void emu_worker_clear(emu_worker *w);

#endif
