/* cmd_space.c -- autotune space: count points, valid points, and what rejects the others. */
#include "cli.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "space_report.h"
#include "verbs.h"

int print_space(const cli *c, const gen_template *t, gen_instance *g, const char *title, str *s,
                err *e) {
  gen_space *space;
  const double from = now_sec();
  const int rc = gen_space_new(g, &space, e);
  const double sec = now_sec() - from;
  if (!rc && c->json) {
    space_report_json(t, gen_space_tally(space), sec, s);
    jw_end_line(s);
  } else if (!rc) {
    space_report(title, t, gen_space_tally(space), sec, s);
  }
  if (!rc) {
    print_str(s);
    gen_space_free(space);
  }
  str_clear(s);
  return rc;
}

static int count(const cli *c, cli_kernel *k, err *e) {
  str s = {0}, title = {0};
  if (c->json) {
    jw_open(&s, NULL);
    jw_text(&s, "problem", str_text(&k->problem_text));
  }
  str_addf(&title, "%s on %s", str_text(&k->problem_text), k->device->info.name);
  const int rc = print_space(c, k->t, k->g, str_text(&title), &s, e);
  str_clear(&title);
  return rc;
}

int cmd_space(const cli *c, err *e) {
  cli_kernel k;
  int rc = cli_kernel_open(c, &k, e);
  rc = rc ? rc : count(c, &k, e);
  cli_kernel_close(&k);
  return rc;
}
