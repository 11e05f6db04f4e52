#define _GNU_SOURCE
#include "prepared.h"

#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "loaded.h"

enum { PARTS = GEN_MAX_COUNTS + 1, ALIGNMENT = 256 };

typedef struct part {
  gen_preparation now;
  gen_counts counts; /* that it was made for */
  rt_loaded *loaded; /* NULL: not made */
  arena memory;      /* of `now` */
} part;

struct rt_prepared {
  rt_device *d;
  const gen_template *t;
  gen_instance *g;
  gen_config config;
  rt_loaded *same, *run, *values;
  const gen_plan *run_plan, *values_plan; /* between planning and loading; else NULL */
  arena memory;                           /* of these */
  gen_counts counts, made_for;            /* made_for: of run and values */
  part parts[PARTS];
  size_t n_parts; /* planned so far in this preparation */
  rt_ptr at[GEN_MAX_PREPARED];
  uint64_t nbytes[GEN_MAX_PREPARED], room[GEN_MAX_PREPARED]; /* room: allocated there */
  rt_ptr *copies; /* [n_copies - 1][n_prepared] of the other copies; 0: the same as the first */
  uint64_t n_copies, turn;
  rt_event *from, *to;
  double sec;
  bool works; /* a part launched anything */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static bool is_kept(const rt_prepared *p, size_t i) {
  return p->t->prepared[i].kept;
}

/* Kernels that launches run must not write what was prepared. */
static void protect(rt_prepared *p, bool on) {
  for (size_t i = 0; rt_emu_is(p->d) && i < p->t->n_prepared; i++) {
    if (is_kept(p, i) && p->at[i]) {
      rt_emu_protect(p->d, p->at[i], p->nbytes[i], on);
    }
  }
}

static void release(rt_prepared *p, size_t i) {
  p->d->ops->release(p->d, p->at[i]);
  p->at[i] = 0;
  p->room[i] = p->nbytes[i] = 0;
}

/* The emulated device finds accesses beyond the very size. */
static int allocate(rt_prepared *p, size_t i, uint64_t nbytes, err *e) {
  const bool fits =
      p->at[i] && (p->d->info.checks_bounds ? p->room[i] == nbytes : p->room[i] >= nbytes);
  if (!fits) {
    release(p, i);
    TRY(p->d->ops->alloc(p->d, nbytes, &p->at[i], e));
    p->room[i] = nbytes;
  }
  p->nbytes[i] = nbytes;
  return 0;
}

static int allocate_fresh(rt_prepared *p, const gen_preparation *now, rt_stream s, err *e) {
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    if (now->fresh >> i & 1) {
      TRY(allocate(p, i, now->nbytes[i], e));
      TRY(is_kept(p, i) || !now->nbytes[i]
              ? 0
              : p->d->ops->set(p->d, p->at[i], 0, now->nbytes[i], s, e));
    }
  }
  return 0;
}

static void drop_copies(rt_prepared *p) {
  const size_t n = p->t->n_prepared;
  for (uint64_t i = 0; p->copies && i < (p->n_copies - 1) * n; i++) {
    p->d->ops->release(p->d, p->copies[i]);
  }
  free(p->copies);
  p->copies = NULL;
  p->n_copies = 1;
  p->turn = 0;
}

void rt_prepared_trim(rt_prepared *p) {
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    if (!is_kept(p, i)) {
      release(p, i);
    }
  }
}

uint64_t rt_prepared_nbytes(const rt_prepared *p) {
  uint64_t n = 0;
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    n += is_kept(p, i) ? p->nbytes[i] : 0;
  }
  return n;
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Arguments, then what was prepared. */
static void fill_args(const rt_prepared *p, const void *const *args, const rt_ptr *at,
                      const void **full) {
  const size_t n = p->t->n_args;
  memcpy(full, args, n * sizeof *full);
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    full[n + i] = &at[i];
  }
}

static const rt_ptr *copy_at(const rt_prepared *p, uint64_t copy) {
  return copy ? &p->copies[(copy - 1) * p->t->n_prepared] : p->at;
}

void rt_prepared_args(const rt_prepared *p, const void *const *args,
                      const void *full[RT_ARGS_MOST]) {
  fill_args(p, args, p->at, full);
}

const gen_counts *rt_prepared_counts(const rt_prepared *p) {
  return &p->counts;
}

int rt_prepared_launch_in(rt_prepared *p, rt_stream s, const void *const *args, rt_ptr workspace,
                          err *e) {
  const void *full[LOADED_OPERANDS];
  fill_args(p, args, p->at, full);
  return rt_loaded_launch_in(p->run, s, full, workspace, e);
}

size_t rt_prepared_workspace_nbytes(const rt_prepared *p) {
  return rt_loaded_workspace_nbytes(p->run);
}

static int launch_values(rt_prepared *p, rt_stream s, const void *const *args, uint64_t copy,
                         err *e) {
  const void *full[LOADED_OPERANDS];
  fill_args(p, args, copy_at(p, copy), full);
  return rt_loaded_launch_in(p->values, s, full, 0, e);
}

int rt_prepared_values(rt_prepared *p, rt_stream s, const void *const *args, err *e) {
  protect(p, false);
  int rc = 0;
  for (uint64_t i = 0; !rc && i < p->n_copies; i++) {
    rc = launch_values(p, s, args, i, e);
  }
  protect(p, true);
  return rc;
}

/* ---- planning -------------------------------------------------------------------------------- */

static bool same_counts(const gen_counts *a, const gen_counts *b) {
  bool same = a->known == b->known;
  for (size_t i = 0; i < GEN_MAX_COUNTS && same; i++) {
    same = !(a->known >> i & 1) || a->values[i] == b->values[i];
  }
  return same;
}

void rt_prepared_begin(rt_prepared *p) {
  protect(p, false);
  drop_copies(p);
  p->counts = (gen_counts){0};
  p->n_parts = 0;
  p->works = false;
}

static int plan_part(rt_prepared *p, part *x, err *e) {
  rt_loaded_free(x->loaded);
  x->loaded = NULL;
  arena_clear(&x->memory);
  TRY(gen_prepare_part(p->g, &p->config, p->n_parts, &p->counts, &x->memory, &x->now, e));
  x->counts = p->counts;
  return 0;
}

static int plan_run(rt_prepared *p, err *e) {
  if (p->run && same_counts(&p->counts, &p->made_for)) {
    return 0;
  }
  rt_loaded_free(p->run);
  rt_loaded_free(p->values);
  p->run = p->values = NULL;
  arena_clear(&p->memory);
  TRY(gen_plan_make_for(p->g, &p->config, &p->counts, &p->memory, &p->run_plan, e));
  return gen_values_plan(p->g, &p->config, &p->counts, &p->memory, &p->values_plan, e);
}

int rt_prepared_plan(rt_prepared *p, bool *more, err *e) {
  *more = p->n_parts == 0 || p->parts[p->n_parts - 1].now.n_reads;
  if (!*more) {
    return plan_run(p, e);
  }
  if (p->n_parts == PARTS) {
    return err_set(e, ERR_LIMIT, "%s reads counts more than %d times", p->t->name, GEN_MAX_COUNTS);
  }
  part *x = &p->parts[p->n_parts];
  if (!x->loaded || !same_counts(&p->counts, &x->counts)) {
    TRY(plan_part(p, x, e));
  }
  p->n_parts++;
  return 0;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static int read_count(rt_prepared *p, const gen_reading_back *r, rt_stream s,
                      const void *const *args, err *e) {
  const unsigned unused = 64 - 8 * (unsigned)dtype_nbytes(r->type);
  uint64_t bits = 0;
  rt_ptr at = r->of.from == GEN_FROM_PREPARED ? p->at[r->of.index] : 0;
  if (r->of.from == GEN_FROM_ARG) {
    memcpy(&at, args[r->of.index], sizeof at);
  }
  TRY(p->d->ops->copy_out(p->d, &bits, at + r->at, dtype_nbytes(r->type), s, e));
  const int64_t value =
      dtype_is_signed(r->type) ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
  if (value < 0 || value > r->most) {
    return err_set(e, ERR_USAGE,
                   "%s: %s is %lld in these data; this configuration takes at most %lld",
                   p->t->name, p->t->counts[r->index], (long long)value, (long long)r->most);
  }
  p->counts.values[r->index] = value;
  p->counts.known |= 1u << r->index;
  return 0;
}

static int load_part(rt_prepared *p, part *x, err *e) {
  return x->loaded ? 0 : rt_loaded_new_from(p->same, p->t, x->now.plan, &x->loaded, e);
}

static int run_part(rt_prepared *p, part *x, rt_stream s, const void *const *args, err *e) {
  const void *full[LOADED_OPERANDS];
  TRY(allocate_fresh(p, &x->now, s, e));
  TRY(load_part(p, x, e));
  fill_args(p, args, p->at, full);
  TRY(rt_loaded_launch_in(x->loaded, s, full, 0, e));
  p->works = p->works || x->now.plan->n;
  for (size_t i = 0; i < x->now.n_reads; i++) {
    TRY(read_count(p, &x->now.reads[i], s, args, e));
  }
  return 0;
}

static int load_run(rt_prepared *p, err *e) {
  if (p->run) {
    return 0;
  }
  TRY(rt_loaded_new_from(p->same, p->t, p->run_plan, &p->run, e));
  const int rc = rt_loaded_new_from(p->same, p->t, p->values_plan, &p->values, e);
  if (rc) { /* both or none */
    rt_loaded_free(p->run);
    p->run = NULL;
    return rc;
  }
  p->made_for = p->counts;
  return 0;
}

static int finish(rt_prepared *p, rt_stream s, err *e) {
  TRY(p->d->ops->event_record(p->d, p->to, s, e));
  TRY(p->d->ops->elapsed(p->d, p->from, p->to, &p->sec, e));
  p->sec = p->works ? p->sec : 0;
  TRY(load_run(p, e));
  protect(p, true);
  return 0;
}

static int step(rt_prepared *p, bool more, rt_stream s, const void *const *args, err *e) {
  if (more && p->n_parts == 1) {
    TRY(p->d->ops->event_record(p->d, p->from, s, e));
  }
  return more ? run_part(p, &p->parts[p->n_parts - 1], s, args, e) : finish(p, s, e);
}

/* The emulated device samples only launches. */
int rt_prepared_step(rt_prepared *p, bool more, rt_stream s, const void *const *args, err *e) {
  const int64_t sample = rt_emu_is(p->d) ? rt_emu_sample(p->d) : 0;
  if (sample) {
    rt_emu_set_sample(p->d, 0);
  }
  const int rc = step(p, more, s, args, e);
  if (sample) {
    rt_emu_set_sample(p->d, sample);
  }
  return rc;
}

int rt_prepared_make(rt_prepared *p, rt_stream s, const void *const *args, err *e) {
  bool more = true;
  rt_prepared_begin(p);
  while (more) {
    TRY(rt_prepared_plan(p, &more, e));
    TRY(rt_prepared_step(p, more, s, args, e));
  }
  return 0;
}

double rt_prepared_sec(const rt_prepared *p) {
  return p->sec;
}

void rt_prepared_detach(rt_prepared *p) {
  p->g = NULL;
}

void rt_prepared_attach(rt_prepared *p, gen_instance *g) {
  p->g = g;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static uint64_t copies_that_fit(const rt_prepared *p, uint64_t n, err *e) {
  const uint64_t each = rt_prepared_nbytes(p) + ALIGNMENT * p->t->n_prepared;
  int64_t left = 0;
  if (n < 2 || p->d->ops->memory_free(p->d, &left, e)) {
    return 1;
  }
  const uint64_t most = (uint64_t)left / 4 / (each + 1) + 1;
  return n < most ? n : most;
}

static int make_copy(rt_prepared *p, rt_ptr *at, err *e) {
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    if (is_kept(p, i) && p->at[i]) {
      TRY(p->d->ops->alloc(p->d, p->nbytes[i], &at[i], e));
      TRY(p->d->ops->copy(p->d, at[i], p->at[i], p->nbytes[i], NULL, e));
    }
  }
  return 0;
}

int rt_prepared_spread(rt_prepared *p, uint64_t n, err *e) {
  drop_copies(p);
  n = rt_prepared_nbytes(p) ? copies_that_fit(p, n, e) : 1;
  if (n < 2) {
    return 0;
  }
  if (!(p->copies = calloc((n - 1) * p->t->n_prepared, sizeof *p->copies))) {
    return err_nomem(e);
  }
  p->n_copies = n;
  for (uint64_t i = 1; i < n; i++) {
    TRY(make_copy(p, &p->copies[(i - 1) * p->t->n_prepared], e));
  }
  return 0;
}

/* ---- as a contender -------------------------------------------------------------------------- */

static int prepare_contender(void *self, rt_stream s, const void *const *args, uint64_t n_copies,
                             double *sec, err *e) {
  rt_prepared *p = self;
  TRY(rt_prepared_make(p, s, args, e));
  *sec = p->sec;
  TRY(rt_loaded_reserve(p->run, e)); /* not within a timed launch */
  return rt_prepared_spread(p, n_copies, e);
}

static int launch_contender(void *self, rt_stream s, const void *const *args, err *e) {
  rt_prepared *p = self;
  const void *full[LOADED_OPERANDS];
  fill_args(p, args, copy_at(p, p->turn), full);
  p->turn = p->turn + 1 < p->n_copies ? p->turn + 1 : 0;
  return rt_loaded_launch(p->run, s, full, e);
}

static void hold_contender(void *self, bool hold) {
  rt_prepared *p = self;
  if (p->run) {
    rt_loaded_hold(p->run, hold);
  }
}

static int finished_contender(void *self, err *e) {
  rt_prepared *p = self;
  return rt_loaded_finished(p->run, e);
}

/* Do launches leave the first copy, which they took, as the second one is? */
static int verify_contender(void *self, rt_checker *k, rt_ptr finding, err *e) {
  rt_prepared *p = self;
  for (size_t i = 0; p->n_copies > 1 && i < p->t->n_prepared; i++) {
    rt_finding f = RT_FINDING_NONE;
    if (!is_kept(p, i) || !p->nbytes[i]) {
      continue;
    }
    TRY(p->d->ops->copy_in(p->d, finding, &f, sizeof f, NULL, e));
    TRY(rt_checker_differ(k, p->at[i], p->copies[i], p->nbytes[i], finding, e));
    TRY(p->d->ops->copy_out(p->d, &f, finding, sizeof f, NULL, e));
    if (f.n) {
      return err_set(e, ERR_WRONG, "a launch changed %s, which was prepared, first at byte %llu",
                     p->t->prepared[i].name, (unsigned long long)f.first);
    }
  }
  return 0;
}

rt_contender rt_prepared_contender(rt_prepared *p) {
  return (rt_contender){.launch = launch_contender,
                        .self = p,
                        .hold = hold_contender,
                        .blocks = rt_loaded_blocks(p->same),
                        .finished = finished_contender,
                        .prepare = prepare_contender,
                        .verify = verify_contender};
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int rt_prepared_new(rt_loaded *same, const gen_template *t, gen_instance *g, const gen_config *c,
                    rt_prepared **out, err *e) {
  *out = NULL;
  rt_prepared *p = calloc(1, sizeof *p);
  if (!p) {
    return err_nomem(e);
  }
  *p = (rt_prepared){
      .d = same->d, .t = t, .g = g, .config = *c, .same = same, .n_copies = 1, .sec = 0};
  int rc = p->d->ops->event_new(p->d, &p->from, e);
  rc = rc ? rc : p->d->ops->event_new(p->d, &p->to, e);
  if (rc) {
    rt_prepared_free(p);
    return rc;
  }
  *out = p;
  return 0;
}

void rt_prepared_free(rt_prepared *p) {
  if (!p) {
    return;
  }
  drop_copies(p);
  for (size_t i = 0; i < p->t->n_prepared; i++) {
    release(p, i);
  }
  for (size_t i = 0; i < PARTS; i++) {
    rt_loaded_free(p->parts[i].loaded);
    arena_clear(&p->parts[i].memory);
  }
  rt_loaded_free(p->run);
  rt_loaded_free(p->values);
  p->d->ops->event_free(p->d, p->from);
  p->d->ops->event_free(p->d, p->to);
  arena_clear(&p->memory);
  free(p);
}
