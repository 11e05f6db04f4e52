/* many.h -- tuning on behalf of another verb: several problems, one after another, before this
 * process opens the device itself (what is open before does not survive the fork of the workers).
 */
#ifndef TUNE_MANY_H
#define TUNE_MANY_H

#include "budget.h"
#include "cli.h"
#include "within.h"

typedef struct many {
  const cli *c;
  gen_template *t;
  tune_budget budget;        /* for each problem; trials that are stored count */
  const tune_within *within; /* NULL: the whole space. n: of them, each is searched */
  size_t n_within;
} many;

/* many_tune -- progress goes to standard error.
 *   err  ERR_INTERRUPTED  what is finished is stored */
int many_tune(const many *m, const gen_problem *p, size_t n, err *e);

#endif
