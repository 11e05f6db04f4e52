#include "sampling.h"

#include <string.h>

static bool sample_stratum(history *h, size_t *point) {
  enum { ATTEMPTS = 16 };
  const search_space *s = h->space;
  if (s->n_strata < 2) {
    return false;
  }
  const size_t *stratum = &s->stratum[rng_below(&h->rng, s->n_strata)];
  for (int i = 0; i < ATTEMPTS; i++) {
    *point = stratum[0] + rng_below(&h->rng, stratum[1] - stratum[0]);
    if (!history_is_asked(h, *point)) {
      history_mark_asked(h, *point);
      return true;
    }
  }
  return false;
}

bool sample_random(history *h, size_t *point) {
  if (sample_stratum(h, point)) {
    return true;
  }
  while (shuffle_next(&h->order, point)) {
    if (!history_is_asked(h, *point)) {
      history_mark_asked(h, *point);
      return true;
    }
  }
  return false;
}

bool sample_find(const history *h, const uint16_t *coordinates, size_t *point) {
  return h->space->find(h->space->self, coordinates, point) && !history_is_asked(h, *point);
}

void sample_mutate(history *h, uint16_t *coordinates) {
  if (h->n_free) {
    size_t p = h->free[rng_below(&h->rng, h->n_free)];
    size_t other = rng_below(&h->rng, h->space->n_values[p] - 1u);
    coordinates[p] = (uint16_t)(other + (other >= coordinates[p]));
  }
}

bool sample_nearest(history *h, const uint16_t *coordinates, size_t *point) {
  enum { ATTEMPTS = 40 }; /* for each number of changes */
  uint16_t near[GEN_MAX_PARAMS];
  if (sample_find(h, coordinates, point)) {
    history_mark_asked(h, *point);
    return true;
  }
  for (size_t i = 0; i < ATTEMPTS * h->n_free; i++) {
    memcpy(near, coordinates, sizeof near);
    for (size_t changes = 0; changes <= i / ATTEMPTS; changes++) {
      sample_mutate(h, near);
    }
    if (sample_find(h, near, point)) {
      history_mark_asked(h, *point);
      return true;
    }
  }
  return sample_random(h, point);
}

/* The k-th neighbour found replaces the one chosen so far with probability 1/k, so that all are
 * equally likely in the end (src: Vitter, Random Sampling with a Reservoir, 1985). */
bool sample_neighbour(history *h, const uint16_t *coordinates, size_t *point) {
  uint16_t near[GEN_MAX_PARAMS];
  size_t n = 0, candidate;
  memcpy(near, coordinates, sizeof near);
  for (size_t i = 0; i < h->n_free; i++) {
    size_t p = h->free[i];
    for (size_t v = 0; v < h->space->n_values[p]; v++) {
      near[p] = (uint16_t)v;
      if (sample_find(h, near, &candidate) && !rng_below(&h->rng, ++n)) {
        *point = candidate;
      }
    }
    near[p] = coordinates[p];
  }
  if (n) {
    history_mark_asked(h, *point);
  }
  return n > 0;
}
