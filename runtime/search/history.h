/* history.h -- what a strategy remembers of its search: which points were asked for, and the result
 * of each evaluation.
 *
 * In spaces of up to 2^24 points one bit per point says whether it was asked for; in larger ones a
 * hash table lists those that were. A search of a few hundred trials in a space of any size costs
 * next to nothing. Every strategy that learns has one history.
 */
#ifndef SEARCH_HISTORY_H
#define SEARCH_HISTORY_H

#include "err.h"
#include "rng.h"
#include "search_space.h"

typedef struct evaluation {
  size_t point;
  double sec; /* INFINITY: it failed */
} evaluation;

typedef struct history {
  const search_space *space;
  rng rng;
  size_t free[GEN_MAX_PARAMS], n_free;     /* parameters with more than one value */
  evaluation *evaluations;                 /* in the order in which they were told */
  uint16_t (*coordinates)[GEN_MAX_PARAMS]; /* of each */
  size_t n, best;                          /* best: index of the fastest; SIZE_MAX: none worked */
  /* private */
  size_t capacity;
  uint8_t *asked;                              /* NULL: asked_table is used */
  size_t *asked_table, n_asked_table, n_asked; /* 1 + point; 0: free */
  uint32_t *slots; /* hash table: point -> 1 + index of its evaluation */
  size_t n_slots;
  shuffle order; /* of random points */
} history;

int history_init(history *h, const search_space *space, uint64_t seed, err *e);
void history_clear(history *h);
/* history_tell -- the index of the evaluation; SIZE_MAX when the point was told before, or memory
 * is out (the result is then forgotten, and the search goes on without it) */
size_t history_tell(history *h, size_t point, double sec);
/* history_order -- indices of the evaluations that did not fail, fastest first, in room for h->n;
 * returns their count */
size_t history_order(const history *h, size_t *order);

bool history_is_asked(const history *h, size_t point);
void history_mark_asked(history *h, size_t point);

#endif
