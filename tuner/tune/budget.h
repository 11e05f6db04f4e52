/* budget.h -- "200", "90s", "200,90s": how many trials, how many seconds. */
#ifndef TUNE_BUDGET_H
#define TUNE_BUDGET_H

#include <stdint.h>

#include "arena.h"
#include "err.h"

typedef struct tune_budget { /* for one problem, earlier runs included; 0: no such bound */
  uint64_t trials;
  double sec;
} tune_budget;

/* budget_parse -- a bound that is not given is 0.
 *   in   option  its name, for the message: "budget"
 *   err  ERR_USAGE */
int budget_parse(const char *option, const char *text, arena *a, tune_budget *b, err *e);

#endif
