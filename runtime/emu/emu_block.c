/* emu_block.c -- blocks on a host thread: start, run warps in turn, barriers, the next block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_exec.h"

/* ---- a block's memory, used again for block after block ---- */

static void block_free(emu_block *b) {
  if (b) {
    for (int i = 0; b->warps && i < b->n_warps; i++) {
      emu_warp_clear(&b->warps[i]);
    }
    free(b->warps);
    free(b->smem);
    free(b->shadow);
    free(b->pending);
    free(b->read_by);
    free(b->mbarriers);
    free(b);
  }
}

static emu_block *block_new(emu_worker *worker) {
  const emu_launch *l = worker->launch;
  emu_block *b = calloc(1, sizeof *b);
  if (!b) {
    return NULL;
  }
  b->worker = worker;
  b->launch = worker->launch;
  b->n_warps = l->n_warps;
  b->warps = calloc((size_t)l->n_warps, sizeof *b->warps);
  b->smem = calloc(1, l->smem_nbytes + 64);
  b->pending = calloc(1, l->smem_nbytes + 64);
  b->read_by = calloc(l->smem_nbytes / 16 + 8, sizeof *b->read_by);
  b->shadow = l->checks ? calloc(l->smem_nbytes + 64, sizeof *b->shadow) : NULL;
  if (!b->warps || !b->smem || !b->pending || !b->read_by || (l->checks && !b->shadow)) {
    block_free(b);
    return NULL;
  }
  return b;
}

static void set_tids(emu_warp *w) {
  const uint32_t *n = w->launch->block;
  for (uint32_t lane = 0; lane < EMU_LANES_N; lane++) {
    uint32_t t = (uint32_t)w->index * EMU_LANES_N + lane;
    w->tid[0][lane] = t % n[0];
    w->tid[1][lane] = t / n[0] % n[1];
    w->tid[2][lane] = t / n[0] / n[1];
  }
}

/* clocks go on from block to block, so that the shadow need not be cleared */
static void start_clocks(emu_block *b) {
  uint32_t latest = 0;
  for (int i = 0; i < b->n_warps; i++) {
    latest = b->clocks[i][i] > latest ? b->clocks[i][i] : latest;
  }
  if (latest > 1 << 19) {
    memset(b->shadow, 0, (b->launch->smem_nbytes + 64) * (b->shadow ? sizeof *b->shadow : 0));
    latest = 0;
  }
  b->first_clock = latest + 1;
  for (int i = 0; i < b->n_warps; i++) {
    for (int u = 0; u < b->n_warps; u++) {
      b->clocks[i][u] = latest + (i == u);
      b->proxied[i][u] = latest;
    }
    b->released[i] = latest;
  }
}

static int block_start(emu_block *b, uint64_t linear) {
  const emu_launch *l = b->launch;
  b->linear = linear;
  b->ctaid[0] = (uint32_t)(linear % l->grid[0]);
  b->ctaid[1] = (uint32_t)(linear / l->grid[0] % l->grid[1]);
  b->ctaid[2] = (uint32_t)(linear / l->grid[0] / l->grid[1]);
  b->ordered = false;
  b->n_mbarriers = b->idle = 0;
  memset(b->pending, 0, l->smem_nbytes + 64);
  memset(b->read_by, 0, (l->smem_nbytes / 16 + 8) * sizeof *b->read_by);
  memset(b->barriers, 0, sizeof b->barriers);
  for (int i = 0; i < EMU_BARRIERS; i++) {
    memset(b->barriers[i].pc, -1, sizeof b->barriers[i].pc);
  }
  start_clocks(b);
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    int left = l->n_threads - i * EMU_LANES_N;
    w->block = b;
    w->launch = b->launch;
    w->index = i;
    set_tids(w);
    if (emu_warp_start(w, left >= EMU_LANES_N ? ~0u : (1u << left) - 1)) {
      return ERR_NOMEM;
    }
  }
  return 0;
}

/* ---- running ---- */

typedef enum outcome { BLOCK_DONE, BLOCK_GOES_ON, BLOCK_FAULT } outcome;

static const emu_insn *instruction_at(const emu_warp *w, const emu_frag *f, int back) {
  const emu_func *func = w->launch->module->funcs[f->frame->func];
  int pc = f->pc - back;
  return &func->code[pc < 0 ? 0 : pc];
}

/* nobody can move: say who waits for what */
static outcome deadlock(emu_block *b) {
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    for (int j = 0; j < w->n_frags; j++) {
      const emu_frag *f = &w->frags[j];
      if (f->state == FRAG_SYNC) {
        emu_finding(w, instruction_at(w, f, 0), __builtin_ctz(f->mask), EMU_SHUFFLE,
                    "waits for lanes 0x%08x of its warp, which never arrive here",
                    f->members & w->live & ~f->mask);
        return BLOCK_FAULT;
      }
    }
  }
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    if (w->n_frags) {
      const emu_frag *f = &w->frags[0];
      char what[200];
      snprintf(what, sizeof what,
               "waits at barrier %d, where the other threads of the block never arrive",
               f->barrier);
      if (f->state == FRAG_MBAR) {
        emu_mbarrier_note(b, f, what, sizeof what);
      }
      emu_finding(w, instruction_at(w, f, 1), __builtin_ctz(f->mask), EMU_BARRIER, "%s", what);
      return BLOCK_FAULT;
    }
  }
  return BLOCK_DONE;
}

/* one slice of every warp */
static outcome run_round(emu_block *b) {
  bool all_done = true;
  b->moved = false;
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    if (!w->n_frags) {
      continue;
    }
    emu_warp_state state = emu_warp_run(w);
    if (state == WARP_FAULT) {
      return BLOCK_FAULT;
    }
    all_done &= state == WARP_DONE;
  }
  if (all_done) {
    return BLOCK_DONE;
  }
  bool released = emu_block_release(b);
  return b->moved || released || emu_mbarrier_timeout(b) ? BLOCK_GOES_ON : deadlock(b);
}

static bool stopped(const emu_block *b) {
  const emu_launch *l = b->launch;
  return atomic_load(&l->stop) && b->linear > l->finding_block;
}

enum {
  ROUNDS = 64
}; /* of a block before another one gets its turn: a grid-wide barrier may wait */

static outcome run_block(emu_block *b, bool alone) {
  outcome o = BLOCK_GOES_ON;
  uint64_t steps = 0, before = b->warps[0].steps;
  for (int i = 0; o == BLOCK_GOES_ON && !stopped(b); i++) {
    o = run_round(b);
    steps = b->warps[0].steps - before;
    if (!alone && i >= ROUNDS && steps > ROUNDS * 20000u) {
      break;
    }
  }
  return stopped(b) ? BLOCK_FAULT : o;
}

static void finish(emu_worker *w, emu_block *b) {
  w->blocks++;
  b->next = w->idle;
  w->idle = b;
}

/* the next block of the grid, or NULL: none left, or out of memory */
static emu_block *next_block(emu_worker *w) {
  emu_launch *l = w->launch;
  uint64_t i = atomic_load(&l->stop) ? l->sampled : atomic_fetch_add(&l->next, 1);
  if (i >= l->sampled) {
    return NULL;
  }
  emu_block *b = w->idle ? w->idle : block_new(w);
  w->idle = b && b == w->idle ? b->next : w->idle;
  /* a sample is spread evenly over the grid */
  uint64_t linear =
      l->sampled == l->n_blocks ? i : (uint64_t)((unsigned __int128)i * l->n_blocks / l->sampled);
  if (b) {
    b->counting = i % l->count_every == 0;
    w->counted += b->counting;
  }
  if (!b || block_start(b, linear)) {
    block_free(b);
    w->failed = ERR_NOMEM;
    atomic_store(&l->stop, true);
    return NULL;
  }
  return b;
}

void *emu_worker_main(void *worker) {
  emu_worker *w = worker;
  emu_block *queue[64];
  int n = 0;
  bool more = true;
  while (more || n) {
    if (more && n < w->launch->resident) {
      emu_block *b = next_block(w);
      more = b != NULL;
      if (b) {
        queue[n++] = b;
      }
    }
    for (int i = 0; i < n; i++) {
      emu_block *b = queue[i];
      outcome o = run_block(b, !more && n == 1);
      if (o != BLOCK_GOES_ON) {
        finish(w, b);
        queue[i--] = queue[--n];
      }
    }
  }
  return NULL;
}

void emu_worker_clear(emu_worker *w) {
  while (w->idle) {
    emu_block *b = w->idle;
    w->idle = b->next;
    block_free(b);
  }
  for (int i = 0; w->counts && i < w->launch->module->n_funcs; i++) {
    free(w->counts[i]);
  }
  free(w->counts);
}
