/* emu_warp.c -- see emu_warp.h. */
#include "emu_warp.h"

#include <stdlib.h>
#include <string.h>

#include "emu_async.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_poison.h"

/* POLLS_SAMPLED: repetitions after which a warp of a sample waits for a block outside the sample */
enum { SLICE = 20000, POLLS_SAMPLED = 1 << 21 };

static uint8_t *zeroed(uint8_t *old, size_t *capacity, size_t nbytes) {
  if (nbytes > *capacity) {
    free(old);
    old = aligned_alloc(64, (nbytes + 63) / 64 * 64);
    *capacity = old ? nbytes : 0;
  }
  if (old) {
    memset(old, 0, nbytes);
  }
  return old;
}

int emu_warp_start(emu_warp *w, uint32_t lanes) {
  const emu_func *f = w->launch->func;
  size_t local = w->launch->local_nbytes * EMU_LANES_N;
  w->kernel.regs = zeroed(w->kernel.regs, &w->kernel_capacity, f->regs_nbytes + 64);
  if (local) {
    w->local = zeroed(w->local, &w->local_capacity, local);
  }
  if (!w->kernel.regs || (local && !w->local)) {
    return ERR_NOMEM;
  }
  int index = 0;
  while (w->launch->module->funcs[index] != f) {
    index++;
  }
  w->select = emu_lanes()[OP_selp];
  w->kernel.func = index;
  w->kernel.lanes = lanes;
  w->kernel.up = NULL;
  w->kernel.depth = 0;
  w->kernel.local = 0;
  w->live = lanes;
  w->n_frags = 1;
  w->frags[0] = (emu_frag){&w->kernel, 0, lanes, FRAG_RUN, 0, 0};
  w->current = -1;
  w->steps = w->waits = 0;
  w->n_stored = 0;
  w->plain_stores = 0;
  w->rotate = false;
  w->poll_pc = 0;
  w->polls = 0;
  w->n_async = 0;
  w->carry = 0;
  w->cluster_arrived = w->bulk_reads = 0;
  memset(w->cluster_phase, 0xff, sizeof w->cluster_phase);
  memset(w->bulk_group, 0, sizeof w->bulk_group);
  emu_wgmma_start(w);
  emu_poison_start(w);
  memset(w->group, 0, sizeof w->group);
  return 0;
}

static void free_frames(emu_warp *w) {
  for (int i = 0; i < w->n_frags; i++) {
    for (emu_frame *f = w->frags[i].frame; f && f != &w->kernel;) {
      emu_frame *up = f->up;
      /* another fragment that shares the frame frees it */
      for (int j = i + 1; j < w->n_frags; j++) {
        for (emu_frame *g = w->frags[j].frame; g; g = g->up) {
          f = f && g == f ? NULL : f;
        }
      }
      if (!f) {
        break;
      }
      free(f->regs);
      free(f);
      f = up;
    }
  }
  w->n_frags = 0;
}

void emu_warp_clear(emu_warp *w) {
  free_frames(w);
  free(w->kernel.regs);
  free(w->local);
  free(w->async);
  free(w->wgmma);
  free(w->in_flight);
  emu_poison_clear(w);
}

/* ---- the choice of a fragment ---- */

static void drop_empty(emu_warp *w) {
  int kept = 0;
  for (int i = 0; i < w->n_frags; i++) {
    if (w->frags[i].mask) {
      w->frags[kept++] = w->frags[i];
    }
  }
  w->n_frags = kept;
}

/* wake lanes whose members have arrived or exited */
static void wake_sync(emu_warp *w) {
  for (int i = 0; i < w->n_frags; i++) {
    emu_frag *f = &w->frags[i];
    if (f->state == FRAG_SYNC && !(f->members & w->live & ~f->mask)) {
      f->state = FRAG_RUN;
    }
  }
}

static void join(emu_warp *w) {
  for (int i = 0; i < w->n_frags; i++) {
    for (int j = i + 1; j < w->n_frags; j++) {
      emu_frag *a = &w->frags[i], *b = &w->frags[j];
      if (a->mask && b->mask && a->frame == b->frame && a->pc == b->pc && !emu_parked(a) &&
          !emu_parked(b)) {
        a->mask |= b->mask;
        a->state = FRAG_RUN;
        b->mask = 0;
      }
    }
  }
  drop_empty(w);
}

static bool before(const emu_frag *a, const emu_frag *b) {
  return a->frame->depth != b->frame->depth ? a->frame->depth > b->frame->depth : a->pc < b->pc;
}

static int choose(emu_warp *w) {
  int best = -1;
  if (w->rotate) { /* the longest waiting fragment gets one slice */
    w->rotate = false;
    for (int i = 0; i < w->n_frags; i++) {
      if (w->frags[i].state == FRAG_RUN) {
        emu_frag f = w->frags[i];
        memmove(w->frags + i, w->frags + i + 1, sizeof f * (size_t)(w->n_frags - i - 1));
        w->frags[w->n_frags - 1] = f;
        return w->n_frags - 1;
      }
    }
  }
  for (int i = 0; i < w->n_frags; i++) {
    if (w->frags[i].state == FRAG_RUN && (best < 0 || before(&w->frags[i], &w->frags[best]))) {
      best = i;
    }
  }
  return best;
}

static void find_stop(emu_warp *w) {
  w->stop = INT32_MAX;
  for (int i = 0; i < w->n_frags; i++) {
    const emu_frag *f = &w->frags[i];
    if (i != w->current && !emu_parked(f) && f->frame == w->frame && f->pc > w->pc &&
        f->pc < w->stop) {
      w->stop = f->pc;
    }
  }
}

static void save(emu_warp *w) {
  if (w->current >= 0) {
    w->frags[w->current].pc = w->pc;
    w->frags[w->current].mask = w->mask;
    w->frags[w->current].frame = w->frame;
    w->current = -1;
  }
}

static bool pick(emu_warp *w) {
  save(w);
  drop_empty(w);
  if (w->n_frags > 1) {
    join(w);
  }
  wake_sync(w);
  int i = choose(w);
  if (i < 0) {
    return false;
  }
  const emu_frag *f = &w->frags[i];
  const emu_func *func = w->launch->module->funcs[f->frame->func];
  w->current = i;
  w->pc = f->pc;
  w->mask = f->mask;
  w->frame = f->frame;
  w->regs = f->frame->regs;
  w->pool = func->pool;
  w->code = func->code;
  w->counts = w->block->worker->counts[f->frame->func];
  w->extra = w->counts + func->n + 1;
  w->sectors = w->extra + func->n + 1;
  w->repeats = w->sectors + func->n + 1;
  w->seen = w->repeats + func->n + 1;
  find_stop(w);
  return true;
}

/* ---- the loop ---- */

static int over_limit(emu_warp *w, const emu_insn *in) {
  return emu_finding(
      w, in, __builtin_ctz(w->mask), EMU_STEPS,
      "is in a warp that has executed more than %llu instructions, where a wait counts as %d: an endless loop, or the step limit is too low",
      (unsigned long long)w->launch->step_limit, EMU_WAIT_STEPS);
}

static int waits_for_absent(emu_warp *w, const emu_insn *in) {
  return emu_finding(
      w, in, __builtin_ctz(w->mask), EMU_STEPS,
      "waits for a block that is not among the %llu of %llu that run; such a kernel can be modelled only for problems small enough to run all blocks",
      (unsigned long long)w->launch->sampled, (unsigned long long)w->launch->n_blocks);
}

static inline int slice_over(emu_warp *w, const emu_insn *in) {
  if (emu_over_limit(w)) {
    return over_limit(w, in);
  }
  if (w->polls > POLLS_SAMPLED && w->launch->sampled < w->launch->n_blocks) {
    return waits_for_absent(w, in);
  }
  w->slice_end = w->steps + SLICE;
  w->rotate = true;
  return RUN_PICK;
}

static inline void compute(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint64_t other[64];
  void *d = mask == ~0u ? emu_reg(w, in->o[0]) : other;
  in->fn(d, emu_src(w, in->o[1]), emu_src(w, in->o[2]), emu_src(w, in->o[3]), emu_src(w, in->o[4]));
  if (d == other && in->dbytes == 4) {
    uint32_t *to = emu_reg(w, in->o[0]);
    w->select[T_u32](to, other, to, &mask, NULL);
  } else if (d == other) {
    emu_store(emu_reg(w, in->o[0]), other, in->dbytes, mask);
  }
}

static inline uint32_t guarded(const emu_warp *w, const emu_insn *in) {
  if (in->guard == EMU_NONE) {
    return w->mask;
  }
  uint32_t p = *(const uint32_t *)(w->regs + in->guard);
  return w->mask & (in->flags & INSN_GUARD_NOT ? ~p : p);
}

/* what some registers hold is not there yet, or was never written */
static int before_step(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = w->any_in_flight && mask ? emu_wgmma_registers(w, in, mask) : RUN_ON;
  return rc == RUN_ON && w->poisoned ? emu_poison_step(w, in, mask) : rc;
}

static inline uint64_t count_lanes(uint32_t mask) {
  if (mask == ~0u) {
    return EMU_LANES_N;
  }
  mask -= mask >> 1 & 0x55555555;
  mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
  return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static int (*const executors[KIND_COUNT])(emu_warp *w, const emu_insn *in, uint32_t mask) = {
#define ROW(name) [KIND_##name] = exec_##name,
    EMU_KINDS(ROW)
#undef ROW
};

emu_warp_state emu_warp_run(emu_warp *w) {
  uint64_t lanes = 0, slice_first = w->steps;
  emu_warp_state state = WARP_WAITS;
  w->slice_end = w->steps + SLICE;
  while (pick(w)) {
    /* a loop of barriers never comes to the end of a slice */
    int rc = emu_over_limit(w) ? over_limit(w, &w->code[w->pc]) : RUN_ON;
    while (rc == RUN_ON) {
      const emu_insn *in = &w->code[w->pc];
      uint32_t mask = guarded(w, in);
      w->seen[w->pc] |= w->bit;
      w->counts[w->pc++]++;
      w->steps++;
      if ((w->any_in_flight | w->poisoned) && (rc = before_step(w, in, mask)) != RUN_ON) {
        break;
      }
      if (in->kind == KIND_alu) {
        compute(w, in, mask);
      } else if (mask) {
        rc = executors[in->kind](w, in, mask);
      }
      lanes += in->flags & INSN_HELPER ? 0 : count_lanes(mask);
      if (w->pc >= w->stop) {
        rc = rc ? rc : RUN_PICK;
      }
      if (w->steps > w->slice_end && !rc) {
        rc = slice_over(w, in);
      }
    }
    if (rc == RUN_FAULT) {
      state = WARP_FAULT;
      break;
    }
    if (w->rotate || w->steps > w->slice_end) { /* the slice is over: other warps run first */
      w->rotate = true;
      save(w);
      state = WARP_YIELDS;
      break;
    }
  }
  w->block->worker->lanes += lanes;
  w->block->moved |= w->steps != slice_first;
  return state == WARP_WAITS && !w->n_frags ? WARP_DONE : state;
}
