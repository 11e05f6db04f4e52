#define _GNU_SOURCE
#include "replay.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "threads.h"

enum { MAX_AHEAD = 256 };

typedef struct task { /* what the threads share */
  const recorded *r;
  const search_strategy *s;
  const replay_options *o;
  double (*fraction)[REPLAY_EVALUATIONS]; /* of each run */
  double *sec;                            /* of each run: the strategy's */
  atomic_int rc;
} task;

typedef struct queue { /* candidates whose result is pending, oldest first */
  size_t point[MAX_AHEAD];
  size_t first, n;
} queue;

static double cpu_sec(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(const task *t, void *self, queue *q) {
  size_t point;
  while (q->n < (size_t)t->o->ahead && t->s->ask(self, &point)) {
    q->point[(q->first + q->n++) % MAX_AHEAD] = point;
  }
}

static void walk(const task *t, void *self, double *fraction) {
  queue q = {0};
  double best = INFINITY;
  for (size_t i = 0; i < REPLAY_EVALUATIONS; i++) {
    fill(t, self, &q);
    if (q.n) {
      size_t point = q.point[q.first];
      q.first = (q.first + 1) % MAX_AHEAD;
      q.n--;
      best = fmin(best, t->r->sec[point]);
      if (t->s->tell) {
        t->s->tell(self, point, t->r->sec[point]);
      }
    }
    fraction[i] = isfinite(best) ? t->r->best / best : 0;
  }
}

static void run(task *t, int64_t i) {
  void *self = NULL;
  double from = cpu_sec();
  int rc = search_strategy_open(t->s, &t->r->view, (uint64_t)(t->o->seed + i), &self, NULL);
  if (rc) {
    atomic_store(&t->rc, rc);
    return;
  }
  walk(t, self, t->fraction[i]);
  search_strategy_close(t->s, self);
  t->sec[i] = cpu_sec() - from;
}

static void walk_one(void *self, size_t i) {
  task *t = self;
  if (t->o->stop && *t->o->stop) {
    atomic_store(&t->rc, ERR_INTERRUPTED);
  } else if (!atomic_load(&t->rc)) {
    run(t, (int64_t)i);
  }
}

static void average(const task *t, replay_curve *out) {
  size_t n = t->r->view.n < REPLAY_EVALUATIONS ? t->r->view.n : REPLAY_EVALUATIONS;
  *out = (replay_curve){0};
  for (int64_t i = 0; i < t->o->runs; i++) {
    for (size_t k = 0; k < REPLAY_EVALUATIONS; k++) {
      out->fraction[k] += t->fraction[i][k] / (double)t->o->runs;
    }
    out->ask_sec += t->sec[i] / (double)t->o->runs / (double)n;
  }
}

int replay(const recorded *r, const search_strategy *s, const replay_options *o, replay_curve *out,
           err *e) {
  task t = {.r = r, .s = s, .o = o};
  t.fraction = calloc((size_t)o->runs, sizeof *t.fraction);
  t.sec = calloc((size_t)o->runs, sizeof *t.sec);
  if (t.fraction && t.sec) {
    threads_each((size_t)o->runs, (size_t)o->jobs, walk_one, &t);
    average(&t, out);
  } else {
    t.rc = ERR_NOMEM;
  }
  free(t.fraction);
  free(t.sec);
  int rc = atomic_load(&t.rc);
  return rc ? err_set(e, rc, rc == ERR_INTERRUPTED ? "interrupted" : "out of memory") : 0;
}
