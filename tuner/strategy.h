/* strategy.h -- in which order to try the points of a space: ask for one, tell what it took.
 *
 * A strategy sees numbered valid points, so it can't propose an invalid one, and each point as the
 * places of its values in the parameters' lists; a space made from a template and one read from a
 * recording look alike. It never asks for the same point twice and is reproducible: the same space,
 * seed and answers give the same questions. Several questions may be open at once; answers come in
 * any order, failures as INFINITY, a question may stay without an answer, and answers to points
 * that were never asked for (known from an earlier run, or from elsewhere) are welcome at any time.
 * Adding one: a file strategy_NAME.c with a tune_strategy, and a line in strategy.c. What most of
 * them need to remember is in trail.h.
 */
#ifndef TUNE_STRATEGY_H
#define TUNE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "gen.h"

enum { TUNE_MAX_STRATA = 32 };

typedef struct tune_space {
  size_t n;        /* valid points, numbered; up to 2^63 of them */
  size_t n_params; /* at most GEN_MAX_PARAMS */
  uint16_t n_values[GEN_MAX_PARAMS];
  /* Points stratum[i] .. stratum[i + 1] - 1 are of one algorithm. Strategies draw the same number
   * of random points from each: one that has few points would never be met otherwise. */
  size_t n_strata, stratum[TUNE_MAX_STRATA + 1];
  const void *self; /* whose points they are; outlives the view */
  /* at -- the places of a point's values; GEN_MAX_PARAMS of them, 0 beyond n_params */
  void (*at)(const void *self, size_t point, uint16_t *places);
  /* find -- of as many; false when the point is not valid */
  bool (*find)(const void *self, const uint16_t *places, size_t *point);
} tune_space;

/* tune_space_view -- a template's space */
void tune_space_view(const gen_space *space, const gen_template *t, tune_space *out);

typedef struct tune_strategy {
  const char *name, *brief;
  /* open -- *self is the strategy's own state; the space is borrowed until close */
  int (*open)(const tune_space *space, uint64_t seed, void **self, err *e);
  /* ask -- the next point; false when every point was asked for or told */
  bool (*ask)(void *self, size_t *point);
  /* tell -- NULL when the strategy doesn't learn */
  void (*tell)(void *self, size_t point, double sec);
  void (*close)(void *self);
} tune_strategy;

extern const tune_strategy tune_forest, tune_evolve, tune_bayes, tune_bandit, tune_genetic,
    tune_diffevo, tune_swarm, tune_anneal, tune_tabu, tune_greedy, tune_lhs, tune_random,
    tune_exhaustive;

/* tune_strategies -- all, the default first; ends with NULL */
const tune_strategy *const *tune_strategies(void);
/* tune_strategy_find -- err ERR_USAGE: lists the names, suggests the nearest */
int tune_strategy_find(const char *name, const tune_strategy **out, err *e);

#endif
