/* emu_segment.c -- the first half of the cost model: clocks of a launch's code on one
 * multiprocessor.
 *
 * A kernel is cut into segments: basic blocks as ptxas leaves them (emu_ptxas.c), cut again at
 * barriers and waits. For each segment the model knows how often a warp executes it, and in clocks
 *
 *   work   what one warp takes of its scheduler: the larger of issue (one instruction a clock) and
 *          the busiest pipe (a warp instruction takes 32 lanes over the scheduler's lanes)
 *   path   how long one warp takes alone: instructions issue one a clock in the order in which
 *          their operands arrive. ptxas is assumed to find that order within its registers: loads
 *          in flight hold the registers they will write
 *   lead   the idle part of the path at the start of a segment after a barrier or a wait: all warps
 *          of the block start there together, so none hides it
 *   here   how many warps of the block execute the segment: warps may have different roles
 *   lsu    what one warp takes of the load/store unit, which the schedulers share: wavefronts in
 *          shared memory; in global memory what emu_count.c counts
 *
 * n warps that share a unit take n work + stall (stall / path)^(STALL_OVERLAP (n-1)) clocks, where
 * stall = path - work: the stall of one shows only where the others stall too. A warp alone needs
 * WARP_ISSUE clocks an instruction. For one block, n = ceil(here / 4), the warps on its busiest
 * scheduler, and lead is added. The sum over the segments of the warp that takes longest is
 * `alone`.
 *
 * src: Hong and Kim, "An analytical model for a GPU architecture with memory-level and thread-level
 * parallelism awareness", ISCA 2009, with segments in place of whole kernels. Latencies of shared
 * memory and L1, mma.sync at 62 % of the tensor peak: Luo, Fan, Li, Du, Wang, Chu, "Benchmarking
 * and dissecting the Nvidia Hopper GPU architecture via microbenchmarking", IPDPS workshops 2024;
 * arithmetic: Jia et al. 2018 (4 clocks between dependent instructions). Measured on an H200 with
 * clock64: each of a chain of dependent loads takes 287 clocks in buffers of 1 to 24 MiB, 508 at
 * 40, 663 at 1000; a barrier 14 clocks with one warp, 28 with 8, 76 with 32. The instruction
 * cache's sizes and rates come from loops of 8 to 160 KiB of FMAs: one warp takes 1.02 clocks an
 * instruction up to 28 KiB, 2.35 from 40 to 128, 5.85 at 160; two warps take 2.1, four 5.2 to 6.3.
 * WARP_ISSUE, STALL_OVERLAP, BRANCH, NEW_OPERANDS, BURST and FLOAT_ATOMIC are fitted to 360 random
 * matrix products of 2048; REGS_BESIDE to the SASS of reductions; GUARDS to that of argmax, which
 * loads 3 to 6 guarded numbers at a time, and to 120 of its trials; CODE_GROWTH to the loops that a
 * matrix product's code has besides its FMAs and loads.
 */
#include "emu_segment.h"

#include <stdlib.h>
#include <string.h>

#include "emu_modes.h"

enum {
  LAT_ALU = 4,
  LAT_FP64 = 8,
  LAT_MUFU = 18,
  LAT_CVT = 8,
  LAT_SHARED = 29,
  LAT_TENSOR = 33,
  LAT_SHFL = 23,
  LAT_ATOM_SHARED = 60,
  LAT_MBARRIER = 60,
  LAT_BARRIER = 12, /* and two for each warp of the block */
  LAT_UNIFORM = 8,
  LAT_TEXTURE = 50, /* beyond a load's; assumed */
  UNROLLED = 4,     /* iterations of a short loop of loads that ptxas merges into one */
  REGS_BESIDE = 18, /* registers of a thread that cannot receive loads in flight */
  REGS_LEAST = 8,
  GUARDS = 3,             /* loads in flight whose predicates are used again, of seven registers */
  CODE_BYTES = 16,        /* of an instruction, since cc 7.0 */
  CODE_FITS = 30 << 10,   /* a longer loop is fetched again in every iteration, ... */
  CODE_MISSES = 38 << 10, /* ... all of it from here on */
  CODE_NEAR = 144 << 10,  /* up to this length from the next cache */
  L2_PORT = 64,           /* bytes a clock from the L2 to one multiprocessor */
  SHARED_BYTES = 128      /* that shared memory moves in a clock */
};
/* bytes of code a clock that a scheduler's instruction cache lacks */
static const double CODE_RATE = 6.8, CODE_FAR_RATE = 2.7;
/* of ptxas's code over what is left of the PTX's: loops, moves */
static const double CODE_GROWTH = 1.05;
static const double MMA_SYNC_SHARE = 0.62;
/* clocks between two instructions of a warp that has its scheduler to itself, and how well the
 * stalls of several warps fill each other */
static const double WARP_ISSUE = 1.4, STALL_OVERLAP = 0.4;
/* clocks of a branch in a warp alone; of a multiplication that shares no operand with the one
 * before; share of the load/store unit's clocks that consecutive copies leave exposed */
static const double BRANCH = 10, NEW_OPERANDS = 0.3, BURST = 0.1;
/* factor of an atomic's clocks on floating-point numbers */
static const double FLOAT_ATOMIC = 2.5;

/* ---- one instruction ---- */

static double tensor_clocks(const emu_profile *p, const emu_insn *in) {
  const int *mode = in->more->mode;
  emu_type t = (emu_type)mode[3];
  double fma = (double)mode[0] * mode[1] * mode[2], rate = p->tensor_f16;
  if (t == T_f64) {
    return fma / (p->cc == 80 || p->cc == 90 ? 2 * p->fp64 : p->fp64);
  }
  rate *= t == T_tf32 ? 0.5 : emu_type_bytes(t) == 1 ? 2 : 1;
  if (in->kind == KIND_wgmma) { /* reads its operands from shared memory at the same time */
    double rows = mode[5] & WGMMA_registers ? 0 : 4 * mode[0];
    return emu_larger(fma / rate, (rows + mode[1]) * 32 / SHARED_BYTES / 4);
  }
  return fma / (rate * (p->cc >= 90 ? MMA_SYNC_SHARE : 1));
}

/* clocks for which one execution occupies its unit; extra: wavefronts of an execution */
static double unit_clocks(const emu_profile *p, const emu_insn *in, double extra) {
  const int lanes[EMU_PIPES_N] = {
      [EMU_PIPE_fma] = p->fma,   [EMU_PIPE_alu] = p->alu,   [EMU_PIPE_fp64] = p->fp64,
      [EMU_PIPE_half] = p->half, [EMU_PIPE_mufu] = p->mufu, [EMU_PIPE_imad] = p->imad,
      [EMU_PIPE_cvt] = p->cvt,   [EMU_PIPE_control] = 64,   [EMU_PIPE_uniform] = 64};
  switch (in->pipe) {
  case EMU_PIPE_none: return 0;
  case EMU_PIPE_uniform: return emu_larger(32.0 * in->weight / lanes[in->pipe], extra);
  case EMU_PIPE_lsu:
  case EMU_PIPE_tex: return emu_larger(1, extra);
  case EMU_PIPE_tensor: return tensor_clocks(p, in);
  default: return 32.0 * in->weight / lanes[in->pipe];
  }
}

/* moved: does it reach the L2? */
static double load_latency(const emu_model *m, const emu_insn *in, bool moved) {
  switch (in->more->space) {
  case SPACE_generic: return moved ? m->lat_global : LAT_SHARED;
  case SPACE_shared: return in->kind == KIND_atom ? LAT_ATOM_SHARED : LAT_SHARED;
  case SPACE_local: return EMU_LAT_L1;
  case SPACE_param:
  case SPACE_const: return LAT_UNIFORM + m->lat_constant;
  default: return in->kind == KIND_ld && in->flags & INSN_STRONG ? EMU_LAT_CHAIN : m->lat_global;
  }
}

static double latency(const emu_model *m, const emu_insn *in, bool moved) {
  switch (in->kind) {
  case KIND_ld:
  case KIND_atom:
  case KIND_wmmaload: return load_latency(m, in, moved);
  case KIND_tex:
  case KIND_suld: return m->lat_global + LAT_TEXTURE;
  case KIND_ldmatrix: return LAT_SHARED;
  case KIND_shfl:
  case KIND_movmatrix:
  case KIND_match: return LAT_SHFL;
  case KIND_mma:
  case KIND_mmaquad:
  case KIND_mmabits:
  case KIND_mmasparse:
  case KIND_wmma: return LAT_TENSOR;
  /* products on the same accumulators follow without a gap; the wait adds the rest */
  case KIND_wgmma: return EMU_SCHEDULERS * tensor_clocks(m->p, in);
  case KIND_mbarrier: return LAT_SHARED;
  case KIND_mbarwait: return LAT_MBARRIER;
  default: break;
  }
  switch (in->pipe) {
  case EMU_PIPE_fp64: return LAT_FP64;
  case EMU_PIPE_mufu: return LAT_MUFU;
  case EMU_PIPE_cvt: return LAT_CVT;
  case EMU_PIPE_none: return 0;
  default: return LAT_ALU * (in->weight > 2 ? in->weight / 2.0 : 1);
  }
}

/* ---- segments ---- */

static bool ends_segment(const emu_model *m, const emu_func *f, int pc) {
  const emu_insn *in = &f->code[pc];
  return pc + 1 == f->n || m->made.leads[pc + 1] || emu_synchronizes(in) || in->kind == KIND_call;
}

/* cp.async.wait_group n: the n youngest groups may remain in flight */
static double wait_for_groups(const emu_model *m, const emu_insn *in) {
  int young = in->imm < 0 ? 0 : (int)(in->imm < EMU_COPY_GROUPS ? in->imm : EMU_COPY_GROUPS);
  double until = 0;
  for (int g = 0; g < m->n_groups - young && g < EMU_COPY_GROUPS; g++) {
    until = emu_larger(until, m->group[g]);
  }
  return until;
}

static void commit_group(emu_model *m, double until) {
  if (m->n_groups == EMU_COPY_GROUPS) {
    memmove(m->group, m->group + 1, sizeof *m->group * (EMU_COPY_GROUPS - 1));
    m->n_groups--;
  }
  m->group[m->n_groups++] = until;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

typedef struct segment {
  double times;            /* executions by all warps of a block */
  double here;             /* how many of its warps execute it */
  const uint64_t *sectors; /* per instruction: sectors from and to the L2 */
} segment;

static bool from_global(const emu_insn *in) {
  return in->pipe == EMU_PIPE_lsu && in->more && in->more->space == SPACE_global;
}

/* The warps of a block load together: the last one's data arrives when the multiprocessor's share
 * of the L2's rate has delivered all of it. */
static double copy_clocks(const emu_model *m, const segment *g, const emu_insn *in, int pc) {
  double sms = fmin(m->p->sms, (double)m->l->n_blocks);
  double rate = fmin(m->p->l2_bytes_clock / sms, L2_PORT);
  double sectors = (double)g->sectors[pc] / m->counted / g->times;
  bool loads = in->kind == KIND_cpasync || (from_global(in) && in->kind != KIND_st);
  return loads ? sectors * 32 * g->here / rate : 0;
}

/* The time at which a load can start. It needs registers to write to, and one for its predicate if
 * that is used again; if loads in flight occupy those, it waits for the oldest of them. */
static double room_for(emu_model *m, const emu_func *f, int pc, double start, double takes) {
  double words = 0, held = 0, most = emu_larger(m->l->regs - REGS_BESIDE, REGS_LEAST);
  for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
    words += f->refs[r] & 1 ? f->reg_words[f->refs[r] >> 1] : 0;
  }
  int32_t guard = m->made.guards[pc];
  int first = 0, guards = 0;
  for (int i = 0; i < m->n_held; i++) {
    held += m->held[i].words;
    guards += m->held[i].guard != 0;
    guard = m->held[i].guard == guard ? 0 : guard; /* already has its register */
  }
  while (first < m->n_held && (held + words > most || m->n_held - first == EMU_LOADS_HELD ||
                               (guard && guards >= GUARDS))) {
    start = emu_larger(start, m->held[first].until);
    guards -= m->held[first].guard != 0;
    held -= m->held[first++].words;
  }
  m->n_held -= first;
  memmove(m->held, m->held + first, sizeof *m->held * (size_t)m->n_held);
  m->held[m->n_held++] = (struct emu_held){start + takes, words, guard};
  return start;
}

/* When each instruction from s to e could start if issue slots were unlimited, given what earlier
 * segments left in flight. Returns the number of instructions that need a slot. */
static int find_starts(emu_model *m, const emu_func *f, const segment *g, int s, int e) {
  int n = 0;
  double last = 0, queue = 0, fenced = 0;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double start = fenced;
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      start = f->refs[r] & 1 ? start : emu_larger(start, m->ready[f->refs[r] >> 1]);
    }
    if (m->times[pc] <= 0) {
      continue;
    }
    queue += copy_clocks(m, g, in, pc);
    double takes = latency(m, in, g->sectors[pc] > 0) + (from_global(in) ? queue : 0);
    if (from_global(in) && in->kind == KIND_ld) {
      start = room_for(m, f, pc, start, takes);
    }
    if (in->kind == KIND_cpcommit) {
      commit_group(m, last + m->lat_global + queue);
    } else if (in->kind == KIND_cpwait) {
      start = emu_larger(start, wait_for_groups(m, in));
    }
    start += in->kind == KIND_bar         ? LAT_BARRIER + 2 * m->l->n_warps
             : in->kind == KIND_wgmmawait ? LAT_TENSOR
                                          : 0;
    last = emu_larger(last, start);
    if (in->kind == KIND_fence && in->imm) { /* earlier stores are on their way to the L2 */
      fenced = last + EMU_LAT_CHAIN;
    }
    if ((in->pipe != EMU_PIPE_none && !m->made.folded[pc]) || in->kind == KIND_cpwait ||
        in->kind == KIND_bar) {
      m->starts[n++] = start;
    }
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      if (f->refs[r] & 1) {
        m->ready[f->refs[r] >> 1] = start + takes;
      }
    }
  }
  return n;
}

/* Clocks of one warp alone: ptxas orders instructions so that each is issued as soon as its
 * operands and a slot are available. */
static double path_of(emu_model *m, const emu_func *f, const segment *g, int s, int e,
                      double *lead) {
  int n = find_starts(m, f, g, s, e);
  double now = 0;
  *lead = 0;
  qsort(m->starts, (size_t)n, sizeof *m->starts, by_value);
  for (int i = 0; i < n; i++) {
    double idle = emu_larger(m->starts[i] - now, 0);
    *lead += i <= n / 4 ? idle : 0;
    now += idle + 1;
  }
  return now;
}

static void pass_time(emu_model *m, const emu_func *f, double clocks) {
  for (int i = 0; i < f->n_regs; i++) {
    m->ready[i] = m->ready[i] > clocks ? m->ready[i] - clocks : 0;
  }
  for (int g = 0; g < m->n_groups; g++) {
    m->group[g] = m->group[g] > clocks ? m->group[g] - clocks : 0;
  }
  int kept = 0;
  for (int i = 0; i < m->n_held; i++) {
    if (m->held[i].until > clocks) {
      m->held[kept] = m->held[i];
      m->held[kept++].until -= clocks;
    }
  }
  m->n_held = kept;
}

/* clocks to fetch this many bytes of code once */
static double fetch_clocks(double code) {
  double missing = (code - CODE_FITS) / (CODE_MISSES - CODE_FITS);
  missing = missing < 0 ? 0 : missing > 1 ? 1 : missing;
  return missing * code / (code > CODE_NEAR ? CODE_FAR_RATE : CODE_RATE);
}

static double fronts_of(const emu_model *m, const uint64_t *extra, int pc) {
  return m->times[pc] > 0 ? (double)extra[pc] / 4 / m->counted / m->times[pc] : 0;
}

/* Stores to shared memory before a barrier come after everything else: clocks of the load/store
 * unit for each warp, in which no warp of the block computes. */
static double last_stores(const emu_model *m, const emu_func *f, const uint64_t *extra, int s,
                          int e) {
  double clocks = 0;
  for (int pc = s; pc < e && f->code[e - 1].kind == KIND_bar; pc++) {
    const emu_insn *in = &f->code[pc];
    if (in->kind == KIND_st && in->more->space == SPACE_shared && m->times[pc] > 0) {
      clocks += fmin(m->times[pc] / m->times[s], 1) * emu_larger(1, fronts_of(m, extra, pc));
    }
  }
  return clocks;
}

static bool is_fma(const emu_insn *in) {
  return in->kind == KIND_alu && in->pipe == EMU_PIPE_fma && in->o[3] != EMU_NONE;
}

/* A multiplication that shares a factor with the previous one finds it in the operand cache; others
 * may need two registers of one bank. Returns the number of the others. */
static int new_operands(const emu_func *f, int s, int e) {
  const emu_insn *last = NULL;
  int n = 0;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    if (is_fma(in)) {
      n += last && in->o[1] != last->o[1] && in->o[2] != last->o[2] && in->o[1] != last->o[2] &&
           in->o[2] != last->o[1];
      last = in;
    }
  }
  return n;
}

/* Consecutive copies, with at most one multiplication between them, fill the load/store unit's
 * queue, and their warp waits: clocks for each warp. */
static double burst_clocks(const emu_model *m, const emu_func *f, const uint64_t *extra, int s,
                           int e) {
  double clocks = 0;
  int since = 2;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    since += is_fma(in);
    if (in->kind == KIND_cpasync && m->times[pc] > 0) {
      double share = fmin(m->times[pc] / m->times[s], 1);
      clocks += since < 2 ? share * emu_larger(1, fronts_of(m, extra, pc)) : 0;
      since = 0;
    }
  }
  return BURST * clocks;
}

/* factor of a global store's or atomic's clocks over those of emu_count.c */
static double global_factor(const emu_model *m, const emu_insn *in) {
  if (!from_global(in)) {
    return 1;
  }
  bool floats = in->kind == KIND_atom && emu_type_kind((emu_type)in->type) == 'f';
  return in->kind == KIND_st ? m->crowd : floats ? FLOAT_ATOMIC : 1;
}

/* adds the clocks of a segment to each warp that executes it */
static void add_warps(emu_model *m, uint64_t warps, const segment *g, double clocks,
                      int instructions) {
  for (int w = 0; w < EMU_WARPS; w++) {
    double times = warps >> w & 1 ? g->times / g->here : 0;
    m->warp[w] += times * clocks;
    m->steps[w] += times * instructions;
  }
}

/* adds one segment; one that never ran costs nothing */
static void add_segment(emu_model *m, const emu_func *f, const uint64_t *counts, int s, int e) {
  const uint64_t *extra = counts + f->n + 1;
  double pipes[EMU_PIPES_N] = {0}, issue = 0;
  double times = m->times[s];
  if (times <= 0) {
    return;
  }
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double share = fmin(m->times[pc] / times, 1);
    if (m->made.folded[pc]) {
      continue;
    }
    double per = fronts_of(m, extra, pc) * global_factor(m, in);
    double clocks = share * unit_clocks(m->p, in, per);
    pipes[in->pipe] += m->made.moves[pc] ? clocks / 2 : clocks;
    pipes[EMU_PIPE_imad] += m->made.moves[pc] ? clocks / 2 : 0;
    issue += in->pipe == EMU_PIPE_none ? 0 : share * in->weight / 4.0;
  }
  pipes[EMU_PIPE_fma] += NEW_OPERANDS / EMU_SCHEDULERS * new_operands(f, s, e);
  /* integer and floating-point multiplication share a pipe */
  double busiest = emu_larger(issue, pipes[EMU_PIPE_fma] + pipes[EMU_PIPE_imad] / 2);
  for (int i = 0; i < EMU_PIPES_N; i++) {
    m->pipes[i] += times * pipes[i];
    busiest = i == EMU_PIPE_lsu ? busiest : emu_larger(busiest, pipes[i]);
  }
  busiest *= EMU_SCHEDULERS;
  uint64_t warps = counts[EMU_SUMS * (f->n + 1) + s];
  double a_warp = times / m->l->n_warps, here = emu_larger(__builtin_popcountll(warps), 1);
  segment g = {times, here, extra + f->n + 1};
  double lead, path = path_of(m, f, &g, s, e, &lead);
  lead = s > 0 && emu_synchronizes(&f->code[s - 1]) ? lead : 0;
  path += f->code[e - 1].kind == KIND_bra ? BRANCH : 0;
  if (emu_ptxas_unrolls(f, s, e)) {
    path = busiest + emu_larger(path - busiest, 0) / UNROLLED;
  }
  double all =
      lead + emu_shared_among(ceil(here / EMU_SCHEDULERS), busiest,
                              emu_larger(path - lead, WARP_ISSUE * busiest), STALL_OVERLAP);
  all = emu_larger(all, pipes[EMU_PIPE_lsu] * here) +
        (last_stores(m, f, extra, s, e) + burst_clocks(m, f, extra, s, e)) * here;
  m->issue += a_warp * busiest;
  add_warps(m, warps, &g, all, e - s);
  m->lsu += times * pipes[EMU_PIPE_lsu];
  double code = issue * EMU_SCHEDULERS * CODE_BYTES;
  m->fetch += a_warp * fetch_clocks(CODE_GROWTH * code);
  if (times * busiest > m->hottest) {
    m->hottest = times * busiest;
    m->hot_times = a_warp;
  }
  pass_time(m, f, all);
}

/* Polling is not counted as work: the innermost loop around a polling load is taken to run only as
 * often as it does not repeat. */
static void find_times(emu_model *m, const emu_func *f, const uint64_t *counts) {
  const uint64_t *repeats = counts + 3 * (f->n + 1);
  for (int pc = 0; pc < f->n; pc++) {
    m->times[pc] = (double)counts[pc] / m->run;
  }
  for (int look = 0; look < f->n; look++) {
    int from = -1, to = f->n;
    for (int pc = look; repeats[look] && pc < f->n; pc++) {
      int t = f->code[pc].kind == KIND_bra ? f->code[pc].target : -1;
      if (t >= 0 && t <= look && t > from) {
        from = t;
        to = pc;
      }
    }
    for (int pc = from; from >= 0 && pc <= to; pc++) {
      m->times[pc] = emu_larger(m->times[pc] - (double)repeats[look] / m->run, 0);
    }
  }
}

static bool add_function(emu_model *m, int index) {
  const emu_func *f = m->l->module->funcs[index];
  const uint64_t *counts = m->w->counts[index];
  if (!f->defined || !counts[0]) {
    return true;
  }
  m->times = calloc((size_t)f->n + 1, sizeof *m->times);
  m->ready = calloc((size_t)f->n_regs + 1, sizeof *m->ready);
  m->starts = calloc((size_t)f->n + 1, sizeof *m->starts);
  m->n_groups = 0;
  m->n_held = 0;
  bool ok = emu_ptxas_init(&m->made, f) && m->ready && m->starts && m->times;
  if (ok) {
    find_times(m, f, counts);
  }
  for (int s = 0, pc = 0; ok && pc < f->n; pc++) {
    if (ends_segment(m, f, pc)) {
      add_segment(m, f, counts, s, pc + 1);
      s = pc + 1;
    }
  }
  free(m->times);
  emu_ptxas_clear(&m->made);
  free(m->ready);
  free(m->starts);
  return ok;
}

void emu_model_add_code(emu_model *m) {
  for (int f = 0; f < m->l->module->n_funcs; f++) {
    add_function(m, f);
  }
  /* the other warps wait for the longest, or have other roles */
  for (int w = 0; w < EMU_WARPS; w++) {
    m->longest = m->warp[w] > m->alone ? m->steps[w] : m->longest;
    m->alone = emu_larger(m->alone, m->warp[w]);
  }
}
