/* strategy_evolve.c -- random points first, then children of the best found so far.
 *
 * A child takes each parameter from one of two parents, then changes a few. Children that are not
 * valid or were asked for before are dropped unmeasured. One point in EXPLORE stays random, to
 * escape from local optima. A steady-state genetic algorithm with a truncated population (src:
 * Goldberg and Deb, A Comparative Analysis of Selection Schemes Used in Genetic Algorithms, 1991).
 */
#include <math.h>

#include "history.h"
#include "sampling.h"
#include "strategy.h"

enum { ELITE = 24, FIRST = 64, EXPLORE = 8, ATTEMPTS = 300 };

typedef struct evolve {
  history h;
  uint64_t n_asked;
  size_t elite[ELITE]; /* evaluations, fastest first */
  size_t n_elite;
} evolve;

/* The better half is chosen three times out of four. */
static const uint16_t *parent(evolve *x) {
  size_t half = (x->n_elite + 1) / 2;
  rng *r = &x->h.rng;
  return x->h.coordinates[x->elite[rng_below(r, rng_below(r, 4) ? half : x->n_elite)]];
}

static bool child(evolve *x, size_t *point) {
  rng *r = &x->h.rng;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    const uint16_t *a = parent(x), *b = parent(x);
    uint16_t coordinates[GEN_MAX_PARAMS];
    bool cross = rng_below(r, 2);
    for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
      coordinates[i] = cross && rng_below(r, 2) ? b[i] : a[i];
    }
    for (size_t changes = 1 + rng_below(r, 3); changes > 0; changes--) {
      sample_mutate(&x->h, coordinates);
    }
    if (sample_find(&x->h, coordinates, point)) {
      history_mark_asked(&x->h, *point);
      return true;
    }
  }
  return false;
}

static bool ask(void *self, size_t *point) {
  evolve *x = self;
  bool breed = x->h.n >= FIRST && x->n_elite && x->n_asked % EXPLORE;
  x->n_asked++;
  return (breed && child(x, point)) || sample_random(&x->h, point);
}

static void tell(void *self, size_t point, double sec) {
  evolve *x = self;
  const evaluation *a = x->h.evaluations;
  size_t new = history_tell(&x->h, point, sec);
  if (new == SIZE_MAX || !isfinite(x->h.evaluations[new].sec)) {
    return;
  }
  a = x->h.evaluations;
  if (x->n_elite == ELITE && sec >= a[x->elite[ELITE - 1]].sec) {
    return;
  }
  size_t i = x->n_elite < ELITE ? x->n_elite++ : ELITE - 1;
  for (; i > 0 && a[x->elite[i - 1]].sec > sec; i--) {
    x->elite[i] = x->elite[i - 1];
  }
  x->elite[i] = new;
}

const search_strategy search_evolve = {
    .name = "evolve",
    .brief = "random points, then children of the best",
    .nbytes = sizeof(evolve),
    .ask = ask,
    .tell = tell,
};
