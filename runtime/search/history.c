#define _GNU_SOURCE
#include "history.h"

#include <math.h>
#include <stdlib.h>

#include "array.h"

static const size_t MAX_BITS = (size_t)1 << 24;

/* ---- evaluations ---------------------------------------------------------------------------- */

int history_init(history *h, const search_space *space, uint64_t seed, err *e) {
  *h = (history){.space = space, .rng.state = seed, .best = SIZE_MAX};
  for (size_t i = 0; i < space->n_params; i++) {
    if (space->n_values[i] > 1) {
      h->free[h->n_free++] = i;
    }
  }
  shuffle_init(&h->order, space->n, seed);
  bool few = space->n <= MAX_BITS;
  h->n_asked_table = few ? 0 : 1024;
  h->asked = few ? calloc(space->n / 8 + 1, 1) : NULL;
  h->asked_table = few ? NULL : calloc(h->n_asked_table, sizeof *h->asked_table);
  return h->asked || h->asked_table
             ? 0
             : err_set(e, ERR_NOMEM, "out of memory for %zu points", space->n);
}

void history_clear(history *h) {
  free(h->asked);
  free(h->asked_table);
  free(h->evaluations);
  free(h->coordinates);
  free(h->slots);
}

/* The slot that holds the point, or the empty one for it. */
static size_t slot_of(const history *h, size_t point) {
  size_t i = rng_mix(point) & (h->n_slots - 1);
  while (h->slots[i] && h->evaluations[h->slots[i] - 1].point != point) {
    i = (i + 1) & (h->n_slots - 1);
  }
  return i;
}

static bool rehash(history *h, size_t n_slots) {
  uint32_t *slots = calloc(n_slots, sizeof *slots);
  if (!slots) {
    return false;
  }
  free(h->slots);
  h->slots = slots;
  h->n_slots = n_slots;
  for (size_t i = 0; i < h->n; i++) {
    slots[slot_of(h, h->evaluations[i].point)] = (uint32_t)i + 1;
  }
  return true;
}

static bool grow(history *h) {
  size_t capacity = h->capacity ? 2 * h->capacity : 256;
  if (!array_resize(&h->evaluations, capacity, sizeof *h->evaluations) ||
      !array_resize(&h->coordinates, capacity, sizeof *h->coordinates) ||
      !rehash(h, 2 * capacity)) {
    return false;
  }
  h->capacity = capacity;
  return true;
}

static bool is_told(const history *h, size_t point) {
  return h->n_slots && h->slots[slot_of(h, point)];
}

size_t history_tell(history *h, size_t point, double sec) {
  history_mark_asked(h, point);
  if (is_told(h, point) || (h->n == h->capacity && !grow(h))) {
    return SIZE_MAX;
  }
  size_t i = h->n, slot = slot_of(h, point);
  sec = isfinite(sec) && sec > 0 ? sec : INFINITY; /* models take its logarithm */
  h->evaluations[i] = (evaluation){point, sec};
  h->space->at(h->space->self, point, h->coordinates[i]);
  h->slots[slot] = (uint32_t)++h->n;
  if (isfinite(sec) && (h->best == SIZE_MAX || sec < h->evaluations[h->best].sec)) {
    h->best = i;
  }
  return i;
}

static int by_sec(const void *a, const void *b, void *self) {
  const evaluation *list = self;
  size_t i = *(const size_t *)a, j = *(const size_t *)b;
  double x = list[i].sec, y = list[j].sec;
  return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j; /* equal times: the earlier first */
}

size_t history_order(const history *h, size_t *order) {
  size_t n = 0;
  for (size_t i = 0; i < h->n; i++) {
    if (isfinite(h->evaluations[i].sec)) {
      order[n++] = i;
    }
  }
  qsort_r(order, n, sizeof *order, by_sec, h->evaluations);
  return n;
}

/* ---- points asked for ----------------------------------------------------------------------- */

/* The table entry of the point, or the empty one for it. */
static size_t *asked_at(const history *h, size_t point) {
  size_t i = rng_mix(point) & (h->n_asked_table - 1);
  while (h->asked_table[i] && h->asked_table[i] != point + 1) {
    i = (i + 1) & (h->n_asked_table - 1);
  }
  return &h->asked_table[i];
}

/* False when the table is nearly full and memory is out: one entry must stay empty. */
static bool reserve_asked(history *h) {
  size_t n = h->n_asked_table, *old = h->asked_table;
  if (2 * h->n_asked < n) {
    return true;
  }
  size_t *table = calloc(2 * n, sizeof *table);
  if (!table) {
    return h->n_asked + 1 < n;
  }
  h->asked_table = table;
  h->n_asked_table = 2 * n;
  for (size_t i = 0; i < n; i++) {
    if (old[i]) {
      *asked_at(h, old[i] - 1) = old[i];
    }
  }
  free(old);
  return true;
}

bool history_is_asked(const history *h, size_t point) {
  return h->asked ? h->asked[point / 8] >> point % 8 & 1 : *asked_at(h, point) != 0;
}

void history_mark_asked(history *h, size_t point) {
  if (h->asked) {
    h->asked[point / 8] |= (uint8_t)(1u << point % 8);
  } else if (reserve_asked(h)) { /* else the point may be asked for again */
    size_t *slot = asked_at(h, point);
    h->n_asked += !*slot;
    *slot = point + 1;
  }
}
