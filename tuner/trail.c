#define _GNU_SOURCE
#include "trail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_BITS = (size_t)1 << 24;

/* ---- random numbers ---------------- */

/* The finaliser of SplitMix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t chance_next(chance *c) {
  uint64_t x = mix(c->state);
  c->state += 0x9e3779b97f4a7c15u;
  return x;
}

size_t chance_below(chance *c, size_t n) {
  return chance_next(c) % n;
}

double chance_unit(chance *c) {
  return (double)(chance_next(c) >> 11) * 0x1p-53;
}

void shuffle_init(shuffle *s, uint64_t n, uint64_t seed) {
  *s = (shuffle){.n = n, .seed = seed, .half = 1};
  while ((1ull << 2 * s->half) < n) {
    s->half++;
  }
}

static uint64_t permute(const shuffle *s, uint64_t x) {
  enum { ROUNDS = 6 };
  uint64_t mask = (1ull << s->half) - 1;
  uint64_t left = x >> s->half, right = x & mask;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    uint64_t f = mix(mix(s->seed + round) ^ right) & mask;
    uint64_t swap = left ^ f;
    left = right;
    right = swap;
  }
  return left << s->half | right;
}

bool shuffle_next(shuffle *s, size_t *point) {
  if (s->next == s->n) {
    return false;
  }
  uint64_t x = s->next++;
  do {
    x = permute(s, x);
  } while (x >= s->n);
  *point = x;
  return true;
}

/* ---- answers ---------------- */

int trail_init(trail *t, const tune_space *space, uint64_t seed, err *e) {
  *t = (trail){.space = space, .chance.state = seed, .best = SIZE_MAX};
  for (size_t i = 0; i < space->n_params; i++) {
    if (space->n_values[i] > 1) {
      t->free[t->n_free++] = i;
    }
  }
  shuffle_init(&t->fresh, space->n, seed);
  bool few = space->n <= MAX_BITS;
  t->n_asked_table = few ? 0 : 1024;
  t->asked = few ? calloc(space->n / 8 + 1, 1) : NULL;
  t->asked_table = few ? NULL : calloc(t->n_asked_table, sizeof *t->asked_table);
  return t->asked || t->asked_table
             ? 0
             : err_set(e, ERR_NOMEM, "out of memory for %zu points", space->n);
}

void trail_clear(trail *t) {
  free(t->asked);
  free(t->asked_table);
  free(t->told);
  free(t->places);
  free(t->slots);
}

/* The slot that holds the point, or the empty one where it would go. */
static size_t slot_of(const trail *t, size_t point) {
  size_t i = mix(point) & (t->n_slots - 1);
  while (t->slots[i] && t->told[t->slots[i] - 1].point != point) {
    i = (i + 1) & (t->n_slots - 1);
  }
  return i;
}

static bool rehash(trail *t, size_t n_slots) {
  uint32_t *slots = calloc(n_slots, sizeof *slots);
  if (!slots) {
    return false;
  }
  free(t->slots);
  t->slots = slots;
  t->n_slots = n_slots;
  for (size_t i = 0; i < t->n_told; i++) {
    slots[slot_of(t, t->told[i].point)] = (uint32_t)i + 1;
  }
  return true;
}

static bool grow(trail *t) {
  size_t capacity = t->capacity ? 2 * t->capacity : 256;
  told *a = realloc(t->told, capacity * sizeof *a);
  t->told = a ? a : t->told;
  uint16_t(*p)[GEN_MAX_PARAMS] = realloc(t->places, capacity * sizeof *p);
  t->places = p ? p : t->places;
  if (!a || !p || !rehash(t, 2 * capacity)) {
    return false;
  }
  t->capacity = capacity;
  return true;
}

size_t trail_tell(trail *t, size_t point, double sec) {
  trail_take(t, point);
  if (trail_find(t, point) || (t->n_told == t->capacity && !grow(t))) {
    return SIZE_MAX;
  }
  size_t i = t->n_told, slot = slot_of(t, point);
  sec = isfinite(sec) && sec > 0 ? sec : INFINITY; /* models take its logarithm */
  t->told[i] = (told){point, sec};
  t->space->at(t->space->self, point, t->places[i]);
  t->slots[slot] = (uint32_t)++t->n_told;
  if (isfinite(sec) && (t->best == SIZE_MAX || sec < t->told[t->best].sec)) {
    t->best = i;
  }
  return i;
}

const told *trail_find(const trail *t, size_t point) {
  uint32_t i = t->n_slots ? t->slots[slot_of(t, point)] : 0;
  return i ? &t->told[i - 1] : NULL;
}

static int by_sec(const void *a, const void *b, void *self) {
  const told *answers = self;
  size_t i = *(const size_t *)a, j = *(const size_t *)b;
  double x = answers[i].sec, y = answers[j].sec;
  return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j; /* equal times: the earlier first */
}

size_t trail_order(const trail *t, size_t *order) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_told; i++) {
    if (isfinite(t->told[i].sec)) {
      order[n++] = i;
    }
  }
  qsort_r(order, n, sizeof *order, by_sec, t->told);
  return n;
}

/* ---- points ---------------- */

/* Where the point stands in the table, or would. */
static size_t *asked_at(const trail *t, size_t point) {
  size_t i = mix(point) & (t->n_asked_table - 1);
  while (t->asked_table[i] && t->asked_table[i] != point + 1) {
    i = (i + 1) & (t->n_asked_table - 1);
  }
  return &t->asked_table[i];
}

/* False when memory is out; the table never fills up. */
static bool asked_room(trail *t) {
  size_t n = t->n_asked_table, *old = t->asked_table;
  if (2 * t->n_asked < n) {
    return true;
  }
  size_t *table = calloc(2 * n, sizeof *table);
  if (!table) {
    return t->n_asked + 1 < n;
  }
  t->asked_table = table;
  t->n_asked_table = 2 * n;
  for (size_t i = 0; i < n; i++) {
    if (old[i]) {
      *asked_at(t, old[i] - 1) = old[i];
    }
  }
  free(old);
  return true;
}

bool trail_is_asked(const trail *t, size_t point) {
  return t->asked ? t->asked[point / 8] >> point % 8 & 1 : *asked_at(t, point) != 0;
}

void trail_take(trail *t, size_t point) {
  if (t->asked) {
    t->asked[point / 8] |= (uint8_t)(1u << point % 8);
  } else if (asked_room(t)) { /* else a point may be asked for twice */
    size_t *slot = asked_at(t, point);
    t->n_asked += !*slot;
    *slot = point + 1;
  }
}

static bool fresh_of_some_stratum(trail *t, size_t *point) {
  enum { ATTEMPTS = 16 };
  const tune_space *s = t->space;
  if (s->n_strata < 2) {
    return false;
  }
  const size_t *stratum = &s->stratum[chance_below(&t->chance, s->n_strata)];
  for (int i = 0; i < ATTEMPTS; i++) {
    *point = stratum[0] + chance_below(&t->chance, stratum[1] - stratum[0]);
    if (!trail_is_asked(t, *point)) {
      trail_take(t, *point);
      return true;
    }
  }
  return false;
}

bool trail_fresh(trail *t, size_t *point) {
  if (fresh_of_some_stratum(t, point)) {
    return true;
  }
  while (shuffle_next(&t->fresh, point)) {
    if (!trail_is_asked(t, *point)) {
      trail_take(t, *point);
      return true;
    }
  }
  return false;
}

bool trail_open_at(const trail *t, const uint16_t *places, size_t *point) {
  return t->space->find(t->space->self, places, point) && !trail_is_asked(t, *point);
}

void trail_step(trail *t, uint16_t *places) {
  if (t->n_free) {
    size_t p = t->free[chance_below(&t->chance, t->n_free)];
    size_t other = chance_below(&t->chance, t->space->n_values[p] - 1u);
    places[p] = (uint16_t)(other + (other >= places[p]));
  }
}

bool trail_near(trail *t, const uint16_t *places, size_t *point) {
  enum { ATTEMPTS = 40 }; /* for each number of changes */
  uint16_t near[GEN_MAX_PARAMS];
  if (trail_open_at(t, places, point)) {
    trail_take(t, *point);
    return true;
  }
  for (size_t i = 0; i < ATTEMPTS * t->n_free; i++) {
    memcpy(near, places, sizeof near);
    for (size_t changes = 0; changes <= i / ATTEMPTS; changes++) {
      trail_step(t, near);
    }
    if (trail_open_at(t, near, point)) {
      trail_take(t, *point);
      return true;
    }
  }
  return trail_fresh(t, point);
}

/* Each time a neighbour is met, it replaces the one in hand with a probability that makes all
 * equally likely in the end (src: Vitter, Random Sampling with a Reservoir, 1985). */
bool trail_neighbour(trail *t, const uint16_t *places, size_t *point) {
  uint16_t near[GEN_MAX_PARAMS];
  size_t n = 0, candidate;
  memcpy(near, places, sizeof near);
  for (size_t i = 0; i < t->n_free; i++) {
    size_t p = t->free[i];
    for (size_t v = 0; v < t->space->n_values[p]; v++) {
      near[p] = (uint16_t)v;
      if (trail_open_at(t, near, &candidate) && !chance_below(&t->chance, ++n)) {
        *point = candidate;
      }
    }
    near[p] = places[p];
  }
  if (n) {
    trail_take(t, *point);
  }
  return n > 0;
}
