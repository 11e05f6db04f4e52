/* verbs.h -- the functions of the verbs; each in verbs/cmd_NAME.c. */
#ifndef TUNE_VERBS_H
#define TUNE_VERBS_H

#include "cli.h"

int cmd_tune(const cli *c, err *e);
int cmd_emit(const cli *c, err *e);
int cmd_space(const cli *c, err *e);
int cmd_spec(const cli *c, err *e);
int cmd_build(const cli *c, err *e);
int cmd_check(const cli *c, err *e);
int cmd_profile(const cli *c, err *e);
int cmd_run_ptx(const cli *c, err *e);
int cmd_run_program(const cli *c, err *e);
int cmd_devices(const cli *c, err *e);
int cmd_list(const cli *c, err *e);
int cmd_show(const cli *c, err *e);
int cmd_doctor(const cli *c, err *e);
int cmd_completion(const cli *c, err *e);
int cmd_captured(const cli *c, err *e);
int cmd_portfolio(const cli *c, err *e);
int cmd_export(const cli *c, err *e);
int cmd_bench(const cli *c, err *e);
int cmd_compare(const cli *c, err *e);
/* cmd_compare_search -- compare with --search */
int cmd_compare_search(const cli *c, err *e);
int cmd_claims(const cli *c, err *e);
int cmd_learned(const cli *c, err *e);
int cmd_replay(const cli *c, err *e);
int cmd_export_results(const cli *c, err *e);
int cmd_import(const cli *c, err *e);
int cmd_db(const cli *c, err *e);
int cmd_base(const cli *c, err *e);
int cmd_cache(const cli *c, err *e);
int cmd_warm(const cli *c, err *e);

/* list_problems -- the tuned problems of a family, NULL: of all; cmd_list.c */
int list_problems(const cli *c, db *d, const char *family, err *e);
/* cmd_db_export -- db export: to a file, or with --presets to files for each device */
int cmd_db_export(const cli *c, err *e);
/* cmd_db_import_file -- db import of one file; malformed lines are reported and skipped */
int cmd_db_import_file(const cli *c, db *d, const char *path, err *e);
/* print_space -- count the points of a space and print what rejects the others; cmd_space.c
 *   in  *s  as JSON: the object's first members; otherwise empty */
int print_space(const cli *c, const gen_template *t, gen_instance *g, const char *title, str *s,
                err *e);
/* show_importance -- print `show --importance` of a problem's trials; cmd_importance.c */
int show_importance(const cli *c, cli_kernel *k, const db_result *rows, size_t n, int64_t top,
                    err *e);
/* show_objective -- the same of `show --objective`; show_objective.c */
int show_objective(const cli *c, cli_kernel *k, db *d, const db_result *rows, size_t n, int64_t top,
                   err *e);
/* show_metrics -- append the template's own metrics of a trial, as far as what they read is known */
void show_metrics(const cli *c, const cli_kernel *k, db *d, const db_result *row, str *s);

#endif
