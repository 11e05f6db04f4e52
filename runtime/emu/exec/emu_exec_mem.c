/* emu_exec_mem.c -- loads and stores. */
#include <string.h>

#include "emu_access.h"
#include "emu_clock.h"
#include "emu_count.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_poison.h"

/* ---- loads ---- */

/* Loads elements of `size` bytes at p[lane] + skip into a register of `width` bytes. */
#define LOAD(DT, ST)                                                                               \
  do {                                                                                             \
    DT *to = d;                                                                                    \
    for (int i = 0; i < EMU_LANES_N; i++) {                                                        \
      if (mask >> i & 1) {                                                                         \
        ST v;                                                                                      \
        memcpy(&v, p[i] + skip, sizeof v);                                                         \
        to[i] = (DT)v;                                                                             \
      }                                                                                            \
    }                                                                                              \
    return;                                                                                        \
  } while (0)
#define LOAD_FULL(DT)                                                                              \
  do {                                                                                             \
    DT *to = d;                                                                                    \
    for (int i = 0; i < EMU_LANES_N; i++) {                                                        \
      memcpy(&to[i], p[i] + skip, sizeof *to);                                                     \
    }                                                                                              \
    return;                                                                                        \
  } while (0)

EMU_GUEST static void load_lanes(void *d, uint8_t *const p[32], int skip, int size, int width,
                                 bool is_signed, uint32_t mask) {
  if (size == width && mask == ~0u) {
    switch (size) {
    case 4: LOAD_FULL(uint32_t);
    case 8: LOAD_FULL(uint64_t);
    case 2: LOAD_FULL(uint16_t);
    default: break;
    }
  }
  switch (size * 100 + width + (is_signed ? 10000 : 0)) {
  case 102: LOAD(uint16_t, uint8_t);
  case 104: LOAD(uint32_t, uint8_t);
  case 108: LOAD(uint64_t, uint8_t);
  case 202:
  case 10202: LOAD(uint16_t, uint16_t);
  case 204: LOAD(uint32_t, uint16_t);
  case 208: LOAD(uint64_t, uint16_t);
  case 404:
  case 10404: LOAD(uint32_t, uint32_t);
  case 408: LOAD(uint64_t, uint32_t);
  case 808:
  case 10808: LOAD(uint64_t, uint64_t);
  case 10102: LOAD(uint16_t, int8_t);
  case 10104: LOAD(uint32_t, int8_t);
  case 10108: LOAD(uint64_t, int8_t);
  case 10204: LOAD(uint32_t, int16_t);
  case 10208: LOAD(uint64_t, int16_t);
  case 10408: LOAD(uint64_t, int32_t);
  default: break;
  }
  for (int i = 0; i < EMU_LANES_N; i++) { /* 16 bytes */
    if (mask >> i & 1) {
      memcpy((uint8_t *)d + i * width, p[i] + skip, (size_t)size);
    }
  }
}

/* Parameters are the same in all lanes. */
static int load_param(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_launch *l = w->launch;
  const emu_more *more = in->more;
  uint64_t at = emu_get(emu_src(w, in->o[1]), 0, 8) + (uint64_t)in->imm;
  int size = more->mode[0];
  if (at > l->params_nbytes || (uint64_t)(size * more->n) > l->params_nbytes - at) {
    return emu_finding(w, in, __builtin_ctz(mask), EMU_LOCAL_BOUNDS,
                       "reads past the end of the parameters");
  }
  uint8_t *p[32];
  for (int i = 0; i < EMU_LANES_N; i++) {
    p[i] = (uint8_t *)(uintptr_t)l->params + at;
  }
  for (int e = 0; e < more->n; e++) {
    if (more->ops[e] != EMU_NONE) {
      load_lanes(emu_reg(w, more->ops[e]), p, e * size, size, more->bytes[e], more->mode[1], mask);
    }
  }
  return RUN_ON;
}

/* Blocks of a cooperative launch wait for each other at barriers of the grid, whose time the model
 * knows: the polls there are no traffic. */
static bool waits_for_grid(const emu_warp *w, const emu_insn *in, uint32_t mask,
                           const uint64_t address[32]) {
  return w->launch->cooperative && in->flags & INSN_STRONG && in->more->space == SPACE_global &&
         mask && emu_count_polls_again(w, mask, address);
}

int exec_ld(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  uint64_t address[32];
  uint8_t *host[32];
  int size = more->mode[0], n = size * more->n;
  if (more->space == SPACE_param && in->o[1] < 0) {
    return load_param(w, in, mask);
  }
  emu_addresses(w, in, 1, more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, mask, more->space, address, n, ACCESS_READ, host);
  const bool waits = waits_for_grid(w, in, mask, address);
  w->slice_end = waits ? 0 : w->slice_end; /* other blocks run first */
  rc = rc || waits ? rc : emu_account(w, in, mask, more->space, address, n, ACCESS_READ, NULL);
  if (rc) {
    return rc;
  }
  for (int e = 0; e < more->n; e++) {
    if (more->ops[e] != EMU_NONE) {
      load_lanes(emu_reg(w, more->ops[e]), host, e * size, size, more->bytes[e], more->mode[1],
                 mask);
    }
  }
  if (w->poison.loading) {
    emu_poison_loaded(w, in);
  }
  if (in->flags & INSN_STRONG) {
    emu_clock_acquire(w);
    if (more->space == SPACE_global && mask) {
      emu_count_poll(w, mask, address);
    }
  }
  return RUN_ON;
}

/* ---- stores ---- */

#define STORE(T)                                                                                   \
  for (int i = 0; i < EMU_LANES_N; i++) {                                                          \
    if (mask >> i & 1) {                                                                           \
      memcpy(p[i] + skip, s + i * width, sizeof(T));                                               \
    }                                                                                              \
  }                                                                                                \
  return

EMU_GUEST static void store_lanes(uint8_t *const p[32], int skip, const uint8_t *s, int size,
                                  int width, uint32_t mask) {
  switch (size) {
  case 1: STORE(uint8_t);
  case 2: STORE(uint16_t);
  case 4: STORE(uint32_t);
  case 8: STORE(uint64_t);
  default: break;
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    if (mask >> i & 1) {
      memcpy(p[i] + skip, s + i * width, (size_t)size);
    }
  }
}

/* the values of all elements by lane, for the checks */
static void gather_values(const emu_warp *w, const emu_insn *in, uint8_t *values) {
  const emu_more *more = in->more;
  int size = more->mode[0], n = size * more->n;
  for (int e = 0; e < more->n; e++) {
    const uint8_t *s = emu_src(w, more->ops[e]);
    for (int i = 0; i < EMU_LANES_N; i++) {
      memcpy(values + i * n + e * size, s + i * more->bytes[e], (size_t)size);
    }
  }
}

int exec_st(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  uint64_t address[32];
  uint8_t *host[32], values[32 * 32];
  int size = more->mode[0], n = size * more->n;
  if (in->flags & INSN_RELEASES) {
    emu_clock_fence(w, !(in->flags & INSN_IN_BLOCK));
  }
  emu_addresses(w, in, 1, more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, mask, more->space, address, n, ACCESS_WRITE, host);
  if (!rc && (w->launch->checks || w->block->counting) && more->space != SPACE_local) {
    if (w->launch->checks) {
      gather_values(w, in, values);
    }
    rc = emu_account(w, in, mask, more->space, address, n, ACCESS_WRITE, values);
  }
  if (rc) {
    return rc;
  }
  for (int e = 0; e < more->n; e++) {
    store_lanes(host, e * size, emu_src(w, more->ops[e]), size, more->bytes[e], mask);
  }
  if (w->poisoned && more->space == SPACE_shared) {
    emu_poison_stored(w, in, mask, address);
  }
  if (in->flags & INSN_STRONG && more->space == SPACE_global) {
    emu_count_publish(w);
  }
  return RUN_ON;
}
