/* emu_check_shared.h -- checks of shared memory; those that return int give RUN_ON or RUN_FAULT. */
#ifndef EMU_CHECK_SHARED_H
#define EMU_CHECK_SHARED_H

#include "emu_state.h"

int emu_check_shared(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                     int n, emu_access access, const uint8_t *values);
/* emu_check_remote -- an access to another block's shared memory: written, not pending? Races
 * between blocks are not looked for. */
int emu_check_remote(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                     int n, emu_access access);
/* emu_check_arrival -- a bulk copy writes n bytes here; false: nothing to be said against it */
void emu_check_arrival(emu_block *home, uint64_t offset, uint64_t n, const emu_warp *by, int lane,
                       uint32_t when);
/* emu_check_reserve -- a bulk copy will write n bytes here: who accesses them before is found */
int emu_check_reserve(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                      uint64_t n);
/* emu_check_async -- reads of `n` chunks of 16 bytes of shared memory by the asynchronous proxy,
 * issued by this warp: written, ordered, fenced? */
int emu_check_async(emu_warp *w, const emu_insn *in, const uint32_t *chunks, int n,
                    const char *what);

#endif
