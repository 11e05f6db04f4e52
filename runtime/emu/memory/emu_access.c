/* emu_access.c -- see emu_access.h. */
#include "emu_access.h"

#include <string.h>

#include "emu_check_memory.h"
#include "emu_count.h"
#include "emu_finding.h"
#include "emu_publish.h"

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
  for (int i = 0; i < EMU_LANES_N && mask == ~0u; i++) {
    most = address[i] > most ? address[i] : most;
  }
  for (uint32_t left = mask == ~0u ? 0 : mask; left; left &= left - 1) {
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
  return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "atomically updates";
}

static int misaligned(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32],
                      int n, emu_access access, const char *space) {
  uint64_t any = 0;
  for (int i = 0; i < EMU_LANES_N && mask == ~0u; i++) {
    any |= address[i];
  }
  for (uint32_t left = mask == ~0u ? 0 : mask; left; left &= left - 1) {
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

/* An address with a rank belongs to another block of the cluster. */
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
                         : home->done ? "that block has exited"
                                      : "it is beyond the block's shared memory");
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
    return emu_finding(w, in, lane, EMU_LOCAL_BOUNDS,
                       "%s %d bytes at local address %llu; a thread has %llu bytes", verb(access),
                       n, (unsigned long long)address[lane], (unsigned long long)stride);
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
    return emu_finding(
        w, in, lane, access == ACCESS_READ ? EMU_LOCAL_BOUNDS : EMU_READ_ONLY,
        "%s %d bytes at parameter address %llu; the kernel has %llu bytes of parameters",
        verb(access), n, (unsigned long long)address[lane], (unsigned long long)limit);
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

/* resolves the lanes of each window separately */
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

/* an offset in the cluster's shared memory, without a rank if it is the block's own */
static uint64_t without_own_rank(const emu_warp *w, uint64_t offset) {
  bool own = offset >> EMU_RANK_SHIFT == (uint64_t)w->block->rank + 1;
  return own ? offset & ((1 << EMU_RANK_SHIFT) - 1) : offset;
}

/* Lanes of an access that are in shared memory, with their offsets; 0: none. Only offsets in other
 * blocks keep a rank: the block's own offsets are indices of its shadow memory. */
static uint32_t shared_lanes(const emu_warp *w, emu_space space, uint32_t mask,
                             const uint64_t address[32], uint64_t offset[32]) {
  uint32_t lanes = 0;
  if (space == SPACE_shared) {
    memcpy(offset, address, 32 * sizeof *offset);
    return mask;
  }
  const bool cluster = space == SPACE_cluster;
  for (int i = 0; (cluster || space == SPACE_generic) && i < EMU_LANES_N; i++) {
    bool is = (mask >> i & 1) && (cluster || window_of(address[i]) == SPACE_shared);
    lanes |= is ? 1u << i : 0;
    offset[i] = is ? without_own_rank(w, address[i] - (cluster ? 0 : EMU_SHARED_WINDOW)) : 0;
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

/* Checks the lanes that access other blocks of the cluster and removes them from *lanes. */
static int check_far(emu_warp *w, const emu_insn *in, uint32_t *lanes, const uint64_t offset[32],
                     int n, emu_access access, const uint8_t *values) {
  int rc = RUN_ON;
  for (uint32_t left = *lanes; left && !rc; left &= left - 1) {
    uint64_t there;
    int i = __builtin_ctz(left);
    if (offset[i] >> EMU_RANK_SHIFT) {
      *lanes &= ~(1u << i);
      emu_block *home = emu_cluster_home(w->block, offset[i], &there);
      rc = emu_check_remote(w, in, i, home, there, n, access, values ? values + i * n : NULL);
    }
  }
  return rc;
}

int emu_account(emu_warp *w, const emu_insn *in, uint32_t mask, emu_space space,
                const uint64_t address[32], int n, emu_access access, const uint8_t *values) {
  uint64_t offset[32];
  uint32_t shared = shared_lanes(w, space, mask, address, offset),
           global = global_lanes(space, mask, address);
  if (w->block->counting && shared) {
    emu_count_shared(w, shared, offset, n, access);
  }
  if (w->block->counting && (space == SPACE_const || space == SPACE_param) && mask) {
    emu_count_constant(w, mask, address);
  } else if (w->block->counting && global) {
    emu_count_global(w, global, address, n, access);
  }
  if (!w->launch->checks) {
    return RUN_ON;
  }
  if (shared) {
    int rc = check_far(w, in, &shared, offset, n, access, values);
    rc = rc ? rc : emu_check_shared(w, in, shared, offset, n, access, values);
    if (rc) {
      return rc;
    }
  }
  if (global && access == ACCESS_WRITE && !(in->flags & INSN_STRONG)) {
    TRY(emu_check_race(w, in, global, address, n, values));
  }
  return global && space != SPACE_const ? emu_publish_access(w, in, global, address, n, access)
                                        : RUN_ON;
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
