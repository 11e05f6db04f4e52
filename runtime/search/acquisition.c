#include "acquisition.h"

#include <stdlib.h>
#include <string.h>

#include "sampling.h"

enum { BEST = 16, MUTATIONS = 3 };

int acquisition_init(acquisition *a, size_t max, err *e) {
  *a = (acquisition){.max = max, .n_slots = 4};
  while (a->n_slots < 2 * max) {
    a->n_slots *= 2;
  }
  a->candidates = calloc(max, sizeof *a->candidates);
  a->slots = calloc(a->n_slots, sizeof *a->slots);
  return a->candidates && a->slots ? 0 : err_nomem(e);
}

void acquisition_clear(acquisition *a) {
  free(a->candidates);
  free(a->slots);
}

static void add_point(acquisition *a, const uint16_t *coordinates, size_t point) {
  size_t i = point * 0x9e3779b97f4a7c15u >> 16 & (a->n_slots - 1);
  for (; a->slots[i]; i = (i + 1) & (a->n_slots - 1)) {
    if (a->candidates[a->slots[i] - 1].point == point) {
      return;
    }
  }
  acquisition_candidate *new = &a->candidates[a->n++];
  a->slots[i] = (uint32_t)a->n;
  new->point = point;
  memcpy(new->coordinates, coordinates, sizeof new->coordinates);
}

static void add(acquisition *a, const history *h, const uint16_t *coordinates, size_t max) {
  size_t point;
  if (a->n < max && sample_find(h, coordinates, &point)) {
    add_point(a, coordinates, point);
  }
}

static void add_neighbours(acquisition *a, const history *h, const uint16_t *coordinates,
                           size_t max) {
  uint16_t near[GEN_MAX_PARAMS];
  memcpy(near, coordinates, sizeof near);
  for (size_t i = 0; i < h->n_free; i++) {
    size_t p = h->free[i];
    for (size_t v = 0; v < h->space->n_values[p]; v++) {
      near[p] = (uint16_t)v;
      add(a, h, near, max);
    }
    near[p] = coordinates[p];
  }
}

static void add_child(acquisition *a, history *h, const uint16_t *mother, const uint16_t *father,
                      size_t max) {
  uint16_t child[GEN_MAX_PARAMS];
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    child[i] = rng_below(&h->rng, 2) ? mother[i] : father[i];
  }
  for (size_t n = rng_below(&h->rng, MUTATIONS) + (mother == father); n > 0; n--) {
    sample_mutate(h, child);
  }
  add(a, h, child, max);
}

static void add_random(acquisition *a, history *h) {
  uint16_t coordinates[GEN_MAX_PARAMS];
  for (size_t attempt = 0; attempt < 2 * a->max && a->n < a->max; attempt++) {
    size_t point = rng_below(&h->rng, h->space->n);
    if (!history_is_asked(h, point)) {
      h->space->at(h->space->self, point, coordinates);
      add_point(a, coordinates, point);
    }
  }
}

static void add_all(acquisition *a, history *h) {
  for (size_t point = 0; point < h->space->n; point++) {
    if (!history_is_asked(h, point)) {
      acquisition_candidate *new = &a->candidates[a->n++];
      new->point = point;
      h->space->at(h->space->self, point, new->coordinates);
    }
  }
}

void acquisition_collect(acquisition *a, history *h, const size_t *order, size_t n) {
  a->n = 0;
  if (h->space->n <= a->max) {
    add_all(a, h);
    return;
  }
  memset(a->slots, 0, a->n_slots * sizeof *a->slots);
  n = n < BEST ? n : BEST;
  for (size_t i = 0; i < n; i++) {
    add_neighbours(a, h, h->coordinates[order[i]], a->max / 3);
  }
  for (size_t i = 0; i < a->max && n; i++) {
    const uint16_t *mother = h->coordinates[order[rng_below(&h->rng, n)]];
    const uint16_t *father = h->coordinates[order[rng_below(&h->rng, n)]];
    add_child(a, h, mother, father, 2 * a->max / 3);
  }
  add_random(a, h);
}

bool acquisition_take(const acquisition *a, history *h, size_t *point) {
  const acquisition_candidate *best = NULL;
  for (const acquisition_candidate *c = a->candidates; c < a->candidates + a->n; c++) {
    if ((!best || c->score < best->score) && !history_is_asked(h, c->point)) {
      best = c;
    }
  }
  if (!best) {
    return false;
  }
  *point = best->point;
  history_mark_asked(h, *point);
  return true;
}
