/* emu_remote.h -- which accesses of different blocks of a cluster are ordered.
 *
 * In a launch with clusters and checks, each warp also knows clocks of the warps of its cluster's
 * other blocks. They pass with the barrier of the cluster, with arrivals at another block's
 * mbarriers, and with fences of at least the scope of the cluster; barriers of a block spread what
 * its warps know. A clock here counts from the start of its block, where it is 1. What reaches a
 * block's mbarriers is kept for the block, not for each mbarrier, and fences for the cluster: some
 * races are missed, none is invented. */
#ifndef EMU_REMOTE_H
#define EMU_REMOTE_H

#include "emu_state.h"

typedef uint32_t emu_view[EMU_CLUSTER_MAX][EMU_WARPS]; /* clocks by rank and warp */

typedef struct emu_visit { /* the last access by a warp of another block */
  uint32_t clock;
  int lane;
  const emu_insn *in;
} emu_visit;

typedef struct emu_remote {
  emu_view known[EMU_WARPS]; /* by this block's warps; the row of its own block is unused */
  emu_view inbox;            /* published to this block's mbarriers and by its warps' fences */
  uint32_t seen[EMU_WARPS];  /* per warp: the news that it has learned */
  emu_visit visits[EMU_CLUSTER_MAX][EMU_WARPS];
  emu_shadow *shadow; /* per byte of shared memory: the last accesses by other blocks */
  uint64_t low, high; /* the bytes of it that are in use */
  /* of the first block, for the whole cluster: */
  emu_view released;           /* published by fences */
  emu_view arriving, complete; /* published by arrivals at the cluster's barrier */
  emu_view here, met;          /* clocks of the arrivals themselves, relaxed ones included */
  uint32_t news;               /* counts what is published by fences and to inboxes */
} emu_remote;

/* emu_remote_start -- for a block that starts; ERR_NOMEM, or 0 */
int emu_remote_start(emu_block *b);
void emu_remote_free(emu_block *b);

/* The following do nothing in launches without clusters or checks. */
void emu_remote_join(emu_block *b, const uint32_t arrived[EMU_WARPS]); /* a block's barrier */
void emu_remote_fence(emu_warp *w, bool wide); /* wide: of at least the cluster's scope */
void emu_remote_acquire(emu_warp *w);
/* emu_remote_signal -- the warp arrives at an mbarrier of `home` */
void emu_remote_signal(emu_warp *w, emu_block *home);
/* emu_remote_delivered -- a copy that the warp issued at clock `when` completes at home's mbarrier */
void emu_remote_delivered(const emu_warp *w, uint32_t when, emu_block *home);
void emu_remote_arrive(emu_warp *w, bool relaxed); /* at the cluster's barrier */
void emu_remote_release(emu_block *first);         /* it is complete */
void emu_remote_wait(emu_warp *w);

static inline uint32_t emu_remote_clock(const emu_warp *w) {
  return w->block->clocks[w->index][w->index] - (w->block->first_clock - 1);
}

#endif
