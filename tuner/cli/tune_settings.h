/* tune_settings.h -- the settings of a search, from the command line. */
#ifndef CLI_TUNE_SETTINGS_H
#define CLI_TUNE_SETTINGS_H

#include "cli.h"
#include "progress.h"

/* tune_settings -- the verbs that tune; texts in the arena, *p reports the progress
 *   err  ERR_USAGE  an option's value;  ERR_NOTFOUND, ERR_IO  the file of --start */
int tune_settings(const cli *c, gen_template *t, arena *a, progress *p, tune_options *o, err *e);
/* tune_settings_common -- of them, those that other verbs' searches have too */
int tune_settings_common(const cli *c, progress *p, tune_options *o, err *e);

#endif
