/* effort.h -- how much to spend on one problem, in the terms of FFTW's planner.
 *
 *   estimate    8 trials: the default and the best of the nearest tuned problems, then the search's
 *               first points; a few seconds
 *   measure     60 seconds (the default)
 *   patient     10 minutes, and twice the finalists
 *   exhaustive  every valid point, however long that takes; the strategy still chooses the order,
 *               so an interrupted run has tried the likely ones
 *
 * A budget given by the user replaces the bound only. Budgets count what earlier runs spent, so
 * `patient` after `measure` continues where that stopped. No effort relies on a cost model on a
 * real device: a model needs the compiled kernel, which is then measured faster than modelled. */
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
