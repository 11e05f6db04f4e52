#include "prospects.h"

#include <stdlib.h>
#include <string.h>

enum { BEST = 16, MUTATIONS = 3 };

int prospects_init(prospects *c, size_t max, err *e) {
  *c = (prospects){.max = max, .n_slots = 4};
  while (c->n_slots < 2 * max) {
    c->n_slots *= 2;
  }
  c->p = calloc(max, sizeof *c->p);
  c->slots = calloc(c->n_slots, sizeof *c->slots);
  return c->p && c->slots ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

void prospects_clear(prospects *c) {
  free(c->p);
  free(c->slots);
}

static void add_point(prospects *c, const uint16_t *places, size_t point) {
  size_t i = point * 0x9e3779b97f4a7c15u >> 16 & (c->n_slots - 1);
  for (; c->slots[i]; i = (i + 1) & (c->n_slots - 1)) {
    if (c->p[c->slots[i] - 1].point == point) {
      return;
    }
  }
  prospect *new = &c->p[c->n++];
  c->slots[i] = (uint32_t)c->n;
  new->point = point;
  memcpy(new->places, places, sizeof new->places);
}

static void add(prospects *c, const trail *t, const uint16_t *places, size_t max) {
  size_t point;
  if (c->n < max && trail_open_at(t, places, &point)) {
    add_point(c, places, point);
  }
}

static void add_neighbours(prospects *c, const trail *t, const uint16_t *places, size_t max) {
  uint16_t near[GEN_MAX_PARAMS];
  memcpy(near, places, sizeof near);
  for (size_t i = 0; i < t->n_free; i++) {
    size_t p = t->free[i];
    for (size_t v = 0; v < t->space->n_values[p]; v++) {
      near[p] = (uint16_t)v;
      add(c, t, near, max);
    }
    near[p] = places[p];
  }
}

static void add_child(prospects *c, trail *t, const uint16_t *a, const uint16_t *b, size_t max) {
  uint16_t child[GEN_MAX_PARAMS];
  for (size_t i = 0; i < GEN_MAX_PARAMS; i++) {
    child[i] = chance_below(&t->chance, 2) ? a[i] : b[i];
  }
  for (size_t n = chance_below(&t->chance, MUTATIONS) + (a == b); n > 0; n--) {
    trail_step(t, child);
  }
  add(c, t, child, max);
}

static void add_random(prospects *c, trail *t) {
  uint16_t places[GEN_MAX_PARAMS];
  for (size_t attempt = 0; attempt < 2 * c->max && c->n < c->max; attempt++) {
    size_t point = chance_below(&t->chance, t->space->n);
    if (!trail_is_asked(t, point)) {
      t->space->at(t->space->self, point, places);
      add_point(c, places, point);
    }
  }
}

static void add_all(prospects *c, trail *t) {
  for (size_t point = 0; point < t->space->n; point++) {
    if (!trail_is_asked(t, point)) {
      prospect *new = &c->p[c->n++];
      new->point = point;
      t->space->at(t->space->self, point, new->places);
    }
  }
}

void prospects_collect(prospects *c, trail *t, const size_t *order, size_t n) {
  c->n = 0;
  if (t->space->n <= c->max) {
    add_all(c, t);
    return;
  }
  memset(c->slots, 0, c->n_slots * sizeof *c->slots);
  n = n < BEST ? n : BEST;
  for (size_t i = 0; i < n; i++) {
    add_neighbours(c, t, t->places[order[i]], c->max / 3);
  }
  for (size_t i = 0; i < c->max && n; i++) {
    const uint16_t *a = t->places[order[chance_below(&t->chance, n)]];
    const uint16_t *b = t->places[order[chance_below(&t->chance, n)]];
    add_child(c, t, a, b, 2 * c->max / 3);
  }
  add_random(c, t);
}

bool prospects_take(const prospects *c, trail *t, size_t *point) {
  const prospect *best = NULL;
  for (const prospect *p = c->p; p < c->p + c->n; p++) {
    if ((!best || p->score < best->score) && !trail_is_asked(t, p->point)) {
      best = p;
    }
  }
  if (!best) {
    return false;
  }
  *point = best->point;
  trail_take(t, *point);
  return true;
}
