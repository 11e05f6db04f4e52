/* strategy_tabu.c -- tabu search: look at a few neighbours, move to the best of them even if it is
 * slower, and don't come back.
 *
 * Every point that was tried is tabu, as each is measured once; that is also what drives the walk
 * out of a local optimum. A move looks at LOOK neighbours; when a step leads to a new best, to half
 * as many. A walk that has not improved for PATIENCE moves goes on from a random point. (src:
 * Glover, Tabu Search, Part I, ORSA Journal on Computing 1, 1989.)
 */
#include <math.h>
#include <stdlib.h>

#include "trail.h"

enum { LOOK = 8, PATIENCE = 12 };

typedef struct tabu {
  trail t;
  size_t at;       /* answer from which the neighbours are taken; SIZE_MAX: none */
  size_t next;     /* the best of the neighbours looked at; SIZE_MAX: none */
  size_t n_looked; /* since the last move */
  size_t n_moves;  /* since the last improvement */
  double best;     /* of this walk */
} tabu;

static void close_(void *self) {
  tabu *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  tabu *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  x->at = x->next = SIZE_MAX;
  x->best = INFINITY;
  int rc = trail_init(&x->t, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static void restart(tabu *x) {
  x->at = x->next = SIZE_MAX;
  x->n_looked = x->n_moves = 0;
  x->best = INFINITY;
}

static void move(tabu *x) {
  if (x->next != SIZE_MAX) {
    double sec = x->t.told[x->next].sec;
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
  if (x->at != SIZE_MAX && trail_neighbour(&x->t, x->t.places[x->at], point)) {
    return true;
  }
  if (x->at != SIZE_MAX && x->next != SIZE_MAX) {
    move(x); /* every neighbour was looked at */
    return ask(self, point);
  }
  restart(x);
  return trail_fresh(&x->t, point);
}

static void tell(void *self, size_t point, double sec) {
  tabu *x = self;
  size_t new = trail_tell(&x->t, point, sec);
  x->n_looked++;
  if (new != SIZE_MAX && isfinite(x->t.told[new].sec) &&
      (x->next == SIZE_MAX || sec < x->t.told[x->next].sec)) {
    x->next = new;
  }
  if (x->next == SIZE_MAX) {
    return;
  }
  bool improves = x->t.told[x->next].sec < x->best;
  if (x->at == SIZE_MAX || x->n_looked >= (improves ? LOOK / 2 : LOOK)) {
    move(x);
  }
}

const tune_strategy tune_tabu = {
    .name = "tabu",
    .brief = "tabu search: the best of a few neighbours, never back",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
