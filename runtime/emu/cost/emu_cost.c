/* emu_cost.c -- the second half of the cost model: from clocks of one multiprocessor and traffic to
 * the modelled seconds of a launch.
 *
 * emu_segment.c gives, for one block, its clocks alone, and what a warp takes of its scheduler
 * (issue) and a block of the load/store unit (lsu) and of instruction fetch. The formula that
 * combines warps also combines the b blocks of a multiprocessor, with n = ceil(b warps / 4) /
 * ceil(warps / 4) and stalls that fill each other less well, so a number of warps that is no
 * multiple of the four schedulers costs what it costs on the card:
 *
 *   wave(b)  = | that, b * lsu or ceil(n / 2) * fetch |
 *   compute  = full waves * wave(occupancy) + wave(the rest: spread; small blocks in pairs packed)
 *   memory   = max(L2 bytes / L2 rate, DRAM bytes / DRAM rate)
 *   atomics  = turns of the L2 line that has most of them * ATOMIC_CLOCKS
 *   seconds  = launch + | | compute, atomics | / clock, memory | + waits + last
 *
 * |x, y| is (x^4 + y^4)^(1/4). Two warps of a scheduler share the code that is fetched for one.
 * DRAM bytes are counted per allocation: what one wave asks for, at most the allocation's size; a
 * footprint that fits the L2 is fetched once. All blocks of the first wave want the same data at
 * the same time, so a share 1 / waves of the loads waits as long as DRAM takes. Registers, hence
 * occupancy, and spills are ptxas's where the PTX notes them (emu_ptxas_report.c). `waits` is the time
 * that blocks wait for each other; `last` what the block does in addition that arrives last, where
 * blocks count arrivals.
 *
 * Where blocks are independent but differ in length, compute is at least the time of the longest
 * warp. Blocks that draw numbers until none is left share the work, however few of them ran.
 *
 * Not modelled: register banks, clock changes under load, DRAM pages, partition camping, bulk
 * copies except for their bytes, and the paths of a divergent branch that wait for their loads one
 * after the other. The model ranks variants; it is no measurement.
 *
 * src: look-back: Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back",
 * 2016. Measured on an H200 with clock64: a block passes a word to the next in 257 ns, with
 * nanosleep(256) between two loads in 513, with nanosleep(1024) in 2048; in scans in 270 to 300.
 * BLOCK_OVERLAP, PACKED and LSU_BUSY are fitted to 360 random matrix products of 2048,
 * ATOMIC_CLOCKS to histograms and reductions.
 */
#include "emu_cost.h"

#include <math.h>
#include <string.h>

#include "emu_segment.h"

/* clocks of the L2 from half a turn of atomics to the next on the same line */
enum { ATOMIC_CLOCKS = 3 };
/* factor of a store's clocks on a multiprocessor that has the L2 to itself: its port's width */
static const double STORE_ALONE = 0.47;
/* blocks whose lengths differ by less do the same work, but for the edges of matrices */
static const double EVEN = 0.1;
/* On an H200 an empty cooperative launch takes 6 to 7 us, a barrier of its grid by one atomic counter
 * 1.02 us. */
static const double LAUNCH_SEC = 2.6e-6, CLUSTER_SEC = 1e-6, COOPERATIVE_SEC = 4e-6,
                    BARRIER_SEC = 1e-6;
/* how well the stalls of several blocks fill each other */
static const double BLOCK_OVERLAP = 0.2;
/* how often two blocks with one warp for each scheduler end before others ask for work, so that
 * their multiprocessor takes two of the last ones; of other blocks one is ahead */
static const double PACKED = 0.8;
/* share of the counted wavefronts that keeps the load/store unit busy when several blocks run */
static const double LSU_BUSY = 0.9;

/* the larger of two times, a little more where both are alike: neither hides the other perfectly */
static double together(double x, double y) {
  double most = x > y ? x : y, ratio = most > 0 ? (x < y ? x : y) / most : 0;
  return most * pow(1 + ratio * ratio * ratio * ratio, 0.25);
}

/* Work that only the last block of a group does, once for each group. Returns the clocks of the
 * block that comes after all others. Groups end at the same time, since their blocks are spread
 * over the launch. */
static double add_last(emu_model *m, const emu_worker *last) {
  emu_model x = {.l = m->l,
                 .p = m->p,
                 .w = last,
                 .crowd = STORE_ALONE,
                 .run = emu_larger((double)last->blocks, 1),
                 .counted = emu_larger((double)last->counted, 1),
                 .lat_global = EMU_LAT_CHAIN};
  double group = (double)m->w->arrivals;
  emu_model_add_code(&x);
  /* one block of a cluster counts for all, unless there are as many arrivals as blocks */
  double one_in = group * m->l->cluster_size <= (double)m->l->n_blocks ? m->l->cluster_size : 1;
  double alone = emu_larger(x.alone - m->alone, 0) * one_in;
  m->alone += alone / group;
  m->issue += emu_larger(x.issue - m->issue, 0) / group;
  m->lsu += emu_larger(x.lsu - m->lsu, 0) / group;
  return alone;
}

/* ---- memory ---- */

static double dram_bytes(const emu_model *m, double share, double waves) {
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
  return emu_larger(once, each_wave * waves);
}

static double hottest_line(const emu_cache *c) {
  uint64_t most = 0;
  for (int i = 0; i < EMU_ATOMIC_LINES; i++) {
    most = c->atomic_turns[i] > most ? c->atomic_turns[i] : most;
  }
  return (double)most;
}

/* ---- the whole ---- */

typedef struct traffic { /* bytes of the whole launch */
  double l2, dram;
} traffic;

static double beyond(double whole, double fits) {
  return whole > fits ? 1 - fits / whole : 0;
}

/* ptxas spills where registers are scarce; the model assumes once in every execution of the hottest
 * segment. A spilled word takes a line of the L1 for each warp; the spilled words of all warps may
 * exceed the L1, and the L2. Each load of a spilled word waits, since there is no register to load
 * it earlier. */
static traffic add_spills(emu_model *m, double blocks_sm) {
  const emu_func *f = m->l->func;
  const emu_profile *p = m->p;
  double warps = m->l->n_warps, loads = m->hot_times * f->spill_loads;
  double words = loads + m->hot_times * f->spill_stores;
  double frame = f->spill_stores * 128 * warps * blocks_sm;
  double smem = blocks_sm * (double)(f->smem + m->l->dynamic_nbytes + 1024);
  double l1 = emu_larger((p->smem_sm_kib > 128 ? p->smem_sm_kib + 28 : 128) * 1024.0 - smem, 16384);
  double missed = beyond(frame, l1), far = beyond(frame * p->sms, (double)p->l2_nbytes);
  double bytes = missed * words * 128 * warps * (double)m->l->n_blocks;
  double waits =
      EMU_LAT_L1 + missed * (EMU_LAT_L2 + far * (EMU_LAT_DRAM - EMU_LAT_L2) - EMU_LAT_L1);
  m->issue += words;
  m->alone += words * ceil(warps / EMU_SCHEDULERS) + loads * waits;
  m->lsu += words * warps;
  m->pipes[EMU_PIPE_lsu] += words * warps;
  return (traffic){bytes, far * bytes};
}

/* Nanoseconds that the kernel sleeps between two polls: a constant, or one moved to a register. */
static double nap_of(const emu_func *f) {
  double nap = 0;
  for (int pc = 0; pc < f->n; pc++) {
    const emu_insn *in = &f->code[pc];
    int32_t from = in->kind == KIND_nop && in->imm ? in->o[1] : EMU_NONE;
    for (int k = 0; from >= 0 && k < f->n; k++) {
      const emu_insn *set = &f->code[k];
      from =
          set->kind == KIND_alu && set->pipe == EMU_PIPE_none && set->o[0] == from && set->o[1] < 0
              ? set->o[1]
              : from;
    }
    if (from < 0 && from != EMU_NONE) {
      uint32_t ns;
      memcpy(&ns, f->pool + ~from, sizeof ns);
      nap = emu_larger(nap, ns);
    }
  }
  return nap;
}

/* Time that blocks wait for each other. Where each block publishes only after it has heard from the
 * one before, blocks run one after the other, a store's way through the L2 each; nanosleep between
 * polls takes twice the time it asks for. Where a block first publishes its own part and then looks
 * back over 32 others at a time to the nearest one that knows its whole sum (decoupled look-back),
 * of s blocks that run together the first 32 (1 + 2 + ... + n) know theirs after n polls. */
static double waits_sec(const emu_model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double link = EMU_LAT_CHAIN / m->p->clock_hz;
  if (2 * (double)m->w->chained >= m->run) {
    return n * emu_larger(link, 2e-9 * nap_of(m->l->func));
  }
  double polls = sqrt((n < slots ? n : slots) / 16);
  return 2 * (double)m->w->look_backs >= m->run ? n / slots * polls * link : 0;
}

/* b blocks at a time on one multiprocessor; the scheduler with the most warps finishes last */
static double wave_clocks(const emu_model *m, double b) {
  double warps = m->l->n_warps, one = ceil(warps / EMU_SCHEDULERS),
         n = ceil(b * warps / EMU_SCHEDULERS);
  return together(emu_shared_among(n / one, one * m->issue, m->alone, BLOCK_OVERLAP),
                  emu_larger(LSU_BUSY * b * m->lsu, ceil(n / 2) * m->fetch));
}

static double compute_clocks(const emu_model *m, double blocks_sm) {
  double n = (double)m->l->n_blocks, slots = blocks_sm * m->p->sms;
  double full = floor(n / slots), left = n - full * slots;
  double clocks = full * wave_clocks(m, blocks_sm);
  if (left > 0) { /* spread over the multiprocessors, or packed on those that finish first */
    double spread = ceil(left / m->p->sms), packed = left > blocks_sm ? blocks_sm : spread;
    bool pair = blocks_sm > 1 && blocks_sm < 3 && m->l->n_warps <= EMU_SCHEDULERS;
    double share = full > 0 && pair ? PACKED : 0;
    clocks += (1 - share) * wave_clocks(m, spread) + share * wave_clocks(m, packed);
  }
  return clocks;
}

/* Where work differs between blocks, the launch takes at least as long as the longest warp. Of n
 * blocks that ran the longest is known; if lengths decrease exponentially in frequency, that of all
 * N is ln N / ln n times as far from the mean. */
static double longest_clocks(const emu_model *m) {
  double all = (double)m->l->n_blocks, ran = (double)m->w->blocks;
  bool apart = !m->w->traffic.atomics && !m->w->chained && !m->w->look_backs;
  if (ran < 2 || !apart ||
      !m->w->steps) { /* blocks that interact take work from each other, or wait */
    return 0;
  }
  double mean = (double)m->w->lengths / ran, most = (double)m->w->longest, beyond = most - mean;
  most = mean + beyond * log(all) / log(ran);
  return beyond > EVEN * mean ? m->alone * most / emu_larger(m->longest, 1) : 0;
}

static const char *bound_of(const emu_model *m, double compute, double l2, double dram,
                            double blocks_sm) {
  int most = 0;
  if (dram > compute && dram >= l2) {
    return "dram";
  }
  if (l2 > compute) {
    return "l2";
  }
  double work = ceil(blocks_sm * m->l->n_warps / EMU_SCHEDULERS) * m->issue;
  if (wave_clocks(m, blocks_sm) > 1.5 * emu_larger(work, blocks_sm * m->lsu)) {
    return "latency";
  }
  for (int i = 0; i < EMU_PIPES_N; i++) {
    most = m->pipes[i] > m->pipes[most] ? i : most;
  }
  return m->issue * m->l->n_warps / EMU_SCHEDULERS > 1.02 * m->pipes[most] ? "issue"
                                                                           : rt_emu_pipe_name(most);
}

static void fill_counts(const emu_model *m, double share, double traffic_share, rt_emu_stats *s) {
  const emu_module *module = m->l->module;
  const emu_traffic *t = &m->w->traffic;
  s->blocks = m->l->n_blocks;
  s->blocks_run = m->w->blocks;
  s->thread_instructions = (double)m->w->lanes * share;
  for (int f = 0; f < module->n_funcs; f++) {
    for (int pc = 0; pc < module->funcs[f]->n; pc++) {
      const emu_insn *in = &module->funcs[f]->code[pc];
      const double n = (double)m->w->counts[f][pc] * share;
      s->pipes[in->pipe] += n * in->weight;
      s->warp_instructions += in->flags & INSN_HELPER ? 0 : n;
    }
  }
  s->global_requests = (double)t->global_requests * traffic_share;
  s->load_sectors = (double)t->load_sectors * traffic_share;
  s->store_sectors = (double)t->store_sectors * traffic_share;
  s->shared_requests = (double)t->shared_requests * traffic_share;
  s->shared_wavefronts = (double)t->shared_wavefronts * traffic_share;
  s->constant_requests = (double)t->constant_requests * traffic_share;
  s->constant_replays = (double)t->constant_replays * traffic_share;
  s->texture_requests = (double)t->texture_requests * traffic_share;
  s->texels = (double)t->texels * traffic_share;
  s->atomics = (double)t->atomics * share;
  s->barriers = (double)t->barriers * share;
}

void emu_cost_launch(const emu_profile *p, const emu_launch *l, const emu_worker *w,
                     const emu_worker *last, rt_emu_stats *s) {
  emu_model m = {.l = l,
                 .p = p,
                 .w = w,
                 .crowd = emu_larger(fmin((double)l->n_blocks / p->sms, 1), STORE_ALONE),
                 .run = (double)(w->blocks ? w->blocks : 1),
                 .counted = (double)(w->counted ? w->counted : 1)};
  const emu_traffic *t = &w->traffic;
  memset(s, 0, sizeof *s);
  if (w->fetches >= l->n_blocks) { /* the blocks that ran have done the work of all */
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
  missed = s->waves <= 1 ? 1 : emu_larger(missed, 1 / s->waves);
  double hit_l1 = t->load_sectors ? 1 - (double)t->load_misses / (double)t->load_sectors : 0;
  m.lat_constant = t->constant_requests ? EMU_LAT_CONSTANT_FAR * (double)t->constant_misses /
                                              (double)(t->constant_requests + t->constant_replays)
                                        : 0;
  m.lat_global =
      hit_l1 * EMU_LAT_L1 + (1 - hit_l1) * (EMU_LAT_L2 + missed * (EMU_LAT_DRAM - EMU_LAT_L2));
  emu_model_add_code(&m);
  double serial = last ? add_last(&m, last) / p->clock_hz : 0;
  traffic spilled = add_spills(&m, blocks_sm);
  l2_bytes += spilled.l2;
  dram += spilled.dram;
  double compute = together(compute_clocks(&m, blocks_sm), longest_clocks(&m)) / p->clock_hz;
  double l2 = l2_bytes / (p->l2_bytes_clock * p->clock_hz);
  double from_dram =
      dram / (2 * p->memory_clock_hz * p->bus_bits / 8 * 0.92); /* refresh, turnarounds */
  double atomics = hottest_line(&w->cache) * traffic_share * ATOMIC_CLOCKS / p->clock_hz;
  s->sec = LAUNCH_SEC + (l->cluster_size > 1 ? CLUSTER_SEC : 0) +
           (l->cooperative ? COOPERATIVE_SEC + BARRIER_SEC * (double)w->waits / m.run : 0) +
           together(together(compute, atomics), emu_larger(l2, from_dram)) +
           (l->cooperative ? 0 : waits_sec(&m, blocks_sm)) + serial;
  s->bound = bound_of(&m, compute, l2, from_dram, blocks_sm);
}
