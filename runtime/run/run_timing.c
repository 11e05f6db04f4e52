/* run_timing.c -- how long does a launch take? Batches of launches between two events.
 *
 * A batch is long against the events' resolution (half a microsecond) and the start of a stream,
 * short enough that a median over many of them shrugs off disturbances. Each launch takes the next
 * set of buffers, so that nothing is left of its data in the L2 from the last time, as in a program
 * that does other things in between. Launches follow each other without waiting: a kernel of less
 * than about three microseconds is held up by the host, here as in the user's program.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "run_bench.h"

/* 200 us is 400 times the resolution of an event: CUDA driver API, cuEventElapsedTime. */
static const double batch_sec_least = 200e-6;
static const double default_target_sec = 0.01;
/* What a pair of events around a single launch adds at most, and a cold clock besides. */
static const double look_overhead_sec = 10e-6;

enum { BATCHES_LEAST = 5, BATCHES_MOST = 512, BATCHES_WANTED = 20 };
enum { LAUNCHES_BATCH = 20000, LAUNCHES_MOST = 1000000 }; /* an empty problem's take no time */

/* ---- rotating ------------------------------------------------------------------------------ */

typedef struct rotation { /* the arguments of the next launch */
  rt_bench *b;
  uint64_t *values;
  const void **args;
  uint64_t set, n_sets;
} rotation;

/* Every set gets the contents of the first; each copy doubles what is there. */
static int spread(rt_bench *b, err *e) {
  for (uint64_t have = 1; have < b->n_sets; have *= 2) {
    uint64_t more = have < b->n_sets - have ? have : b->n_sets - have;
    TRY(b->d->ops->copy(b->d, b->sets + have * b->stride, b->sets, more * b->stride, NULL, e));
  }
  return 0;
}

static int rotation_start(rotation *r, rt_bench *b, bool hot, err *e) {
  size_t n = b->t->n_args;
  *r = (rotation){.b = b, .n_sets = hot ? 1 : b->n_sets};
  r->values = calloc(n + 1, sizeof *r->values);
  r->args = calloc(n + 1, sizeof *r->args);
  if (!r->values || !r->args) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < n; i++) {
    r->values[i] = b->cases[0].values[i];
    r->args[i] = &r->values[i];
  }
  TRY(bench_start(b, &b->cases[0], e));
  return hot ? 0 : spread(b, e);
}

static void rotation_end(rotation *r) {
  free(r->values);
  free(r->args);
}

static const void *const *next_args(rotation *r) {
  uint64_t offset = r->set * r->b->stride;
  r->set = r->set + 1 < r->n_sets ? r->set + 1 : 0;
  for (size_t i = 0; i < r->b->t->n_args; i++) {
    if (bench_is_buffer(r->b, i)) {
      r->values[i] = r->b->cases[0].at[i] + offset;
    }
  }
  return r->args;
}

/* ---- batches ------------------------------------------------------------------------------- */

/* Seconds per launch of n launches in a row. One more goes ahead of them, unless they are long:
 * while the device is busy with it the host gets ahead, so that no launch is waited for between the
 * events. */
static int batch(rotation *r, const rt_contender *who, uint64_t n, double *sec, err *e) {
  const rt_bench *b = r->b;
  if (n > 1) {
    TRY(who->launch(who->self, NULL, next_args(r), e));
  }
  TRY(b->d->ops->event_record(b->d, b->from, NULL, e));
  for (uint64_t i = 0; i < n; i++) {
    TRY(who->launch(who->self, NULL, next_args(r), e));
  }
  TRY(b->d->ops->event_record(b->d, b->to, NULL, e));
  TRY(b->d->ops->elapsed(b->d, b->from, b->to, sec, e));
  *sec /= (double)n;
  return 0;
}

static double batch_length(double target_sec, double batches) {
  double sec = target_sec / batches;
  return sec > batch_sec_least ? sec : batch_sec_least;
}

static uint64_t launches_for(double batch_sec, double launch_sec) {
  double n = launch_sec > 0 ? batch_sec / launch_sec : LAUNCHES_BATCH;
  return n >= LAUNCHES_BATCH ? LAUNCHES_BATCH : (uint64_t)n + 1;
}

/* A launch to warm up (the first of a module copies it to the device), then one that is looked at.
 */
static int first_look(rotation *r, const rt_contender *who, double *sec, err *e) {
  TRY(who->launch(who->self, NULL, next_args(r), e));
  return batch(r, who, 1, sec, e);
}

/* ---- statistics ---------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Linear between the two nearest ranks. */
static double quantile(const double *sorted, size_t n, double q) {
  double rank = q * (double)(n - 1);
  size_t i = (size_t)rank;
  double next = i + 1 < n ? sorted[i + 1] : sorted[i];
  return sorted[i] + (rank - (double)i) * (next - sorted[i]);
}

static void summarize(double *secs, size_t n, rt_times *out) {
  qsort(secs, n, sizeof *secs, ascending);
  out->median = quantile(secs, n, 0.5);
  out->p25 = quantile(secs, n, 0.25);
  out->p75 = quantile(secs, n, 0.75);
}

static bool is_cold(const rotation *r) {
  return r->n_sets * r->b->set_nbytes > 2 * (uint64_t)r->b->d->info.l2_nbytes;
}

/* ---- one candidate ------------------------------------------------------------------------- */

typedef struct series {
  double secs[BATCHES_MOST];
  size_t n;
  double fastest, total; /* seconds: per launch, of all batches */
  uint64_t launches;
} series;

static void add(series *s, double sec, uint64_t launches) {
  s->fastest = s->n == 0 || sec < s->fastest ? sec : s->fastest;
  s->secs[s->n++] = sec;
  s->total += sec * (double)launches;
  s->launches += launches;
}

/* Slower than the limit for certain? Even the fastest batch, with a margin that shrinks as they
 * agree: 30 % after one, 3 % after ten. */
static bool too_slow(const series *s, double limit) {
  return limit > 0 && s->fastest > limit * (1 + 0.3 / (double)s->n);
}

static bool look_too_slow(double first, double limit) {
  return limit > 0 && first - look_overhead_sec > 2 * limit;
}

/* Enough: the time is spent, over enough batches; a launch longer than that is not repeated often.
 */
static bool enough(const series *s, double target_sec) {
  double longest_wait = 3 * target_sec;
  return s->n == BATCHES_MOST || s->launches >= LAUNCHES_MOST ||
         (s->total >= target_sec && (s->n >= BATCHES_LEAST || s->total >= longest_wait));
}

static int measure(rotation *r, const rt_contender *who, const rt_timing *how, series *s,
                   bool *stopped, err *e) {
  double target = how->target_sec > 0 ? how->target_sec : default_target_sec, first;
  TRY(first_look(r, who, &first, e));
  if (look_too_slow(first, how->stop_above)) {
    add(s, first, 1);
    *stopped = true;
    return 0;
  }
  uint64_t n = launches_for(batch_length(target, BATCHES_WANTED), first);
  if (n == 1) {
    add(s, first, 1); /* as good as a batch */
  }
  while (!*stopped && !enough(s, target)) {
    double sec;
    TRY(batch(r, who, n, &sec, e));
    add(s, sec, n);
    *stopped = too_slow(s, how->stop_above);
  }
  return 0;
}

/* The emulator's times are modelled, every launch alike: one is enough. */
static int model(rotation *r, const rt_contender *who, series *s, err *e) {
  double sec;
  TRY(batch(r, who, 1, &sec, e));
  add(s, sec, 1);
  return 0;
}

int rt_bench_time(rt_bench *b, rt_loaded *l, const rt_timing *how, rt_times *out, err *e) {
  rotation r;
  series s = {.n = 0};
  rt_contender who = rt_loaded_contender(l);
  *out = (rt_times){0};
  int rc = rotation_start(&r, b, how->hot, e);
  rc = rc            ? rc
       : b->separate ? model(&r, &who, &s, e)
                     : measure(&r, &who, how, &s, &out->stopped, e);
  if (!rc) {
    out->launches = s.launches;
    out->cold = is_cold(&r);
    summarize(s.secs, s.n, out);
  }
  rotation_end(&r);
  return rc;
}

/* ---- a race
 * -------------------------------------------------------------------------------------------------
 */

typedef struct lane {
  uint64_t launches; /* per batch */
  double *secs;      /* [rounds] */
} lane;

static int enter_lane(rotation *r, const rt_contender *who, double batch_sec, lane *out, err *e) {
  double first;
  TRY(first_look(r, who, &first, e));
  out->launches = r->b->separate ? 1 : launches_for(batch_sec, first);
  return 0;
}

static int run_race(rotation *r, const rt_contender *c, size_t n, size_t rounds, double batch_sec,
                    lane *lanes, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(enter_lane(r, &c[i], batch_sec, &lanes[i], e));
  }
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < n; i++) {
      TRY(batch(r, &c[i], lanes[i].launches, &lanes[i].secs[round], e));
    }
  }
  return 0;
}

static void read_lane(const rotation *r, const lane *l, size_t rounds, rt_times *out) {
  *out = (rt_times){.launches = l->launches * rounds, .cold = is_cold(r)};
  summarize(l->secs, rounds, out);
}

int rt_bench_race(rt_bench *b, const rt_contender *c, size_t n, size_t rounds, const rt_timing *how,
                  rt_times *times, err *e) {
  rotation r;
  double target = how->target_sec > 0 ? how->target_sec : default_target_sec;
  lane *lanes = calloc(n + 1, sizeof *lanes);
  double *secs = calloc(n * rounds + 1, sizeof *secs);
  int rc = rotation_start(&r, b, how->hot, e);
  if (!rc && (!lanes || !secs || rounds == 0)) {
    rc = err_set(e, rounds ? ERR_NOMEM : ERR_USAGE,
                 rounds ? "out of memory" : "a race of no rounds");
  }
  for (size_t i = 0; !rc && i < n; i++) {
    lanes[i].secs = secs + i * rounds;
  }
  rc = rc ? rc : run_race(&r, c, n, rounds, batch_length(target, (double)rounds), lanes, e);
  for (size_t i = 0; !rc && i < n; i++) {
    read_lane(&r, &lanes[i], rounds, &times[i]);
  }
  rotation_end(&r);
  free(lanes);
  free(secs);
  return rc;
}
