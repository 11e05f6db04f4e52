/* emu_count.h -- counts of memory traffic for the cost model. */
#ifndef EMU_COUNT_H
#define EMU_COUNT_H

#include "emu_state.h"

/* emu_count_start -- reset the modelled L1 to the size that this launch leaves for it */
void emu_count_start(emu_worker *w);
/* emu_count_join -- add one worker's traffic to another's */
void emu_count_join(emu_cache *to, const emu_cache *from);
void emu_count_global(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access);
/* emu_count_polls_again -- does the strong load at w->pc repeat the warp's last one? */
bool emu_count_polls_again(const emu_warp *w, uint32_t mask, const uint64_t address[32]);
/* emu_count_poll -- a strong load of global memory; emu_count_publish -- a strong store. Blocks
 * wait for each other with these. */
void emu_count_poll(emu_warp *w, uint32_t mask, const uint64_t address[32]);
void emu_count_publish(emu_warp *w);
/* emu_count_arrival -- the result of an atom.inc that finds `old` in a counter up to `most` */
uint64_t emu_count_arrival(emu_warp *w, uint64_t old, uint64_t most);
/* emu_count_fetch -- an atomic by a single lane whose result is used */
void emu_count_fetch(emu_warp *w, uint64_t address);
/* emu_count_bulk -- n bytes of a bulk copy, which bypasses the L1 */
void emu_count_bulk(emu_warp *w, uint64_t address, uint64_t n, emu_access access);
/* emu_count_constant -- a load of constant memory, or of parameters at a computed address */
void emu_count_constant(emu_warp *w, uint32_t mask, const uint64_t address[32]);
void emu_count_shared(emu_warp *w, uint32_t mask, const uint64_t address[32], int n,
                      emu_access access);

#endif
