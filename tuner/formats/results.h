/* results.h -- the trials of a problem as files of other tools: T4, a cache of Kernel Tuner, CSV.
 *
 * All three can be read again, by trial_table_read of trial_table.h. CSV says neither problem nor
 * device, and of a failure only its kind.
 */
#ifndef TUNE_RESULTS_H
#define TUNE_RESULTS_H

#include "db.h"
#include "gen.h"

typedef struct results { /* all borrowed */
  const gen_template *t;
  const char *problem; /* canonical text */
  db_device device;
  const db_result *rows;
  size_t n;
} results;

typedef void results_writer(const results *r, str *out);

/* results_format -- "t4", "kernel-tuner", "csv"
 *   err  ERR_USAGE  another name */
int results_format(const char *name, results_writer **out, err *e);

#endif
