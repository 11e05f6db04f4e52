/* cmd_export.h -- what the files of autotune export share. */
#ifndef TUNE_CMD_EXPORT_H
#define TUNE_CMD_EXPORT_H

#include "cli.h"
#include "db_text.h"
#include "export.h"
#include "serve_known.h"

enum { ARCHS_MOST = 16 };

typedef struct archs { /* what to compile for */
  const char *name[ARCHS_MOST];
  size_t n;
} archs;

typedef struct choice { /* which configuration, and why */
  gen_config config;
  const char *origin;
  db_line row; /* of the tuned one; problem NULL: there is none */
} choice;

typedef struct export_run {
  const cli *c;
  cli_kernel k;
  rt_compiler *compiler;
  archs archs;
  str device_key;
  serve_known shipped; /* a portfolio that the library brings */
  char own_arch[16];
} export_run;

bool cmd_export_is_ptx(const char *arch);
/* cmd_export_file_name -- of a path */
const char *cmd_export_file_name(const char *path);
/* cmd_export_write -- nothing where the path is NULL */
int cmd_export_write(const char *path, const str *text, err *e);
/* cmd_export_device -- the name of the device on which the portfolio was measured */
const char *cmd_export_device(export_run *x);
/* cmd_export_manifest -- pf: NULL for one problem */
int cmd_export_manifest(export_run *x, const export_info *what, const choice *ch,
                        const portfolio *pf, err *e);
int cmd_export_portfolio(export_run *x, err *e);
/* cmd_export_choose -- --config, else the tuned one, else what libtuned would serve: a shipped result,
 * a portfolio's configuration or that of a near problem; else the default, with a warning */
int cmd_export_choose(export_run *x, choice *out, err *e);

#endif
