/* budget.h -- "200", "90s", "200,90s": how many trials, how many seconds. */
#ifndef TUNE_BUDGET_H
#define TUNE_BUDGET_H

#include "tune.h"

/* budget_parse -- what is not named is 0.
 *   in   option  its name, for the message: "budget"
 *   err  ERR_USAGE */
int budget_parse(const char *option, const char *text, arena *a, tune_budget *b, err *e);

#endif
