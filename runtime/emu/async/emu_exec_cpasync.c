/* emu_exec_cpasync.c -- cp.async: bytes are read when it is issued and land when its thread waits.
 */
#include "emu_async.h"

#include <string.h>

#include "array.h"
#include "emu_access.h"
#include "emu_check_memory.h"
#include "emu_count.h"
#include "emu_exec.h"
#include "emu_finding.h"

static bool remember(emu_warp *w, const emu_async *one) {
  bool grown = array_reserve(&w->async, w->n_async + 1, &w->cap_async, sizeof *one);
  if (grown) {
    w->async[w->n_async++] = *one;
  }
  return grown;
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
  int rc = emu_resolve(w, in, mask, SPACE_shared, to, n, ACCESS_WRITE, dest);
  rc = rc || !reads ? rc : emu_resolve(w, in, reads, SPACE_global, from, n, ACCESS_READ, host);
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
    if (!remember(w, &one)) {
      return emu_finding(w, in, i, EMU_STACK, "cannot execute cp.async: the host is out of memory");
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

int emu_async_land(emu_warp *w, const emu_insn *in, uint32_t mask, int64_t in_flight) {
  int kept = 0;
  for (int k = 0; k < w->n_async; k++) {
    const emu_async *a = &w->async[k];
    bool done = in_flight < 0 || (int64_t)a->group + in_flight < (int64_t)w->group[a->lane];
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

/* waits until at most imm groups are in flight; -1: until none is */
int exec_cpwait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  return emu_async_land(w, in, mask, in->imm);
}
