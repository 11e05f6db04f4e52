/* cmd_db.h -- between the files of autotune db. */
#ifndef CLI_CMD_DB_H
#define CLI_CMD_DB_H

#include "cli.h"

/* cmd_db_export -- db export: to a file, or with --presets to files for each device */
int cmd_db_export(const cli *c, err *e);
/* cmd_db_import_file -- db import of one file; malformed lines are reported and skipped */
int cmd_db_import_file(const cli *c, db *d, const char *path, err *e);

#endif
