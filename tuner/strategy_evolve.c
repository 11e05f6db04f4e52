/* strategy_evolve.c -- random points first, then children of the best found so far.
 *
 * A child takes each parameter from one of two parents and changes a few of them; only valid points
 * that nobody asked for are proposed, so constraints cost a look-up and no measurement. One
 * proposal in EXPLORE stays random, which keeps the search alive where the best few are a local
 * optimum. In the manner of a steady-state genetic algorithm with a truncated population (src:
 * Goldberg and Deb, A Comparative Analysis of Selection Schemes Used in Genetic Algorithms, 1991).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trail.h"

enum { ELITE = 24, FIRST = 64, EXPLORE = 8, ATTEMPTS = 300 };

typedef struct evolve {
  trail t;
  uint64_t n_asked;
  size_t elite[ELITE]; /* answers, fastest first */
  size_t n_elite;
} evolve;

static void close_(void *self) {
  evolve *x = self;
  trail_clear(&x->t);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  evolve *x = *self = calloc(1, sizeof *x);
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

/* The better half is chosen three times out of four. */
static const uint16_t *parent(evolve *x) {
  size_t half = (x->n_elite + 1) / 2;
  chance *c = &x->t.chance;
  return x->t.places[x->elite[chance_below(c, chance_below(c, 4) ? half : x->n_elite)]];
}

static bool child(evolve *x, size_t *point) {
  chance *c = &x->t.chance;
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    const uint16_t *a = parent(x), *b = parent(x);
    uint16_t places[GEN_MAX_PARAMS];
    bool cross = chance_below(c, 2);
    for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
      places[i] = cross && chance_below(c, 2) ? b[i] : a[i];
    }
    for (size_t changes = 1 + chance_below(c, 3); changes > 0; changes--) {
      trail_step(&x->t, places);
    }
    if (trail_open_at(&x->t, places, point)) {
      trail_take(&x->t, *point);
      return true;
    }
  }
  return false;
}

static bool ask(void *self, size_t *point) {
  evolve *x = self;
  bool breed = x->t.n_told >= FIRST && x->n_elite && x->n_asked % EXPLORE;
  x->n_asked++;
  return (breed && child(x, point)) || trail_fresh(&x->t, point);
}

static void tell(void *self, size_t point, double sec) {
  evolve *x = self;
  const told *a = x->t.told;
  size_t new = trail_tell(&x->t, point, sec);
  if (new == SIZE_MAX || !isfinite(x->t.told[new].sec)) {
    return;
  }
  a = x->t.told;
  if (x->n_elite == ELITE && sec >= a[x->elite[ELITE - 1]].sec) {
    return;
  }
  size_t i = x->n_elite < ELITE ? x->n_elite++ : ELITE - 1;
  for (; i > 0 && a[x->elite[i - 1]].sec > sec; i--) {
    x->elite[i] = x->elite[i - 1];
  }
  x->elite[i] = new;
}

const tune_strategy tune_evolve = {
    .name = "evolve",
    .brief = "random points, then children of the best",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
