/* emu_exec_mem.c -- loads, stores, atomics and asynchronous copies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu_decode.h"
#include "emu_exec.h"

/* ---- from addresses to the host's memory ---- */

void emu_addresses(const emu_warp *w, const emu_insn *in, int slot, int bytes, int64_t offset,
                   uint64_t address[32]) {
  const void *base = emu_src(w, in->o[slot]);
  if (bytes == 8) {
    const uint64_t *b = base;
    for (int i = 0; i < EMU_LANES_N; i++) {
      address[i] = b[i] + (uint64_t)offset;
    }
    return;
  }
  const uint32_t *b = base;
  for (int i = 0; i < EMU_LANES_N; i++) {
    address[i] = (uint32_t)(b[i] + (uint32_t)offset);
  }
}

/* are all active addresses within [0, limit - n]? */
static bool all_below(uint32_t mask, const uint64_t address[32], uint64_t limit, int n) {
  uint64_t most = 0;
  if (limit < (uint64_t)n) {
    return false;
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    uint64_t a = address[__builtin_ctz(left)];
    most = a > most ? a : most;
  }
  return most <= limit - (uint64_t)n;
}

static int first_beyond(uint32_t mask, const uint64_t address[32], uint64_t limit, int n) {
  for (int i = 0; i < EMU_LANES_N; i++) {
    if ((mask >> i & 1) && (address[i] > limit || limit - address[i] < (uint64_t)n)) {
      return i;
    }
  }
  return 0;
}

static const char *verb(emu_access access) {
  return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "updates";
}

static int misaligned(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                      int n, emu_access access, const char *space) {
  uint64_t any = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    any |= address[__builtin_ctz(left)];
  }
  if (!(any & (uint64_t)(n - 1))) {
    return RUN_ON;
  }
  int lane = 0;
  while (!(mask >> lane & 1) || !(address[lane] & (uint64_t)(n - 1))) {
    lane++;
  }
  return emu_finding(w, in, lane, EMU_MISALIGNED,
                     "%s %d bytes at %s address 0x%llx, which is not a "
                     "multiple of %d",
                     verb(access), n, space, (unsigned long long)address[lane], n);
}

static int resolve_shared(emu_warp *w, const emu_insn *in, uint32_t mask,
                          const uint64_t address[32], int n, emu_access access, uint8_t *host[32]) {
  uint64_t limit = w->launch->smem_nbytes;
  if (!all_below(mask, address, limit, n)) {
    int lane = first_beyond(mask, address, limit, n);
    return emu_finding(w, in, lane, EMU_SHARED_BOUNDS,
                       "%s %d bytes at shared address %llu, but the "
                       "block has %llu bytes (%u of them dynamic)",
                       verb(access), n, (unsigned long long)address[lane],
                       (unsigned long long)limit, w->launch->dynamic_nbytes);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    host[i] = w->block->smem + (mask >> i & 1 ? address[i] : 0);
  }
  return misaligned(w, in, mask, address, n, access, "shared");
}

/* an address with a rank in it is of another block of the cluster */
static int resolve_cluster(emu_warp *w, const emu_insn *in, uint32_t mask,
                           const uint64_t address[32], int n, emu_access access,
                           uint8_t *host[32]) {
  uint64_t ranks = 0;
  for (int i = 0; i < EMU_LANES_N; i++) {
    ranks |= mask >> i & 1 ? address[i] >> EMU_RANK_SHIFT : 0;
    host[i] = w->block->smem;
  }
  for (int i = 0; i < EMU_LANES_N && ranks; i++) {
    uint64_t offset = 0;
    emu_block *home = mask >> i & 1 ? emu_cluster_home(w->block, address[i], &offset) : w->block;
    if (!home || home->done || offset + (uint64_t)n > w->launch->smem_nbytes) {
      return emu_finding(w, in, i, EMU_SHARED_BOUNDS,
                         "%s %d bytes at address 0x%llx of its cluster's shared memory: %s",
                         verb(access), n, (unsigned long long)address[i],
                         !home        ? "there is no such block"
                         : home->done ? "that block has ended"
                                      : "beyond what a block has");
    }
    host[i] = home->smem + offset;
  }
  return ranks ? misaligned(w, in, mask, address, n, access, "shared")
               : resolve_shared(w, in, mask, address, n, access, host);
}

static int resolve_local(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                         int n, emu_access access, uint8_t *host[32]) {
  uint64_t stride = w->launch->local_nbytes;
  if (!all_below(mask, address, stride, n)) {
    int lane = first_beyond(mask, address, stride, n);
    return emu_finding(w, in, lane, EMU_LOCAL_BOUNDS, "%s %d bytes at local address %llu of %llu",
                       verb(access), n, (unsigned long long)address[lane],
                       (unsigned long long)stride);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    host[i] = w->local + (uint64_t)i * stride + (mask >> i & 1 ? address[i] : 0);
  }
  return misaligned(w, in, mask, address, n, access, "local");
}

static int resolve_param(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                         int n, emu_access access, uint8_t *host[32]) {
  uint64_t limit = w->launch->params_nbytes;
  if (access != ACCESS_READ || !all_below(mask, address, limit, n)) {
    int lane = access == ACCESS_READ ? first_beyond(mask, address, limit, n) : __builtin_ctz(mask);
    return emu_finding(w, in, lane, access == ACCESS_READ ? EMU_LOCAL_BOUNDS : EMU_READ_ONLY,
                       "%s %d bytes at parameter address %llu of %llu", verb(access), n,
                       (unsigned long long)address[lane], (unsigned long long)limit);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    host[i] = (uint8_t *)(uintptr_t)w->launch->params + (mask >> i & 1 ? address[i] : 0);
  }
  return misaligned(w, in, mask, address, n, access, "parameter");
}

static int resolve_global(emu_warp *w, const emu_insn *in, uint32_t mask,
                          const uint64_t address[32], int n, emu_access access, uint8_t *host[32]) {
  emu_heap *h = w->launch->heap;
  uint64_t offset[32];
  for (int i = 0; i < EMU_LANES_N; i++) {
    offset[i] = address[i] - EMU_GLOBAL_BASE;
  }
  if (!all_below(mask, offset, h->top, n)) {
    int lane = first_beyond(mask, offset, h->top, n);
    if (address[lane] < 4096) {
      return emu_finding(w, in, lane, EMU_GLOBAL_BOUNDS,
                         "%s %d bytes through a null pointer (0x%llx)", verb(access), n,
                         (unsigned long long)address[lane]);
    }
    return emu_finding(w, in, lane, EMU_GLOBAL_BOUNDS,
                       "%s %d bytes at address 0x%llx, which belongs to "
                       "no allocation",
                       verb(access), n, (unsigned long long)address[lane]);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    host[i] = h->data + (mask >> i & 1 ? offset[i] : 0);
  }
  int rc = misaligned(w, in, mask, address, n, access, "global");
  return rc || !w->launch->checks ? rc : emu_check_global(w, in, mask, address, n, access);
}

static emu_space window_of(uint64_t address) {
  switch (address >> EMU_WINDOW_SHIFT) {
  case 1: return SPACE_shared;
  case 2: return SPACE_local;
  case 3: return SPACE_param;
  default: return SPACE_global;
  }
}

/* each window's lanes by themselves */
static int resolve_generic(emu_warp *w, const emu_insn *in, uint32_t mask,
                           const uint64_t address[32], int n, emu_access access,
                           uint8_t *host[32]) {
  static const emu_space spaces[] = {SPACE_global, SPACE_shared, SPACE_local, SPACE_param};
  for (size_t s = 0; s < 4; s++) {
    uint64_t inside[32] = {0};
    uint8_t *some[32];
    uint32_t low = 0;
    for (int i = 0; i < EMU_LANES_N; i++) {
      if ((mask >> i & 1) && window_of(address[i]) == spaces[s]) {
        low |= 1u << i;
        inside[i] = s ? address[i] & ((UINT64_C(1) << EMU_WINDOW_SHIFT) - 1) : address[i];
      }
    }
    if (!low) {
      continue;
    }
    emu_space space = spaces[s] == SPACE_shared ? SPACE_cluster : spaces[s];
    int rc = emu_resolve(w, in, low, space, inside, n, access, low == mask ? host : some);
    if (rc || low == mask) {
      return rc;
    }
    for (int i = 0; i < EMU_LANES_N; i++) {
      host[i] = low >> i & 1 ? some[i] : host[i];
    }
  }
  return RUN_ON;
}

int emu_resolve(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, uint8_t *host[32]) {
  switch (space) {
  case SPACE_shared: return resolve_shared(w, in, mask, address, n, access, host);
  case SPACE_cluster: return resolve_cluster(w, in, mask, address, n, access, host);
  case SPACE_local:
  case SPACE_frame: return resolve_local(w, in, mask, address, n, access, host);
  case SPACE_param: return resolve_param(w, in, mask, address, n, access, host);
  case SPACE_generic: return resolve_generic(w, in, mask, address, n, access, host);
  default: return resolve_global(w, in, mask, address, n, access, host);
  }
}

/* lanes of a generic access that lie in shared memory, with their offsets there; 0: none */
static uint32_t shared_lanes(emu_space space, uint32_t mask, const uint64_t address[32],
                             uint64_t offset[32]) {
  uint32_t lanes = 0;
  if (space == SPACE_shared || space == SPACE_cluster) {
    memcpy(offset, address, 32 * sizeof *offset);
    return mask;
  }
  for (int i = 0; space == SPACE_generic && i < EMU_LANES_N; i++) {
    bool is = (mask >> i & 1) && window_of(address[i]) == SPACE_shared;
    lanes |= is ? 1u << i : 0;
    offset[i] = is ? address[i] - EMU_SHARED_WINDOW : 0;
  }
  return lanes;
}

static uint32_t global_lanes(emu_space space, uint32_t mask, const uint64_t address[32]) {
  uint32_t lanes = 0;
  if (space == SPACE_global || space == SPACE_const) {
    return mask;
  }
  for (int i = 0; space == SPACE_generic && i < EMU_LANES_N; i++) {
    lanes |= (mask >> i & 1) && window_of(address[i]) == SPACE_global ? 1u << i : 0;
  }
  return lanes;
}

/* what lies in other blocks of the cluster is checked here and leaves *lanes */
static int check_far(emu_warp *w, const emu_insn *in, uint32_t *lanes, const uint64_t offset[32],
                     int n, emu_access access) {
  int rc = RUN_ON;
  for (int i = 0; i < EMU_LANES_N && !rc && w->launch->n_mates > 1; i++) {
    uint64_t there;
    if ((*lanes >> i & 1) && offset[i] >> EMU_RANK_SHIFT) {
      *lanes &= ~(1u << i);
      emu_block *home = emu_cluster_home(w->block, offset[i], &there);
      rc = emu_check_remote(w, in, i, home, there, n, access);
    }
  }
  return rc;
}

/* checks of shared memory, and what the cost model counts */
int emu_account(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, const uint8_t *values) {
  uint64_t offset[32];
  uint32_t shared = shared_lanes(space, mask, address, offset),
           global = global_lanes(space, mask, address);
  if (w->block->counting && shared) {
    emu_count_shared(w, shared, offset, n, access);
  }
  if (w->block->counting && global && space != SPACE_const) {
    emu_count_global(w, global, address, n, access);
  }
  if (!w->launch->checks) {
    return RUN_ON;
  }
  if (shared) {
    int rc = check_far(w, in, &shared, offset, n, access);
    rc = rc ? rc : emu_check_shared(w, in, shared, offset, n, access, values);
    if (rc) {
      return rc;
    }
  }
  if (global && access == ACCESS_WRITE && !(in->flags & INSN_STRONG)) {
    return emu_check_race(w, in, global, address, n, values);
  }
  return RUN_ON;
}

/* ---- loads ---- */

/* elements of `size` bytes at p[lane] + skip to a register of `width` bytes */
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

/* parameters are alike in all lanes */
static int load_param(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_launch *l = w->launch;
  const emu_more *more = in->more;
  uint64_t at = emu_get(emu_src(w, in->o[1]), 0, 8) + (uint64_t)in->imm;
  int size = more->mode[0];
  if (at > l->params_nbytes || (uint64_t)(size * more->n) > l->params_nbytes - at) {
    return emu_finding(w, in, __builtin_ctz(mask), EMU_LOCAL_BOUNDS, "reads behind the parameters");
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
  rc = rc ? rc : emu_account(w, in, mask, more->space, address, n, ACCESS_READ, NULL);
  if (rc) {
    return rc;
  }
  for (int e = 0; e < more->n; e++) {
    if (more->ops[e] != EMU_NONE) {
      load_lanes(emu_reg(w, more->ops[e]), host, e * size, size, more->bytes[e], more->mode[1],
                 mask);
    }
  }
  if (in->flags & INSN_STRONG) {
    emu_clock_acquire(w);
    if (more->space == SPACE_global && mask) {
      emu_count_look(w, mask, address);
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

/* the values of all elements, lane after lane, for the checks */
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
  if (in->flags & INSN_STRONG && more->space == SPACE_global) {
    emu_count_tell(w);
  }
  return RUN_ON;
}

/* ---- atomics: lanes one after the other, each a compare-and-swap on the host ---- */

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

int exec_atom(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  uint64_t address[32];
  uint8_t *host[32];
  int size = more->mode[0], n = more->mode[2];
  emu_addresses(w, in, 1, more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, mask, more->space, address, n * size, ACCESS_ATOMIC, host);
  rc = rc ? rc : emu_account(w, in, mask, more->space, address, n * size, ACCESS_ATOMIC, NULL);
  if (rc) {
    return rc;
  }
  w->block->worker->traffic.atomics += (uint64_t)__builtin_popcount(mask);
  if (more->space != SPACE_shared && !(mask & (mask - 1)) && more->ops[0] != EMU_NONE) {
    emu_count_draw(w, address[__builtin_ctz(mask)]);
  }
  const void *swap = more->ops[2 * n] == EMU_NONE ? NULL : emu_src(w, more->ops[2 * n]);
  for (int i = 0; i < EMU_LANES_N; i++) {
    for (int e = 0; e < n && (mask >> i & 1); e++) {
      uint64_t b = emu_get(emu_src(w, more->ops[n + e]), i, size),
               c = swap ? emu_get(swap, i, size) : 0;
      uint64_t old = update(in, host[i] + e * size, b, c);
      if (more->mode[3] == ATOM_inc && more->space != SPACE_shared) {
        old = emu_count_arrival(w, old, b);
      }
      if (more->ops[e] != EMU_NONE) {
        emu_put(emu_reg(w, more->ops[e]), i, size, old);
      }
    }
  }
  emu_clock_acquire(w);
  return RUN_ON;
}

/* ---- cp.async: the bytes are read when it is issued and land when its thread waits ---- */

static int remember(emu_warp *w, const emu_async *one) {
  if (w->n_async == w->cap_async) {
    int bigger = w->cap_async ? 2 * w->cap_async : 256;
    emu_async *async = realloc(w->async, sizeof *async * (size_t)bigger);
    if (!async) {
      return ERR_NOMEM;
    }
    w->async = async;
    w->cap_async = bigger;
  }
  w->async[w->n_async++] = *one;
  return 0;
}

int exec_cpasync(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const emu_more *more = in->more;
  uint64_t to[32], from[32];
  uint8_t *host[32], *dest[32];
  int n = more->mode[0];
  uint32_t reads = mask;
  emu_addresses(w, in, 1, more->mode[4], more->mode[3], to);
  emu_addresses(w, in, 2, more->mode[5], in->imm, from);
  for (int i = 0; i < EMU_LANES_N && in->o[3] != EMU_NONE; i++) {
    bool none = more->mode[1] ? *(const uint32_t *)emu_src(w, in->o[3]) >> i & 1
                              : !emu_get(emu_src(w, in->o[3]), i, 4);
    reads &= none ? ~(1u << i) : ~0u;
  }
  int rc = resolve_shared(w, in, mask, to, n, ACCESS_WRITE, dest);
  rc = rc || !reads ? rc : resolve_global(w, in, reads, from, n, ACCESS_READ, host);
  if (rc) {
    return rc;
  }
  if (w->block->counting) {
    emu_count_shared(w, mask, to, n, ACCESS_WRITE);
    emu_count_global(w, reads, from, n, ACCESS_READ);
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    emu_async one = {(uint32_t)to[i], (uint8_t)n, (uint8_t)i, {0}, w->group[i]};
    if (!(mask >> i & 1)) {
      continue;
    }
    if (reads >> i & 1) {
      uint64_t have =
          in->o[3] == EMU_NONE || more->mode[1] ? 16 : emu_get(emu_src(w, in->o[3]), i, 4);
      memcpy(one.data, host[i], have < (uint64_t)n ? have : (size_t)n);
    }
    memset(w->block->pending + to[i], 1, (size_t)n);
    if (remember(w, &one)) {
      return emu_finding(w, in, i, EMU_STACK, "finds no host memory for a copy");
    }
  }
  return RUN_ON;
}

int exec_cpcommit(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)in;
  for (int i = 0; i < EMU_LANES_N; i++) {
    w->group[i] += mask >> i & 1;
  }
  return RUN_ON;
}

int emu_async_land(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t flying) {
  int kept = 0;
  for (int k = 0; k < w->n_async; k++) {
    const emu_async *a = &w->async[k];
    bool done = flying < 0 || (int64_t)a->group + flying < (int64_t)w->group[a->lane];
    if (!(mask >> a->lane & 1) || !done) {
      w->async[kept++] = *a;
      continue;
    }
    uint64_t address[32] = {0};
    uint8_t values[32 * 16];
    address[a->lane] = a->to;
    memset(w->block->pending + a->to, 0, a->n);
    memcpy(values + a->lane * a->n, a->data, a->n);
    int rc = w->launch->checks
                 ? emu_check_shared(w, in, 1u << a->lane, address, a->n, ACCESS_WRITE, values)
                 : RUN_ON;
    if (rc) {
      return rc;
    }
    memcpy(w->block->smem + a->to, a->data, a->n);
  }
  w->n_async = kept;
  return RUN_ON;
}

/* wait until at most imm groups are in flight; -1: nothing is */
int exec_cpwait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  return emu_async_land(w, in, mask, in->imm);
}

bool emu_peek(emu_warp *w, int lane, uint64_t address, uint64_t n, void *to) {
  uint64_t inside = address & ((UINT64_C(1) << EMU_WINDOW_SHIFT) - 1);
  const uint8_t *from = NULL;
  switch (window_of(address)) {
  case SPACE_shared:
    from = inside + n <= w->launch->smem_nbytes ? w->block->smem + inside : NULL;
    break;
  case SPACE_local:
    from = inside + n <= w->launch->local_nbytes
               ? w->local + (uint64_t)lane * w->launch->local_nbytes + inside
               : NULL;
    break;
  case SPACE_param:
    from = inside + n <= w->launch->params_nbytes ? w->launch->params + inside : NULL;
    break;
  default: from = emu_heap_host(w->launch->heap, address, n);
  }
  if (from) {
    memcpy(to, from, n);
  }
  return from != NULL;
}
