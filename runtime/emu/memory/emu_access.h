/* emu_access.h -- a kernel's addresses to host memory, with the checks of the access. */
#ifndef EMU_ACCESS_H
#define EMU_ACCESS_H

#include "emu_state.h"

/* emu_resolve -- host addresses of an access to n bytes by each lane of mask; checks bounds,
 * alignment and global memory
 *   out  host[32]
 *   returns RUN_ON or RUN_FAULT */
int emu_resolve(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, uint8_t *host[32]);
/* emu_account -- for a resolved access, the checks of shared memory and of races, and the counts of
 * the cost model. values: of a write, n bytes for each lane; else NULL */
int emu_account(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, const uint8_t *values);
void emu_addresses(const emu_warp *w, const emu_insn *in, int slot, int bytes, int64_t offset,
                   uint64_t address[32]);
/* emu_peek -- n bytes at a generic address, as one lane sees them; false: not readable */
bool emu_peek(emu_warp *w, int lane, uint64_t address, uint64_t n, void *to);

#endif
