/* emu_exec_mbarrier.c -- mbarriers: arrivals and bytes that complete phases, and waits for phases.
 *
 * try_wait suspends a thread for a time that the hardware chooses. Here it is suspended until the
 * phase completes, or until no thread of the cluster can continue: then the wait times out and
 * returns false. A program that continues then has not deadlocked; one that returns to the same
 * wait again and again while nothing else happens has. src: PTX ISA 9.0, 9.7.13.15. */
#include "emu_async.h"

#include <stdio.h>
#include <string.h>

#include "array.h"
#include "emu_access.h"
#include "emu_check_memory.h"
#include "emu_clock.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_modes.h"
#include "emu_remote.h"

enum { TX_MAX = (1 << 20) - 1, COUNT_MAX = (1 << 20) - 1, TIMEOUTS = 64 };

static emu_mbarrier *find(emu_block *b, uint32_t address) {
  for (int i = 0; i < b->n_mbarriers; i++) {
    if (b->mbarriers[i].address == address) {
      return &b->mbarriers[i];
    }
  }
  return NULL;
}

static emu_mbarrier *find_or_add(emu_block *b, uint32_t address) {
  emu_mbarrier *m = find(b, address);
  if (!m && array_reserve(&b->mbarriers, b->n_mbarriers + 1, &b->cap_mbarriers, sizeof *m)) {
    m = &b->mbarriers[b->n_mbarriers++];
  }
  return m;
}

/* ---- what is known of the other warps' accesses ---- */

static void raise_to(uint32_t *to, const uint32_t *from, int n) {
  for (int u = 0; u < n; u++) {
    to[u] = from[u] > to[u] ? from[u] : to[u];
  }
}

/* A block's clocks mean nothing to other blocks: what those learn is kept apart. */
static void publish(emu_warp *w, emu_block *home, emu_mbarrier *m) {
  emu_block *b = w->block;
  emu_remote_signal(w, home);
  if (home == b) {
    raise_to(m->arriving[0], b->clocks[w->index], b->n_warps);
    raise_to(m->arriving[1], b->proxied[w->index], b->n_warps);
  }
  emu_clock_tick(w);
}

static void learn(emu_warp *w, const emu_mbarrier *m) {
  emu_block *b = w->block;
  uint32_t own = b->clocks[w->index][w->index];
  raise_to(b->clocks[w->index], m->complete[0], b->n_warps);
  raise_to(b->proxied[w->index], m->complete[1], b->n_warps);
  b->clocks[w->index][w->index] = own;
  emu_remote_acquire(w);
}

/* ---- phases ---- */

static void wake(emu_block *b, const emu_mbarrier *m, bool truth) {
  uint32_t p = truth ? ~0u : 0;
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    for (int j = 0; j < w->n_frags; j++) {
      emu_frag *f = &w->frags[j];
      if (f->state == FRAG_MBAR && &b->mbarriers[f->barrier] == m) {
        const emu_func *func = w->launch->module->funcs[f->frame->func];
        emu_store(f->frame->regs + func->code[f->pc - 1].o[0], &p, 0, f->mask);
        f->state = FRAG_RUN;
        if (truth && func->code[f->pc - 1].more->mode[1]) {
          learn(w, m);
        }
      }
    }
  }
}

static void try_phase(emu_block *b, emu_mbarrier *m) {
  if (m->pending || m->tx) {
    return;
  }
  m->phase++;
  m->pending = m->expected;
  raise_to(m->complete[0], m->arriving[0], b->n_warps);
  raise_to(m->complete[1], m->arriving[1], b->n_warps);
  wake(b, m, true);
}

bool emu_mbarrier_timeout(emu_block *b) {
  bool any = false;
  for (int i = 0; i < b->n_mbarriers && b->cluster_blocks[0]->idle < TIMEOUTS; i++) {
    wake(b, &b->mbarriers[i], false);
  }
  for (int i = 0; i < b->n_warps; i++) {
    for (int j = 0; j < b->warps[i].n_frags; j++) {
      any |= b->warps[i].frags[j].state == FRAG_RUN;
    }
  }
  b->cluster_blocks[0]->idle++;
  return any;
}

void emu_mbarrier_note(const emu_block *b, const emu_frag *f, char *out, size_t n) {
  const emu_mbarrier *m = &b->mbarriers[f->barrier];
  snprintf(
      out, n,
      "waits at the mbarrier at shared address %u for phase %u, which lacks %u arrivals and %lld bytes that no thread can provide",
      m->address, m->phase, m->pending, (long long)m->tx);
}

/* ---- one lane's operation ---- */

typedef struct change {
  int op, lane;
  uint32_t count;
  bool expects, incomplete, ordered;
  uint64_t state; /* phase and pending count of the arrival */
} change;

static int misuse(emu_warp *w, const emu_insn *in, int lane, uint32_t address, const char *what) {
  return emu_finding(w, in, lane, EMU_MBARRIER, "%s (mbarrier at shared address %u)", what,
                     address);
}

static int initialise(emu_warp *w, const emu_insn *in, const change *c, uint32_t address) {
  emu_block *b = w->block;
  emu_mbarrier *m = find_or_add(b, address);
  if (!m) {
    return emu_finding(w, in, c->lane, EMU_STACK,
                       "cannot initialise an mbarrier: the host is out of memory");
  }
  if (!c->count || c->count > COUNT_MAX) {
    return misuse(w, in, c->lane, address,
                  "initialises an mbarrier with a count outside 1 to 2^20 - 1");
  }
  *m = (emu_mbarrier){.address = address,
                      .alive = true,
                      .expected = c->count,
                      .pending = c->count,
                      .maker = emu_thread(w, c->lane),
                      .made = b->clocks[w->index][w->index]};
  memset(b->pending + address, PENDING_MBARRIER, 8);
  return RUN_ON;
}

static int invalidate(emu_block *b, emu_mbarrier *m) {
  m->alive = false;
  memset(b->pending + m->address, 0, 8);
  return RUN_ON;
}

/* is it initialised, and is that known to this thread? */
static int usable(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint32_t address,
                  const emu_mbarrier *m) {
  if (!m || !m->alive) {
    return misuse(w, in, lane, address, "uses an mbarrier that is not initialised");
  }
  if (home != w->block) {
    return emu_check_visit(w, in, lane, home);
  }
  char by[EMU_THREAD_TEXT];
  int warp = m->maker / EMU_LANES_N, thread = emu_thread(w, lane);
  uint32_t known = w->block->clocks[w->index][warp];
  bool ordered = m->maker == thread || m->made < known || (warp != w->index && m->made == known);
  return ordered || !w->launch->checks
             ? RUN_ON
             : emu_finding(
                   w, in, lane, EMU_SHARED_RACE,
                   "uses the mbarrier at shared address %u, initialised by %s since the last barrier",
                   address, emu_thread_text(w, m->maker, by));
}

static int expect(emu_warp *w, const emu_insn *in, const change *c, emu_mbarrier *m, int64_t tx) {
  m->tx += tx;
  return m->tx >= -TX_MAX && m->tx <= TX_MAX
             ? RUN_ON
             : misuse(w, in, c->lane, m->address, "expects more than 2^20 - 1 bytes");
}

static int arrive(emu_warp *w, const emu_insn *in, change *c, emu_block *home, emu_mbarrier *m) {
  uint32_t n = c->expects || in->o[2] == EMU_NONE ? 1 : c->count;
  if (n < 1 || n > m->pending) {
    return misuse(w, in, c->lane, m->address, "arrives more often than the phase expects");
  }
  c->state = (uint64_t)m->pending << 32 | m->phase;
  if (c->ordered) {
    publish(w, home, m);
  }
  m->pending -= n;
  m->expected -= c->op == MBARRIER_drop ? n : 0;
  if (c->incomplete && !m->pending && !m->tx) {
    return misuse(w, in, c->lane, m->address, "completes a phase with .noComplete");
  }
  return RUN_ON;
}

static int change_one(emu_warp *w, const emu_insn *in, change *c, emu_block *home,
                      uint32_t address) {
  emu_mbarrier *m = find(home, address);
  int rc = RUN_ON;
  home->cluster_blocks[0]->idle = 0;
  if (c->op == MBARRIER_init) {
    return initialise(w, in, c, address);
  }
  rc = usable(w, in, c->lane, home, address, m);
  if (rc || c->op == MBARRIER_inval) {
    return rc ? rc : invalidate(home, m);
  }
  if (c->expects || c->op == MBARRIER_expect) {
    rc = expect(w, in, c, m, c->count);
  } else if (c->op == MBARRIER_complete) {
    rc = expect(w, in, c, m, -(int64_t)c->count);
  }
  if (!rc && (c->op == MBARRIER_arrive || c->op == MBARRIER_drop)) {
    rc = arrive(w, in, c, home, m);
  }
  if (!rc) {
    try_phase(home, m);
  }
  return rc;
}

int emu_mbarrier_complete(emu_warp *w, const emu_insn *in, int lane, uint32_t when, emu_block *home,
                          uint32_t address, uint32_t nbytes) {
  emu_mbarrier *m = find(home, address);
  change c = {.op = MBARRIER_complete, .lane = lane, .count = nbytes};
  if (!m || !m->alive) {
    return misuse(w, in, lane, address, "delivers bytes to an mbarrier that is not initialised");
  }
  if (home == w->block && when > m->arriving[0][w->index]) {
    m->arriving[0][w->index] = when;
  }
  emu_remote_delivered(w, when, home);
  home->cluster_blocks[0]->idle = 0;
  int rc = expect(w, in, &c, m, -(int64_t)nbytes);
  if (!rc) {
    try_phase(home, m);
  }
  return rc;
}

/* ---- instructions ---- */

/* blocks and offsets of the lanes' mbarriers */
static int locate(emu_warp *w, const emu_insn *in, uint32_t mask, emu_block *home[32],
                  uint32_t offset[32]) {
  uint64_t address[32];
  uint8_t *host[32];
  emu_addresses(w, in, 1, in->more->mode[5], in->imm, address);
  int rc = emu_resolve(w, in, mask, in->more->space, address, 8, ACCESS_WRITE, host);
  for (int i = 0; i < EMU_LANES_N && !rc; i++) {
    uint64_t at = 0, base = in->more->space == SPACE_generic ? EMU_SHARED_WINDOW : 0;
    bool shared = address[i] - base < EMU_SHARED_WINDOW;
    home[i] = mask >> i & 1 && shared ? emu_cluster_home(w->block, address[i] - base, &at) : NULL;
    offset[i] = (uint32_t)at;
    if ((mask >> i & 1) && !home[i]) {
      return emu_finding(w, in, i, EMU_MBARRIER,
                         "uses an mbarrier at 0x%llx, which is not in shared memory",
                         (unsigned long long)address[i]);
    }
  }
  return rc;
}

int exec_mbarrier(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const int *mode = in->more->mode;
  emu_block *home[32];
  uint32_t offset[32];
  int rc = locate(w, in, mask, home, offset);
  for (int lane = 0; lane < EMU_LANES_N && !rc; lane++) {
    change c = {
        .op = mode[0], .lane = lane, .ordered = mode[1], .expects = mode[2], .incomplete = mode[3]};
    if (!(mask >> lane & 1)) {
      continue;
    }
    c.count = in->o[2] == EMU_NONE ? 1 : (uint32_t)emu_get(emu_src(w, in->o[2]), lane, 4);
    rc = change_one(w, in, &c, home[lane], offset[lane]);
    if (!rc && in->o[0] != EMU_NONE) {
      emu_put(emu_reg(w, in->o[0]), lane, 8, c.state);
    }
  }
  return rc;
}

int exec_cparrive(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_block *home[32];
  uint32_t offset[32];
  int rc = locate(w, in, mask, home, offset);
  rc = rc ? rc : emu_async_land(w, in, mask, -1);
  for (int lane = 0; lane < EMU_LANES_N && !rc && in->more->mode[0]; lane++) {
    change c = {.op = MBARRIER_arrive, .lane = lane, .ordered = true};
    rc = mask >> lane & 1 ? change_one(w, in, &c, home[lane], offset[lane]) : RUN_ON;
  }
  return rc;
}

/* is the phase complete that the lane names by parity or by the state of an arrival? */
static bool is_over(const emu_warp *w, const emu_insn *in, int lane, const emu_mbarrier *m) {
  bool parity = in->more->mode[2];
  uint64_t asked = emu_get(emu_src(w, in->o[2]), lane, parity ? 4 : 8);
  return parity ? (m->phase & 1) != (asked & 1) : m->phase != (uint32_t)asked;
}

/* suspends the lanes whose phase is not complete, those at the same mbarrier together */
static int suspend(emu_warp *w, uint32_t mask, const uint32_t offset[32]) {
  emu_block *b = w->block;
  while (mask) {
    uint32_t first = offset[__builtin_ctz(mask)], same = 0;
    for (int i = 0; i < EMU_LANES_N; i++) {
      same |= (mask >> i & 1) && offset[i] == first ? 1u << i : 0;
    }
    emu_warp_park(w, same, FRAG_MBAR, (int)(find(b, first) - b->mbarriers));
    mask &= ~same;
  }
  return RUN_PICK;
}

int exec_mbarwait(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_block *home[32];
  uint32_t offset[32], over = 0;
  int rc = locate(w, in, mask, home, offset);
  for (int i = 0; i < EMU_LANES_N && !rc; i++) {
    if (mask >> i & 1) {
      const emu_mbarrier *m = find(w->block, offset[i]);
      rc = usable(w, in, i, w->block, offset[i], m);
      if (!rc && is_over(w, in, i, m)) {
        over |= 1u << i;
        if (in->more->mode[1]) {
          learn(w, m);
        }
      }
    }
  }
  if (rc) {
    return rc;
  }
  bool tries = in->more->mode[0];
  emu_store(emu_reg(w, in->o[0]), &over, 0, tries ? over : mask);
  if (mask == over) {
    return RUN_ON;
  }
  if (!tries) {
    w->slice_end = 0; /* the program polls: others run first */
    w->waits++;
    return RUN_ON;
  }
  return suspend(w, mask & ~over, offset);
}

int exec_mbarpending(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint64_t *state = emu_src(w, in->o[1]);
  uint32_t d[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    d[i] = (uint32_t)(state[i] >> 32);
  }
  emu_store(emu_reg(w, in->o[0]), d, 4, mask);
  return RUN_ON;
}

int exec_proxyfence(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)in, (void)mask;
  emu_clock_proxy(w);
  return RUN_ON;
}
