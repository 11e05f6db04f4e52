/* emu_exec_bulk.h -- bulk copies in flight. */
#ifndef EMU_EXEC_BULK_H
#define EMU_EXEC_BULK_H

#include "emu_state.h"
#include "emu_tensor.h"

typedef struct emu_bulk {
  const emu_insn *in;
  emu_warp *warp;
  int lane, op;
  uint32_t group, when;           /* of a store: its bulk group; the clock it was issued at */
  emu_block *home, *barrier_home; /* of what lies in shared memory, and of the mbarrier */
  uint32_t shared, from;          /* offsets in shared memory; from: BULK_BETWEEN */
  uint64_t global, nbytes;
  uint32_t barrier;
  emu_tensor_map map; /* rank 0: plain bytes */
  int32_t at[5];
} emu_bulk;

/* emu_bulk_deliver -- do the bulk copies that this block's threads issued. RUN_ON: there were none,
 * RUN_PICK: there were some */
int emu_bulk_deliver(emu_block *b);

#endif
