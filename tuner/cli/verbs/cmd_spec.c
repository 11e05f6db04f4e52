/* cmd_spec.c -- autotune spec: count the space of a T1 file. */
#include "cli.h"
#include "json_writer.h"
#include "spec.h"
#include "verbs.h"

static int count(const cli *c, const char *path, spec *x, err *e) {
  auto_str s = {0}, title = {0};
  if (c->json) {
    jw_event(&s, "spec");
    jw_text(&s, "file", path);
    jw_text(&s, "name", x->name);
    jw_text(&s, "kernel", x->kernel);
  }
  str_addf(&title, "%s, kernel %s in %s", x->name[0] ? x->name : path,
           x->kernel[0] ? x->kernel : "unnamed", x->language[0] ? x->language : "?");
  return print_space(c, x->t, x->g, str_text(&title), &s, e);
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
