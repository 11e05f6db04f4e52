/* strategy.h -- search strategies: in which order to try the points of a space.
 *
 * The interface is ask-and-tell: ask for a point, tell what it took. A strategy sees numbered valid
 * points, so it can't propose an invalid one. It proposes no point twice and is reproducible: the
 * same space, seed and results give the same points. Several points may be asked for before the
 * first result is told; results come in any order, and some may never come. A failure is told as
 * INFINITY. Results of points that were never asked for (known from an earlier run, or from
 * elsewhere) are welcome at any time.
 *
 * To add a strategy, write strategy_NAME.c with a search_strategy and list it here and in
 * strategy.c. history.h holds what most of them need to remember.
 */
#ifndef SEARCH_STRATEGY_H
#define SEARCH_STRATEGY_H

#include "err.h"
#include "search_space.h"

typedef struct search_strategy {
  const char *name, *brief;
  size_t nbytes; /* of its state, zeroed at first, which begins with a history (history.h) */
  /* start -- once the history is there; NULL: nothing to do */
  int (*start)(void *self, err *e);
  /* ask -- the next point; false when every point was asked for or told */
  bool (*ask)(void *self, size_t *point);
  /* tell -- NULL when the strategy doesn't learn */
  void (*tell)(void *self, size_t point, double sec);
  /* stop -- frees what the state points to, besides the history; NULL: nothing */
  void (*stop)(void *self);
} search_strategy;

/* search_strategy_open -- *self is the strategy's state; the space is borrowed until close */
int search_strategy_open(const search_strategy *s, const search_space *space, uint64_t seed,
                         void **self, err *e);
void search_strategy_close(const search_strategy *s, void *self);

extern const search_strategy search_forest, search_evolve, search_bayes, search_bandit,
    search_genetic, search_diffevo, search_swarm, search_anneal, search_tabu, search_greedy,
    search_lhs, search_random, search_exhaustive;

/* search_strategies -- all, the default first; ends with NULL */
const search_strategy *const *search_strategies(void);
/* search_strategy_find -- err ERR_USAGE: lists the names, suggests the nearest */
int search_strategy_find(const char *name, const search_strategy **out, err *e);

#endif
