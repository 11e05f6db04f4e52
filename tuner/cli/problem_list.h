/* problem_list.h -- tuning on behalf of another verb: several problems, one after another.
 *
 * What a process has open of a device does not survive the fork of the workers. So either all is
 * tuned before this process opens the device itself (problem_list_tune), or a process of its own tunes a
 * problem at a time, between which this one uses the device (problem_list_open).
 */
#ifndef CLI_PROBLEM_LIST_H
#define CLI_PROBLEM_LIST_H

#include "budget.h"
#include "cli.h"
#include "subspace.h"

typedef struct problem_list {
  const cli *c;
  gen_template *t;
  tune_budget budget;            /* for each problem; trials that are stored count */
  const search_subspace *within; /* NULL: the whole space. n: of them, each is searched */
  size_t n_within;
} problem_list;

/* problem_list_tune -- progress goes to standard error.
 *   err  ERR_INTERRUPTED  what is finished is stored */
int problem_list_tune(const problem_list *m, const gen_problem *p, size_t n, err *e);

typedef struct problem_list_process problem_list_process;

/* problem_list_open -- start the process; its device and database are open then. Nothing of a device may be
 * open here yet. *m and the problems are to outlive it. err ERR_DEVICE, ERR_DB: as its session says
 */
int problem_list_open(const problem_list *m, const gen_problem *p, size_t n,
                      problem_list_process **out, err *e);
/* problem_list_tune_one -- tune the i-th, and wait for it; it has no memory on the device afterwards. When *stop
 * is set, it is told. err ERR_INTERRUPTED as above */
int problem_list_tune_one(problem_list_process *x, size_t i, const volatile sig_atomic_t *stop,
                          err *e);
void problem_list_close(problem_list_process *x); /* NULL: nothing to do */

#endif
