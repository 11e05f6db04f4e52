/* emu_launch.c -- see emu_launch.h. */
#include "emu_launch.h"

#include <stdlib.h>
#include <string.h>

#include "emu_count.h"
#include "emu_warp.h"
#include "threads.h"

static int worker_open(emu_worker *w, emu_launch *l) {
  const emu_module *m = l->module;
  memset(w, 0, sizeof *w);
  w->launch = l;
  emu_count_start(w);
  w->counts = calloc((size_t)m->n_funcs, sizeof *w->counts);
  for (int i = 0; w->counts && i < m->n_funcs; i++) {
    w->counts[i] = calloc(EMU_COUNTS * ((size_t)m->funcs[i]->n + 1), sizeof **w->counts);
    if (!w->counts[i]) {
      return ERR_NOMEM;
    }
  }
  return w->counts ? 0 : ERR_NOMEM;
}

static void add_traffic(emu_traffic *to, const emu_traffic *from) {
  uint64_t *t = (uint64_t *)(void *)to;
  const uint64_t *f = (const uint64_t *)(const void *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *t; i++) {
    t[i] += f[i];
  }
}

/* adds all counts to the first worker's */
static void gather(emu_worker *workers, int n) {
  const emu_module *m = workers[0].launch->module;
  for (int i = 1; i < n; i++) {
    workers[0].lanes += workers[i].lanes;
    workers[0].blocks += workers[i].blocks;
    workers[0].counted += workers[i].counted;
    workers[0].chained += workers[i].chained;
    workers[0].look_backs += workers[i].look_backs;
    workers[0].waits += workers[i].waits;
    workers[0].arrivals =
        workers[i].arrivals > workers[0].arrivals ? workers[i].arrivals : workers[0].arrivals;
    workers[0].fetches += workers[i].fetches;
    workers[0].steps += workers[i].steps;
    workers[0].lengths += workers[i].lengths;
    workers[0].longest =
        workers[i].longest > workers[0].longest ? workers[i].longest : workers[0].longest;
    workers[0].failed |= workers[i].failed;
    add_traffic(&workers[0].traffic, &workers[i].traffic);
    emu_count_join(&workers[0].cache, &workers[i].cache);
    for (int f = 0; f < m->n_funcs; f++) {
      int sums = EMU_SUMS * (m->funcs[f]->n + 1), all = EMU_COUNTS * (m->funcs[f]->n + 1);
      for (int pc = 0; pc < all; pc++) {
        uint64_t *to = &workers[0].counts[f][pc], more = workers[i].counts[f][pc];
        *to = pc < sums ? *to + more : *to | more;
      }
    }
  }
}

static void run_all(emu_worker *workers, int n) {
  int started = 1;
  while (started < n &&
         !threads_start(&workers[started].thread, emu_worker_main, &workers[started])) {
    started++;
  }
  emu_worker_main(&workers[0]);
  for (int i = 1; i < started; i++) {
    pthread_join(workers[i].thread, NULL);
  }
}

/* Where blocks count their arrivals, the last one may do additional work, which no block of a
 * sample does. The first block runs once more as the last one; it writes to memory that a sample
 * leaves incomplete anyway. */
static bool run_last(emu_launch *l, emu_worker *last) {
  uint64_t sampled = l->sampled;
  if (worker_open(last, l)) {
    return false;
  }
  atomic_store(&l->next, 0);
  l->sampled = (uint64_t)l->cluster_size;
  l->last = true;
  emu_worker_main(last);
  l->last = false;
  l->sampled = sampled;
  return !last->failed && !l->found;
}

static void report(emu_launch *l, const emu_worker *w, emu_launch_done done, void *context) {
  emu_worker *last = l->sampled < l->n_blocks && w->arrivals ? calloc(1, sizeof *last) : NULL;
  bool ran = last && run_last(l, last);
  done(context, l, w, ran ? last : NULL);
  if (last) {
    emu_worker_clear(last);
  }
  free(last);
}

static int outcome_of(const emu_launch *l, const emu_worker *first, err *e) {
  if (l->found) {
    return err_at(e, ERR_LAUNCH, l->finding->place, "%s", l->finding->message);
  }
  if (emu_interrupted(l)) {
    return err_set(e, ERR_INTERRUPTED, "interrupted");
  }
  return first->failed ? err_nomem(e) : 0;
}

int emu_launch_run(emu_launch *l, int threads, emu_launch_done done, void *context, err *e) {
  int n = (uint64_t)threads > l->sampled ? (int)l->sampled : threads, rc = 0;
  emu_worker *workers = calloc((size_t)n, sizeof *workers);
  if (!workers || pthread_mutex_init(&l->lock, NULL)) {
    free(workers);
    return err_nomem(e);
  }
  for (int i = 0; i < n; i++) {
    rc = rc ? rc : worker_open(&workers[i], l);
  }
  if (rc) {
    err_set(e, rc, "out of host memory to run the kernel");
  } else {
    run_all(workers, n);
    gather(workers, n);
    rc = outcome_of(l, &workers[0], e);
    if (!rc) {
      report(l, &workers[0], done, context);
    }
  }
  for (int i = 0; i < n; i++) {
    emu_worker_clear(&workers[i]);
  }
  free(workers);
  pthread_mutex_destroy(&l->lock);
  return rc;
}
