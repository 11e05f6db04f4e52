/* strategy_anneal.c -- simulated annealing: walk to a random neighbour if it is faster, and
 * sometimes if it is not; ever less often.
 *
 * Times are compared by their ratio: a neighbour slower by the factor r is accepted with
 * probability r^(-1/T). T falls by COOL with every answer, from 0.5 (2x slower: one time in four)
 * to 0.01, and is set back when it arrives there or when the neighbours run out; the walk then goes
 * on from the best point known. (src: Kirkpatrick, Gelatt and Vecchi, Optimization by Simulated
 * Annealing, Science 220, 1983.)
 */
#include <math.h>
#include <stdlib.h>

#include "trail.h"

static const double HOT = 0.5, COLD = 0.01, COOL = 0.98;

typedef struct anneal {
  trail t;
  size_t at; /* answer; SIZE_MAX: nothing that works is known */
  double temperature;
} anneal;

static void close_(void *self) {
  anneal *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  anneal *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  x->at = SIZE_MAX;
  x->temperature = HOT;
  int rc = trail_init(&x->t, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static bool ask(void *self, size_t *point) {
  anneal *x = self;
  if (x->at != SIZE_MAX && trail_neighbour(&x->t, x->t.places[x->at], point)) {
    return true;
  }
  if (x->at != SIZE_MAX && x->at != x->t.best) {
    x->at = x->t.best;
    x->temperature = HOT;
    return ask(self, point);
  }
  return trail_fresh(&x->t, point);
}

static void tell(void *self, size_t point, double sec) {
  anneal *x = self;
  size_t new = trail_tell(&x->t, point, sec);
  if (new == SIZE_MAX || !isfinite(x->t.told[new].sec)) {
    return;
  }
  if (x->at == SIZE_MAX ||
      chance_unit(&x->t.chance) < pow(sec / x->t.told[x->at].sec, -1 / x->temperature)) {
    x->at = new;
  }
  x->temperature *= COOL;
  if (x->temperature < COLD) {
    x->temperature = HOT;
    x->at = x->t.best;
  }
}

const tune_strategy tune_anneal = {
    .name = "anneal",
    .brief = "simulated annealing",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
