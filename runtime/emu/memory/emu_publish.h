/* emu_publish.h -- is what a block writes to global memory fenced before it is announced to others?
 *
 * A block that hands plain stores to another block, as the last block of a reduction takes the
 * others' partial results, announces them by an atomic or a strong store. Between the stores and the
 * announcement there has to be a fence, or the announcement has to release. A load is a fault if it
 * reads a plain store of another block in this launch which no fence of that block follows, though
 * an announcement does, and if the loading block has looked at what was announced: an atomic, or a
 * strong load, at an address that the storing block updated.
 *
 * That errs on the side of silence: a fence counts for every later atomic; the
 * reader's own fence is not asked for; compare-and-swap, minimum and maximum announce nothing, since
 * algorithms that tolerate old values use them. */
#ifndef EMU_PUBLISH_H
#define EMU_PUBLISH_H

#include "emu_state.h"

enum { EMU_SIGNALS = 8, EMU_PUBLISH_BLOCKS = 1 << 18 };

/* of a block of the launch; clocks count from the start of the block */
typedef struct emu_publication {
  uint32_t fenced[EMU_WARPS];    /* the clock of each warp that precedes a fence, ... */
  uint32_t released[EMU_WARPS];  /* ... and then an atomic, a strong store or a barrier */
  uint32_t signalled[EMU_WARPS]; /* that precedes an announcement by another warp */
  uint32_t stores[EMU_WARPS];    /* plain stores of each warp before its own announcements */
  uint64_t signals[EMU_SIGNALS]; /* the latest addresses of announcements */
  uint32_t n_signals;
} emu_publication;

/* emu_publish_open -- for a launch that is prepared; without memory it is not checked */
void emu_publish_open(emu_launch *l);
void emu_publish_close(emu_launch *l);

/* The following do nothing in a launch that is not checked. */
void emu_publish_fence(emu_warp *w);
/* emu_publish_release -- the warp arrives at a barrier of the cluster, or at a remote mbarrier */
void emu_publish_release(emu_warp *w);
/* emu_publish_access -- an access of n bytes to global memory; RUN_ON or RUN_FAULT */
int emu_publish_access(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                       int n, emu_access access);

#endif
