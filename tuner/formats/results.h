/* results.h -- write the trials of a problem as T4, Kernel Tuner's cache, or CSV.
 *
 * trial_table_read reads all three. CSV has neither problem nor device, and of a failure only its
 * kind. */
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
