/* strategy_diffevo.c -- differential evolution: a member moves by the difference of two others.
 *
 * rand-to-best/1/bin with the authors' usual factors; a coordinate is the place of a value in its
 * parameter's list. (src: Storn and Price, Differential Evolution, Journal of Global Optimization
 * 11, 1997.)
 */
#include <stdlib.h>

#include "flock.h"

static const double F = 0.8, CROSSOVER = 0.7;

static void close_(void *self) {
  flock *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  flock *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = flock_init(x, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

/* A random member that has an answer; the one whose turn it is has. */
static const uint16_t *any(flock *x) {
  size_t i = chance_below(&x->t.chance, FLOCK);
  while (x->answer[i] == SIZE_MAX) {
    i = (i + 1) % FLOCK;
  }
  return flock_places(x, i);
}

static void mutant(flock *x, double *wanted) {
  const uint16_t *self = flock_places(x, x->turn), *best = x->t.places[x->t.best];
  const uint16_t *a = any(x), *b = any(x);
  size_t sure = x->t.n_free ? x->t.free[chance_below(&x->t.chance, x->t.n_free)] : 0;
  for (size_t i = 0; i < x->t.space->n_params; i++) {
    bool change = i == sure || chance_unit(&x->t.chance) < CROSSOVER;
    wanted[i] = change ? self[i] + F * (best[i] - self[i]) + F * (a[i] - b[i]) : self[i];
  }
}

static bool ask(void *self, size_t *point) {
  flock *x = self;
  double wanted[GEN_MAX_PARAMS] = {0};
  if (x->answer[x->turn] != SIZE_MAX) {
    mutant(x, wanted);
  }
  return flock_send(x, wanted, point);
}

static void tell(void *self, size_t point, double sec) {
  flock_tell(self, point, sec);
}

const tune_strategy tune_diffevo = {
    .name = "diffevo",
    .brief = "differential evolution",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
