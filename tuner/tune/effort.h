/* effort.h -- how much to spend on one problem, in the words of FFTW's planner.
 *
 *   estimate    8 trials: the default and what is best for the nearest tuned problems, then the
 *               search's first points; a few seconds
 *   measure     60 seconds (the default)
 *   patient     10 minutes, and twice the finalists
 *   exhaustive  every valid point, however long that takes; the search still decides the order, so
 *               that an interrupted run has seen the likely ones
 *
 * A budget given by the user replaces the bound and leaves the rest. Budgets count what earlier
 * runs spent, so `patient` after `measure` goes on where that one stopped. On a real device nothing
 * is left to a cost model: the model needs the compiled kernel, and once that is there, measuring
 * it takes less time than modelling it. */
#ifndef TUNE_EFFORT_H
#define TUNE_EFFORT_H

#include "budget.h"

typedef struct tune_effort {
  const char *name;
  tune_budget budget;
  size_t finalists, rounds;
} tune_effort;

/* tune_effort_find -- NULL takes the default. err ERR_USAGE: lists the names, suggests the nearest
 */
int tune_effort_find(const char *name, const tune_effort **out, err *e);

#endif
