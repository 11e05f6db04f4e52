#include "online_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "online_store.h"
#include "run.h"
#include "serve_kernel.h"

/* The problem settles after this many variants in a row that were no better; later if it began with
 * the template's default. */
enum { STALE_MOST = 30, STALE_DEFAULT = 60 };

/* Waiting for a variant, for a caller's launch, for the thread that settles it; settled. */
enum { WAITING, READY, SETTLING, SETTLED };

static tuned_kernel *kernel_now(const online_trial *o) {
  return o->best.kernel ? o->best.kernel : o->k;
}

/* ---- on the callers' launches --------------------------------------------------------------- */

static void accept(online_trial *o) {
  tuned_kernel_info *info = &o->now.kernel->info;
  info->expected_sec = o->served_sec;
  info->measured = !o->k->owner->device->info.modelled;
  online_variant_clear(&o->best);
  o->best = o->now;
  o->now = (online_variant){0};
  atomic_store_explicit(&o->k->better, o->best.kernel, memory_order_release);
}

/* Under the monitor's lock. */
static void next_ready(online_trial *o) {
  if (atomic_load(&o->state) == WAITING && o->n_ready) {
    o->now = o->ready[0];
    memmove(&o->ready[0], &o->ready[1], --o->n_ready * sizeof *o->ready);
    online_comparison_begin(&o->comparison);
    atomic_store(&o->state, READY);
  }
}

/* Likewise. */
static void retire(online_trial *o) {
  if (o->now.kernel) {
    o->retired[o->n_retired++] = o->now.kernel;
  }
  online_variant_clear(&o->now);
}

/* Times of a comparison that was cut off are of use, too. */
static void report_times(online_trial *o, online_verdict v) {
  const double tried = online_comparison_sec(&o->comparison, true);
  const double served = online_comparison_sec(&o->comparison, false);
  if (v != ONLINE_GIVE_UP) {
    online_chooser_tell(&o->chooser, o->now.place, tried);
  }
  if (o->comparison.n_pairs > 0) {
    online_chooser_tell(&o->chooser, o->best.place, served);
  }
  if (online_comparison_is_timed(&o->comparison)) {
    o->served_sec = v == ONLINE_ACCEPT ? tried : served;
  }
}

/* The comparison is over: pass on what it found, and begin with the next variant. */
static void hand_over(online_trial *o, online_verdict v) {
  report_times(o, v);
  if (v == ONLINE_ACCEPT) {
    accept(o);
  }
  if (v == ONLINE_GIVE_UP) {
    online_scratch_release(&o->comparison.scratch);
  }
  pthread_mutex_lock(&o->monitor->lock);
  o->n_done++;
  o->stale = v == ONLINE_ACCEPT ? 0 : o->stale + 1;
  o->n_better += v == ONLINE_ACCEPT;
  if (v == ONLINE_REJECT) {
    retire(o);
  }
  atomic_store(&o->state, v == ONLINE_GIVE_UP ? SETTLED : WAITING);
  next_ready(o);
  pthread_cond_broadcast(&o->monitor->wake);
  pthread_mutex_unlock(&o->monitor->lock);
}

static bool is_within_budget(const online_trial *o) {
  const double share = o->fraction;
  return share > 0 && o->spent + o->last_cost <= share * (now_sec() - o->since);
}

static void try_variant(online_trial *o, online_launch *l) {
  const double from = now_sec();
  const online_verdict v = online_comparison_run(&o->comparison, kernel_now(o), o->now.kernel, l);
  o->last_cost = now_sec() - from;
  o->spent += o->last_cost;
  if (v != ONLINE_GO_ON) {
    hand_over(o, v);
  }
}

/* src  serve_detour.launch */
static bool launch(serve_detour *d, tuned_stream stream, const void *const *args, int *rc, err *e) {
  online_trial *o = (online_trial *)d;
  online_launch l = {.stream = stream, .args = args, .e = e};
  if (atomic_load(&o->state) != READY || atomic_flag_test_and_set(&o->busy)) {
    return false;
  }
  if (atomic_load(&o->state) == READY && is_within_budget(o)) {
    try_variant(o, &l);
  }
  atomic_flag_clear(&o->busy);
  *rc = l.rc;
  return l.launched;
}

/* ---- on the threads: the next variant ------------------------------------------------------- */

static bool wants_more(const online_trial *o) {
  const bool by_default = o->k->info.origin == TUNED_DEFAULT;
  const size_t stale_most = by_default ? STALE_DEFAULT : STALE_MOST;
  return online_chooser_has_more(&o->chooser, ONLINE_VARIANTS_MOST) && o->stale < stale_most;
}

static bool wants_variant(const online_trial *o) {
  return atomic_load(&o->state) < SETTLING && wants_more(o) &&
         o->n_ready + o->n_building < ONLINE_AHEAD_MOST;
}

static void add_variant(online_trial *o, rt_compiler *compiler) {
  online_variant v = {0};
  o->n_building++;
  pthread_mutex_unlock(&o->monitor->lock);
  const int rc = online_variant_make(&o->chooser, o->g, compiler, &v);
  pthread_mutex_lock(&o->monitor->lock);
  o->n_building--;
  if (!rc) {
    o->ready[o->n_ready++] = v;
    next_ready(o);
    return;
  }
  if (rc != ERR_NOTFOUND) {
    online_chooser_tell(&o->chooser, v.place, INFINITY);
    o->n_done++;
    o->stale++;
  }
  online_variant_clear(&v);
}

/* The struct remains, since workspaces are kept under its address. */
static void unload_retired(online_trial *o) {
  serve *s = o->k->owner;
  tuned_kernel *k = o->retired[--o->n_retired];
  pthread_mutex_unlock(&o->monitor->lock);
  serve_turn_take(s);
  serve_kernel_unload(k);
  serve_turn_end(s);
  pthread_mutex_lock(&o->monitor->lock);
}

/* ---- on the threads: the end ---------------------------------------------------------------- */

/* After all variants that are ready were tried. */
static bool wants_to_settle(const online_trial *o) {
  return atomic_load(&o->state) == WAITING && !o->n_building && !o->n_ready && !wants_more(o);
}

static void settle(online_trial *o, int nvrtc) {
  serve *s = o->k->owner;
  atomic_store(&o->state, SETTLING);
  pthread_mutex_unlock(&o->monitor->lock);
  if (o->served_sec > 0) {
    online_store(kernel_now(o), &o->best, o->served_sec, ONLINE_PAIRS, nvrtc);
  }
  online_chooser_close(&o->chooser);
  serve_turn_take(s);
  online_scratch_release(&o->comparison.scratch);
  serve_turn_end(s);
  online_variant_clear(&o->best); /* its kernel stays */
  atomic_store_explicit(&o->k->detour, NULL, memory_order_release);
  atomic_store(&o->state, SETTLED);
  pthread_mutex_lock(&o->monitor->lock);
}

bool online_trial_work(online_trial *o, rt_compiler *compiler) {
  if (o->n_retired) {
    unload_retired(o);
  } else if (wants_to_settle(o)) {
    settle(o, rt_compiler_version(compiler));
  } else if (wants_variant(o)) {
    add_variant(o, compiler);
  } else {
    return false;
  }
  return true;
}

/* ---- its life ------------------------------------------------------------------------------- */

static bool fill(online_trial *o) {
  tuned_kernel *k = o->k;
  serve *s = k->owner;
  gen_problem p;
  gen_template *t = (gen_template *)k->t;
  if (gen_problem_parse(t, k->info.problem, &p, NULL) ||
      rt_instance_new(t, &p, &s->device->info, &o->g, NULL) ||
      online_comparison_init(&o->comparison, k, o->g, &o->memory, NULL)) {
    return false;
  }
  online_chooser_init(&o->chooser, s, k, &p, o->g);
  return true;
}

online_trial *online_trial_new(online_monitor *m, tuned_kernel *k, double fraction) {
  online_trial *o = calloc(1, sizeof *o);
  if (!o) {
    return NULL;
  }
  *o = (online_trial){.detour.launch = launch, .monitor = m, .k = k, .since = now_sec()};
  atomic_init(&o->state, WAITING);
  o->fraction = fraction;
  if (!fill(o)) {
    gen_instance_free(o->g);
    arena_clear(&o->memory);
    free(o);
    return NULL;
  }
  return o;
}

void online_trial_start(online_trial *o) {
  atomic_store_explicit(&o->k->detour, &o->detour, memory_order_release);
}

void online_trial_free(online_trial *o) {
  online_comparison_clear(&o->comparison);
  online_chooser_clear(&o->chooser);
  gen_instance_free(o->g);
  online_variant_clear(&o->now);
  online_variant_clear(&o->best);
  for (size_t i = 0; i < o->n_ready; i++) {
    online_variant_clear(&o->ready[i]);
  }
  arena_clear(&o->memory);
  free(o);
}
