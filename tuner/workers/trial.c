#define _GNU_SOURCE
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data_features.h"
#include "db_trust.h"
#include "emulated.h"
#include "file.h"
#include "open_device.h"

/* ---- opening -------------------------------------------------------------------------------- */

/* Fails when the device lacks what the session needs; NVML alone may be missing. */
int trial_open(trial_state *s, const char *name, err *note, err *e) {
  TRY(rt_device_open(name, &s->device, e));
  const bool modelled = s->device->info.modelled;
  if (s->how.replay == RT_GRAPH && modelled) {
    return err_set(e, ERR_USAGE, "%s has no graphs: --timing graph needs a GPU",
                   s->device->info.name);
  }
  if (!modelled) {
    rt_nvml_open(s->device->info.uuid, &s->nvml, note);
  }
  if (s->how.energy_sec > 0 && (!s->nvml || rt_nvml_joules(s->nvml) < 0)) {
    return err_set(e, ERR_USAGE,
                   "%s does not report energy%s%s: use --objective time, or another without joules",
                   s->device->info.name, note->code ? "; " : "", note->message);
  }
  return 0;
}

void trial_forget(trial_state *s) {
  rt_harness_free(s->buffers);
  rt_captured_close(&s->data);
  gen_instance_free(s->instance);
  s->buffers = NULL;
  s->instance = NULL;
}

/* The text has guesses of features that it leaves open. */
int trial_features(trial_state *s, const char *text, gen_problem *p, err *e) {
  TRY(gen_problem_parse(s->t, text, p, e));
  for (size_t i = 0; i < s->t->n_fields; i++) {
    p->open |= s->t->fields[i].feature ? UINT64_C(1) << i : 0;
  }
  return rt_features_find(s->device, s->compiler, s->t, p, e);
}

int trial_problem(trial_state *s, const char *text, const char *data, err *e) {
  gen_problem p;
  trial_forget(s);
  TRY(gen_problem_parse(s->t, text, &p, e));
  s->uses = gen_uses(s->t, &p);
  TRY(rt_instance_new(s->t, &p, &s->device->info, &s->instance, e));
  if (!s->checker) {
    TRY(rt_checker_new(s->device, s->compiler, &s->checker, e));
  }
  if (*data) {
    TRY(rt_captured_open(data, s->t, s->instance, text, db_trusts_all(), &s->data, e));
  }
  return rt_harness_new_on(s->device, s->compiler, s->checker, s->t, s->instance,
                           *data ? &s->data : NULL, &s->buffers, e);
}

static int load(trial_state *s, const measure_image *image, arena *a, const gen_plan **plan,
                rt_candidate *out, err *e) {
  const str bytes = {.p = (char *)image->bytes, .n = image->n};
  TRY(gen_plan_make(s->instance, &image->config, a, plan, e));
  return rt_candidate_load(out, s->device, &bytes, s->t, s->instance, &image->config, *plan, e);
}

static db_status status_of(int code) {
  switch (code) {
  case 0: return DB_OK;
  case ERR_TEMPLATE:
  case ERR_USAGE: return DB_INVALID;
  case ERR_WRONG: return DB_WRONG;
  default: return DB_LAUNCH;
  }
}

/* A candidate far slower than the best is checked on one case only, a finalist on all. */
static int check(trial_state *s, rt_candidate *l, double flops, double stop_above, double *error,
                 err *e) {
  rt_check found = {0};
  if (emulated_too_large(s->device, flops)) {
    *error = NAN; /* stored as unknown */
    return 0;
  }
  int rc = rt_harness_check_contender_quick(s->buffers, rt_candidate_contender(l),
                                            s->device->info.modelled ? 0 : stop_above, &found, e);
  *error = found.error;
  return rc;
}

/* ---- repeated while clocks are held back ---------------------------------------------------- */

enum { RETAKES = 3 };
static const double COOL_SEC = 0.3; /* before the first repeat; twice before the second, ... */

static void look(void *self, size_t contender) {
  trial_state *s = self;
  if (s->nvml) {
    rt_nvml_read(s->nvml, &s->health[contender]);
  }
}

/* Judged by clocks read while the kernel ran: those of an idle device mean nothing. */
static bool is_spoiled(trial_state *s, size_t n) {
  uint64_t reasons = 0;
  for (size_t i = 0; i < n; i++) {
    reasons |= s->health[i].throttle;
  }
  return reasons & RT_THROTTLE_SEVERE;
}

static void cool_down(uint32_t attempt) {
  const double sec = COOL_SEC * attempt;
  nanosleep(&(struct timespec){(time_t)sec, (long)(1e9 * (sec - (double)(time_t)sec))}, NULL);
}

static int time_on_gpu(trial_state *s, rt_candidate *l, const rt_timing *how, measured *out) {
  int rc;
  do {
    s->health[0] = (rt_health){0};
    rc = rt_harness_time_contender(s->buffers, rt_candidate_contender(l), how, &out->times,
                                   &out->why);
    if (s->nvml && s->health[0].clock_mhz > 0) {
      s->health[0].throttle |= rt_nvml_throttle(s->nvml);
    }
    if (rc || !is_spoiled(s, 1) || out->retaken == RETAKES) {
      break;
    }
    cool_down(++out->retaken);
  } while (true);
  out->health = s->health[0];
  return rc;
}

static int time_it(trial_state *s, rt_candidate *l, double flops, double stop_above,
                   measured *out) {
  const rt_timing how = {.stop_above = stop_above,
                         .uses = s->uses,
                         .replay = s->how.replay,
                         .watch = look,
                         .watcher = s};
  if (!s->device->info.modelled) {
    return time_on_gpu(s, l, &how, out);
  }
  emulated_model_begin(s->device, flops);
  int rc = rt_harness_time_contender(s->buffers, rt_candidate_contender(l), &how, &out->times,
                                     &out->why);
  emulated_model_end(s->device);
  return rc;
}

static double joules(void *self) {
  return rt_nvml_joules(self);
}

static int measure_energy(trial_state *s, rt_candidate *l, double sec, measured *out) {
  const rt_meter meter = {joules, s->nvml};
  return rt_harness_energy_contender(s->buffers, rt_candidate_contender(l), &meter, sec,
                                     &out->energy_j, &out->why);
}

static double lap(double *at) {
  double before = *at;
  *at = now_sec();
  return *at - before;
}

void trial_one(trial_state *s, const measure_image *image, double stop_above, double energy_above,
               measured *out) {
  auto_arena a = {0};
  rt_candidate l = {0};
  const gen_plan *plan;
  double at = now_sec();
  int rc = load(s, image, &a, &plan, &l, &out->why);
  out->load_sec = lap(&at);
  rc = rc ? rc : check(s, &l, plan->flops, stop_above, &out->error, &out->why);
  out->check_sec = lap(&at);
  rc = rc ? rc : time_it(s, &l, plan->flops, stop_above, out);
  if (!rc && s->how.energy_sec > 0 && out->times.median <= energy_above) {
    rc = measure_energy(s, &l, s->how.energy_sec, out);
  }
  out->time_sec = lap(&at);
  out->status = status_of(rc);
  out->dead = s->device->dead;
  rt_candidate_clear(&l);
  out->load_sec += lap(&at); /* unloading */
}

/* ---- finals --------------------------------------------------------------------------------- */

typedef struct final { /* the candidates that load and are correct */
  rt_candidate *loaded;
  rt_contender *contenders;
  rt_times *times;
  size_t *which, n;
} final;

static bool final_room(final *f, size_t n, arena *a) {
  f->loaded = ARENA_ARRAY(a, rt_candidate, n + 1);
  f->contenders = ARENA_ARRAY(a, rt_contender, n + 1);
  f->times = ARENA_ARRAY(a, rt_times, n + 1);
  f->which = ARENA_ARRAY(a, size_t, n + 1);
  return f->loaded && f->contenders && f->times && f->which;
}

/* Load it again and check it on all cases: it takes part if both succeed. */
static void enter(trial_state *s, final *f, const measure_image *image, size_t i, measured *out,
                  arena *a) {
  const gen_plan *plan;
  rt_check found;
  int rc = load(s, image, a, &plan, &f->loaded[i], &out->why);
  rt_contender who = {0};
  if (!rc) {
    who = rt_candidate_contender(&f->loaded[i]);
  }
  rc = rc ? rc : rt_harness_check_contender(s->buffers, who, &found, &out->why);
  out->status = status_of(rc);
  if (!rc) {
    out->error = found.error;
    f->which[f->n] = i;
    f->contenders[f->n++] = who;
  }
}

static int run_final(trial_state *s, final *f, size_t rounds, uint32_t *retaken, err *e) {
  const rt_timing how = {.uses = s->uses, .replay = s->how.replay, .watch = look, .watcher = s};
  int rc;
  do {
    memset(s->health, 0, sizeof s->health);
    rc = rt_harness_race(s->buffers, f->contenders, f->n, rounds, &how, f->times, e);
    if (rc || !is_spoiled(s, f->n) || *retaken == RETAKES) {
      return rc;
    }
    cool_down(++*retaken);
  } while (true);
}

/* ---- on several draws of the data ------------------------------------------------------------ */

/* The time of a sort or a histogram depends on the data: one lucky draw is no measurement. Judged is
 * the time that nine draws of ten do not exceed. Where draws agree as well as rounds do, the
 * first race, which has more of them, stands. The draws take as long as that race, but there are at least DRAWS_LEAST. */
enum { DRAWS = 16, DRAWS_LEAST = 5, DRAW_ROUNDS = 3 };
static const double DRAWS_AGREE = 0.05;

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the times of n draws, and replaces the first race's if they differ. */
static void judge(double *secs, size_t n, rt_times *times) {
  qsort(secs, n, sizeof *secs, ascending);
  const double high = secs[(9 * n + 9) / 10 - 1], low = secs[n / 10];
  if (high > (1 + fmax(DRAWS_AGREE, 2 * rt_times_spread(times))) * low) {
    times->median = high;
    times->p25 = secs[n / 4];
    times->p75 = fmax(high, secs[3 * n / 4]);
  }
}

/* The kinds in turn. */
static rt_kind kind_of(unsigned kinds, size_t draw) {
  int kind = RT_KIND_OWN;
  for (size_t left = kinds ? draw % (size_t)__builtin_popcount(kinds) + 1 : 0; left; left--) {
    kind = __builtin_ctz(kinds);
    kinds &= kinds - 1;
  }
  return (rt_kind)kind;
}

static int time_draw(trial_state *s, const final *f, rt_times *times, err *e) {
  const rt_timing how = {.uses = s->uses, .replay = s->how.replay};
  return rt_harness_race(s->buffers, f->contenders, f->n, DRAW_ROUNDS, &how, times, e);
}

/* Those that were asked for, else the template's for this problem. */
static int kinds_of(const trial_state *s, unsigned *kinds, err *e) {
  const char *names = "";
  *kinds = s->how.kinds;
  TRY(*kinds ? 0 : gen_kinds(s->instance, &names, e));
  return *kinds ? 0 : rt_kinds_parse(names, kinds, e);
}

static int judge_draws(trial_state *s, final *f, double race_sec, arena *a, err *e) {
  const size_t most = s->how.draws ? s->how.draws : s->device->info.modelled ? 1 : DRAWS;
  const double until = now_sec() + race_sec;
  double *secs = ARENA_ARRAY(a, double, f->n *most + 1); /* of a contender after another */
  rt_times *times = ARENA_ARRAY(a, rt_times, f->n + 1);
  size_t n = 0;
  unsigned kinds = 0;
  int rc = secs && times ? kinds_of(s, &kinds, e) : err_nomem(e);
  for (; !rc && n < most; n++) {
    if (n && (!rt_harness_redraw(s->buffers, n, kind_of(kinds, n)) ||
              (!s->how.draws && n >= DRAWS_LEAST && now_sec() > until))) {
      break;
    }
    rc = n ? time_draw(s, f, times, e) : 0;
    for (size_t i = 0; i < f->n; i++) {
      secs[i * most + n] = n ? times[i].median : f->times[i].median;
    }
  }
  for (size_t i = 0; !rc && n > 1 && i < f->n; i++) {
    judge(secs + i * most, n, &f->times[i]);
  }
  rt_harness_redraw(s->buffers, 0, RT_KIND_OWN);
  return rc;
}

enum { ENERGY_FINAL = 3 }; /* times the duration of a first energy measurement */

void trial_race(trial_state *s, const measure_image *images, size_t n, size_t rounds, measured *out,
                arena *a) {
  final f = {0};
  err why = {0};
  uint32_t retaken = 0;
  if (!final_room(&f, n, a)) {
    for (size_t i = 0; i < n; i++) {
      out[i].status = DB_LAUNCH;
      err_set(&out[i].why, ERR_NOMEM, "out of memory for the finals");
    }
    return;
  }
  for (size_t i = 0; i < n; i++) {
    enter(s, &f, &images[i], i, &out[i], a);
  }
  const double from = now_sec();
  int rc = run_final(s, &f, rounds, &retaken, &why);
  rc = rc || !f.n ? rc : judge_draws(s, &f, now_sec() - from, a, &why);
  for (size_t i = 0; i < f.n; i++) {
    measured *m = &out[f.which[i]];
    m->times = f.times[i];
    m->health = s->health[i];
    m->retaken = retaken;
    m->why = why;
    if (!rc && s->how.energy_sec > 0) {
      rc = measure_energy(s, &f.loaded[f.which[i]], ENERGY_FINAL * s->how.energy_sec, m);
    }
    m->status = status_of(rc);
  }
  for (size_t i = 0; i < n; i++) {
    out[i].dead = s->device->dead;
    rt_candidate_clear(&f.loaded[i]);
  }
}
