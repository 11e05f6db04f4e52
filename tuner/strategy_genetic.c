/* strategy_genetic.c -- a genetic algorithm: generations of POPULATION, tournaments of two, uniform
 * crossover, one mutation in a child on average; the best of parents and children live on.
 *
 * (src: Goldberg, Genetic Algorithms in Search, Optimization and Machine Learning, 1989; survival
 * by (mu + lambda) selection.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trail.h"

enum { POPULATION = 20 };

typedef struct genetic {
  trail t;
  size_t parents[POPULATION], n_parents; /* answers, fastest first */
  size_t pool[2 * POPULATION], n_pool;   /* parents and the children answered so far */
  size_t n_children;
} genetic;

static void close_(void *self) {
  genetic *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  genetic *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = trail_init(&x->t, space, seed, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static const uint16_t *parent(genetic *x) {
  size_t a = chance_below(&x->t.chance, x->n_parents), b = chance_below(&x->t.chance, x->n_parents);
  return x->t.places[x->parents[a < b ? a : b]];
}

static bool ask(void *self, size_t *point) {
  genetic *x = self;
  uint16_t child[GEN_MAX_PARAMS];
  if (!x->n_parents) {
    return trail_fresh(&x->t, point);
  }
  const uint16_t *a = parent(x), *b = parent(x);
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    child[i] = chance_below(&x->t.chance, 2) ? a[i] : b[i];
  }
  for (size_t i = 0; i < x->t.n_free; i++) {
    if (!chance_below(&x->t.chance, x->t.n_free)) {
      trail_step(&x->t, child);
    }
  }
  return trail_near(&x->t, child, point);
}

/* Into the pool, which stays sorted. */
static void insert(genetic *x, size_t new) {
  size_t i = x->n_pool < 2 * POPULATION ? x->n_pool++ : 2 * POPULATION - 1;
  for (; i > 0 && x->t.told[x->pool[i - 1]].sec > x->t.told[new].sec; i--) {
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
  size_t new = trail_tell(&x->t, point, sec);
  if (new != SIZE_MAX && isfinite(x->t.told[new].sec)) {
    insert(x, new);
  }
  if (++x->n_children >= POPULATION) {
    next_generation(x);
  }
}

const tune_strategy tune_genetic = {
    .name = "genetic",
    .brief = "genetic algorithm in generations",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
