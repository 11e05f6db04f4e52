/* emu_exec_sync.c -- barriers, and exchanges between the lanes of a warp. */
#include "emu_exec.h"

#include <string.h>

#include "emu_clock.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_modes.h"
#include "emu_poison.h"

/* clocks of the multiprocessor, from histograms on an H200 with and without match; not documented
 */
enum { MATCH_ANY_CLOCKS = 64 };

/* ---- barriers of the block ---- */

static int arrive_twice(emu_warp *w, const emu_insn *in, int lane, int id) {
  return emu_finding(w, in, lane, EMU_BARRIER, "arrives at barrier %d again before it is complete",
                     id);
}

/* All lanes of a warp must execute an aligned barrier at the same instruction. */
static bool diverged(emu_warp *w, emu_barrier *b, bool aligned) {
  int pc = w->pc - 1;
  if (!aligned) {
    return false;
  }
  bool other = b->arrived[w->index] && b->pc[w->index] >= 0 && b->pc[w->index] != pc;
  b->pc[w->index] = pc;
  return other;
}

int exec_bar(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int lane = __builtin_ctz(mask), mode = in->more->mode[0];
  uint64_t id = emu_get(emu_src(w, in->o[1]), lane, 4);
  uint64_t count = in->o[2] == EMU_NONE ? 0 : emu_get(emu_src(w, in->o[2]), lane, 4);
  if (id >= EMU_BARRIERS || count % EMU_LANES_N) {
    return emu_finding(
        w, in, lane, EMU_BARRIER,
        "uses barrier %llu with %llu threads; barriers are 0 to 15, thread counts multiples of 32",
        (unsigned long long)id, (unsigned long long)count);
  }
  emu_barrier *b = &w->block->barriers[id];
  if (b->arrived[w->index] & mask) {
    return arrive_twice(w, in, lane, (int)id);
  }
  if (diverged(w, b, in->more->mode[1])) {
    return emu_finding(w, in, lane, EMU_BARRIER,
                       "arrives at a barrier while other threads of its "
                       "warp wait at another one: a divergent barrier");
  }
  b->any = true;
  b->arrived[w->index] |= mask;
  b->expected = (int)count;
  if (mode >= BAR_popc) {
    b->n_true += __builtin_popcount(mask & *(const uint32_t *)emu_src(w, in->o[3]));
    b->n_all += __builtin_popcount(mask);
  }
  w->block->worker->traffic.barriers++;
  w->block->moved = true;
  w->block->cluster_blocks[0]->idle = 0;
  if (mode == BAR_arrive) {
    return RUN_ON;
  }
  emu_warp_park(w, mask, FRAG_BAR, (int)id);
  return RUN_PICK;
}

static bool complete(const emu_block *b, const emu_barrier *bar) {
  int n = 0;
  for (int i = 0; i < b->n_warps; i++) {
    uint32_t live = b->warps[i].live, here = bar->arrived[i];
    bool whole = here && !(live & ~here);
    n += whole ? EMU_LANES_N : __builtin_popcount(here);
    if (!bar->expected && (live & ~here)) {
      return false;
    }
  }
  return !bar->expected || n >= bar->expected;
}

static void reduce(emu_warp *w, const emu_frag *f, const emu_barrier *bar) {
  const emu_insn *in = &w->launch->module->funcs[f->frame->func]->code[f->pc - 1];
  int mode = in->more->mode[0];
  if (mode < BAR_popc) {
    return;
  }
  uint32_t v = mode == BAR_popc ? (uint32_t)bar->n_true
               : (mode == BAR_and ? bar->n_true == bar->n_all : bar->n_true > 0) ? ~0u
                                                                                 : 0;
  emu_store_same(f->frame->regs + in->o[0], v, in->dbytes, f->mask);
}

static void release(emu_block *b, int id) {
  emu_barrier *bar = &b->barriers[id];
  emu_clock_join(b, bar->arrived);
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    for (int j = 0; j < w->n_frags; j++) {
      emu_frag *f = &w->frags[j];
      if (f->state == FRAG_BAR && f->barrier == id) {
        reduce(w, f, bar);
        f->state = FRAG_RUN;
      }
    }
  }
  memset(bar, 0, sizeof *bar);
  memset(bar->pc, -1, sizeof bar->pc);
}

bool emu_block_release(emu_block *b) {
  bool any = false;
  for (int id = 0; id < EMU_BARRIERS; id++) {
    if (b->barriers[id].any && complete(b, &b->barriers[id])) {
      release(b, id);
      any = true;
    }
  }
  return any;
}

/* ---- member masks ---- */

/* Lanes of mask may name different members; lanes with equal member masks form a group. The first
 * complete group is stored in *group and served by the caller; the others execute the instruction
 * again. */
static int take_group(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t *group) {
  const uint32_t *members = emu_src(w, in->o[4]);
  uint32_t first = members[__builtin_ctz(mask)], same = 0;
  for (int i = 0; i < EMU_LANES_N; i++) {
    same |= (mask >> i & 1) && members[i] == first ? 1u << i : 0;
  }
  if (same & ~first) {
    int lane = __builtin_ctz(same & ~first);
    return emu_finding(w, in, lane, EMU_SHUFFLE, "is not in its own member mask 0x%08x", first);
  }
  *group = same;
  int rc = emu_warp_sync(w, in, same, first);
  if (rc != RUN_ON || same == mask) {
    return rc;
  }
  emu_warp_split(w, mask & ~same, w->pc - 1, w->frame); /* the other lanes execute it again */
  w->mask &= ~(mask & ~same);
  return RUN_ON;
}

static int after(uint32_t mask, uint32_t group) {
  return mask == group ? RUN_ON : RUN_PICK;
}

/* The predicate beside the result, where the instruction names one. */
static void store_second(emu_warp *w, const emu_insn *in, uint32_t p, uint32_t group) {
  if (in->more->ops[0] != EMU_NONE) {
    emu_store(emu_reg(w, in->more->ops[0]), &p, 0, group);
  }
}

int exec_warpsync(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group;
  int rc = take_group(w, in, mask, &group);
  if (rc == RUN_ON) {
    emu_clock_tick(w);
    return after(mask, group);
  }
  return rc;
}

static int shfl_source(int mode, int lane, uint32_t b, uint32_t c, bool *inside) {
  int segment = (int)(c >> 8 & 31), clamp = (int)(c & 31), value = (int)(b & 31);
  int last = (lane & segment) | (clamp & ~segment), first = lane & segment, j;
  switch (mode) {
  case SHFL_up:
    j = lane - value;
    *inside = j >= last;
    break;
  case SHFL_down:
    j = lane + value;
    *inside = j <= last;
    break;
  case SHFL_bfly:
    j = lane ^ value;
    *inside = j <= last;
    break;
  default:
    j = first | (value & ~segment);
    *inside = j <= last;
    break;
  }
  return *inside ? j : lane;
}

int exec_shfl(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group, d[EMU_LANES_N], p = 0;
  int from[EMU_LANES_N];
  char other[EMU_THREAD_TEXT];
  int rc = take_group(w, in, mask, &group);
  if (rc != RUN_ON) {
    return rc;
  }
  const uint32_t *a = emu_src(w, in->o[1]), *b = emu_src(w, in->o[2]), *c = emu_src(w, in->o[3]);
  for (int i = 0; i < EMU_LANES_N; i++) {
    bool inside;
    int j = shfl_source(in->more->mode[0], i, b[i], c[i], &inside);
    if ((group >> i & 1) && !(group >> j & 1) && w->launch->checks) {
      return emu_finding(w, in, i, EMU_SHUFFLE,
                         "shuffles from lane %d, %s, which does not take part", j,
                         emu_thread_text(w, emu_thread(w, j), other));
    }
    d[i] = a[j];
    from[i] = j;
    p |= inside ? 1u << i : 0;
  }
  if (w->poisoned) {
    emu_poison_shuffled(w, in, group, from);
  }
  emu_store(emu_reg(w, in->o[0]), d, 4, group);
  store_second(w, in, p, group);
  return after(mask, group);
}

int exec_vote(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group;
  int rc = take_group(w, in, mask, &group), mode = in->more->mode[0];
  if (rc != RUN_ON) {
    return rc;
  }
  uint32_t yes = *(const uint32_t *)emu_src(w, in->o[1]) & group;
  bool truth = mode == VOTE_all   ? yes == group
               : mode == VOTE_any ? yes != 0
                                  : yes == 0 || yes == group;
  emu_store_same(emu_reg(w, in->o[0]),
                 mode == VOTE_ballot ? yes
                 : truth             ? ~0u
                                     : 0,
                 in->dbytes, group);
  return after(mask, group);
}

int exec_match(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group, d[EMU_LANES_N], p = 0;
  int rc = take_group(w, in, mask, &group), bytes = in->more->mode[1];
  if (rc != RUN_ON) {
    return rc;
  }
  w->extra[w->pc - 1] += w->block->counting && in->more->mode[0] == 0 ? 4 * MATCH_ANY_CLOCKS : 0;
  const void *a = emu_src(w, in->o[1]);
  for (int i = 0; i < EMU_LANES_N; i++) {
    uint32_t same = 0;
    for (int j = 0; j < EMU_LANES_N; j++) {
      same |= (group >> j & 1) && emu_get(a, i, bytes) == emu_get(a, j, bytes) ? 1u << j : 0;
    }
    bool all = same == group;
    p |= all ? 1u << i : 0;
    d[i] = in->more->mode[0] == 0 ? same : all ? group : 0;
  }
  emu_store(emu_reg(w, in->o[0]), d, 4, group);
  store_second(w, in, p, group);
  return after(mask, group);
}

static uint32_t fold(int op, bool is_signed, uint32_t a, uint32_t b) {
  bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;
  switch (op) {
  case ATOM_add: return a + b;
  case ATOM_min: return less ? a : b;
  case ATOM_max: return less ? b : a;
  case ATOM_and: return a & b;
  case ATOM_or: return a | b;
  default: return a ^ b;
  }
}

int exec_redux(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group;
  int rc = take_group(w, in, mask, &group);
  if (rc != RUN_ON) {
    return rc;
  }
  const uint32_t *a = emu_src(w, in->o[1]);
  uint32_t v = a[__builtin_ctz(group)];
  for (uint32_t left = group & (group - 1); left; left &= left - 1) {
    v = fold(in->more->mode[0], in->more->mode[1], v, a[__builtin_ctz(left)]);
  }
  emu_store_same(emu_reg(w, in->o[0]), v, 4, group);
  return after(mask, group);
}

int exec_activemask(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_store_same(emu_reg(w, in->o[0]), mask, 4, mask);
  return RUN_ON;
}

int exec_elect(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t group;
  int rc = take_group(w, in, mask, &group);
  if (rc != RUN_ON) {
    return rc;
  }
  uint32_t leader = (uint32_t)__builtin_ctz(group);
  emu_store_same(emu_reg(w, in->o[0]), leader, 4, group);
  store_second(w, in, 1u << leader, group);
  return after(mask, group);
}

int exec_fence(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)mask;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  emu_clock_fence(w, in->imm != 0);
  w->block->ordered |= in->imm != 0;
  return RUN_ON;
}
