/* emu_block.c -- see emu_warp.h: starts blocks and runs their warps in turns. */
#include "emu_warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_async.h"
#include "emu_check_memory.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_remote.h"

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
    free(b->bulks);
    emu_remote_free(b);
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

/* Clocks continue from block to block, so that the shadow need not be cleared. */
static void start_clocks(emu_block *b) {
  uint32_t latest = 0;
  for (int i = 0; i < b->n_warps; i++) {
    latest = b->clocks[i][i] > latest ? b->clocks[i][i] : latest;
  }
  if (latest > 1 << 18) {
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

/* the block of this rank in a cluster; clusters are numbered like blocks, x first */
static void place_block(emu_block *b, uint64_t cluster, int rank) {
  const emu_launch *l = b->launch;
  uint64_t at = cluster, in = (uint64_t)rank;
  for (int i = 0; i < 3; i++) {
    uint64_t n = l->grid[i] / l->cluster[i];
    b->ctaid[i] = (uint32_t)(at % n * l->cluster[i] + in % l->cluster[i]);
    at /= n;
    in /= l->cluster[i];
  }
  b->linear = b->ctaid[0] + l->grid[0] * (b->ctaid[1] + (uint64_t)l->grid[1] * b->ctaid[2]);
  b->rank = rank;
}

/* The system clears what it reserves. */
static void clear_reserved(emu_block *b) {
  if (b->launch->module->has_reserved_smem) {
    memset(b->smem, 0, EMU_RESERVED_SMEM);
    emu_check_reserved(b, EMU_RESERVED_SMEM);
  }
}

static int block_start(emu_block *b, uint64_t cluster, int rank) {
  const emu_launch *l = b->launch;
  place_block(b, cluster, rank);
  b->ordered = b->done = b->polled = b->published = b->polled_after = false;
  b->fetch_pc = -1;
  b->n_looked = 0;
  b->n_mbarriers = b->n_bulks = b->idle = 0;
  if (b->has_agreed) {
    memset(b->agreed, 0, sizeof b->agreed);
    b->has_agreed = false;
  }
  b->cluster_phase = 0;
  memset(b->pending, 0, l->smem_nbytes + 64);
  memset(b->read_by, 0, (l->smem_nbytes / 16 + 8) * sizeof *b->read_by);
  memset(b->barriers, 0, sizeof b->barriers);
  for (int i = 0; i < EMU_BARRIERS; i++) {
    memset(b->barriers[i].pc, -1, sizeof b->barriers[i].pc);
  }
  start_clocks(b);
  if (emu_remote_start(b)) {
    return ERR_NOMEM;
  }
  clear_reserved(b);
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    int left = l->n_threads - i * EMU_LANES_N;
    w->block = b;
    w->launch = b->launch;
    w->index = i;
    w->bit = UINT64_C(1) << i;
    set_tids(w);
    if (emu_warp_start(w, left >= EMU_LANES_N ? ~0u : (1u << left) - 1)) {
      return ERR_NOMEM;
    }
  }
  return 0;
}

/* ---- running ---- */

typedef enum outcome { BLOCK_DONE, BLOCK_RUNS, BLOCK_FAULT } outcome;

static const emu_insn *instruction_at(const emu_warp *w, const emu_frag *f, int back) {
  const emu_func *func = w->launch->module->funcs[f->frame->func];
  int pc = f->pc - back;
  return &func->code[pc < 0 ? 0 : pc];
}

/* no fragment can continue: report what one of them waits for */
static outcome deadlock(emu_block *b) {
  for (int i = 0; i < b->n_warps; i++) {
    emu_warp *w = &b->warps[i];
    for (int j = 0; j < w->n_frags; j++) {
      const emu_frag *f = &w->frags[j];
      if (f->state == FRAG_SYNC) {
        emu_finding(w, instruction_at(w, f, 0), __builtin_ctz(f->mask), EMU_SHUFFLE,
                    "waits for lanes 0x%08x of its warp, which never reach this instruction",
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
               "waits at barrier %d, which the other threads of the block never reach", f->barrier);
      if (f->state == FRAG_CLUSTER) {
        snprintf(what, sizeof what,
                 "waits at the barrier of its cluster, which other threads never reach");
      }
      if (f->state == FRAG_MBAR) {
        emu_mbarrier_note(b, f, what, sizeof what);
      }
      emu_finding(w, instruction_at(w, f, 1), __builtin_ctz(f->mask), EMU_BARRIER, "%s", what);
      return BLOCK_FAULT;
    }
  }
  return BLOCK_DONE;
}

/* one slice of each warp; *moved: did anything happen? */
static outcome run_round(emu_block *b, bool *moved) {
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
  int delivered = emu_bulk_deliver(b);
  if (delivered == RUN_FAULT) {
    return BLOCK_FAULT;
  }
  bool released = emu_block_release(b);
  *moved |= b->moved || delivered == RUN_PICK || released;
  return all_done ? BLOCK_DONE : BLOCK_RUNS;
}

/* a round of each unfinished block of a cluster */
static outcome run_cluster(emu_block *first) {
  bool moved = false, all_done = true, any = false;
  int n = first->launch->cluster_size;
  for (int i = 0; i < n; i++) {
    emu_block *b = first->cluster_blocks[i];
    outcome o = b->done ? BLOCK_DONE : run_round(b, &moved);
    if (o == BLOCK_FAULT || (o == BLOCK_DONE && !b->done && emu_check_leave(b))) {
      return BLOCK_FAULT;
    }
    b->done = o == BLOCK_DONE;
    all_done &= b->done;
  }
  moved |= emu_cluster_release(first);
  if (all_done || moved) {
    return all_done ? BLOCK_DONE : BLOCK_RUNS;
  }
  for (int i = 0; i < n; i++) {
    any |= emu_mbarrier_timeout(first->cluster_blocks[i]);
  }
  for (int i = 0; i < n && !any; i++) {
    if (deadlock(first->cluster_blocks[i]) == BLOCK_FAULT) {
      return BLOCK_FAULT;
    }
  }
  return BLOCK_RUNS;
}

static bool stopped(const emu_block *b) {
  const emu_launch *l = b->launch;
  return (atomic_load(&l->stop) && b->linear > l->finding_block) || emu_interrupted(l);
}

/* rounds of a block before another one runs: there may be a grid-wide barrier */
enum { ROUNDS = 8 };

/* A block whose round has fewer instructions only polls: it waits for another block. */
enum { IDLE_STEPS = 2000 };

static uint64_t steps_of(const emu_block *b) {
  uint64_t steps = 0;
  for (int i = 0; i < b->n_warps; i++) {
    steps += b->warps[i].steps;
  }
  return steps;
}

static outcome run_block(emu_block *b, bool alone) {
  outcome o = BLOCK_RUNS;
  const uint64_t before = b->warps[0].steps;
  const int rounds = b->launch->cooperative ? 0 : ROUNDS;
  for (int i = 0; o == BLOCK_RUNS && !stopped(b); i++) {
    const uint64_t all_before = steps_of(b);
    o = run_cluster(b);
    const bool idle = steps_of(b) - all_before < IDLE_STEPS;
    if (!alone && i >= rounds && (idle || b->warps[0].steps - before > ROUNDS * 20000u)) {
      break;
    }
  }
  return stopped(b) ? BLOCK_FAULT : o;
}

static uint64_t length_of(const emu_block *b) {
  uint64_t most = 0;
  for (int i = 0; i < b->n_warps; i++) {
    most = b->warps[i].steps > most ? b->warps[i].steps : most;
  }
  return most;
}

static void finish(emu_worker *w, emu_block *first) {
  for (int i = first->launch->cluster_size - 1; i >= 0; i--) {
    emu_block *b = first->cluster_blocks[i];
    uint64_t length = length_of(b);
    w->blocks++;
    w->steps += steps_of(b);
    w->lengths += length;
    w->longest = length > w->longest ? length : w->longest;
    b->next = w->idle;
    w->idle = b;
  }
}

static emu_block *take_block(emu_worker *w, uint64_t cluster, int rank) {
  emu_block *b = w->idle ? w->idle : block_new(w);
  w->idle = b && b == w->idle ? b->next : w->idle;
  if (b && block_start(b, cluster, rank)) {
    block_free(b);
    return NULL;
  }
  return b;
}

static void give_up(emu_worker *w, emu_block *const *cluster_blocks, int n) {
  for (int i = 0; i < n; i++) {
    block_free(cluster_blocks[i]);
  }
  w->failed = ERR_NOMEM;
  atomic_store(&w->launch->stop, true);
}

/* A sample takes one block of each of equal parts of the grid, at varying positions because kernels
 * take block numbers modulo something. */
static uint64_t sampled_at(uint64_t i, uint64_t all, uint64_t some) {
  uint64_t from = (uint64_t)((unsigned __int128)i * all / some);
  uint64_t to = (uint64_t)((unsigned __int128)(i + 1) * all / some);
  return from + (i * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (to - from);
}

/* The first block of the grid's next cluster (of one block, if the kernel has none); NULL: none
 * left, or out of memory. */
static emu_block *next_cluster(emu_worker *w) {
  emu_launch *l = w->launch;
  uint64_t n = (uint64_t)l->cluster_size, some = l->sampled / n, all = l->n_blocks / n;
  const bool stop = atomic_load(&l->stop) || emu_interrupted(l);
  uint64_t i = stop ? some : atomic_fetch_add(&l->next, 1);
  emu_block *cluster_blocks[EMU_CLUSTER_MAX] = {NULL};
  if (i >= some) {
    return NULL;
  }
  uint64_t cluster = some == all ? i : sampled_at(i, all, some);
  for (int rank = 0; rank < l->cluster_size; rank++) {
    cluster_blocks[rank] = take_block(w, cluster, rank);
    if (!cluster_blocks[rank]) {
      give_up(w, cluster_blocks, rank);
      return NULL;
    }
    cluster_blocks[rank]->counting = i % l->count_every == 0;
    w->counted += cluster_blocks[rank]->counting;
  }
  for (int rank = 0; rank < l->cluster_size; rank++) {
    memcpy(cluster_blocks[rank]->cluster_blocks, cluster_blocks, sizeof cluster_blocks);
  }
  return cluster_blocks[0];
}

void *emu_worker_main(void *worker) {
  emu_worker *w = worker;
  emu_block **queue = calloc((size_t)w->launch->resident, sizeof(emu_block *));
  int n = 0;
  bool more = queue;
  w->failed = queue ? w->failed : ERR_NOMEM;
  while (more || n) {
    if (more && n < w->launch->resident) {
      emu_block *b = next_cluster(w);
      more = b != NULL;
      if (b) {
        queue[n++] = b;
      }
    }
    for (int i = 0; i < n; i++) {
      emu_block *b = queue[i];
      outcome o = run_block(b, !more && n == 1);
      if (o != BLOCK_RUNS) {
        finish(w, b);
        queue[i--] = queue[--n];
      }
    }
  }
  free(queue);
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
