/* emu_exec_atom.c -- atomics: for one lane after the other a compare-and-swap on the host. */
#include <string.h>

#include "emu_access.h"
#include "emu_clock.h"
#include "emu_count.h"
#include "emu_exec.h"
#include "emu_modes.h"

static uint64_t add_halves(uint64_t a, uint64_t b, bool brain) {
  uint32_t r = 0;
  for (int i = 0; i < 2; i++) {
    uint16_t x = (uint16_t)(a >> (16 * i)), y = (uint16_t)(b >> (16 * i));
    r |= (uint32_t)(brain ? emu_bf16_nearest(emu_bf16_value(x) + emu_bf16_value(y))
                          : emu_f16_nearest(emu_f16_value(x) + emu_f16_value(y)))
         << (16 * i);
  }
  return r;
}

static uint64_t add_of(emu_type t, uint64_t a, uint64_t b) {
  switch (t) {
  case T_f32: {
    float r = emu_f32((uint32_t)a) + emu_f32((uint32_t)b);
    return r == r ? emu_f32_bits(r) : 0x7fffffff;
  }
  case T_f64: return emu_f64_bits(emu_f64(a) + emu_f64(b));
  case T_f16: return emu_f16_nearest(emu_f16_value((uint16_t)a) + emu_f16_value((uint16_t)b));
  case T_bf16: return emu_bf16_nearest(emu_bf16_value((uint16_t)a) + emu_bf16_value((uint16_t)b));
  case T_f16x2: return add_halves(a, b, false);
  case T_bf16x2: return add_halves(a, b, true);
  default: return a + b;
  }
}

static uint64_t pick_of(emu_type t, uint64_t a, uint64_t b, bool smaller) {
  if (t == T_f16x2 || t == T_bf16x2 || t == T_f16 || t == T_bf16) {
    uint64_t d[64] = {0}, x[64] = {0}, y[64] = {0};
    emu_put(x, 0, 4, a);
    emu_put(y, 0, 4, b);
    emu_lanes()[smaller ? OP_min : OP_max][t](d, x, y, NULL, NULL);
    return emu_get(d, 0, emu_type_bytes(t));
  }
  bool less = t == T_s32 ? (int32_t)a < (int32_t)b : t == T_s64 ? (int64_t)a < (int64_t)b : a < b;
  return less == smaller ? a : b;
}

static uint64_t updated(const emu_insn *in, uint64_t old, uint64_t b, uint64_t c) {
  emu_type t = (emu_type)in->type;
  switch (in->more->mode[3]) {
  case ATOM_add: return add_of(t, old, b);
  case ATOM_inc: return old >= b ? 0 : old + 1;
  case ATOM_dec: return old == 0 || old > b ? b : old - 1;
  case ATOM_min: return pick_of(t, old, b, true);
  case ATOM_max: return pick_of(t, old, b, false);
  case ATOM_and: return old & b;
  case ATOM_or: return old | b;
  case ATOM_xor: return old ^ b;
  case ATOM_exch: return b;
  default: return old == b ? c : old;
  }
}

#define SWAP(T)                                                                                    \
  do {                                                                                             \
    T *at = (T *)(void *)p, old = __atomic_load_n(at, __ATOMIC_SEQ_CST);                           \
    while (!__atomic_compare_exchange_n(at, &old, (T)updated(in, old, b, c), false,                \
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {                     \
    }                                                                                              \
    return old;                                                                                    \
  } while (0)

static uint64_t update(const emu_insn *in, uint8_t *p, uint64_t b, uint64_t c) {
  switch (emu_type_bytes((emu_type)in->type)) {
  case 2: SWAP(uint16_t);
  case 4: SWAP(uint32_t);
  default: SWAP(uint64_t);
  }
}

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
  uint64_t old = update(in, p, with, c);
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
    emu_clock_fence(w);
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
