/* emu_exec_bulk.h -- bulk copies in flight. */
#ifndef EMU_EXEC_BULK_H
#define EMU_EXEC_BULK_H

#include "emu_state.h"
#include "emu_tensor.h"

typedef struct emu_bulk {
  const emu_insn *in;
  emu_warp *warp;
  int lane, op;
  uint32_t group, when;           /* the bulk group of a store; the issuing warp's clock */
  emu_block *home, *barrier_home; /* blocks of the copy's shared memory and of its mbarrier */
  uint32_t shared, from;          /* offsets in shared memory; from: BULK_BETWEEN */
  uint64_t global, nbytes;
  uint32_t barrier;
  emu_tensor_map map; /* rank 0: a copy of bytes */
  int32_t at[5];
} emu_bulk;

/* emu_bulk_deliver -- do the bulk copies that the block has issued; RUN_PICK: there were some */
int emu_bulk_deliver(emu_block *b);

#endif
