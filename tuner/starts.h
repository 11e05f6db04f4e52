/* starts.h -- configurations that the user wants tried before the search.
 *
 * A text of lines:  [[FAMILY] FIELD=VALUE ... :] PARAMETER=VALUE,...
 * Without a problem the configuration is for all; other families' lines, empty ones and those that
 * start with # say nothing. What is not valid for a problem is left out there.
 */
#ifndef TUNE_STARTS_H
#define TUNE_STARTS_H

#include "gen.h"

enum { STARTS_MOST = 16 }; /* for one problem */

typedef struct tune_given {
  const char *problem; /* canonical text; NULL: all */
  gen_config config;
} tune_given;

typedef struct tune_starts {
  tune_given *given;
  size_t n;
} tune_starts;

/* starts_read -- out is in the arena.
 *   err  ERR_IO, ERR_USAGE (with file and line: no such field, parameter or value) */
int starts_read(gen_template *t, const char *path, arena *a, tune_starts *out, err *e);

#endif
