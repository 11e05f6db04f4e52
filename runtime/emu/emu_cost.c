/* emu_cost.c -- the cost model: from counts to modelled seconds.
 *
 * A kernel is cut into segments: basic blocks, cut again at barriers and waits. Of each segment the
 * model knows how often a warp executes it, and in clocks
 *
 *   work   what one warp needs of its scheduler: the busiest of issue (one instruction a clock) and
 *          of the pipes (a warp instruction takes 32 lanes over a scheduler's lanes)
 *   path   how long one warp takes by itself: instructions in the order in which their operands
 *          arrive, one a clock; ptxas is taken to find that order
 *   lead   the idle part of it at the start of a segment behind a barrier or a wait: all warps of
 *          the block are there at once, so none of them hides it
 *   lsu    what one warp needs of the load/store unit, which the schedulers share: wavefronts in
 *          shared memory, 128-byte lines in global memory
 *
 * n that share a unit take n work + stall (stall / path)^(0.7 (n-1)), stall = path - work: the
 * stall of one shows only where the others stall too. A warp alone needs WARP_ISSUE clocks an
 * instruction. This gives a block alone, from the warps on its busiest scheduler, ceil(warps / 4),
 * and lead on top; the sum over segments is `alone`. The same formula gives b blocks on a
 * multiprocessor, n = ceil(b warps / 4) / ceil(warps / 4), so a number of warps that is no multiple
 * of the schedulers costs what it costs on the card.
 *
 *   wave(b)  = | that, b * lsu or ceil(n / 2) * fetch |
 *   compute  = full waves * wave(occupancy) + wave(what is left: spread, at times packed)
 *   memory   = max(L2 bytes / L2 rate, DRAM bytes / DRAM rate)
 *   atomics  = lanes that update the L2's line with the most of them * ATOMIC_CLOCKS
 *   seconds  = launch + | | compute, atomics | / clock, memory |
 *
 * fetch: of code that the instruction cache lacks; two warps of a scheduler share what comes.
 * |x, y| is (x^4 + y^4)^(1/4): the larger, a little more where both are alike, since neither hides
 * the other perfectly. DRAM bytes: per allocation, what one wave asks for, at most its size; a
 * footprint that fits the L2 is fetched once. In the first wave all blocks want the same data at
 * the same time, so a share 1 / waves of the loads waits as long as DRAM takes. Registers, hence
 * occupancy, are ptxas's where the PTX notes them (emu_notes.c); spills count once in every pass of
 * the hottest segment.
 *
 * It leaves out: register banks, what ptxas's order costs in registers, clock changes under load,
 * DRAM pages, partition camping, blocks that wait for each other (a chained scan), bulk copies but
 * for their bytes. It ranks variants; it is no measurement.
 *
 * src: the approach is Hong and Kim, "An analytical model for a GPU architecture with memory-level
 * and thread-level parallelism awareness", ISCA 2009, with segments in place of whole kernels.
 * Latencies: Luo, Fan, Li, Du, Wang, Chu, "Benchmarking and dissecting the Nvidia Hopper GPU
 * architecture via microbenchmarking", IPDPS workshops 2024 (H100: shared 29, L1 41, L2 263, DRAM
 * 479 clocks; mma.sync at 62 % of the tensor peak); arithmetic: Jia et al. 2018 (4 clocks dependent
 * issue). The instruction cache's sizes and rates: our own, loops of 8 to 160 KiB of FMAs on an
 * H200 by clock64; a warp alone takes 1.02 clocks an instruction up to 28 KiB, 2.35 from 40 to 128,
 * 5.85 at 160; two take 2.1, four 5.2 to 6.3. WARP_ISSUE, STALL_OVERLAP, LAT_BARRIER and PACKED are
 * fitted to 160 random matrix products at 2048, ATOMIC_CLOCKS to histograms.
 */
#include "emu_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu_decode.h"
#include "emu_device.h"

enum {
  LAT_ALU = 4,
  LAT_FP64 = 8,
  LAT_MUFU = 18,
  LAT_CVT = 8,
  LAT_SHARED = 29,
  LAT_L1 = 41,
  LAT_L2 = 263,
  LAT_DRAM = 479,
  LAT_TENSOR = 33,
  LAT_SHFL = 23,
  LAT_ATOM_SHARED = 60,
  LAT_BARRIER = 60, /* with the pipes that drain before it and fill again behind */
  LAT_UNIFORM = 8,
  GROUPS = 16,
  SCHEDULERS = 4,         /* of a multiprocessor; a warp stays with one */
  CODE_BYTES = 16,        /* of an instruction, since cc 7.0 */
  CODE_FITS = 30 << 10,   /* a longer loop is fetched again in every pass, ... */
  CODE_MISSES = 38 << 10, /* ... all of it from here on */
  CODE_NEAR = 144 << 10,  /* from the cache behind, up to this length */
  ATOMIC_CLOCKS = 4,      /* of the L2, from one lane's atomic to the next on the same line */
  SHARED_BYTES = 128      /* that shared memory moves in a clock */
};
/* bytes a clock of code that a scheduler's instruction cache lacks */
static const double CODE_RATE = 6.8, CODE_FAR_RATE = 2.7;
/* of ptxas's code over the PTX's: addresses, loops, moves; seen in the same matrix products */
static const double CODE_GROWTH = 1.2;
static const double launch_sec = 2.2e-6, mma_sync_share = 0.62;
/* a warp alone on its scheduler issues an instruction every so many clocks, and how well the stalls
 * of several fill each other */
static const double WARP_ISSUE = 1.25, STALL_OVERLAP = 0.7;
/* of two blocks that began together, how often a multiprocessor's both have ended before others
 * ask for work, so that it takes two of the last ones; of more blocks it is rarer */
static const double PACKED = 0.3, PACKED_POWER = 3;

typedef struct model {
  const emu_launch *l;
  const emu_profile *p;
  const emu_worker *w;
  double lat_global;
  double run, counted;       /* blocks that ran, and whose traffic was counted */
  double lsu, fetch;         /* clocks of the multiprocessor a block; fetch: of instructions */
  double issue;              /* clocks of a scheduler a warp: its busiest unit */
  double alone;              /* clocks of a block with the multiprocessor to itself */
  double hottest, hot_times; /* the segment with the most work: clocks a block, executions a warp */
  double pipes[PIPE_COUNT];  /* clocks of the multiprocessor a block */
  double *ready;             /* per register: clocks until it is there */
  double *starts;            /* per instruction of a segment: when its operands are there */
  double group[GROUPS];      /* cp.async groups in flight: until they land */
  int n_groups;
} model;

static double larger(double a, double b) {
  return a > b ? a : b;
}

static double together(double x, double y) {
  double most = x > y ? x : y, ratio = most > 0 ? (x < y ? x : y) / most : 0;
  return most * pow(1 + ratio * ratio * ratio * ratio, 0.25);
}

/* ---- one instruction ---- */

static double tensor_clocks(const emu_profile *p, const emu_insn *in) {
  const int *mode = in->more->mode;
  emu_type t = (emu_type)mode[3];
  double fma = (double)mode[0] * mode[1] * mode[2], rate = p->tensor_f16;
  if (t == T_f64) {
    return fma / (p->cc == 80 || p->cc == 90 ? 2 * p->fp64 : p->fp64);
  }
  rate *= t == T_tf32 ? 0.5 : emu_type_bytes(t) == 1 ? 2 : 1;
  if (in->kind == KIND_wgmma) { /* reads its operands from shared memory meanwhile */
    double rows = mode[5] & WGMMA_registers ? 0 : 4 * mode[0];
    return larger(fma / rate, (rows + mode[1]) * 32 / SHARED_BYTES / 4);
  }
  return fma / (rate * (p->cc >= 90 ? mma_sync_share : 1));
}

/* clocks that one execution keeps its unit busy; extra: wavefronts an execution */
static double unit_clocks(const emu_profile *p, const emu_insn *in, double extra) {
  const int lanes[PIPE_COUNT] = {
      [PIPE_fma] = p->fma,   [PIPE_alu] = p->alu,   [PIPE_fp64] = p->fp64,
      [PIPE_half] = p->half, [PIPE_mufu] = p->mufu, [PIPE_imad] = p->imad,
      [PIPE_cvt] = p->cvt,   [PIPE_control] = 64,   [PIPE_uniform] = 64};
  switch (in->pipe) {
  case PIPE_none: return 0;
  case PIPE_lsu: return larger(1, extra);
  case PIPE_tensor: return tensor_clocks(p, in);
  default: return 32.0 * in->weight / lanes[in->pipe];
  }
}

static double load_latency(const model *m, const emu_insn *in) {
  switch (in->more->space) {
  case SPACE_shared: return in->kind == KIND_atom ? LAT_ATOM_SHARED : LAT_SHARED;
  case SPACE_local: return LAT_L1;
  case SPACE_param:
  case SPACE_const: return LAT_UNIFORM;
  default: return m->lat_global;
  }
}

static double latency(const model *m, const emu_insn *in) {
  switch (in->kind) {
  case KIND_ld:
  case KIND_atom:
  case KIND_wmmaload: return load_latency(m, in);
  case KIND_ldmatrix: return LAT_SHARED;
  case KIND_shfl:
  case KIND_movmatrix:
  case KIND_match: return LAT_SHFL;
  case KIND_mma:
  case KIND_wmma: return LAT_TENSOR;
  /* others on the same accumulators follow without a gap; the wait adds the rest */
  case KIND_wgmma: return SCHEDULERS * tensor_clocks(m->p, in);
  case KIND_mbarrier: return LAT_SHARED;
  case KIND_mbarwait: return LAT_BARRIER;
  default: break;
  }
  switch (in->pipe) {
  case PIPE_fp64: return LAT_FP64;
  case PIPE_mufu: return LAT_MUFU;
  case PIPE_cvt: return LAT_CVT;
  case PIPE_none: return 0;
  default: return LAT_ALU * (in->weight > 2 ? in->weight / 2.0 : 1);
  }
}

/* ---- segments ---- */

static bool synchronizes(const emu_insn *in) {
  return in->kind == KIND_bar || in->kind == KIND_cpwait || in->kind == KIND_mbarwait ||
         in->kind == KIND_wgmmawait;
}

static bool ends_segment(const emu_func *f, int pc) {
  const emu_insn *in = &f->code[pc];
  return pc + 1 == f->n || f->leads[pc + 1] || synchronizes(in) || in->kind == KIND_call;
}

/* cp.async.wait_group n: the n youngest groups may stay in flight */
static double wait_for_groups(const model *m, const emu_insn *in) {
  int young = in->imm < 0 ? 0 : (int)(in->imm < GROUPS ? in->imm : GROUPS);
  double until = 0;
  for (int g = 0; g < m->n_groups - young && g < GROUPS; g++) {
    until = larger(until, m->group[g]);
  }
  return until;
}

static void commit_group(model *m, double until) {
  if (m->n_groups == GROUPS) {
    memmove(m->group, m->group + 1, sizeof *m->group * (GROUPS - 1));
    m->n_groups--;
  }
  m->group[m->n_groups++] = until;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

typedef struct segment {
  double times;          /* executions by all warps of a block */
  const uint64_t *extra; /* per instruction: wavefronts, or units of 128 bytes */
} segment;

static bool from_global(const emu_insn *in) {
  return in->pipe == PIPE_lsu && in->more && in->more->space == SPACE_global;
}

/* The warps of a block load together: the last one's data comes when all of it came through the
 * multiprocessor's share of the L2's rate. */
static double copy_clocks(const model *m, const segment *g, const emu_insn *in, int pc) {
  double rate = m->p->l2_bytes_clock / (double)m->p->sms;
  double lines = (double)g->extra[pc] / m->counted / g->times;
  if (in->kind == KIND_cpasync) { /* its wavefronts in shared memory are counted there too */
    lines = fmin(lines / 2, in->more->mode[0] / 4.0);
  }
  bool loads = in->kind == KIND_cpasync || (from_global(in) && in->kind != KIND_st);
  return loads ? lines * 128 * m->l->n_warps / rate : 0;
}

/* when each instruction from s to e could start, were there an issue slot for it, with what earlier
 * segments left behind; the number of them that need one */
static int find_starts(model *m, const emu_func *f, const segment *g, int s, int e) {
  int n = 0;
  double last = 0, queue = 0;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double start = 0;
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      start = f->refs[r] & 1 ? start : larger(start, m->ready[f->refs[r] >> 1]);
    }
    queue += copy_clocks(m, g, in, pc);
    if (in->kind == KIND_cpcommit) {
      commit_group(m, last + m->lat_global + queue);
    } else if (in->kind == KIND_cpwait) {
      start = larger(start, wait_for_groups(m, in));
    }
    start += in->kind == KIND_bar ? LAT_BARRIER : in->kind == KIND_wgmmawait ? LAT_TENSOR : 0;
    last = larger(last, start);
    if (in->pipe != PIPE_none || in->kind == KIND_cpwait || in->kind == KIND_bar) {
      m->starts[n++] = start;
    }
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      if (f->refs[r] & 1) {
        m->ready[f->refs[r] >> 1] = start + latency(m, in) + (from_global(in) ? queue : 0);
      }
    }
  }
  return n;
}

/* clocks of one warp by itself: ptxas orders instructions so that each of them issues as soon as
 * its operands and the slot are there */
static double path_of(model *m, const emu_func *f, const segment *g, int s, int e, double *lead) {
  int n = find_starts(m, f, g, s, e);
  double now = 0;
  *lead = 0;
  qsort(m->starts, (size_t)n, sizeof *m->starts, by_value);
  for (int i = 0; i < n; i++) {
    double idle = larger(m->starts[i] - now, 0);
    *lead += i <= n / 4 ? idle : 0;
    now += idle + 1;
  }
  return now;
}

/* n alike share a unit that each needs for `work` of the `whole` clocks it takes alone: a stall of
 * one shows only where the others stall too */
static double shared_among(double n, double work, double whole) {
  double stall = whole > work ? whole - work : 0;
  return n * work +
         (whole > 0 ? stall * pow(stall / whole, n > 1 ? STALL_OVERLAP * (n - 1) : 0) : 0);
}

static void pass_time(model *m, const emu_func *f, double clocks) {
  for (int i = 0; i < f->n_regs; i++) {
    m->ready[i] = m->ready[i] > clocks ? m->ready[i] - clocks : 0;
  }
  for (int g = 0; g < m->n_groups; g++) {
    m->group[g] = m->group[g] > clocks ? m->group[g] - clocks : 0;
  }
}

/* of one pass through this many bytes of code */
static double fetch_clocks(double code) {
  double missing = (code - CODE_FITS) / (CODE_MISSES - CODE_FITS);
  missing = missing < 0 ? 0 : missing > 1 ? 1 : missing;
  return missing * code / (code > CODE_NEAR ? CODE_FAR_RATE : CODE_RATE);
}

/* executions are counted for warps; a segment that never ran costs nothing */
static void add_segment(model *m, const emu_func *f, const uint64_t *counts, int s, int e) {
  const uint64_t *extra = counts + f->n + 1;
  double pipes[PIPE_COUNT] = {0}, issue = 0;
  double times = (double)counts[s] / m->run; /* by all warps of a block */
  if (!counts[s]) {
    return;
  }
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double per = (double)extra[pc] / m->counted / times, clocks = unit_clocks(m->p, in, per);
    pipes[in->pipe] += clocks;
    issue += in->pipe == PIPE_none ? 0 : in->weight / 4.0;
  }
  /* integer and floating-point multiplication share a pipe */
  double busiest = larger(issue, pipes[PIPE_fma] + pipes[PIPE_imad] / 2);
  for (int i = 0; i < PIPE_COUNT; i++) {
    m->pipes[i] += times * pipes[i];
    busiest = i == PIPE_lsu ? busiest : larger(busiest, pipes[i]);
  }
  busiest *= SCHEDULERS;
  double warps = m->l->n_warps, a_warp = times / warps;
  double lead, path = path_of(m, f, &(segment){times, extra}, s, e, &lead);
  lead = s > 0 && synchronizes(&f->code[s - 1]) ? lead : 0; /* all warps wait together */
  double all = lead + shared_among(ceil(warps / SCHEDULERS), busiest,
                                   larger(path - lead, WARP_ISSUE * busiest));
  all = larger(all, pipes[PIPE_lsu] * warps);
  m->issue += a_warp * busiest;
  m->alone += a_warp * all;
  m->lsu += times * pipes[PIPE_lsu];
  double code = issue * SCHEDULERS * CODE_BYTES;
  m->fetch += a_warp * fetch_clocks(CODE_GROWTH * code);
  if (times * busiest > m->hottest) {
    m->hottest = times * busiest;
    m->hot_times = a_warp;
  }
  pass_time(m, f, all);
}

static bool add_function(model *m, int index) {
  const emu_func *f = m->l->module->funcs[index];
  const uint64_t *counts = m->w->counts[index];
  if (!f->defined || !counts[0]) {
    return true;
  }
  m->ready = calloc((size_t)f->n_regs + 1, sizeof *m->ready);
  m->starts = calloc((size_t)f->n + 1, sizeof *m->starts);
  m->n_groups = 0;
  for (int s = 0, pc = 0; m->ready && m->starts && pc < f->n; pc++) {
    if (ends_segment(f, pc)) {
      add_segment(m, f, counts, s, pc + 1);
      s = pc + 1;
    }
  }
  bool ok = m->ready && m->starts;
  free(m->ready);
  free(m->starts);
  return ok;
}

/* ---- memory ---- */

static double dram_bytes(const model *m, double share, double waves) {
  const emu_cache *c = &m->w->cache;
  double footprint = 0, once = 0, each_wave = 0;
  for (int i = 0; i < c->n; i++) {
    double asked = (double)c->sectors[i] * 32 * share, whole = (double)c->nbytes[i];
    footprint += whole < asked ? whole : asked;
    once += whole < asked ? whole : asked;
    double in_wave = asked / waves;
    each_wave += in_wave < whole ? in_wave : whole;
  }
  if (footprint <= (double)m->p->l2_nbytes || waves <= 1) {
    return once;
  }
  return larger(once, each_wave * waves);
}

static double hottest_line(const emu_cache *c) {
  uint64_t most = 0;
  for (int i = 0; i < EMU_ATOMIC_LINES; i++) {
    most = c->atomic_lanes[i] > most ? c->atomic_lanes[i] : most;
  }
  return (double)most;
}

/* ---- occupancy ---- */

int emu_occupancy(const emu_profile *p, int regs, int threads, int64_t smem) {
  int warps = (threads + 31) / 32;
  if (warps < 1 || threads > 1024) {
    return 0;
  }
  int regs_warp = (regs * 32 + 255) / 256 * 256;
  int by_warps = p->threads_sm / 32 / warps, by_blocks = p->blocks_sm;
  /* registers are given out by quarters of the multiprocessor, one for each scheduler */
  int by_regs = regs_warp ? p->regs_sm / 4 / regs_warp * 4 / warps : by_warps;
  int64_t need = (smem + (p->cc >= 80 ? 1024 : 0) + 127) / 128 * 128;
  int64_t by_smem = need ? (int64_t)p->smem_sm_kib * 1024 / need : by_blocks;
  int blocks = by_warps < by_blocks ? by_warps : by_blocks;
  blocks = by_regs < blocks ? by_regs : blocks;
  return by_smem < blocks ? (int)by_smem : blocks;
}

int emu_sms(const struct emu_device *d) {
  return d->profile->sms;
}

/* ---- the whole ---- */

/* ptxas spills where registers are scarce: taken as once in every pass of the hottest segment */
static void add_spills(model *m) {
  double a_warp = m->hot_times * (m->l->func->spill_loads + m->l->func->spill_stores);
  m->issue += a_warp;
  m->alone += a_warp * m->l->n_warps;
  m->lsu += a_warp * m->l->n_warps;
  m->pipes[PIPE_lsu] += a_warp * m->l->n_warps;
}

/* b blocks at a time on one multiprocessor; the scheduler with the most warps is the last */
static double wave_clocks(const model *m, double b) {
  double warps = m->l->n_warps, one = ceil(warps / SCHEDULERS), n = ceil(b * warps / SCHEDULERS);
  return together(shared_among(n / one, one * m->issue, m->alone),
                  larger(b * m->lsu, ceil(n / 2) * m->fetch));
}

static double compute_clocks(const model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double full = floor(n / slots), left = n - full * slots;
  double clocks = full * wave_clocks(m, blocks_sm);
  if (left > 0) { /* spread over the multiprocessors, or packed on those that end first */
    double spread = ceil(left / m->p->sms), packed = left > blocks_sm ? blocks_sm : spread;
    double share = full > 0 && blocks_sm > 1 ? PACKED * pow(blocks_sm - 1, -PACKED_POWER) : 0;
    clocks += (1 - share) * wave_clocks(m, spread) + share * wave_clocks(m, packed);
  }
  return clocks;
}

static const char *bound_of(const model *m, double compute, double l2, double dram,
                            double blocks_sm) {
  int most = 0;
  if (dram > compute && dram >= l2) {
    return "dram";
  }
  if (l2 > compute) {
    return "l2";
  }
  double work = ceil(blocks_sm * m->l->n_warps / SCHEDULERS) * m->issue;
  if (wave_clocks(m, blocks_sm) > 1.5 * larger(work, blocks_sm * m->lsu)) {
    return "latency";
  }
  for (int i = 0; i < PIPE_COUNT; i++) {
    most = m->pipes[i] > m->pipes[most] ? i : most;
  }
  return m->issue * m->l->n_warps / SCHEDULERS > 1.02 * m->pipes[most] ? "issue"
                                                                       : rt_emu_pipe_name(most);
}

static void fill_counts(const model *m, double share, double traffic_share, rt_emu_stats *s) {
  const emu_module *module = m->l->module;
  const emu_traffic *t = &m->w->traffic;
  s->blocks = m->l->n_blocks;
  s->blocks_run = m->w->blocks;
  s->thread_instructions = (double)m->w->lanes * share;
  for (int f = 0; f < module->n_funcs; f++) {
    for (int pc = 0; pc < module->funcs[f]->n; pc++) {
      double n = (double)m->w->counts[f][pc] * share;
      s->pipes[module->funcs[f]->code[pc].pipe] += n * module->funcs[f]->code[pc].weight;
      s->warp_instructions += n;
    }
  }
  s->global_requests = (double)t->global_requests * traffic_share;
  s->load_sectors = (double)t->load_sectors * traffic_share;
  s->store_sectors = (double)t->store_sectors * traffic_share;
  s->shared_requests = (double)t->shared_requests * traffic_share;
  s->shared_wavefronts = (double)t->shared_wavefronts * traffic_share;
  s->atomics = (double)t->atomics * share;
  s->barriers = (double)t->barriers * share;
}

void emu_cost_launch(const emu_launch *l, const emu_worker *w, rt_emu_stats *s) {
  const emu_profile *p = l->device->profile;
  model m = {.l = l,
             .p = p,
             .w = w,
             .run = (double)(w->blocks ? w->blocks : 1),
             .counted = (double)(w->counted ? w->counted : 1)};
  const emu_traffic *t = &w->traffic;
  memset(s, 0, sizeof *s);
  double share = (double)l->n_blocks / m.run, traffic_share = (double)l->n_blocks / m.counted;
  fill_counts(&m, share, traffic_share, s);
  s->regs = l->regs;
  s->blocks_sm =
      emu_occupancy(p, l->regs, l->n_threads, (int64_t)(l->func->smem + l->dynamic_nbytes));
  double blocks_sm = s->blocks_sm ? s->blocks_sm : 1;
  s->waves = (double)l->n_blocks / (blocks_sm * p->sms);
  double l2_bytes =
      (double)(t->load_misses + t->store_sectors + 2 * t->atomic_conflicts) * 32 * traffic_share;
  double dram = dram_bytes(&m, traffic_share, s->waves);
  double missed = l2_bytes > 0 ? dram / l2_bytes : 0;
  double hit_l1 = t->load_sectors ? 1 - (double)t->load_misses / (double)t->load_sectors : 0;
  missed = missed > 1 ? 1 : missed;
  /* the blocks of the first wave want the same data at the same time: all wait for DRAM */
  missed = s->waves <= 1 ? 1 : larger(missed, 1 / s->waves);
  m.lat_global = hit_l1 * LAT_L1 + (1 - hit_l1) * (LAT_L2 + missed * (LAT_DRAM - LAT_L2));
  for (int f = 0; f < l->module->n_funcs; f++) {
    add_function(&m, f);
  }
  add_spills(&m);
  double compute = compute_clocks(&m, blocks_sm) / p->clock_hz;
  double l2 = l2_bytes / (p->l2_bytes_clock * p->clock_hz);
  double from_dram =
      dram / (2 * p->memory_clock_hz * p->bus_bits / 8 * 0.92); /* refresh, turnarounds */
  double atomics = hottest_line(&w->cache) * traffic_share * ATOMIC_CLOCKS / p->clock_hz;
  s->sec = launch_sec + together(together(compute, atomics), larger(l2, from_dram));
  s->bound = bound_of(&m, compute, l2, from_dram, blocks_sm);
}

const char *rt_emu_pipe_name(int pipe) {
  static const char *const names[] = {
#define NAME(name) #name,
      RT_EMU_PIPES(NAME)
#undef NAME
  };
  return pipe >= 0 && pipe < PIPE_COUNT ? names[pipe] : "none";
}
