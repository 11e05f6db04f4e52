/* emu_cost.c -- the cost model: from counts to modelled seconds.
 *
 * A kernel is cut into segments: basic blocks, as far as ptxas leaves them (emu_ptxas.c), cut again
 * at barriers and waits. Of each segment the model knows how often a warp executes it, and in
 * clocks
 *
 *   work   what one warp needs of its scheduler: the busiest of issue (one instruction a clock) and
 *          of the pipes (a warp instruction takes 32 lanes over a scheduler's lanes)
 *   path   how long one warp takes by itself: instructions in the order in which their operands
 *          arrive, one a clock; ptxas is taken to find that order, within its registers: loads in
 *          flight hold those that they will write
 *   lead   the idle part of it at the start of a segment behind a barrier or a wait: all warps of
 *          the block are there at once, so none of them hides it
 *   here   how many of the block's warps come to it at all: warps may have roles
 *   lsu    what one warp needs of the load/store unit, which the schedulers share: wavefronts in
 *          shared memory, in global memory what emu_count.c says
 *
 * n that share a unit take n work + stall (stall / path)^(STALL_OVERLAP (n-1)), stall = path -
 * work: the stall of one shows only where the others stall too. A warp alone needs WARP_ISSUE
 * clocks an instruction. This gives a block alone, from the warps on its busiest scheduler,
 * ceil(here / 4), and lead on top; the sum over the segments of the warp that has most of them is
 * `alone`. The same formula, with stalls that blocks fill for each other less well, gives b
 * blocks on a multiprocessor, n = ceil(b warps / 4) / ceil(warps / 4), so a number of warps that is
 * no multiple of the schedulers costs what it costs on the card.
 *
 *   wave(b)  = | that, b * lsu or ceil(n / 2) * fetch |
 *   compute  = full waves * wave(occupancy) + wave(what is left: spread; of small blocks in pairs
 *              packed)
 *   memory   = max(L2 bytes / L2 rate, DRAM bytes / DRAM rate)
 *   atomics  = turns of the L2's line with the most of them * ATOMIC_CLOCKS
 *   seconds  = launch + | | compute, atomics | / clock, memory | + waits + last
 *
 * fetch: of code that the instruction cache lacks; two warps of a scheduler share what comes.
 * |x, y| is (x^4 + y^4)^(1/4): the larger, a little more where both are alike, since neither hides
 * the other perfectly. DRAM bytes: per allocation, what one wave asks for, at most its size; a
 * footprint that fits the L2 is fetched once. In the first wave all blocks want the same data at
 * the same time, so a share 1 / waves of the loads waits as long as DRAM takes. Registers, hence
 * occupancy, and spills are ptxas's where the PTX notes them (emu_notes.c). waits: of blocks for
 * each other; last: what the block does besides that comes last, where blocks count arrivals.
 *
 * Where blocks keep apart but differ, compute is at least what the longest warp takes. Blocks that
 * draw numbers until none is left share the work, however few of them ran. It leaves out paths of a
 * divergent branch that wait for their loads one after the other.
 *
 * It leaves out: register banks, clock changes under load, DRAM pages, partition camping, bulk
 * copies but for their bytes. It ranks variants; it is no measurement.
 *
 * src: the approach is Hong and Kim, "An analytical model for a GPU architecture with memory-level
 * and thread-level parallelism awareness", ISCA 2009, with segments in place of whole kernels.
 * Look-back: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back",
 * 2016. Latencies of shared memory and L1, mma.sync at 62 % of the tensor peak: Luo, Fan, Li, Du,
 * Wang, Chu, "Benchmarking and dissecting the Nvidia Hopper GPU architecture via
 * microbenchmarking", IPDPS workshops 2024; arithmetic: Jia et al. 2018 (4 clocks dependent issue).
 * Our own, on an H200 by clock64: a chain of dependent loads takes 287 clocks each from 1 to 24
 * MiB, 508 at 40, 663 at 1000; a barrier 14 clocks with one warp, 28 with 8, 76 with 32; a block
 * that passes a word on to the next 257 ns, with nanosleep(256) between two looks 513,
 * nanosleep(1024) 2048; in scans 270 to 300. The instruction cache's sizes and rates: loops of 8 to
 * 160 KiB of FMAs; a warp alone takes 1.02 clocks an instruction up to 28 KiB, 2.35 from 40 to
 * 128, 5.85 at 160; two take 2.1, four 5.2 to 6.3. WARP_ISSUE, STALL_OVERLAP, BLOCK_OVERLAP,
 * PACKED, LSU_BUSY, BRANCH, NEW_OPERANDS, BURST and FLOAT_ATOMIC are fitted to 360 random matrix
 * products at 2048, ATOMIC_CLOCKS to histograms and reductions, REGS_BESIDE to the SASS of
 * reductions, GUARDS to that of argmax, which loads 3 to 6 guarded numbers at a time, and to 120 of
 * its trials; the loops that a matrix product's code has beside its FMAs and loads make
 * CODE_GROWTH.
 */
#include "emu_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu_decode.h"
#include "emu_device.h"
#include "emu_ptxas.h"

enum {
  LAT_ALU = 4,
  LAT_FP64 = 8,
  LAT_MUFU = 18,
  LAT_CVT = 8,
  LAT_SHARED = 29,
  LAT_L1 = 41,
  LAT_L2 = 287,
  LAT_DRAM = 663,
  LAT_TENSOR = 33,
  LAT_SHFL = 23,
  LAT_ATOM_SHARED = 60,
  LAT_CHAIN = 570, /* from a block's word to another block that waits for it */
  LAT_MBARRIER = 60,
  LAT_BARRIER = 12, /* and two for each warp of the block */
  LAT_UNIFORM = 8,
  UNROLLED = 4,     /* passes of a short loop of loads that ptxas makes one of */
  REGS_BESIDE = 18, /* of a thread, that hold no loads in flight */
  REGS_LEAST = 8,
  GROUPS = 16,
  HELD = 64,
  GUARDS = 3,      /* loads in flight whose predicates are wanted behind them, of seven registers */
  SCHEDULERS = 4,  /* of a multiprocessor; a warp stays with one */
  CODE_BYTES = 16, /* of an instruction, since cc 7.0 */
  CODE_FITS = 30 << 10,   /* a longer loop is fetched again in every pass, ... */
  CODE_MISSES = 38 << 10, /* ... all of it from here on */
  CODE_NEAR = 144 << 10,  /* from the cache behind, up to this length */
  ATOMIC_CLOCKS = 3,      /* of the L2, from half a turn of atomics to the next on the same line */
  L2_PORT = 64,           /* bytes a clock from the L2 to one multiprocessor */
  SHARED_BYTES = 128      /* that shared memory moves in a clock */
};
/* bytes a clock of code that a scheduler's instruction cache lacks */
static const double CODE_RATE = 6.8, CODE_FAR_RATE = 2.7;
/* of ptxas's code over what is left of the PTX's: loops, moves */
static const double CODE_GROWTH = 1.05;
/* of a store's clocks: what a multiprocessor takes that has the L2 to itself, by its port's width
 */
static const double STORE_ALONE = 0.47;
/* blocks that differ by less do the same work but for the matrices' edges */
static const double EVEN = 0.1;
static const double launch_sec = 2.6e-6, cluster_sec = 1e-6, mma_sync_share = 0.62;
/* a warp alone on its scheduler issues an instruction every so many clocks, and how well the stalls
 * of several fill each other */
static const double WARP_ISSUE = 1.4, STALL_OVERLAP = 0.4, BLOCK_OVERLAP = 0.2;
/* of two blocks with a warp for each scheduler, how often both have ended before others ask for
 * work, so that their multiprocessor takes two of the last ones; of other blocks one is ahead */
static const double PACKED = 0.8;
/* of wavefronts counted, what the load/store unit takes while several blocks keep it busy */
static const double LSU_BUSY = 0.9;
/* clocks: of a warp alone at a branch; of a multiplication that shares no operand with the one
 * before; of copies in a row, what of the load/store unit's nobody hides */
static const double BRANCH = 10, NEW_OPERANDS = 0.3, BURST = 0.1;
/* of an atomic's clocks, on floating-point numbers */
static const double FLOAT_ATOMIC = 2.5;

typedef struct model {
  const emu_launch *l;
  const emu_profile *p;
  const emu_worker *w;
  double lat_global;
  double crowd;              /* of a store's clocks, where few blocks share the L2 */
  double run, counted;       /* blocks that ran, and whose traffic was counted */
  double lsu, fetch;         /* clocks of the multiprocessor a block; fetch: of instructions */
  double issue;              /* clocks of a scheduler a warp: its busiest unit */
  double alone;              /* clocks of a block with the multiprocessor to itself, */
  double longest;            /* instructions of the warp that takes longest in it, */
  double warp[EMU_WARPS];    /* clocks */
  double steps[EMU_WARPS];   /* and instructions of each */
  double hottest, hot_times; /* the segment with the most work: clocks a block, executions a warp */
  double pipes[PIPE_COUNT];  /* clocks of the multiprocessor a block */
  double *ready;             /* per register: clocks until it is there */
  double *starts;            /* per instruction of a segment: when its operands are there */
  double group[GROUPS];      /* cp.async groups in flight: until they land */
  int n_groups;
  struct held {
    double until, words;
    int32_t guard;
  } held[HELD]; /* loads in flight, oldest first: registers that they will write, predicate */
  int n_held;
  double *times;  /* per instruction: executions by all warps of a block */
  emu_ptxas made; /* of the function */
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

/* moved: did it reach the L2? */
static double load_latency(const model *m, const emu_insn *in, bool moved) {
  switch (in->more->space) {
  case SPACE_generic: return moved ? m->lat_global : LAT_SHARED;
  case SPACE_shared: return in->kind == KIND_atom ? LAT_ATOM_SHARED : LAT_SHARED;
  case SPACE_local: return LAT_L1;
  case SPACE_param:
  case SPACE_const: return LAT_UNIFORM;
  default: return in->kind == KIND_ld && in->flags & INSN_STRONG ? LAT_CHAIN : m->lat_global;
  }
}

static double latency(const model *m, const emu_insn *in, bool moved) {
  switch (in->kind) {
  case KIND_ld:
  case KIND_atom:
  case KIND_wmmaload: return load_latency(m, in, moved);
  case KIND_ldmatrix: return LAT_SHARED;
  case KIND_shfl:
  case KIND_movmatrix:
  case KIND_match: return LAT_SHFL;
  case KIND_mma:
  case KIND_wmma: return LAT_TENSOR;
  /* others on the same accumulators follow without a gap; the wait adds the rest */
  case KIND_wgmma: return SCHEDULERS * tensor_clocks(m->p, in);
  case KIND_mbarrier: return LAT_SHARED;
  case KIND_mbarwait: return LAT_MBARRIER;
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

static bool ends_segment(const model *m, const emu_func *f, int pc) {
  const emu_insn *in = &f->code[pc];
  return pc + 1 == f->n || m->made.leads[pc + 1] || emu_synchronizes(in) || in->kind == KIND_call;
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
  double times;            /* executions by all warps of a block */
  double here;             /* how many of its warps come here */
  const uint64_t *sectors; /* per instruction: that came from or went to the L2 */
} segment;

static bool from_global(const emu_insn *in) {
  return in->pipe == PIPE_lsu && in->more && in->more->space == SPACE_global;
}

/* The warps of a block load together: the last one's data comes when all of it came through the
 * multiprocessor's share of the L2's rate. */
static double copy_clocks(const model *m, const segment *g, const emu_insn *in, int pc) {
  double sms = fmin(m->p->sms, (double)m->l->n_blocks);
  double rate = fmin(m->p->l2_bytes_clock / sms, L2_PORT);
  double sectors = (double)g->sectors[pc] / m->counted / g->times;
  bool loads = in->kind == KIND_cpasync || (from_global(in) && in->kind != KIND_st);
  return loads ? sectors * 32 * g->here / rate : 0;
}

/* A load needs registers to write to, and one for its predicate if that is wanted again. ptxas
 * keeps to as many as it has, so where those in flight have taken them, the next load waits for the
 * oldest of them; when it may start. */
static double room_for(model *m, const emu_func *f, int pc, double start, double takes) {
  double words = 0, held = 0, most = larger(m->l->regs - REGS_BESIDE, REGS_LEAST);
  for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
    words += f->refs[r] & 1 ? f->reg_words[f->refs[r] >> 1] : 0;
  }
  int32_t guard = m->made.guards[pc];
  int first = 0, guards = 0;
  for (int i = 0; i < m->n_held; i++) {
    held += m->held[i].words;
    guards += m->held[i].guard != 0;
    guard = m->held[i].guard == guard ? 0 : guard; /* has its register already */
  }
  while (first < m->n_held &&
         (held + words > most || m->n_held - first == HELD || (guard && guards >= GUARDS))) {
    start = larger(start, m->held[first].until);
    guards -= m->held[first].guard != 0;
    held -= m->held[first++].words;
  }
  m->n_held -= first;
  memmove(m->held, m->held + first, sizeof *m->held * (size_t)m->n_held);
  m->held[m->n_held++] = (struct held){start + takes, words, guard};
  return start;
}

/* when each instruction from s to e could start, were there an issue slot for it, with what earlier
 * segments left behind; the number of them that need one */
static int find_starts(model *m, const emu_func *f, const segment *g, int s, int e) {
  int n = 0;
  double last = 0, queue = 0, fenced = 0;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double start = fenced;
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      start = f->refs[r] & 1 ? start : larger(start, m->ready[f->refs[r] >> 1]);
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
      start = larger(start, wait_for_groups(m, in));
    }
    start += in->kind == KIND_bar         ? LAT_BARRIER + 2 * m->l->n_warps
             : in->kind == KIND_wgmmawait ? LAT_TENSOR
                                          : 0;
    last = larger(last, start);
    if (in->kind == KIND_fence && in->imm) { /* what was written before is on its way to the L2 */
      fenced = last + LAT_CHAIN;
    }
    if ((in->pipe != PIPE_none && !m->made.folded[pc]) || in->kind == KIND_cpwait ||
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
static double shared_among(double n, double work, double whole, double overlap) {
  double stall = whole > work ? whole - work : 0;
  return n * work + (whole > 0 ? stall * pow(stall / whole, n > 1 ? overlap * (n - 1) : 0) : 0);
}

static void pass_time(model *m, const emu_func *f, double clocks) {
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

/* of one pass through this many bytes of code */
static double fetch_clocks(double code) {
  double missing = (code - CODE_FITS) / (CODE_MISSES - CODE_FITS);
  missing = missing < 0 ? 0 : missing > 1 ? 1 : missing;
  return missing * code / (code > CODE_NEAR ? CODE_FAR_RATE : CODE_RATE);
}

static double fronts_of(const model *m, const uint64_t *extra, int pc) {
  return m->times[pc] > 0 ? (double)extra[pc] / 4 / m->counted / m->times[pc] : 0;
}

/* What a block stores to shared memory in front of a barrier it stores all at once, behind
 * everything else: clocks of the load/store unit a warp, in which none of its warps computes. */
static double last_stores(const model *m, const emu_func *f, const uint64_t *extra, int s, int e) {
  double clocks = 0;
  for (int pc = s; pc < e && f->code[e - 1].kind == KIND_bar; pc++) {
    const emu_insn *in = &f->code[pc];
    if (in->kind == KIND_st && in->more->space == SPACE_shared && m->times[pc] > 0) {
      clocks += fmin(m->times[pc] / m->times[s], 1) * larger(1, fronts_of(m, extra, pc));
    }
  }
  return clocks;
}

static bool is_fma(const emu_insn *in) {
  return in->kind == KIND_alu && in->pipe == PIPE_fma && in->o[3] != EMU_NONE;
}

/* A multiplication that follows one with the same factor finds it in the operand cache; another may
 * want two registers of one bank. How many do. */
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

/* Copies that follow each other, with at most one multiplication between them, fill the load/store
 * unit's queue, and their warp waits: clocks a warp. */
static double burst_clocks(const model *m, const emu_func *f, const uint64_t *extra, int s, int e) {
  double clocks = 0;
  int since = 2;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    since += is_fma(in);
    if (in->kind == KIND_cpasync && m->times[pc] > 0) {
      double share = fmin(m->times[pc] / m->times[s], 1);
      clocks += since < 2 ? share * larger(1, fronts_of(m, extra, pc)) : 0;
      since = 0;
    }
  }
  return BURST * clocks;
}

/* of a store or an atomic in global memory, over what emu_count.c says */
static double global_factor(const model *m, const emu_insn *in) {
  if (!from_global(in)) {
    return 1;
  }
  bool floats = in->kind == KIND_atom && emu_type_kind((emu_type)in->type) == 'f';
  return in->kind == KIND_st ? m->crowd : floats ? FLOAT_ATOMIC : 1;
}

/* what one segment takes of a warp that comes here, given all clocks of one execution */
static void add_warps(model *m, uint64_t who, const segment *g, double clocks, int instructions) {
  for (int w = 0; w < EMU_WARPS; w++) {
    double times = who >> w & 1 ? g->times / g->here : 0;
    m->warp[w] += times * clocks;
    m->steps[w] += times * instructions;
  }
}

/* executions are counted for warps; a segment that never ran costs nothing */
static void add_segment(model *m, const emu_func *f, const uint64_t *counts, int s, int e) {
  const uint64_t *extra = counts + f->n + 1;
  double pipes[PIPE_COUNT] = {0}, issue = 0;
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
    pipes[PIPE_imad] += m->made.moves[pc] ? clocks / 2 : 0;
    issue += in->pipe == PIPE_none ? 0 : share * in->weight / 4.0;
  }
  pipes[PIPE_fma] += NEW_OPERANDS / SCHEDULERS * new_operands(f, s, e);
  /* integer and floating-point multiplication share a pipe */
  double busiest = larger(issue, pipes[PIPE_fma] + pipes[PIPE_imad] / 2);
  for (int i = 0; i < PIPE_COUNT; i++) {
    m->pipes[i] += times * pipes[i];
    busiest = i == PIPE_lsu ? busiest : larger(busiest, pipes[i]);
  }
  busiest *= SCHEDULERS;
  uint64_t who = counts[EMU_SUMS * (f->n + 1) + s];
  double a_warp = times / m->l->n_warps, here = larger(__builtin_popcountll(who), 1);
  segment g = {times, here, extra + f->n + 1};
  double lead, path = path_of(m, f, &g, s, e, &lead);
  lead = s > 0 && emu_synchronizes(&f->code[s - 1]) ? lead : 0; /* all warps wait together */
  path += f->code[e - 1].kind == KIND_bra ? BRANCH : 0;
  if (emu_ptxas_unrolls(f, s, e)) {
    path = busiest + larger(path - busiest, 0) / UNROLLED;
  }
  double all = lead + shared_among(ceil(here / SCHEDULERS), busiest,
                                   larger(path - lead, WARP_ISSUE * busiest), STALL_OVERLAP);
  all = larger(all, pipes[PIPE_lsu] * here) +
        (last_stores(m, f, extra, s, e) + burst_clocks(m, f, extra, s, e)) * here;
  m->issue += a_warp * busiest;
  add_warps(m, who, &g, all, e - s);
  m->lsu += times * pipes[PIPE_lsu];
  double code = issue * SCHEDULERS * CODE_BYTES;
  m->fetch += a_warp * fetch_clocks(CODE_GROWTH * code);
  if (times * busiest > m->hottest) {
    m->hottest = times * busiest;
    m->hot_times = a_warp;
  }
  pass_time(m, f, all);
}

/* Waiting is no work: of the innermost loop around a load that looked in vain, what it repeated
 * counts as never executed. */
static void find_times(model *m, const emu_func *f, const uint64_t *counts) {
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
      m->times[pc] = larger(m->times[pc] - (double)repeats[look] / m->run, 0);
    }
  }
}

static bool add_function(model *m, int index) {
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

static void add_functions(model *m) {
  for (int f = 0; f < m->l->module->n_funcs; f++) {
    add_function(m, f);
  }
  for (int w = 0; w < EMU_WARPS; w++) { /* the others wait for it, or have other roles */
    m->longest = m->warp[w] > m->alone ? m->steps[w] : m->longest;
    m->alone = larger(m->alone, m->warp[w]);
  }
}

/* What the last of a group of blocks does besides, once for each group; the clocks of the one that
 * comes after all others are returned. Groups end together, since blocks of all of them are spread
 * over the launch. */
static double add_last(model *m, const emu_worker *last) {
  model x = {.l = m->l,
             .p = m->p,
             .w = last,
             .crowd = STORE_ALONE,
             .run = larger((double)last->blocks, 1),
             .counted = larger((double)last->counted, 1),
             .lat_global = LAT_CHAIN};
  double group = (double)m->w->arrivals;
  add_functions(&x);
  /* of a cluster one block counts for all, unless there are as many arrivals as blocks */
  double one_in = group * m->l->n_mates <= (double)m->l->n_blocks ? m->l->n_mates : 1;
  double alone = larger(x.alone - m->alone, 0) * one_in;
  m->alone += alone / group;
  m->issue += larger(x.issue - m->issue, 0) / group;
  m->lsu += larger(x.lsu - m->lsu, 0) / group;
  return alone;
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
    most = c->atomic_turns[i] > most ? c->atomic_turns[i] : most;
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

typedef struct traffic { /* bytes of the whole launch */
  double l2, dram;
} traffic;

static double beyond(double whole, double fits) {
  return whole > fits ? 1 - fits / whole : 0;
}

/* ptxas spills where registers are scarce: taken as once in every pass of the hottest segment. A
 * spilled word is a line of the L1 for a warp; what all warps have spilled may exceed the L1, and
 * the L2. Each load of one waits, since there is no register to load it earlier. */
static traffic add_spills(model *m, double blocks_sm) {
  const emu_func *f = m->l->func;
  const emu_profile *p = m->p;
  double warps = m->l->n_warps, loads = m->hot_times * f->spill_loads;
  double words = loads + m->hot_times * f->spill_stores;
  double frame = f->spill_stores * 128 * warps * blocks_sm;
  double smem = blocks_sm * (double)(f->smem + m->l->dynamic_nbytes + 1024);
  double l1 = larger((p->smem_sm_kib > 128 ? p->smem_sm_kib + 28 : 128) * 1024.0 - smem, 16384);
  double missed = beyond(frame, l1), far = beyond(frame * p->sms, (double)p->l2_nbytes);
  double bytes = missed * words * 128 * warps * (double)m->l->n_blocks;
  double waits = LAT_L1 + missed * (LAT_L2 + far * (LAT_DRAM - LAT_L2) - LAT_L1);
  m->issue += words;
  m->alone += words * ceil(warps / SCHEDULERS) + loads * waits;
  m->lsu += words * warps;
  m->pipes[PIPE_lsu] += words * warps;
  return (traffic){bytes, far * bytes};
}

/* Nanoseconds that the kernel sleeps between two looks: a constant, or one moved to a register. */
static double nap_of(const emu_func *f) {
  double nap = 0;
  for (int pc = 0; pc < f->n; pc++) {
    const emu_insn *in = &f->code[pc];
    int32_t from = in->kind == KIND_nop && in->imm ? in->o[1] : EMU_NONE;
    for (int k = 0; from >= 0 && k < f->n; k++) {
      const emu_insn *set = &f->code[k];
      from = set->kind == KIND_alu && set->pipe == PIPE_none && set->o[0] == from && set->o[1] < 0
                 ? set->o[1]
                 : from;
    }
    if (from < 0 && from != EMU_NONE) {
      uint32_t ns;
      memcpy(&ns, f->pool + ~from, sizeof ns);
      nap = larger(nap, ns);
    }
  }
  return nap;
}

/* Blocks that wait for each other. Where each tells the next only after it heard from the one
 * before, they run one after the other, a word's way through the L2 each; who sleeps between two
 * looks sleeps twice as long as it asked for. Where a block tells its own part first and then looks
 * back over 32 others at a time to the nearest that knows its whole sum (decoupled look-back), of s
 * blocks that run together those up to 32 (1 + 2 + ... + n) know theirs after n looks. */
static double waits_sec(const model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double link = LAT_CHAIN / m->p->clock_hz;
  if (2 * (double)m->w->links >= m->run) {
    return n * larger(link, 2e-9 * nap_of(m->l->func));
  }
  double looks = sqrt((n < slots ? n : slots) / 16);
  return 2 * (double)m->w->backs >= m->run ? n / slots * looks * link : 0;
}

/* b blocks at a time on one multiprocessor; the scheduler with the most warps is the last */
static double wave_clocks(const model *m, double b) {
  double warps = m->l->n_warps, one = ceil(warps / SCHEDULERS), n = ceil(b * warps / SCHEDULERS);
  return together(shared_among(n / one, one * m->issue, m->alone, BLOCK_OVERLAP),
                  larger(LSU_BUSY * b * m->lsu, ceil(n / 2) * m->fetch));
}

static double compute_clocks(const model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double full = floor(n / slots), left = n - full * slots;
  double clocks = full * wave_clocks(m, blocks_sm);
  if (left > 0) { /* spread over the multiprocessors, or packed on those that end first */
    double spread = ceil(left / m->p->sms), packed = left > blocks_sm ? blocks_sm : spread;
    bool pair = blocks_sm > 1 && blocks_sm < 3 && m->l->n_warps <= SCHEDULERS;
    double share = full > 0 && pair ? PACKED : 0;
    clocks += (1 - share) * wave_clocks(m, spread) + share * wave_clocks(m, packed);
  }
  return clocks;
}

/* Where work differs from block to block, nothing is faster than the longest warp of all. Of n
 * blocks that ran the longest is known; where lengths thin out exponentially, that of N is ln N /
 * ln n as far from the mean. */
static double longest_clocks(const model *m) {
  double all = (double)m->l->n_blocks, ran = (double)m->w->blocks;
  bool apart = !m->w->traffic.atomics && !m->w->links && !m->w->backs;
  if (ran < 2 || !apart || !m->w->steps) { /* who meets others takes work from them, or waits */
    return 0;
  }
  double mean = (double)m->w->lengths / ran, most = (double)m->w->longest, beyond = most - mean;
  most = mean + beyond * log(all) / log(ran);
  return beyond > EVEN * mean ? m->alone * most / larger(m->longest, 1) : 0;
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

void emu_cost_launch(const emu_launch *l, const emu_worker *w, const emu_worker *last,
                     rt_emu_stats *s) {
  const emu_profile *p = l->device->profile;
  model m = {.l = l,
             .p = p,
             .w = w,
             .crowd = larger(fmin((double)l->n_blocks / p->sms, 1), STORE_ALONE),
             .run = (double)(w->blocks ? w->blocks : 1),
             .counted = (double)(w->counted ? w->counted : 1)};
  const emu_traffic *t = &w->traffic;
  memset(s, 0, sizeof *s);
  if (w->draws >= l->n_blocks) { /* the blocks that ran have done the work of all */
    m.counted *= (double)l->n_blocks / m.run;
    m.run = (double)l->n_blocks;
  }
  double share = (double)l->n_blocks / m.run, traffic_share = (double)l->n_blocks / m.counted;
  fill_counts(&m, share, traffic_share, s);
  s->regs = l->regs;
  s->blocks_sm =
      emu_occupancy(p, l->regs, l->n_threads, (int64_t)(l->func->smem + l->dynamic_nbytes));
  double blocks_sm = s->blocks_sm ? s->blocks_sm : 1;
  s->waves = (double)l->n_blocks / (blocks_sm * p->sms);
  double l2_bytes = (double)(t->load_misses + t->store_sectors) * 32 * traffic_share;
  double dram = dram_bytes(&m, traffic_share, s->waves);
  double missed = l2_bytes > 0 ? dram / l2_bytes : 0;
  missed = missed > 1 ? 1 : missed;
  /* the blocks of the first wave want the same data at the same time: all wait for DRAM */
  missed = s->waves <= 1 ? 1 : larger(missed, 1 / s->waves);
  double hit_l1 = t->load_sectors ? 1 - (double)t->load_misses / (double)t->load_sectors : 0;
  m.lat_global = hit_l1 * LAT_L1 + (1 - hit_l1) * (LAT_L2 + missed * (LAT_DRAM - LAT_L2));
  add_functions(&m);
  double serial = last ? add_last(&m, last) / p->clock_hz : 0;
  traffic spilled = add_spills(&m, blocks_sm);
  l2_bytes += spilled.l2;
  dram += spilled.dram;
  double compute = together(compute_clocks(&m, blocks_sm), longest_clocks(&m)) / p->clock_hz;
  double l2 = l2_bytes / (p->l2_bytes_clock * p->clock_hz);
  double from_dram =
      dram / (2 * p->memory_clock_hz * p->bus_bits / 8 * 0.92); /* refresh, turnarounds */
  double atomics = hottest_line(&w->cache) * traffic_share * ATOMIC_CLOCKS / p->clock_hz;
  s->sec = launch_sec + (l->n_mates > 1 ? cluster_sec : 0) +
           together(together(compute, atomics), larger(l2, from_dram)) + waits_sec(&m, blocks_sm) +
           serial;
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
