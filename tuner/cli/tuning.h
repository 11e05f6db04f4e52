/* tuning.h -- tuning from the command line: the problems of one family one after another, each
 * stored and reported before the next begins.
 *
 * A verb reads the options (tuning_options), opens the template, reads the problems, and only then
 * touches the device (tuning_open), so that a mistake in the command line costs no time.
 */
#ifndef CLI_TUNING_H
#define CLI_TUNING_H

#include "cli.h"
#include "progress.h"
#include "sizes.h"
#include "summary.h"

typedef struct tuning_data { /* what a program's kernels read, recorded by TUNED_CAPTURE_DATA */
  const char *fields;        /* of the problem */
  const char *path;
} tuning_data;

typedef struct tuning {
  const cli *c;
  arena memory;
  gen_template *t;
  tune_options options;
  int64_t top;
  const tuning_data *data; /* of some of the problems; borrowed */
  size_t n_data;
  db *db;
  rt_compiler *compiler;
  tune_session *session;
  progress progress;
  summary summary;
} tuning;

/* tuning_common -- the options that every search has; *p reports its progress */
int tuning_common(const cli *c, progress *p, tune_options *o, err *e);
/* tuning_options -- clear with tuning_close whether or not it failed */
int tuning_options(tuning *x, const cli *c, err *e);
/* tuning_open -- database, compiler and processes, for x->t */
int tuning_open(tuning *x, err *e);
/* tuning_one -- err as tune_problem */
int tuning_one(tuning *x, const gen_problem *p, err *e);
/* tuning_list -- in an order that serves the search, with a table at the end. A problem that cannot
 * be tuned does not stop the others; the error then says how many there were. */
int tuning_list(tuning *x, sizes *list, err *e);
void tuning_close(tuning *x);

#endif
