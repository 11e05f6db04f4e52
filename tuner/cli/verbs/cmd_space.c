/* cmd_space.c -- autotune space: count points, valid points, and what rejects the others. */
#include "cli.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "space_report.h"
#include "verbs.h"

int print_space(const cli *c, const gen_template *t, gen_instance *g, const char *title, str *s,
                err *e) {
  auto_space *space = NULL;
  const double from = now_sec();
  TRY(gen_space_new(g, &space, e));
  const double sec = now_sec() - from;
  if (c->json) {
    space_report_json(t, gen_space_tally(space), sec, s);
    jw_end_line(s);
  } else {
    space_report(title, t, gen_space_tally(space), sec, s);
  }
  print_str(s);
  return 0;
}

static int count(const cli *c, cli_kernel *k, err *e) {
  auto_str s = {0}, title = {0};
  if (c->json) {
    jw_event(&s, "space");
    jw_text(&s, "problem", str_text(&k->problem_text));
  }
  str_addf(&title, "%s on %s", str_text(&k->problem_text), k->device->info.name);
  return print_space(c, k->t, k->g, str_text(&title), &s, e);
}

int cmd_space(const cli *c, err *e) {
  auto_kernel k = {0};
  TRY(cli_kernel_open(c, &k, e));
  return count(c, &k, e);
}
