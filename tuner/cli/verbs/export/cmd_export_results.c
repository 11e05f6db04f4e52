/* cmd_export_results.c -- autotune export-results: the trials of a problem as a file of another tool. */
#include "cli.h"
#include "json_writer.h"
#include "print.h"
#include "results.h"
#include "verbs.h"

static int write_results(const cli *c, const char *path, cli_kernel *k, results_writer *write,
                         err *e) {
  auto_db *d = NULL;
  auto_str key = {0}, out = {0};
  const rt_info *info = &k->device->info;
  rt_device_key(info, &key);
  results r = {.t = k->t,
               .problem = str_text(&k->problem_text),
               .device = {str_text(&key), info->name, info->cc, info->sms}};
  db_result *rows;
  TRY(cli_open_db(c, DB_READ, &d, e));
  TRY(cli_kernel_results(c, k, d, 0, &rows, &r.n, e));
  r.rows = rows;
  write(&r, &out);
  TRY(print_file(path, &out, e));
  if (c->json) {
    str s = {0};
    jw_event(&s, "export_results");
    jw_text(&s, "problem", r.problem);
    jw_text(&s, "device", info->name);
    jw_integer(&s, "trials", (int64_t)r.n);
    jw_text(&s, "file", path);
    jw_end_line(&s);
    print_str(&s);
  } else if (!c->quiet) {
    printf("%zu trials of %s on %s: %s\n", r.n, r.problem, info->name, path);
  }
  return 0;
}

/* The words after the file. */
static cli without_file(const cli *c) {
  cli rest = *c;
  rest.words++;
  rest.n_words--;
  return rest;
}

int cmd_export_results(const cli *c, err *e) {
  auto_kernel k = {0};
  results_writer *write;
  if (c->n_words < 2) {
    return err_set(e, ERR_USAGE,
                   "name the file and the problem: autotune export-results FILE FAMILY "
                   "FIELD=VALUE ...");
  }
  TRY(results_format(c->format ? c->format : "t4", &write, e));
  cli rest = without_file(c);
  TRY(cli_kernel_open(&rest, &k, e));
  return write_results(&rest, c->words[0], &k, write, e);
}
