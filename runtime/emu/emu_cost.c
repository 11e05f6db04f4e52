/* emu_cost.c -- the cost model: from counts to modelled seconds.
 *
 * A kernel is cut into segments: basic blocks, cut again at barriers and waits. Of each segment the
 * model knows how often a warp executes it and two times, in clocks of one multiprocessor:
 *
 *   busy(s)  what the busiest unit needs for one block's executions: for each pipe, warp
 * instructions times 32 / lanes a clock; issue, 4 a clock; the load/store unit, wavefronts path(s)
 * the longest chain of dependent instructions, once per execution of a warp, latencies of results
 * that the segment itself waits for included
 *
 *   alone    = sum of max(busy(s), executions(s) * path(s))   one block with the multiprocessor to
 * itself wave(b)  = | b * sum of busy(s), alone |                  b blocks at a time compute  =
 * full waves * wave(occupancy) + wave(what is left over, ceil'd to multiprocessors) memory   =
 * max(L2 bytes / L2 rate, DRAM bytes / DRAM rate) seconds  = launch + | compute / clock, memory |
 *
 * |x, y| is (x^4 + y^4)^(1/4): the larger, a little more where both are alike, since neither hides
 * the other perfectly. DRAM bytes: per allocation, what one wave asks for, at most its size; a
 * footprint that fits the L2 is fetched once.
 *
 * It leaves out: instruction caches, register banks, ptxas's own choices, clock changes under load,
 * DRAM pages, partition camping. It ranks variants; it is no measurement.
 *
 * src: the approach is Hong and Kim, "An analytical model for a GPU architecture with memory-level
 * and thread-level parallelism awareness", ISCA 2009, with segments in place of whole kernels.
 * Latencies: Luo, Fan, Li, Du, Wang, Chu, "Benchmarking and dissecting the Nvidia Hopper GPU
 * architecture via microbenchmarking", IPDPS workshops 2024 (H100: shared 29, L1 41, L2 263, DRAM
 * 479 clocks; mma.sync at 62 % of the tensor peak); arithmetic: Jia et al. 2018 (4 clocks dependent
 * issue).
 */
#include "emu_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  LAT_BARRIER = 20,
  LAT_UNIFORM = 8,
  GROUPS = 16
};
static const double launch_sec = 2.2e-6, mma_sync_share = 0.62;

typedef struct model {
  const emu_launch *l;
  const emu_profile *p;
  const emu_worker *w;
  double lat_global;
  double run, counted;      /* blocks that ran, and whose traffic was counted */
  double busy, alone;       /* sums, a block */
  double pipes[PIPE_COUNT]; /* clocks of the multiprocessor a block */
  double issue;
  double *ready;            /* per register: clocks until it is there */
  double group[GROUPS];     /* cp.async groups in flight: until they land */
  int n_groups;
} model;

static double together(double x, double y) {
  double most = x > y ? x : y, ratio = most > 0 ? (x < y ? x : y) / most : 0;
  return most * pow(1 + ratio * ratio * ratio * ratio, 0.25);
}

static double larger(double a, double b) {
  return a > b ? a : b;
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
  return fma / (rate * (p->cc >= 90 ? mma_sync_share : 1));
}

/* results go to the registers 128 bytes a clock, a word of every lane, broadcast or not */
static double words_a_lane(const emu_insn *in) {
  double words = in->kind == KIND_ld ? in->more->mode[0] * in->more->n / 4.0
                 : in->kind == KIND_ldmatrix ? in->more->mode[0] : 1;
  return larger(1, words);
}

/* clocks that one execution keeps its unit busy; extra: wavefronts an execution */
static double unit_clocks(const emu_profile *p, const emu_insn *in, double extra) {
  const int lanes[PIPE_COUNT] = {
      [PIPE_fma] = p->fma,   [PIPE_alu] = p->alu,   [PIPE_fp64] = p->fp64,
      [PIPE_half] = p->half, [PIPE_mufu] = p->mufu, [PIPE_imad] = p->imad,
      [PIPE_cvt] = p->cvt,   [PIPE_control] = 64,   [PIPE_uniform] = 64};
  switch (in->pipe) {
    case PIPE_none: return 0;
    case PIPE_lsu: return larger(words_a_lane(in), extra);
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

static bool ends_segment(const emu_func *f, int pc) {
  const emu_insn *in = &f->code[pc];
  return pc + 1 == f->n || f->leads[pc + 1] || in->kind == KIND_bar || in->kind == KIND_cpwait ||
         in->kind == KIND_call;
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

static void commit_group(model *m, double now) {
  if (m->n_groups == GROUPS) {
    memmove(m->group, m->group + 1, sizeof *m->group * (GROUPS - 1));
    m->n_groups--;
  }
  m->group[m->n_groups++] = now + m->lat_global;
}

/* the chain of dependent instructions from s to e, with what earlier segments left behind */
static double path_of(model *m, const emu_func *f, int s, int e) {
  double path = 0;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    double start = 0;
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      start = f->refs[r] & 1 ? start : larger(start, m->ready[f->refs[r] >> 1]);
    }
    if (in->kind == KIND_cpcommit) {
      commit_group(m, path);
    } else if (in->kind == KIND_cpwait) {
      start = larger(start, wait_for_groups(m, in));
    }
    start += in->kind == KIND_bar ? LAT_BARRIER : 0;
    path = larger(path, start);
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      if (f->refs[r] & 1) {
        m->ready[f->refs[r] >> 1] = start + latency(m, in);
      }
    }
  }
  return path + 1;
}

static void pass_time(model *m, const emu_func *f, double clocks) {
  for (int i = 0; i < f->n_regs; i++) {
    m->ready[i] = m->ready[i] > clocks ? m->ready[i] - clocks : 0;
  }
  for (int g = 0; g < m->n_groups; g++) {
    m->group[g] = m->group[g] > clocks ? m->group[g] - clocks : 0;
  }
}

/* executions are counted for warps; a segment that never ran costs nothing */
static void add_segment(model *m, const emu_func *f, const uint64_t *counts, int s, int e) {
  const uint64_t *extra = counts + f->n + 1;
  double pipes[PIPE_COUNT] = {0}, issue = 0, busiest = 0;
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
  for (int i = 0; i < PIPE_COUNT; i++) {
    m->pipes[i] += times * pipes[i];
    busiest = larger(busiest, pipes[i]);
  }
  /* integer and floating-point multiplication share a pipe */
  busiest = larger(busiest, pipes[PIPE_fma] + pipes[PIPE_imad] / 2);
  m->issue += times * issue;
  busiest = larger(busiest, issue);
  double path = path_of(m, f, s, e), warps = m->l->n_warps;
  m->busy += times * busiest;
  m->alone += times / warps * larger(path, warps * busiest);
  pass_time(m, f, larger(path, warps * busiest));
}

static bool add_function(model *m, int index) {
  const emu_func *f = m->l->module->funcs[index];
  const uint64_t *counts = m->w->counts[index];
  if (!f->defined || !counts[0]) {
    return true;
  }
  m->ready = calloc((size_t)f->n_regs + 1, sizeof *m->ready);
  m->n_groups = 0;
  for (int s = 0, pc = 0; m->ready && pc < f->n; pc++) {
    if (ends_segment(f, pc)) {
      add_segment(m, f, counts, s, pc + 1);
      s = pc + 1;
    }
  }
  bool ok = m->ready != NULL;
  free(m->ready);
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

static double compute_clocks(const model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double full = floor(n / slots), left = n - full * slots;
  double clocks = full * together(blocks_sm * m->busy, m->alone);
  if (left > 0) {
    clocks += together(ceil(left / m->p->sms) * m->busy, m->alone);
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
  if (m->alone > blocks_sm * m->busy) {
    return "latency";
  }
  for (int i = 0; i < PIPE_COUNT; i++) {
    most = m->pipes[i] > m->pipes[most] ? i : most;
  }
  return m->issue > m->pipes[most] ? "issue" : rt_emu_pipe_name(most);
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
  model m = {.l = l, .p = p, .w = w, .run = (double)(w->blocks ? w->blocks : 1),
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
  m.lat_global = hit_l1 * LAT_L1 + (1 - hit_l1) * (LAT_L2 + missed * (LAT_DRAM - LAT_L2));
  for (int f = 0; f < l->module->n_funcs; f++) {
    add_function(&m, f);
  }
  double compute = compute_clocks(&m, blocks_sm) / p->clock_hz;
  double l2 = l2_bytes / (p->l2_bytes_clock * p->clock_hz);
  double from_dram =
      dram / (2 * p->memory_clock_hz * p->bus_bits / 8 * 0.92); /* refresh, turnarounds */
  s->sec = launch_sec + together(compute, larger(l2, from_dram));
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
