/* trail.h -- what a search remembers: which points were asked for, what was told, and its random
 * numbers.
 *
 * Memory is a bit a point for "asked", in spaces of more than 2^24 points a table of those that
 * were, and one record for each answer: a search of a few hundred trials in a space of any size
 * costs next to nothing. Every strategy that learns has one trail inside.
 */
#ifndef TUNE_TRAIL_H
#define TUNE_TRAIL_H

#include "strategy.h"

typedef struct chance { /* random numbers: SplitMix64 */
  uint64_t state;
} chance;
uint64_t chance_next(chance *c);
size_t chance_below(chance *c, size_t n); /* n > 0 */
double chance_unit(chance *c);            /* [0, 1) */

/* A keyed permutation of 0..n-1 (see strategy_random.c). */
typedef struct shuffle {
  uint64_t n, next, seed;
  int half; /* bits of each half */
} shuffle;
void shuffle_init(shuffle *s, uint64_t n, uint64_t seed);
bool shuffle_next(shuffle *s, size_t *point); /* false at the end */

typedef struct told { /* one answer */
  size_t point;
  double sec; /* INFINITY: it failed */
} told;

typedef struct trail {
  const tune_space *space;
  chance chance;
  size_t free[GEN_MAX_PARAMS], n_free; /* parameters with more than one value */
  told *told;                          /* in the order of the answers */
  uint16_t (*places)[GEN_MAX_PARAMS];  /* of each */
  size_t n_told, best;                 /* the fastest of them; SIZE_MAX: none worked yet */
  /* inside */
  size_t capacity;
  uint8_t *asked;                              /* NULL: the table has them */
  size_t *asked_table, n_asked_table, n_asked; /* 1 + point; 0: free */
  uint32_t *slots;                             /* hash table: point -> 1 + number of its answer */
  size_t n_slots;
  shuffle fresh;
} trail;

int trail_init(trail *t, const tune_space *space, uint64_t seed, err *e);
void trail_clear(trail *t);
/* trail_tell -- the number of the answer; SIZE_MAX when it was told before, or memory is out (then
 * the answer is forgotten, and the search goes on without it) */
size_t trail_tell(trail *t, size_t point, double sec);
/* trail_find -- the answer of a point; NULL: none yet */
const told *trail_find(const trail *t, size_t point);
/* trail_order -- the answers that did not fail, fastest first, in room for t->n_told; returns how
 * many */
size_t trail_order(const trail *t, size_t *order);

bool trail_is_asked(const trail *t, size_t point);
void trail_take(trail *t, size_t point); /* mark it asked */
/* trail_fresh -- take a random point that nobody asked for, of each stratum as often; false when
 * there is none */
bool trail_fresh(trail *t, size_t *point);
/* trail_open_at -- is this a valid point that nobody asked for? */
bool trail_open_at(const trail *t, const uint16_t *places, size_t *point);
/* trail_near -- take the given point if it can be, else one that differs in as few parameters as a
 * few random attempts find, else a random one; false when every point was asked for */
bool trail_near(trail *t, const uint16_t *places, size_t *point);
/* trail_neighbour -- take a random point that differs from the given one in a single parameter and
 * that nobody asked for; false when there is none */
bool trail_neighbour(trail *t, const uint16_t *places, size_t *point);
/* trail_step -- another value for one free parameter */
void trail_step(trail *t, uint16_t *places);

#endif
