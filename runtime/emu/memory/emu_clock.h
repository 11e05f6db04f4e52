/* emu_clock.h -- a vector clock for each warp: which accesses of a block are ordered. */
#ifndef EMU_CLOCK_H
#define EMU_CLOCK_H

#include "emu_state.h"

void emu_clock_tick(emu_warp *w);                                     /* the warp synchronised */
void emu_clock_join(emu_block *b, const uint32_t arrived[EMU_WARPS]); /* a barrier completed */
/* emu_clock_join_proxied -- a barrier of the cluster completed: fences of the proxy count for all */
void emu_clock_join_proxied(emu_block *b, const uint32_t arrived[EMU_WARPS]);
/* emu_clock_fence -- wide: does it order accesses of different blocks? */
void emu_clock_fence(emu_warp *w, bool wide);
void emu_clock_acquire(emu_warp *w);
/* emu_clock_proxy -- the warp executed fence.proxy.async */
void emu_clock_proxy(emu_warp *w);

#endif
