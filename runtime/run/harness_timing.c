/* harness_timing.c -- how long does a launch take? Batches of launches between two events.
 *
 * A batch is long compared with the events' resolution (half a microsecond) and the start of a
 * stream, and short enough that a median over many of them ignores disturbances. Each launch takes
 * the next set of buffers, so that its data have left the L2 since their last use, as in a program
 * that does other work in between. Launches follow each other without waiting: a kernel of less
 * than about three microseconds waits for the host, here as in the user's program; a graph of the
 * same launches does not.
 *
 * A sequential test after each batch decides whether another one is needed. Let m be the mean of
 * the n batches so far, s their standard deviation but at least AGREE of m (a few batches agree by
 * chance), and h = t(n) s / sqrt(n), with Student's t for one chance in a thousand.
 *   - m - h > (1 + DRIFT) best: the candidate is slower than the best and is given up. DRIFT covers
 *     the difference of clocks between batches taken at different times; the finals interleave
 *     candidates that are nearer than that.
 *   - h < PRECISE m: the candidate's time is known.
 *   - a single launch ahead of the batches must not take twice the best. The host may have held it
 *     up, so a second launch follows before the candidate is given up.
 * With at most 20 tests, fewer than one in 50 candidates as fast as the best are given up.
 * src: Wald, Sequential Tests of Statistical Hypotheses, 1945, for the idea; the bound is
 * Student's.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "harness.h"

/* 200 us is 400 times the resolution of an event: CUDA driver API, cuEventElapsedTime. */
static const double batch_sec_least = 200e-6;
static const double default_target_sec = 0.01;
/* The most that a pair of events and a cold clock add to a single launch. */
static const double look_overhead_sec = 10e-6;
static const double DRIFT = 0.03, AGREE = 0.003, PRECISE = 0.01;

enum { BATCHES_LEAST = 5, BATCHES_WANTED = 20 };
enum { LAUNCHES_BATCH = 20000, LAUNCHES_MOST = 1000000 }; /* an empty problem's take no time */
enum { LAUNCHES_GRAPH = 4096 }; /* nodes that a graph is made of in some milliseconds */

const char *rt_ended_name(rt_ended ended) {
  static const char *const names[] = {[RT_ENDED_FULL] = "full",
                                      [RT_ENDED_PRECISE] = "precise",
                                      [RT_ENDED_SLOWER] = "slower",
                                      [RT_ENDED_LOOK] = "look",
                                      [RT_ENDED_RACE] = "race"};
  return names[ended];
}

/* ---- rotating ------------------------------------------------------------------------------ */

typedef struct rotation { /* the arguments of the next launch */
  rt_harness *b;
  const rt_timing *how;
  uint64_t *values;
  const void **args;
  uint64_t set, n_sets;
} rotation;

/* Every set gets the contents of the first; each copy doubles the number of filled sets. */
static int spread(rt_harness *b, err *e) {
  for (uint64_t have = 1; have < b->n_sets; have *= 2) {
    uint64_t more = have < b->n_sets - have ? have : b->n_sets - have;
    TRY(b->d->ops->copy(b->d, b->sets + have * b->stride, b->sets, more * b->stride, NULL, e));
  }
  return 0;
}

static int rotation_start(rotation *r, rt_harness *b, const rt_timing *how, err *e) {
  size_t n = b->t->n_args;
  *r = (rotation){.b = b, .how = how, .n_sets = how->hot ? 1 : b->n_sets};
  if (how->replay == RT_GRAPH && !b->d->ops->graph_new) {
    return err_set(e, ERR_USAGE, "%s has no graphs; time the launches in a stream",
                   b->d->info.name);
  }
  r->values = calloc(n + 1, sizeof *r->values);
  r->args = calloc(n + 1, sizeof *r->args);
  if (!r->values || !r->args) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < n; i++) {
    r->values[i] = b->cases[0].values[i];
    r->args[i] = &r->values[i];
  }
  TRY(harness_start(b, &b->cases[0], e));
  return how->hot ? 0 : spread(b, e);
}

static void rotation_end(rotation *r) {
  free(r->values);
  free(r->args);
}

static const void *const *next_args(rotation *r) {
  uint64_t offset = r->set * r->b->stride;
  r->set = r->set + 1 < r->n_sets ? r->set + 1 : 0;
  for (size_t i = 0; i < r->b->t->n_args; i++) {
    if (harness_is_buffer(r->b, i) && !r->b->cases[0].host[i]) {
      r->values[i] = r->b->cases[0].at[i] + offset;
    }
  }
  return r->args;
}

/* ---- batches ------------------------------------------------------------------------------- */

/* n launches in a row, timed together. The launches of a graph take their buffers when it is
 * recorded, so a graph has enough of them to rotate past the L2 cache. */
typedef struct burst {
  rotation *r;
  const rt_contender *who;
  uint64_t n;
  rt_graph *graph; /* NULL: launched one by one */
} burst;

static int launch_one(burst *x, rt_stream s, err *e) {
  return x->who->launch(x->who->self, s, next_args(x->r), e);
}

static int launch_all(void *self, rt_stream s, err *e) {
  burst *x = self;
  for (uint64_t i = 0; i < x->n; i++) {
    TRY(launch_one(x, s, e));
  }
  return 0;
}

static void burst_end(burst *x) {
  if (x->graph) {
    x->r->b->d->ops->graph_free(x->r->b->d, x->graph);
    x->graph = NULL;
  }
}

/* A graph keeps a pointer to *x: it must not move until burst_end. */
static int burst_start(burst *x, rotation *r, const rt_contender *who, uint64_t n, err *e) {
  *x = (burst){.r = r, .who = who, .n = n};
  if (r->how->replay != RT_GRAPH || who->blocks) {
    return 0;
  }
  x->n = n < r->n_sets ? r->n_sets : n;
  x->n = x->n < LAUNCHES_GRAPH ? x->n : LAUNCHES_GRAPH;
  return r->b->d->ops->graph_new(r->b->d, launch_all, x, &x->graph, e);
}

static int launch_burst(burst *x, err *e) {
  rt_device *d = x->r->b->d;
  return x->graph ? d->ops->graph_launch(d, x->graph, NULL, e) : launch_all(x, NULL, e);
}

/* Seconds per launch of a burst. Another launch precedes a burst of short ones: the host gets ahead
 * while the device is busy with it, and no launch between the events waits for the host. */
static int batch(burst *x, bool watched, size_t contender, double *sec, err *e) {
  const rotation *r = x->r;
  const rt_harness *b = r->b;
  if (x->n > 1) {
    TRY(launch_one(x, NULL, e));
  }
  TRY(b->d->ops->event_record(b->d, b->from, NULL, e));
  TRY(launch_burst(x, e));
  TRY(b->d->ops->event_record(b->d, b->to, NULL, e));
  if (watched && r->how->watch) {
    r->how->watch(r->how->watcher, contender);
  }
  TRY(b->d->ops->elapsed(b->d, b->from, b->to, sec, e));
  *sec /= (double)x->n;
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

/* A launch to warm up (the first of a module copies it to the device), then a timed one. */
static int first_look(rotation *r, const rt_contender *who, double *sec, err *e) {
  burst one = {.r = r, .who = who, .n = 1};
  TRY(launch_one(&one, NULL, e));
  return batch(&one, false, 0, sec, e);
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
  out->n_batches = n < RT_BATCHES ? (uint32_t)n : RT_BATCHES;
  for (size_t i = 0; i < out->n_batches; i++) {
    out->batches[i] = (float)secs[i];
  }
  qsort(secs, n, sizeof *secs, ascending);
  out->median = quantile(secs, n, 0.5);
  out->p25 = quantile(secs, n, 0.25);
  out->p75 = quantile(secs, n, 0.75);
}

/* `n` launches are repeated with the same buffers when they are a graph. */
static bool is_cold(const rotation *r, rt_replay replay, uint64_t n) {
  const bool graph = replay == RT_GRAPH;
  const uint64_t sets = graph && n < r->n_sets ? n : r->n_sets;
  return sets * r->b->set_nbytes > 2 * (uint64_t)r->b->d->info.l2_nbytes;
}

/* ---- one candidate ------------------------------------------------------------------------- */

typedef struct series {
  double secs[RT_BATCHES];
  size_t n;
  double fastest, total; /* seconds: per launch, of all batches */
  uint64_t launches, per_batch;
} series;

static void add(series *s, double sec, uint64_t launches) {
  s->fastest = s->n == 0 || sec < s->fastest ? sec : s->fastest;
  s->secs[s->n++] = sec;
  s->total += sec * (double)launches;
  s->launches += launches;
  s->per_batch = launches;
}

/* The value that Student's t of n batches exceeds once in a thousand; it falls beyond the table. */
static double student(size_t n) {
  static const double t[] = {318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144,
                             4.025, 3.930, 3.852, 3.787, 3.733, 3.686, 3.646, 3.610, 3.579};
  const size_t last = sizeof t / sizeof *t - 1;
  return t[n - 2 < last ? n - 2 : last];
}

/* The mean, and half the width of its confidence interval; of at least two batches. */
static void estimate(const series *s, double *mean, double *half) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < s->n; i++) {
    sum += s->secs[i];
  }
  *mean = sum / (double)s->n;
  for (size_t i = 0; i < s->n; i++) {
    squares += (s->secs[i] - *mean) * (s->secs[i] - *mean);
  }
  *half =
      student(s->n) * fmax(sqrt(squares / (double)(s->n - 1)), AGREE * *mean) / sqrt((double)s->n);
}

static bool too_slow(const series *s, double limit) {
  double mean, half;
  if (limit <= 0 || s->n < 2 || s->fastest <= limit) {
    return false;
  }
  estimate(s, &mean, &half);
  return mean - half > (1 + DRIFT) * limit;
}

static bool precise(const series *s) {
  double mean, half;
  if (s->n < BATCHES_LEAST) {
    return false;
  }
  estimate(s, &mean, &half);
  return half < PRECISE * mean;
}

static double look_most(double limit) {
  return limit > 0 ? 2 * limit + look_overhead_sec : INFINITY;
}

/* Is the time spent, over enough batches? A long launch is repeated fewer times. */
static bool is_full(const series *s, double target_sec) {
  double longest_wait = 3 * target_sec;
  return s->n == RT_BATCHES || s->launches >= LAUNCHES_MOST ||
         (s->total >= target_sec && (s->n >= BATCHES_LEAST || s->total >= longest_wait));
}

static bool has_ended(const series *s, double target_sec, double limit, rt_ended *why) {
  *why = too_slow(s, limit) ? RT_ENDED_SLOWER : precise(s) ? RT_ENDED_PRECISE : RT_ENDED_FULL;
  return *why != RT_ENDED_FULL || is_full(s, target_sec);
}

static int take_batches(burst *x, double target, series *s, rt_ended *ended, err *e) {
  while (!has_ended(s, target, x->r->how->stop_above, ended)) {
    double sec;
    TRY(batch(x, s->n == 1, 0, &sec, e)); /* watch the second: clocks have risen by then */
    add(s, sec, x->n);
  }
  return 0;
}

/* A second time only if the first was too slow. */
static int look_twice(rotation *r, const rt_contender *who, double most, double *sec, err *e) {
  burst one = {.r = r, .who = who, .n = 1};
  double again;
  TRY(first_look(r, who, sec, e));
  if (harness_looks_again(*sec, most)) {
    TRY(batch(&one, false, 0, &again, e));
    *sec = fmin(*sec, again);
  }
  return 0;
}

static int measure(rotation *r, const rt_contender *who, series *s, rt_ended *ended, err *e) {
  const rt_timing *how = r->how;
  double target = how->target_sec > 0 ? how->target_sec : default_target_sec, first;
  burst x;
  TRY(look_twice(r, who, look_most(how->stop_above), &first, e));
  if (first > look_most(how->stop_above)) {
    add(s, first, 1);
    *ended = RT_ENDED_LOOK;
    return 0;
  }
  int rc = burst_start(&x, r, who, launches_for(batch_length(target, BATCHES_WANTED), first), e);
  if (!rc && x.n == 1) {
    add(s, first, 1); /* a batch of one launch */
  }
  rc = rc ? rc : take_batches(&x, target, s, ended, e);
  burst_end(&x);
  return rc;
}

/* ---- preparing ----------------------------------------------------------------------------- */

static const double LEAST_SEC = 1e-9, PREPARE_SEC = 0.05;
enum { PREPARATIONS = 5 }; /* at most, the first of which warms up */

static int prepare_once(rotation *r, const rt_contender *who, uint64_t n_copies, double *sec,
                        err *e) {
  return who->prepare(who->self, NULL, next_args(r), n_copies, sec, e);
}

/* The median of a few; none is repeated that takes long. */
static int prepare(rotation *r, const rt_contender *who, double *sec, err *e) {
  double secs[PREPARATIONS], total = 0;
  const size_t most = r->b->separate ? 1 : PREPARATIONS;
  size_t n = 0;
  *sec = 0;
  if (!who->prepare) {
    return 0;
  }
  do {
    const bool is_last = n + 1 == most || (n && total > PREPARE_SEC);
    TRY(prepare_once(r, who, is_last ? r->n_sets : 1, &secs[n], e));
    total += secs[n++];
    if (is_last) {
      break;
    }
  } while (true);
  const size_t warm = n > 1;
  qsort(secs + warm, n - warm, sizeof *secs, ascending);
  *sec = quantile(secs + warm, n - warm, 0.5);
  return 0;
}

/* Of a preparation, in the time of one launch. */
static double share_of(const rt_timing *how, double prepare_sec) {
  return how->uses > 0 ? prepare_sec / how->uses : 0;
}

static void add_share(double *secs, size_t n, double share) {
  for (size_t i = 0; i < n; i++) {
    secs[i] += share;
  }
}

/* The emulator's times are modelled and the same for every launch: one is enough. */
static int model(rotation *r, const rt_contender *who, series *s, err *e) {
  burst one = {.r = r, .who = who, .n = 1};
  double sec;
  TRY(batch(&one, false, 0, &sec, e));
  add(s, sec, 1);
  return 0;
}

static void hold_all(const rt_contender *c, size_t n, bool hold) {
  for (size_t i = 0; i < n; i++) {
    if (c[i].hold) {
      c[i].hold(c[i].self, hold);
    }
  }
}

static int time_series(rotation *r, const rt_contender *who, series *s, rt_times *out, err *e) {
  const rt_timing asked = *r->how;
  TRY(prepare(r, who, &out->prepare_sec, e));
  const double share = share_of(&asked, out->prepare_sec);
  rt_timing how = asked;
  how.stop_above = asked.stop_above > 0 ? fmax(asked.stop_above - share, LEAST_SEC) : 0;
  r->how = &how;
  hold_all(who, 1, !r->b->separate);
  const int rc = r->b->separate ? model(r, who, s, e) : measure(r, who, s, &out->ended, e);
  hold_all(who, 1, false);
  r->how = NULL;
  out->cold = !rc && is_cold(r, asked.replay, s->per_batch);
  add_share(s->secs, s->n, share);
  return rc;
}

int rt_harness_time_contender(rt_harness *b, rt_contender who, const rt_timing *how, rt_times *out,
                              err *e) {
  rotation r;
  series s = {.n = 0};
  *out = (rt_times){.replay = how->replay};
  int rc = rotation_start(&r, b, how, e);
  rc = rc ? rc : time_series(&r, &who, &s, out, e);
  if (!rc) {
    out->stopped = out->ended == RT_ENDED_SLOWER || out->ended == RT_ENDED_LOOK;
    out->launches = s.launches;
    summarize(s.secs, s.n, out);
  }
  rotation_end(&r);
  return rc;
}

int rt_harness_time(rt_harness *b, rt_loaded *l, const rt_timing *how, rt_times *out, err *e) {
  TRY(rt_loaded_reserve(l, e)); /* not within a timed launch */
  return rt_harness_time_contender(b, rt_loaded_contender(l), how, out, e);
}

/* ---- energy --------------------------------------------------------------------------------- */

enum { METER_PATIENCE_SEC = 2 };
static const double METER_BATCH_SEC = 0.005;

/* Reading the meter takes milliseconds and happens while a batch runs, since an idle device would
 * be counted otherwise. The launches of that batch count whole, at both ends alike. */
typedef struct reading {
  const rt_meter *meter;
  double joules, at;
  uint64_t launches;
} reading;

static void read_meter(void *self, size_t contender) {
  reading *now = self;
  (void)contender;
  now->joules = now->meter->joules(now->meter->self);
  now->at = now_sec();
}

/* Launch until the meter has moved, and at least until `until`. */
static int to_next_step(burst *x, double until, reading *now, err *e) {
  const double before = now->joules, from = now_sec();
  double unused;
  do {
    TRY(batch(x, true, 0, &unused, e));
    now->launches += x->n + (x->n > 1);
    if (now->joules < 0) {
      return err_set(e, ERR_DEVICE, "the GPU's energy meter can't be read");
    }
    if (now->at > fmax(from, until) + METER_PATIENCE_SEC) {
      return err_set(e, ERR_DEVICE, "the GPU's energy meter stands still");
    }
  } while (now->joules == before || now->at < until);
  return 0;
}

/* From one step of the meter to another: between steps it shows an earlier value. */
static int integrate(burst *x, reading *now, double sec, double *joules, err *e) {
  TRY(to_next_step(x, 0, now, e)); /* the first reading */
  TRY(to_next_step(x, 0, now, e));
  const reading first = *now;
  TRY(to_next_step(x, first.at + sec, now, e));
  TRY(to_next_step(x, 0, now, e)); /* `until` lies between two steps */
  *joules = (now->joules - first.joules) / (double)(now->launches - first.launches);
  return 0;
}

int rt_harness_energy_contender(rt_harness *b, rt_contender who, const rt_meter *meter, double sec,
                                double *joules, err *e) {
  reading now = {.meter = meter};
  const rt_timing how = {.watch = read_meter, .watcher = &now};
  rotation r;
  burst x = {0};
  double first;
  *joules = 0;
  int rc = rotation_start(&r, b, &how, e);
  rc = rc ? rc : prepare(&r, &who, &first, e);
  rc = rc ? rc : first_look(&r, &who, &first, e);
  rc = rc ? rc : burst_start(&x, &r, &who, launches_for(METER_BATCH_SEC, first), e);
  rc = rc ? rc : integrate(&x, &now, sec, joules, e);
  rotation_end(&r);
  return rc;
}

int rt_harness_energy(rt_harness *b, rt_loaded *l, const rt_meter *meter, double sec,
                      double *joules, err *e) {
  return rt_harness_energy_contender(b, rt_loaded_contender(l), meter, sec, joules, e);
}

/* ---- a race --------------------------------------------------------------------------------- */

/* A contender this many times slower than the fastest, as a default may be, runs in three rounds
 * only: all rounds would take most of the race's time, and its third digit does not matter. */
static const double far_behind = 4;

typedef struct lane {
  burst x;
  double first, *secs; /* [rounds] */
  double prepare_sec;
  size_t n; /* of these, taken */
} lane;

static int enter_lane(rotation *r, const rt_contender *who, double batch_sec, lane *out, err *e) {
  TRY(prepare(r, who, &out->prepare_sec, e));
  TRY(first_look(r, who, &out->first, e));
  return burst_start(&out->x, r, who, r->b->separate ? 1 : launches_for(batch_sec, out->first), e);
}

static double fastest_look(const lane *lanes, size_t n) {
  double least = INFINITY;
  for (size_t i = 0; i < n; i++) {
    least = fmin(least, lanes[i].first);
  }
  return least;
}

static bool is_due(const lane *l, double fastest, size_t round, size_t rounds) {
  return l->first <= far_behind * fastest || round == 0 || round == rounds / 2 ||
         round == rounds - 1;
}

static int run_race(rotation *r, const rt_contender *c, size_t n, size_t rounds, double batch_sec,
                    lane *lanes, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(enter_lane(r, &c[i], batch_sec, &lanes[i], e));
  }
  const double fastest = fastest_look(lanes, n);
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < n; i++) {
      lane *l = &lanes[i];
      if (is_due(l, fastest, round, rounds)) {
        TRY(batch(&l->x, round == rounds / 2, i, &l->secs[l->n++], e));
      }
    }
  }
  return 0;
}

static void read_lane(const rotation *r, const lane *l, rt_times *out) {
  add_share(l->secs, l->n, share_of(r->how, l->prepare_sec));
  *out = (rt_times){.launches = l->x.n * l->n,
                    .prepare_sec = l->prepare_sec,
                    .cold = is_cold(r, r->how->replay, l->x.n),
                    .ended = RT_ENDED_RACE,
                    .replay = r->how->replay};
  summarize(l->secs, l->n, out);
}

int rt_harness_race(rt_harness *b, const rt_contender *c, size_t n, size_t rounds,
                    const rt_timing *how, rt_times *times, err *e) {
  rotation r;
  double target = how->target_sec > 0 ? how->target_sec : default_target_sec;
  lane *lanes = calloc(n + 1, sizeof *lanes);
  double *secs = calloc(n * rounds + 1, sizeof *secs);
  int rc = rotation_start(&r, b, how, e);
  if (!rc && (!lanes || !secs || rounds == 0)) {
    rc = err_set(e, rounds ? ERR_NOMEM : ERR_USAGE,
                 rounds ? "out of memory" : "a race of no rounds");
  }
  for (size_t i = 0; !rc && i < n; i++) {
    lanes[i].secs = secs + i * rounds;
  }
  hold_all(c, n, true);
  rc = rc ? rc : run_race(&r, c, n, rounds, batch_length(target, (double)rounds), lanes, e);
  hold_all(c, n, false);
  for (size_t i = 0; !rc && i < n; i++) {
    read_lane(&r, &lanes[i], &times[i]);
  }
  for (size_t i = 0; lanes && i < n; i++) {
    burst_end(&lanes[i].x);
  }
  rotation_end(&r);
  free(lanes);
  free(secs);
  return rc;
}
