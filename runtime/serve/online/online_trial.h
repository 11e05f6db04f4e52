/* online_trial.h -- one kernel that is being tuned: variants are made on the tuning threads and
 * tried on the callers' launches.
 *
 * `state` says which side owns the variants that are compared, and changing it hands them over.
 * Everything else that both sides use is under the monitor's lock, which the trials of a context
 * share and which is taken inside the context's lock. */
#ifndef ONLINE_TRIAL_H
#define ONLINE_TRIAL_H

#include "online_comparison.h"
#include "online_variant.h"

/* Variants of a problem at most; variants made ahead of their trials; threads that make them. */
enum { ONLINE_VARIANTS_MOST = 240, ONLINE_AHEAD_MOST = 8, ONLINE_THREADS_MOST = 8 };

typedef struct online_monitor { /* of a context's trials */
  pthread_mutex_t lock;
  pthread_cond_t wake; /* the threads: there may be work */
} online_monitor;

typedef struct online_trial {
  serve_detour detour; /* first: the kernel points at it */
  struct online_trial *next;
  online_monitor *monitor;
  tuned_kernel *k; /* as it was found */
  gen_instance *g; /* of its problem; used under the context's lock */
  atomic_int state;
  atomic_flag busy;        /* a caller is trying */
  _Atomic double fraction; /* of the time, for trials */
  online_chooser chooser;

  /* under the monitor's lock */
  online_variant ready[ONLINE_AHEAD_MOST];
  size_t n_ready, n_building;
  /* rejected, not launched any more, to be unloaded */
  tuned_kernel *retired[ONLINE_VARIANTS_MOST + ONLINE_THREADS_MOST];
  size_t n_retired;
  size_t n_done; /* variants that were tried, or could not be built */
  size_t n_better, stale;

  /* of the side that `state` says */
  online_variant now, best; /* best.kernel NULL: the kernel that was found */
  double served_sec;        /* of the best, by the last complete comparison; 0: none yet */

  /* of the caller that set `busy` */
  online_comparison comparison;
  double since, spent, last_cost;
  arena memory;
} online_trial;

/* online_trial_new -- of a kernel that is served; under the context's lock. NULL: out of memory */
online_trial *online_trial_new(online_monitor *m, tuned_kernel *k, double fraction);
/* online_trial_start -- from now on launches of the kernel try variants; the threads know it */
void online_trial_start(online_trial *o);
void online_trial_free(online_trial *o);

/* online_trial_work -- do one thing that is due, under the monitor's lock, which is released
 * meanwhile; false: nothing is due */
bool online_trial_work(online_trial *o, rt_compiler *compiler);

#endif
