/* strategy_swarm.c -- particle swarm: each member has a velocity and is drawn to its own best point
 * and to the best of all.
 *
 * The constants are those of the constriction factor. (src: Kennedy and Eberhart, Particle Swarm
 * Optimization, ICNN 1995; Clerc and Kennedy, IEEE Transactions on Evolutionary Computation 6,
 * 2002.)
 */
#include "population.h"
#include "strategy.h"

static const double INERTIA = 0.7298, PULL = 1.4962;

typedef struct swarm {
  population p;
  double at[POPULATION][GEN_MAX_PARAMS], velocity[POPULATION][GEN_MAX_PARAMS];
} swarm;

static int start(void *self, err *e) {
  (void)e;
  swarm *x = self;
  population_init(&x->p);
  return 0;
}

static void fly(swarm *x, size_t member) {
  const uint16_t *own = population_best(&x->p, member), *best = x->p.h.coordinates[x->p.h.best];
  double *at = x->at[member], *v = x->velocity[member];
  for (size_t i = 0; i < x->p.h.space->n_params; i++) {
    double u = rng_unit(&x->p.h.rng), w = rng_unit(&x->p.h.rng);
    v[i] = INERTIA * v[i] + PULL * u * (own[i] - at[i]) + PULL * w * (best[i] - at[i]);
    at[i] += v[i];
  }
}

/* A member moves to the valid point that is evaluated, not to the one that it wanted. */
static bool ask(void *self, size_t *point) {
  swarm *x = self;
  size_t member = x->p.turn;
  uint16_t coordinates[GEN_MAX_PARAMS];
  if (x->p.best[member] != SIZE_MAX) {
    fly(x, member);
  }
  if (!population_ask(&x->p, x->at[member], point)) {
    return false;
  }
  x->p.h.space->at(x->p.h.space->self, *point, coordinates);
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    x->at[member][i] = coordinates[i];
  }
  return true;
}

static void tell(void *self, size_t point, double sec) {
  swarm *x = self;
  population_tell(&x->p, point, sec);
}

const search_strategy search_swarm = {
    .name = "swarm",
    .brief = "particle swarm",
    .nbytes = sizeof(swarm),
    .start = start,
    .ask = ask,
    .tell = tell,
};
