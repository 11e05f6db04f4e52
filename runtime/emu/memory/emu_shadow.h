/* emu_shadow.h -- the tags of accesses in the shadow of shared memory (emu_check_shared.c). */
#ifndef EMU_SHADOW_H
#define EMU_SHADOW_H

#include "emu_state.h"

enum {
  SHADOW_THREAD_BITS = 10,
  SHADOW_MANY = 1 << 10,  /* reads by several threads */
  SHADOW_ASYNC = 1 << 10, /* a write by the asynchronous proxy */
  SHADOW_STRONG = 1 << 11,
  SHADOW_PROXY = 1 << 12, /* a read by the asynchronous proxy */
  SHADOW_CLOCK_SHIFT = 13,
  SHADOW_CLOCK_MAX = (1 << 19) - 1
};
/* The last write is by the system, or by another block of the cluster, whose tag emu_check_remote.c
 * has. */
#define SHADOW_REMOTE UINT32_MAX

static inline uint32_t emu_tag_clock(uint32_t tag) {
  return tag >> SHADOW_CLOCK_SHIFT;
}
static inline int emu_tag_thread(uint32_t tag) {
  return (int)(tag & ((1 << SHADOW_THREAD_BITS) - 1));
}

#endif
