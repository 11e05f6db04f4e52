/* strategy_tabu.c -- tabu search: evaluate a few neighbours, move to the best of them even if it is
 * slower, and never return.
 *
 * All points asked for are tabu, which drives the walk out of local optima. A move needs LOOK
 * neighbours, or half as many if one of them is a new best. After PATIENCE moves without
 * improvement the walk restarts from a random point. (src: Glover, Tabu Search, Part I, ORSA
 * Journal on Computing 1, 1989.)
 */
#include <math.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

enum { LOOK = 8, PATIENCE = 12 };

typedef struct tabu {
  history h;
  size_t at;       /* the evaluation whose neighbours are tried; SIZE_MAX: none */
  size_t next;     /* the best of those neighbours; SIZE_MAX: none */
  size_t n_looked; /* since the last move */
  size_t n_moves;  /* since the last improvement */
  double best;     /* of this walk */
} tabu;

static int start(void *self, err *e) {
  (void)e;
  tabu *x = self;
  x->at = x->next = SIZE_MAX;
  x->best = INFINITY;
  return 0;
}

static void restart(tabu *x) {
  x->at = x->next = SIZE_MAX;
  x->n_looked = x->n_moves = 0;
  x->best = INFINITY;
}

static void move(tabu *x) {
  if (x->next != SIZE_MAX) {
    double sec = x->h.evaluations[x->next].sec;
    x->n_moves = sec < x->best ? 0 : x->n_moves + 1;
    x->best = fmin(x->best, sec);
    x->at = x->next;
  }
  x->next = SIZE_MAX;
  x->n_looked = 0;
  if (x->n_moves >= PATIENCE) {
    restart(x);
  }
}

static bool ask(void *self, size_t *point) {
  tabu *x = self;
  if (x->at != SIZE_MAX && sample_neighbour(&x->h, x->h.coordinates[x->at], point)) {
    return true;
  }
  if (x->at != SIZE_MAX && x->next != SIZE_MAX) {
    move(x); /* no neighbour is left */
    return ask(self, point);
  }
  restart(x);
  return sample_random(&x->h, point);
}

static void tell(void *self, size_t point, double sec) {
  tabu *x = self;
  size_t new = history_tell(&x->h, point, sec);
  x->n_looked++;
  if (new != SIZE_MAX && isfinite(x->h.evaluations[new].sec) &&
      (x->next == SIZE_MAX || sec < x->h.evaluations[x->next].sec)) {
    x->next = new;
  }
  if (x->next == SIZE_MAX) {
    return;
  }
  bool improves = x->h.evaluations[x->next].sec < x->best;
  if (x->at == SIZE_MAX || x->n_looked >= (improves ? LOOK / 2 : LOOK)) {
    move(x);
  }
}

const search_strategy search_tabu = {
    .name = "tabu",
    .brief = "tabu search: the best of a few neighbours, never back",
    .nbytes = sizeof(tabu),
    .start = start,
    .ask = ask,
    .tell = tell,
};
