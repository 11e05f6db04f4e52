/* cmd_spec.c -- autotune spec: count the space of a T1 file. */
#include "cli.h"
#include "file.h"
#include "json_writer.h"
#include "print.h"
#include "space_report.h"
#include "spec.h"
#include "verbs.h"

static int count(const cli *c, const char *path, spec *s, err *e) {
  gen_space *space;
  str out = {0}, title = {0};
  double from = now_sec();
  TRY(gen_space_new(s->g, &space, e));
  double sec = now_sec() - from;
  const gen_tally *tally = gen_space_tally(space);
  if (c->json) {
    jw_open(&out, NULL);
    jw_text(&out, "file", path);
    jw_text(&out, "name", s->name);
    jw_text(&out, "kernel", s->kernel);
    space_report_json(s->t, tally, sec, &out);
    jw_end_line(&out);
  } else {
    str_addf(&title, "%s, kernel %s in %s", s->name[0] ? s->name : path,
             s->kernel[0] ? s->kernel : "unnamed", s->language[0] ? s->language : "?");
    space_report(str_text(&title), s->t, tally, sec, &out);
  }
  print_str(&out);
  str_clear(&title);
  gen_space_free(space);
  return 0;
}

int cmd_spec(const cli *c, err *e) {
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name a T1 file: autotune spec FILE.json");
  }
  for (size_t i = 0; i < c->n_words; i++) {
    spec s;
    int rc = spec_open(c->words[i], &s, e);
    rc = rc ? rc : count(c, c->words[i], &s, e);
    spec_close(&s);
    TRY(rc);
  }
  return 0;
}
