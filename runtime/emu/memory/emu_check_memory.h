/* emu_check_memory.h -- checks of accesses to memory; int results are RUN_ON or RUN_FAULT. */
#ifndef EMU_CHECK_MEMORY_H
#define EMU_CHECK_MEMORY_H

#include "emu_state.h"

int emu_check_shared(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                     int n, emu_access access, const uint8_t *values);
/* emu_check_remote -- an access to another block's shared memory; values: n bytes of a write */
int emu_check_remote(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                     int n, emu_access access, const uint8_t *values);
/* emu_check_others -- an access to the block's own memory: is it ordered after the accesses of the
 * cluster's other blocks? */
int emu_check_others(emu_warp *w, const emu_insn *in, int lane, uint64_t offset, int n,
                     emu_access access, const uint8_t *values);
/* emu_check_remote_copy -- a bulk copy will write a byte of a block's memory */
int emu_check_remote_copy(emu_warp *w, const emu_insn *in, int lane, emu_block *home,
                          uint64_t offset);
void emu_check_remote_arrival(emu_block *home, uint64_t offset, uint64_t n, const emu_warp *by,
                              int lane, uint32_t when);
/* emu_check_visit -- an operation at another block's mbarrier: has the block started? */
int emu_check_visit(emu_warp *w, const emu_insn *in, int lane, emu_block *home);
/* emu_check_leave -- all threads of the block have exited: may other blocks still use its memory? */
int emu_check_leave(emu_block *b);
/* emu_check_arrival -- a bulk copy has written n bytes; `when`: its issuing warp's clock */
void emu_check_arrival(emu_block *home, uint64_t offset, uint64_t n, const emu_warp *by, int lane,
                       uint32_t when);
/* emu_check_reserved -- the system has written the n first bytes of shared memory */
void emu_check_reserved(emu_block *b, uint64_t n);
/* emu_check_reserve -- a bulk copy will write n bytes; until it lands any access is a fault */
int emu_check_reserve(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                      uint64_t n);
/* emu_check_async -- the asynchronous proxy reads `n` chunks of 16 bytes for this warp: are they
 * written, ordered and fenced? */
int emu_check_async(emu_warp *w, const emu_insn *in, const uint32_t *chunks, int n,
                    const char *what);

int emu_check_global(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                     int n, emu_access access);
/* emu_check_race -- a plain store by this block; values: n bytes for each lane */
int emu_check_race(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                   int n, const uint8_t *values);

#endif
