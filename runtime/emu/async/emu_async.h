/* emu_async.h -- what is in flight beside the instructions: copies, mbarriers, wgmmas, and the barrier
 * of a cluster. */
#ifndef EMU_ASYNC_H
#define EMU_ASYNC_H

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
  uint16_t filter[3]; /* of a column: added to the pixels of dimensions 1, 2, ... */
  int reduction;      /* ATOM_... + 1; 0: a copy */
  emu_type type;      /* of a reduction */
  uint8_t data[32];   /* of BULK_WORD */
} emu_bulk;

/* emu_bulk_deliver -- do the bulk copies that the block has issued; RUN_PICK: there were some */
int emu_bulk_deliver(emu_block *b);

/* emu_cluster_release -- wake the fragments at the cluster's barrier if it is complete */
bool emu_cluster_release(emu_block *first);

/* emu_async_land -- write the bytes of the lanes' cp.async, except their `keep` youngest groups;
 * -1: of all groups */
int emu_async_land(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t in_flight);

/* emu_mbarrier_complete -- a copy has delivered bytes; `when`: the issuing warp's clock */
int emu_mbarrier_complete(emu_warp *w, const emu_insn *in, int lane, uint32_t when, emu_block *home,
                          uint32_t address, uint32_t nbytes);
/* emu_mbarrier_timeout -- no thread can continue: let waits with a time limit fail. false: there
 * are none, or they have failed too often without progress */
bool emu_mbarrier_timeout(emu_block *b);
/* emu_mbarrier_note -- describes what a fragment waits for */
void emu_mbarrier_note(const emu_block *b, const emu_frag *f, char *out, size_t n);

/* emu_wgmma_registers -- checks that the instruction touches no register of a wgmma in flight */
int emu_wgmma_registers(emu_warp *w, const emu_insn *in, uint32_t mask);
void emu_wgmma_start(emu_warp *w);

#endif
