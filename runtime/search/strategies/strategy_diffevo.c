/* strategy_diffevo.c -- differential evolution: a member moves by the difference of two others.
 *
 * The variant rand-to-best/1/bin with the authors' usual factors. (src: Storn and Price,
 * Differential Evolution, Journal of Global Optimization 11, 1997.)
 */
#include "population.h"
#include "strategy.h"

static const double F = 0.8, CROSSOVER = 0.7;

static int start(void *self, err *e) {
  (void)e;
  population_init(self);
  return 0;
}

/* The first member from a random one on that has a result; the one whose turn it is has. */
static const uint16_t *any(population *x) {
  size_t i = rng_below(&x->h.rng, POPULATION);
  while (x->best[i] == SIZE_MAX) {
    i = (i + 1) % POPULATION;
  }
  return population_best(x, i);
}

static void mutant(population *x, double *wanted) {
  const uint16_t *self = population_best(x, x->turn), *best = x->h.coordinates[x->h.best];
  const uint16_t *a = any(x), *b = any(x);
  size_t sure = x->h.n_free ? x->h.free[rng_below(&x->h.rng, x->h.n_free)] : 0;
  for (size_t i = 0; i < x->h.space->n_params; i++) {
    bool change = i == sure || rng_unit(&x->h.rng) < CROSSOVER;
    wanted[i] = change ? self[i] + F * (best[i] - self[i]) + F * (a[i] - b[i]) : self[i];
  }
}

static bool ask(void *self, size_t *point) {
  population *x = self;
  double wanted[GEN_MAX_PARAMS] = {0};
  if (x->best[x->turn] != SIZE_MAX) {
    mutant(x, wanted);
  }
  return population_ask(x, wanted, point);
}

static void tell(void *self, size_t point, double sec) {
  population_tell(self, point, sec);
}

const search_strategy search_diffevo = {
    .name = "diffevo",
    .brief = "differential evolution",
    .nbytes = sizeof(population),
    .start = start,
    .ask = ask,
    .tell = tell,
};
