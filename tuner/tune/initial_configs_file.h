/* initial_configs_file.h -- configurations that the user wants tried before the search.
 *
 * A text of lines:  [[FAMILY] FIELD=VALUE ... :] PARAMETER=VALUE,...
 * Without a problem a configuration is tried for all. Lines of other families, empty lines and
 * those that start with # are skipped. A configuration is tried only where it is valid.
 */
#ifndef TUNE_INITIAL_CONFIGS_FILE_H
#define TUNE_INITIAL_CONFIGS_FILE_H

#include "gen.h"

enum { INITIAL_FROM_FILE = 16 }; /* for one problem */

typedef struct initial_config {
  const char *problem; /* canonical text; NULL: all */
  gen_config config;
} initial_config;

typedef struct initial_configs {
  initial_config *given;
  size_t n;
} initial_configs;

/* initial_configs_read -- out is in the arena.
 *   err  ERR_IO, ERR_USAGE (with file and line: no such field, parameter or value) */
int initial_configs_read(gen_template *t, const char *path, arena *a, initial_configs *out, err *e);

#endif
