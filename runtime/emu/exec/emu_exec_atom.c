/* emu_exec_atom.c -- atomics: for one lane after the other a compare-and-swap on the host. */
#include <string.h>

#include "emu_access.h"
#include "emu_atomic.h"
#include "emu_clock.h"
#include "emu_count.h"
#include "emu_exec.h"
#include "emu_modes.h"

/* exch and cas of 16 bytes, which the host has no atomics for; `d` may be NULL */
static void update_wide(emu_launch *l, uint8_t *p, const uint8_t *b, const uint8_t *c, uint8_t *d) {
  uint8_t old[16];
  pthread_mutex_lock(&l->lock);
  memcpy(old, p, sizeof old);
  if (!c || !memcmp(old, b, sizeof old)) {
    memcpy(p, c ? c : b, sizeof old);
  }
  pthread_mutex_unlock(&l->lock);
  if (d) {
    memcpy(d, old, sizeof old);
  }
}

static void update_lane(emu_warp *w, const emu_insn *in, int e, int i, uint8_t *p) {
  const emu_more *more = in->more;
  const int size = more->mode[0], n = more->mode[2];
  const uint8_t *b = emu_src(w, more->ops[n + e]);
  const uint8_t *swap = more->ops[2 * n] == EMU_NONE ? NULL : emu_src(w, more->ops[2 * n]);
  uint8_t *d = more->ops[e] == EMU_NONE ? NULL : emu_reg(w, more->ops[e]);
  if (size == 16) {
    update_wide(w->launch, p, b + 16 * i, swap ? swap + 16 * i : NULL, d ? d + 16 * i : NULL);
    return;
  }
  const uint64_t with = emu_get(b, i, size), c = swap ? emu_get(swap, i, size) : 0;
  uint64_t old = emu_atomic_update((emu_type)in->type, more->mode[3], p, with, c);
  if (more->mode[3] == ATOM_inc && more->space != SPACE_shared) {
    old = emu_count_arrival(w, old, with);
  }
  if (d) {
    emu_put(d, i, size, old);
  }
}

int exec_atom(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  uint64_t address[32];
  uint8_t *host[32];
  int size = more->mode[0], n = more->mode[2];
  if (in->flags & INSN_RELEASES) {
    emu_clock_fence(w, !(in->flags & INSN_IN_BLOCK));
  }
  emu_addresses(w, in, 1, more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, mask, more->space, address, n * size, ACCESS_ATOMIC, host);
  rc = rc ? rc : emu_account(w, in, mask, more->space, address, n * size, ACCESS_ATOMIC, NULL);
  if (rc) {
    return rc;
  }
  w->block->worker->traffic.atomics += (uint64_t)__builtin_popcount(mask);
  if (more->space != SPACE_shared && !(mask & (mask - 1)) && more->ops[0] != EMU_NONE) {
    emu_count_fetch(w, address[__builtin_ctz(mask)]);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    for (int e = 0; e < n && (mask >> i & 1); e++) {
      update_lane(w, in, e, i, host[i] + e * size);
    }
  }
  emu_clock_acquire(w);
  return RUN_ON;
}
