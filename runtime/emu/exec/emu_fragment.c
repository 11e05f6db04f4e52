/* emu_fragment.c -- see emu_fragment.h. */
#include "emu_fragment.h"

#include <string.h>

#include "emu_finding.h"

void emu_store(void *to, const void *from, int bytes, uint32_t mask) {
  const emu_lane_fn *select = emu_lanes()[OP_selp];
  switch (bytes) {
  case 0: *(uint32_t *)to = (*(uint32_t *)to & ~mask) | (*(const uint32_t *)from & mask); break;
  case 2: select[T_u16](to, from, to, &mask, NULL); break;
  case 4: select[T_u32](to, from, to, &mask, NULL); break;
  case 8: select[T_u64](to, from, to, &mask, NULL); break;
  default:
    for (int i = 0; i < EMU_LANES_N; i++) {
      if (mask >> i & 1) {
        memcpy((uint8_t *)to + i * bytes, (const uint8_t *)from + i * bytes, (size_t)bytes);
      }
    }
  }
}

void emu_store_same(void *to, uint32_t value, int bytes, uint32_t mask) {
  uint32_t d[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    d[i] = value;
  }
  emu_store(to, d, bytes, mask);
}

emu_frag *emu_warp_split(emu_warp *w, uint32_t lanes, int pc, emu_frame *frame) {
  /* lanes are disjoint, so there are at most 32 fragments */
  emu_frag *f = &w->frags[w->n_frags++];
  *f = (emu_frag){frame, pc, lanes, FRAG_RUN, 0, 0};
  return f;
}

emu_frag *emu_warp_park(emu_warp *w, uint32_t mask, emu_frag_state state, int barrier) {
  emu_frag *f = mask == w->mask ? &w->frags[w->current] : emu_warp_split(w, mask, w->pc, w->frame);
  f->state = state;
  f->barrier = barrier;
  w->waits++;
  w->mask &= mask == w->mask ? ~0u : ~mask;
  return f;
}

int emu_warp_sync(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t members) {
  if (!(members & w->live & ~mask)) {
    return RUN_ON;
  }
  if (members & w->live & w->mask & ~mask) {
    return emu_finding(w, in, __builtin_ctz(members & w->mask & ~mask), EMU_SHUFFLE,
                       "is in the member mask 0x%08x of an instruction that its predicate disables",
                       members);
  }
  w->frags[w->current].state = FRAG_SYNC;
  w->frags[w->current].members = members;
  w->pc--; /* execute this instruction again */
  return RUN_PICK;
}
