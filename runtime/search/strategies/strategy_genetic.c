/* strategy_genetic.c -- a genetic algorithm: generations of POPULATION, tournaments of two, uniform
 * crossover, one mutation per child on average; the best of parents and children survive.
 *
 * (src: Goldberg, Genetic Algorithms in Search, Optimization and Machine Learning, 1989; survival
 * by (mu + lambda) selection.)
 */
#include <math.h>
#include <string.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

enum { POPULATION = 20 };

typedef struct genetic {
  history h;
  size_t parents[POPULATION], n_parents; /* evaluations, fastest first */
  size_t pool[2 * POPULATION], n_pool;   /* parents, and children with results */
  size_t n_children;
} genetic;

static const uint16_t *parent(genetic *x) {
  size_t a = rng_below(&x->h.rng, x->n_parents), b = rng_below(&x->h.rng, x->n_parents);
  return x->h.coordinates[x->parents[a < b ? a : b]];
}

static bool ask(void *self, size_t *point) {
  genetic *x = self;
  uint16_t child[GEN_MAX_PARAMS];
  if (!x->n_parents) {
    return sample_random(&x->h, point);
  }
  const uint16_t *a = parent(x), *b = parent(x);
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    child[i] = rng_below(&x->h.rng, 2) ? a[i] : b[i];
  }
  for (size_t i = 0; i < x->h.n_free; i++) {
    if (!rng_below(&x->h.rng, x->h.n_free)) {
      sample_mutate(&x->h, child);
    }
  }
  return sample_nearest(&x->h, child, point);
}

/* Keep the pool sorted. */
static void insert(genetic *x, size_t new) {
  size_t i = x->n_pool < 2 * POPULATION ? x->n_pool++ : 2 * POPULATION - 1;
  for (; i > 0 && x->h.evaluations[x->pool[i - 1]].sec > x->h.evaluations[new].sec; i--) {
    x->pool[i] = x->pool[i - 1];
  }
  x->pool[i] = new;
}

static void next_generation(genetic *x) {
  x->n_children = 0;
  x->n_pool = x->n_pool < POPULATION ? x->n_pool : POPULATION;
  x->n_parents = x->n_pool;
  memcpy(x->parents, x->pool, sizeof x->parents);
}

static void tell(void *self, size_t point, double sec) {
  genetic *x = self;
  size_t new = history_tell(&x->h, point, sec);
  if (new != SIZE_MAX && isfinite(x->h.evaluations[new].sec)) {
    insert(x, new);
  }
  if (++x->n_children >= POPULATION) {
    next_generation(x);
  }
}

const search_strategy search_genetic = {
    .name = "genetic",
    .brief = "genetic algorithm in generations",
    .nbytes = sizeof(genetic),
    .ask = ask,
    .tell = tell,
};
