/* population.h -- a fixed number of members, each with a position in the space: the common part of
 * differential evolution and particle swarm. Each point is asked for on behalf of a member, which
 * gets the result. */
#ifndef SEARCH_POPULATION_H
#define SEARCH_POPULATION_H

#include "history.h"

enum { POPULATION = 20 };

typedef struct population {
  history h;                  /* first: see strategy.h */
  size_t best[POPULATION];    /* the best evaluation of each member; SIZE_MAX: none yet */
  size_t pending[POPULATION]; /* the point last asked for on its behalf */
  size_t turn;                /* the member that asks next */
} population;

/* population_init -- no member has a result yet; the history is the caller's to open */
void population_init(population *p);
/* population_tell -- the result goes to the member that asked for the point, else to the slowest
 * one, and is kept if it is better than the member's own */
void population_tell(population *p, size_t point, double sec);
/* population_ask -- the valid point nearest to `wanted`, on behalf of the next member; a random
 * point for a member without a result */
bool population_ask(population *p, const double *wanted, size_t *point);
/* population_best -- coordinates of a member's best point; it has one */
const uint16_t *population_best(const population *p, size_t member);

#endif
