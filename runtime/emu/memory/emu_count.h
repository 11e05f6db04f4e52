/* emu_count.h -- what an access adds to the counts. */
#ifndef EMU_COUNT_H
#define EMU_COUNT_H

#include "emu_state.h"

/* emu_count_start -- an empty cache of the size that this launch leaves */
void emu_count_start(emu_worker *w);
/* emu_count_join -- add one worker's traffic by allocation to another's */
void emu_count_join(emu_cache *to, const emu_cache *from);
void emu_count_global(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access);
/* emu_count_look -- a strong load of global memory, emu_count_tell -- a strong store: by these
 * blocks wait for each other */
void emu_count_look(emu_warp *w, uint32_t mask, const uint64_t address[32]);
void emu_count_tell(emu_warp *w);
/* emu_count_arrival -- what atom.inc tells a block that finds `old` in a counter up to `most` */
uint64_t emu_count_arrival(emu_warp *w, uint64_t old, uint64_t most);
/* emu_count_draw -- an atomic by a single lane that wants to know what was there */
void emu_count_draw(emu_warp *w, uint64_t address);
/* emu_count_bulk -- n bytes of a bulk copy, which goes past the first-level cache */
void emu_count_bulk(emu_warp *w, uint64_t address, uint64_t n, emu_access access);
void emu_count_shared(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access);

#endif
