/* cmd_space.c -- autotune space: count points, valid points, and what rejects the others. */
#include "cli.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "space_report.h"
#include "verbs.h"

static int count(const cli *c, cli_kernel *k, err *e) {
  gen_space *space;
  str s = {0}, title = {0};
  double from = now_sec();
  TRY(gen_space_new(k->g, &space, e));
  double sec = now_sec() - from;
  if (c->json) {
    jw_open(&s, NULL);
    jw_text(&s, "problem", str_text(&k->problem_text));
    space_report_json(k->t, gen_space_tally(space), sec, &s);
    jw_end_line(&s);
  } else {
    str_addf(&title, "%s on %s", str_text(&k->problem_text), k->device->info.name);
    space_report(str_text(&title), k->t, gen_space_tally(space), sec, &s);
  }
  print_str(&s);
  str_clear(&title);
  gen_space_free(space);
  return 0;
}

int cmd_space(const cli *c, err *e) {
  cli_kernel k;
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : count(c, &k, e);
  cli_kernel_close(&k);
  return rc;
}
