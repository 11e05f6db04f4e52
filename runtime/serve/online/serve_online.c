#define _GNU_SOURCE
#include "cached_compiler.h"
#include "serve_online.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "online_trial.h"
#include "serve_kernel.h"
#include "threads.h"

enum { NICENESS = 10 };

typedef struct worker {
  struct serve_online *on;
  pthread_t thread;
  rt_compiler *compiler;
} worker;

typedef struct serve_online {
  serve_hook hook;
  serve *s;
  double fraction; /* of the time, for trials */
  worker workers[ONLINE_THREADS_MOST];
  size_t n_workers;
  online_monitor monitor;
  bool stop;
  online_trial *first; /* newest first; only added to, under the context's lock and the monitor's */
} serve_online;

/* ---- the threads ---------------------------------------------------------------------------- */

/* False: nothing is due. */
static bool work(worker *w) {
  for (online_trial *o = w->on->first; o; o = o->next) {
    if (online_trial_work(o, w->compiler)) {
      return true;
    }
  }
  return false;
}

static void *thread_main(void *arg) {
  worker *w = arg;
  serve_online *on = w->on;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
  pthread_mutex_lock(&on->monitor.lock);
  while (!on->stop) {
    if (!work(w)) {
      pthread_cond_wait(&on->monitor.wake, &on->monitor.lock);
    }
  }
  pthread_mutex_unlock(&on->monitor.lock);
  return NULL;
}

/* ---- the hook ------------------------------------------------------------------------------- */

/* If memory is out the kernel is not tuned. */
static void attach(serve_hook *h, tuned_kernel *k) {
  serve_online *on = (serve_online *)h;
  const bool agree = !k->t->n_checks && !k->t->counts_wrong && !k->t->partial &&
                     !k->t->has_prepare; /* right results may differ; plans keep their kernel */
  if (on->fraction <= 0 || k->is_empty || !agree || serve_keeps_kernel(k->info.problem) ||
      k->info.origin == TUNED_EXACT || k->info.origin == TUNED_ONLINE || atomic_load(&k->detour) ||
      atomic_load(&k->better)) {
    return;
  }
  online_trial *o = online_trial_new(&on->monitor, k, on->fraction);
  if (o) {
    pthread_mutex_lock(&on->monitor.lock);
    o->next = on->first;
    on->first = o;
    pthread_cond_broadcast(&on->monitor.wake);
    pthread_mutex_unlock(&on->monitor.lock);
    online_trial_start(o);
  }
}

static void stop(serve_online *on) {
  pthread_mutex_lock(&on->monitor.lock);
  on->stop = true;
  pthread_cond_broadcast(&on->monitor.wake);
  pthread_mutex_unlock(&on->monitor.lock);
  for (size_t i = 0; i < on->n_workers; i++) {
    pthread_join(on->workers[i].thread, NULL);
  }
}

static void discard(serve_online *on) {
  for (size_t i = 0; i < ONLINE_THREADS_MOST; i++) {
    rt_compiler_close(on->workers[i].compiler);
  }
  pthread_cond_destroy(&on->monitor.wake);
  pthread_mutex_destroy(&on->monitor.lock);
  free(on);
}

static void close_online(serve_hook *h) {
  serve_online *on = (serve_online *)h;
  stop(on);
  for (online_trial *o = on->first, *next; o; o = next) {
    next = o->next;
    online_trial_free(o);
  }
  discard(on);
}

/* NULL: online tuning was never switched on. */
static serve_online *online_of(const serve *s) {
  serve_hook *h = s->hooks;
  while (h && h->close != close_online) {
    h = h->next;
  }
  return (serve_online *)h;
}

/* ---- switching it on ------------------------------------------------------------------------ */

/* Half of the processors, at low priority. */
static size_t threads_wanted(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN) / 2;
  return n < 1 ? 1 : n > ONLINE_THREADS_MOST ? ONLINE_THREADS_MOST : (size_t)n;
}

static int start_worker(serve_online *on, err *e) {
  worker *w = &on->workers[on->n_workers];
  w->on = on;
  TRY(cached_compiler_open(&w->compiler, e));
  if (threads_start(&w->thread, thread_main, w)) {
    return err_set(e, ERR_LIMIT, "no thread could be started for tuning");
  }
  on->n_workers++;
  return 0;
}

/* At least one thread must start. */
static int start(serve *s, err *e) {
  serve_online *on = calloc(1, sizeof *on);
  if (!on) {
    return err_nomem(e);
  }
  on->hook = (serve_hook){.found = attach, .replaced = attach, .close = close_online};
  on->s = s;
  pthread_mutex_init(&on->monitor.lock, NULL);
  pthread_cond_init(&on->monitor.wake, NULL);
  const int rc = start_worker(on, e);
  if (rc) {
    discard(on);
    return rc;
  }
  while (on->n_workers < threads_wanted() && !start_worker(on, NULL)) {
  }
  serve_hook_add(s, &on->hook);
  return 0;
}

static void set_fraction(serve_online *on, double fraction) {
  on->fraction = fraction;
  for (online_trial *o = on->first; o; o = o->next) {
    o->fraction = fraction;
  }
  for (tuned_kernel *k = on->s->newest; k; k = k->next) {
    attach(&on->hook, k);
  }
}

int serve_online_set(serve *s, double fraction, err *e) {
  pthread_mutex_lock(&s->lock);
  const bool begins = fraction > 0 && !online_of(s);
  const int rc = begins ? start(s, e) : 0;
  serve_online *on = online_of(s);
  if (on) {
    set_fraction(on, fraction);
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

bool serve_online_tell(serve *s, const tuned_kernel *k, serve_online_tally *out) {
  serve_online *on = online_of(s);
  online_trial *o = on ? on->first : NULL;
  while (o && o->k != k) {
    o = o->next;
  }
  if (o) {
    pthread_mutex_lock(&on->monitor.lock);
    *out = (serve_online_tally){
        .tried = o->n_done, .better = o->n_better, .stale = o->stale, .spent_sec = o->spent};
    pthread_mutex_unlock(&on->monitor.lock);
  }
  return o;
}
