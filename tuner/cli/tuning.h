/* tuning.h -- tuning from the command line: the problems of one family one after another, each
 * stored and reported before the next begins.
 *
 * A verb opens the template and reads problems and settings first; tuning_run touches the device,
 * so that a mistake in the command line costs no time.
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

typedef struct tuning { /* c is set, the rest zero, before it is filled in; see tuning_close */
  const cli *c;
  arena memory;
  gen_template *t;
  tune_options options;
  int64_t top;             /* configurations to show of each problem */
  sizes problems;          /* none: the template's own, for this kind of device */
  bool is_single;          /* one problem was named: its failure is the verb's */
  const tuning_data *data; /* of some of the problems; borrowed */
  size_t n_data;
  db *db;
  rt_compiler *compiler;
  tune_session *session;
  progress progress;
  summary summary;
} tuning;

/* tune_settings -- the verbs that tune; texts in the arena, *p reports the progress
 *   err  ERR_USAGE  an option's value;  ERR_NOTFOUND, ERR_IO  the file of --start */
int tune_settings(const cli *c, gen_template *t, arena *a, progress *p, tune_options *o, err *e);
/* tune_settings_common -- of them, those that other verbs' searches have too */
int tune_settings_common(const cli *c, progress *p, tune_options *o, err *e);
/* tuning_run -- tune the problems, near ones after each other, with a table at the end. A problem
 * that cannot be tuned does not stop the others; the error then says how many there were. */
int tuning_run(tuning *x, err *e);
void tuning_close(tuning *x);

#endif
