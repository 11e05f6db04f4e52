/* many.h -- tuning on behalf of another verb: several problems, one after another.
 *
 * What a process has open of a device does not survive the fork of the workers. So either all is
 * tuned before this process opens the device itself (many_tune), or a process of its own tunes a
 * problem at a time, between which this one uses the device (many_open).
 */
#ifndef TUNE_MANY_H
#define TUNE_MANY_H

#include "budget.h"
#include "cli.h"
#include "subspace.h"

typedef struct many {
  const cli *c;
  gen_template *t;
  tune_budget budget;            /* for each problem; trials that are stored count */
  const search_subspace *within; /* NULL: the whole space. n: of them, each is searched */
  size_t n_within;
} many;

/* many_tune -- progress goes to standard error.
 *   err  ERR_INTERRUPTED  what is finished is stored */
int many_tune(const many *m, const gen_problem *p, size_t n, err *e);

typedef struct many_process many_process;

/* many_open -- start the process; its device and database are open then. Nothing of a device may be
 * open here yet. *m and the problems are to outlive it. err ERR_DEVICE, ERR_DB: as its session says
 */
int many_open(const many *m, const gen_problem *p, size_t n, many_process **out, err *e);
/* many_one -- tune the i-th, and wait for it; it has no memory on the device afterwards. When *stop
 * is set, it is told. err ERR_INTERRUPTED as above */
int many_one(many_process *x, size_t i, const volatile sig_atomic_t *stop, err *e);
void many_close(many_process *x); /* NULL: nothing to do */

#endif
