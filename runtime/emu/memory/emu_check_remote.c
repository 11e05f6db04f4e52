/* emu_check_remote.c -- see emu_check_memory.h: accesses of different blocks of a cluster to the
 * same shared memory. Tags are as in emu_check_shared.c, with the rank of the block; what counts as
 * ordered is in emu_remote.h. */
#include "emu_check_memory.h"

#include <stdio.h>
#include <string.h>

#include "emu_finding.h"
#include "emu_remote.h"
#include "emu_shadow.h"
#include "emu_shared_name.h"

enum { RANK_SHIFT = 10, STRONG = 1 << 14, CLOCK_SHIFT = 15, CLOCK_MAX = (1 << 17) - 1 };

/* an earlier access; clock 0: none */
typedef struct past {
  uint32_t clock;
  int rank, thread;
  bool strong;
} past;

static past of_remote(uint32_t tag) {
  return (past){tag >> CLOCK_SHIFT, (int)(tag >> RANK_SHIFT & (EMU_CLUSTER_MAX - 1)),
                (int)(tag & ((1 << RANK_SHIFT) - 1)), tag & STRONG};
}

static past of_home(const emu_block *home, uint32_t tag) {
  const uint32_t clock = emu_tag_clock(tag);
  const bool any = tag != SHADOW_REMOTE && clock >= home->first_clock;
  return (past){any ? clock - (home->first_clock - 1) : 0, home->rank, emu_tag_thread(tag),
                tag & SHADOW_STRONG};
}

static bool is_ordered(const emu_warp *w, const past *p, int thread) {
  const emu_block *b = w->block;
  const int warp = p->thread / EMU_LANES_N;
  if (p->rank != b->rank) {
    return p->clock <= b->remote->known[w->index][p->rank][warp];
  }
  if (warp == w->index) {
    return p->thread == thread || p->clock < emu_remote_clock(w);
  }
  return p->clock <= b->clocks[w->index][warp] - (b->first_clock - 1);
}

typedef struct remote_access {
  emu_block *home;
  uint64_t offset; /* of the byte */
  int lane, width;
  const char *does;
  bool reads, writes, strong;
} remote_access;

static void block_text(const emu_block *b, char *out, size_t n) {
  snprintf(out, n, "block (%u,%u,%u)", b->ctaid[0], b->ctaid[1], b->ctaid[2]);
}

static int race(emu_warp *w, const emu_insn *in, const remote_access *a, const char *did,
                const past *p) {
  char name[EMU_SHARED_NAME], home[48] = "", block[48];
  const emu_block *by = w->block->cluster_blocks[p->rank];
  const emu_warp *of = &by->warps[p->thread / EMU_LANES_N];
  const int lane = p->thread % EMU_LANES_N;
  emu_shared_name(w, a->offset, a->width, name);
  block_text(by, block, sizeof block);
  if (a->home != w->block) {
    memcpy(home, " of ", 5);
    block_text(a->home, home + 4, sizeof home - 4);
  }
  return emu_finding(w, in, a->lane, EMU_SHARED_RACE,
                     "%s %s%s, %s by thread (%u,%u,%u) of %s without a barrier of the cluster "
                     "in between",
                     a->does, name, home, did, of->tid[0][lane], of->tid[1][lane], of->tid[2][lane],
                     block);
}

/* Is the access ordered after the last write and read of the byte? */
static int against(emu_warp *w, const emu_insn *in, const remote_access *a, past write, past read) {
  const int thread = emu_thread(w, a->lane);
  if (write.clock && !(a->strong && write.strong) && !is_ordered(w, &write, thread)) {
    return race(w, in, a, "written", &write);
  }
  if (a->writes && read.clock && !(a->strong && read.strong) && !is_ordered(w, &read, thread)) {
    return race(w, in, a, "read", &read);
  }
  return RUN_ON;
}

static int check_byte(emu_warp *w, const emu_insn *in, const remote_access *a) {
  const emu_shadow *far = &a->home->remote->shadow[a->offset], *near = &a->home->shadow[a->offset];
  int rc = against(w, in, a, of_remote(far->write), of_remote(far->read));
  if (!rc && a->home != w->block) {
    rc = against(w, in, a, of_home(a->home, near->write), of_home(a->home, near->read));
  }
  return rc;
}

static uint32_t tag_of(const emu_warp *w, int lane, uint32_t clock, bool strong) {
  return clock << CLOCK_SHIFT | (strong ? STRONG : 0) | (uint32_t)w->block->rank << RANK_SHIFT |
         (uint32_t)emu_thread(w, lane);
}

static void use_range(emu_remote *r, uint64_t low, uint64_t high) {
  const bool none = r->high == r->low;
  r->low = none || low < r->low ? low : r->low;
  r->high = none || high > r->high ? high : r->high;
}

/* ---- blocks that have not started, or exit ---- */

/* Does the warp know that the other block has started? */
static bool has_started(const emu_warp *w, const emu_block *home) {
  const emu_remote *first = home->cluster_blocks[0]->remote, *own = w->block->remote;
  uint32_t any = 0;
  for (int u = 0; u < home->n_warps; u++) {
    any |= own->known[w->index][home->rank][u] | first->met[home->rank][u];
  }
  return any;
}

static int visit(emu_warp *w, const emu_insn *in, int lane, emu_block *home) {
  const uint32_t clock = emu_remote_clock(w);
  emu_visit *v = &home->remote->visits[w->block->rank][w->index];
  if (v->clock == clock) {
    return RUN_ON;
  }
  if (!has_started(w, home)) {
    return emu_finding(w, in, lane, EMU_SHARED_BOUNDS,
                       "accesses shared memory of block (%u,%u,%u), which may not have started: no "
                       "barrier of the cluster comes before",
                       home->ctaid[0], home->ctaid[1], home->ctaid[2]);
  }
  *v = (emu_visit){clock, lane, in};
  return RUN_ON;
}

static bool left_before(const emu_block *b, int rank, int u, uint32_t clock) {
  bool known = clock <= b->cluster_blocks[0]->remote->met[rank][u];
  for (int i = 0; i < b->n_warps && !known; i++) {
    known = clock <= b->remote->known[i][rank][u];
  }
  return known;
}

int emu_check_leave(emu_block *b) {
  for (int rank = 0; b->remote && rank < b->launch->cluster_size; rank++) {
    for (int u = 0; u < b->n_warps; u++) {
      const emu_visit *v = &b->remote->visits[rank][u];
      if (v->clock && !left_before(b, rank, u, v->clock)) {
        return emu_finding(&b->cluster_blocks[rank]->warps[u], v->in, v->lane, EMU_SHARED_BOUNDS,
                           "accesses shared memory of block (%u,%u,%u), which may have exited: no "
                           "barrier of the cluster comes after",
                           b->ctaid[0], b->ctaid[1], b->ctaid[2]);
      }
    }
  }
  return RUN_ON;
}

int emu_check_visit(emu_warp *w, const emu_insn *in, int lane, emu_block *home) {
  return home == w->block || !home->remote ? RUN_ON : visit(w, in, lane, home);
}

/* ---- accesses ---- */

static int unwritten_or_pending(emu_warp *w, const emu_insn *in, const remote_access *a) {
  const emu_block *home = a->home;
  if (home->pending[a->offset]) {
    return emu_finding(
        w, in, a->lane, EMU_ASYNC, "accesses shared address %llu of block %d of its cluster, %s",
        (unsigned long long)a->offset, home->rank,
        home->pending[a->offset] == PENDING_MBARRIER ? "which holds an mbarrier"
                                                     : "while a copy to it is in flight");
  }
  if (a->reads && emu_tag_clock(home->shadow[a->offset].write) < home->first_clock) {
    return emu_finding(w, in, a->lane, EMU_SHARED_UNINIT,
                       "reads shared address %llu of block %d of its cluster, which has not been "
                       "written yet (is a cluster barrier missing?)",
                       (unsigned long long)a->offset, home->rank);
  }
  return RUN_ON;
}

static const char *verb(emu_access access) {
  return access == ACCESS_READ ? "reads" : access == ACCESS_WRITE ? "writes" : "atomically updates";
}

/* Its first byte. */
static remote_access access_of(const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                               int n, emu_access access) {
  return (remote_access){.home = home,
                         .offset = offset,
                         .lane = lane,
                         .width = emu_shared_width(in, n),
                         .does = verb(access),
                         .reads = access != ACCESS_WRITE,
                         .writes = access != ACCESS_READ,
                         .strong = in->flags & INSN_STRONG};
}

int emu_check_remote(emu_warp *w, const emu_insn *in, int lane, emu_block *home, uint64_t offset,
                     int n, emu_access access, const uint8_t *values) {
  remote_access a = access_of(in, lane, home, offset, n, access);
  const uint32_t clock = emu_remote_clock(w);
  const bool same = values && !memcmp(home->smem + offset, values, (size_t)n);
  int rc = visit(w, in, lane, home);
  use_range(home->remote, offset, offset + (uint64_t)n);
  for (; a.offset < offset + (uint64_t)n && !rc; a.offset++) {
    rc = unwritten_or_pending(w, in, &a);
    rc = rc || clock > CLOCK_MAX || same ? rc : check_byte(w, in, &a);
    emu_shadow *s = &home->remote->shadow[a.offset];
    if (access != ACCESS_READ) {
      home->shadow[a.offset].write = SHADOW_REMOTE;
      s->write = tag_of(w, lane, clock, a.strong);
    }
    if (access != ACCESS_WRITE) {
      s->read = tag_of(w, lane, clock, a.strong);
    }
  }
  return rc;
}

int emu_check_others(emu_warp *w, const emu_insn *in, int lane, uint64_t offset, int n,
                     emu_access access, const uint8_t *values) {
  const emu_remote *r = w->block->remote;
  remote_access a = access_of(in, lane, w->block, offset, n, access);
  int rc = RUN_ON;
  if (offset >= r->high || offset + (uint64_t)n <= r->low ||
      (values && !memcmp(w->block->smem + offset, values, (size_t)n))) {
    return RUN_ON;
  }
  for (; a.offset < offset + (uint64_t)n && !rc; a.offset++) {
    rc = check_byte(w, in, &a);
  }
  return rc;
}

int emu_check_remote_copy(emu_warp *w, const emu_insn *in, int lane, emu_block *home,
                          uint64_t offset) {
  const remote_access a = {home, offset, lane, 4, "copies in bulk to", false, true, false};
  return home->remote ? check_byte(w, in, &a) : RUN_ON;
}

void emu_check_remote_arrival(emu_block *home, uint64_t offset, uint64_t n, const emu_warp *by,
                              int lane, uint32_t when) {
  const uint32_t clock = when - (by->block->first_clock - 1);
  if (home->remote && clock <= CLOCK_MAX) {
    use_range(home->remote, offset, offset + n);
    for (uint64_t i = offset; i < offset + n; i++) {
      home->remote->shadow[i].write = tag_of(by, lane, clock, false);
    }
  }
}
