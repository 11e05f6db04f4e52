/* emu_access.h -- from a kernel's addresses to the host's memory, with all checks on the way. */
#ifndef EMU_ACCESS_H
#define EMU_ACCESS_H

#include "emu_state.h"

/* emu_resolve -- host addresses of an access by the lanes of mask to `n` bytes each.
 *   out  host[32]
 *   returns RUN_ON or RUN_FAULT */
int emu_resolve(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, uint8_t *host[32]);
/* emu_account -- the checks that need the values, and the cost model's counts, of a resolved
 * access. values: n bytes a lane of a write, else NULL */
int emu_account(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, const uint8_t *values);
void emu_addresses(const emu_warp *w, const emu_insn *in, int slot, int bytes, int64_t offset,
                   uint64_t address[32]);
/* emu_peek -- a byte at a generic address, as one lane sees it; false: not there */
bool emu_peek(emu_warp *w, int lane, uint64_t address, uint64_t n, void *to);

#endif
