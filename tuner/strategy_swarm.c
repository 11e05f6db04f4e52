/* strategy_swarm.c -- particle swarm: members fly on, drawn to their own best point and to
 * everybody's.
 *
 * A coordinate is the place of a value in its parameter's list; the constants are those of the
 * constriction factor. (src: Kennedy and Eberhart, Particle Swarm Optimization, ICNN 1995; Clerc
 * and Kennedy, IEEE Transactions on Evolutionary Computation 6, 2002.)
 */
#include <stdlib.h>

#include "flock.h"

static const double INERTIA = 0.7298, PULL = 1.4962;

typedef struct swarm {
  flock f;
  double at[FLOCK][GEN_MAX_PARAMS], velocity[FLOCK][GEN_MAX_PARAMS];
} swarm;

static void close_(void *self) {
  swarm *x = self;
  trail_clear(&x->f.t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  swarm *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = flock_init(&x->f, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static void fly(swarm *x, size_t member) {
  const uint16_t *own = flock_places(&x->f, member), *best = x->f.t.places[x->f.t.best];
  double *at = x->at[member], *v = x->velocity[member];
  for (size_t i = 0; i < x->f.t.space->n_params; i++) {
    double u = chance_unit(&x->f.t.chance), w = chance_unit(&x->f.t.chance);
    v[i] = INERTIA * v[i] + PULL * u * (own[i] - at[i]) + PULL * w * (best[i] - at[i]);
    at[i] += v[i];
  }
}

/* A particle is where it was really measured, not where it wanted to be. */
static bool ask(void *self, size_t *point) {
  swarm *x = self;
  size_t member = x->f.turn;
  uint16_t places[GEN_MAX_PARAMS];
  if (x->f.answer[member] != SIZE_MAX) {
    fly(x, member);
  }
  if (!flock_send(&x->f, x->at[member], point)) {
    return false;
  }
  x->f.t.space->at(x->f.t.space->self, *point, places);
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    x->at[member][i] = places[i];
  }
  return true;
}

static void tell(void *self, size_t point, double sec) {
  swarm *x = self;
  flock_tell(&x->f, point, sec);
}

const tune_strategy tune_swarm = {
    .name = "swarm",
    .brief = "particle swarm",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
