/* problem_list.h -- tune a list of problems on behalf of another verb.
 *
 * An open device does not survive the fork of the worker processes. So either the list is tuned
 * before this process opens the device (problem_list_tune), or a child process tunes one problem at
 * a time, and this process uses the device in between (problem_list_open).
 */
#ifndef CLI_PROBLEM_LIST_H
#define CLI_PROBLEM_LIST_H

#include "budget.h"
#include "cli.h"
#include "subspace.h"

typedef struct problem_list {
  const cli *c;
  gen_template *t;
  tune_budget budget;            /* for each problem; stored trials count */
  const search_subspace *within; /* n_within subspaces, each searched; NULL: the whole space */
  size_t n_within;
} problem_list;

/* problem_list_tune -- progress goes to standard error.
 *   err  ERR_INTERRUPTED  what is finished is stored */
int problem_list_tune(const problem_list *m, const gen_problem *p, size_t n, err *e);

typedef struct problem_list_process problem_list_process;

/* problem_list_open -- start the child, before this process opens a device, and wait until its
 * device and database are open. *m and the problems are borrowed. err ERR_DEVICE, ERR_DB */
int problem_list_open(const problem_list *m, const gen_problem *p, size_t n,
                      problem_list_process **out, err *e);
/* problem_list_tune_one -- tune the i-th problem; the child holds no memory on the device
 * afterwards. It is interrupted when *stop is set. err ERR_INTERRUPTED as above */
int problem_list_tune_one(problem_list_process *x, size_t i, const volatile sig_atomic_t *stop,
                          err *e);
void problem_list_close(problem_list_process *x); /* NULL: nothing to do */

#endif
