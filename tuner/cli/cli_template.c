/* cli_template.c -- the template and the problem that the words name. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static int check_folder(const char *path, err *e) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode)
             ? 0
             : err_set(e, ERR_USAGE, "--templates %s: there is no such folder", path);
}

int cli_template_options(const cli *c, arena *a, gen_options *out, err *e) {
  enum { MAX_FOLDERS = 64 };
  const char **folders = ARENA_ARRAY(a, const char *, MAX_FOLDERS);
  const char *variable = getenv("TUNED_TEMPLATES");
  *out = (gen_options){.folders = folders, .stop = cli_stop_flag()};
  if (c->templates) {
    TRY(check_folder(c->templates, e));
    folders[out->n_folders++] = c->templates;
  }
  char *list = variable ? arena_text(a, variable) : NULL, *rest = NULL;
  for (char *p = list ? strtok_r(list, ":", &rest) : NULL; p; p = strtok_r(NULL, ":", &rest)) {
    if (out->n_folders == MAX_FOLDERS) {
      return err_set(e, ERR_LIMIT, "TUNED_TEMPLATES names more than %d folders", MAX_FOLDERS - 1);
    }
    folders[out->n_folders++] = p;
  }
  return 0;
}

int cli_open_template(const cli *c, arena *a, gen_template **t, err *e) {
  gen_options o;
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name a family or a template file: autotune %s sgemm ...",
                   c->verb);
  }
  TRY(cli_template_options(c, a, &o, e));
  return gen_open(&o, c->words[0], t, e);
}

int cli_problem(const cli *c, gen_template *t, gen_problem *p, err *e) {
  str text = {0};
  for (size_t i = 1; i < c->n_words; i++) {
    str_addf(&text, "%s ", c->words[i]);
  }
  int rc = gen_problem_parse(t, str_text(&text), p, e);
  str_clear(&text);
  return rc;
}

static int unknown_param(const gen_template *t, const char *name, err *e) {
  const char *names[GEN_MAX_PARAMS];
  str list = {0};
  for (size_t i = 0; i < t->n_params; i++) {
    names[i] = t->params[i].name;
    str_addf(&list, "%s%s", i ? ", " : "", names[i]);
  }
  const char *near = name ? text_nearest(name, names, t->n_params) : NULL;
  const int rc = name ? err_set(e, ERR_USAGE, "%s has no parameter '%s'%s%s%s; there are: %s",
                                t->name, name, near ? ", did you mean '" : "", near ? near : "",
                                near ? "'?" : "", str_text(&list))
                      : err_set(e, ERR_USAGE, "name a parameter: --by one of: %s", str_text(&list));
  str_clear(&list);
  return rc;
}

int cli_param(const gen_template *t, const char *name, size_t *out, err *e) {
  for (size_t i = 0; i < t->n_params; i++) {
    if (name && !strcmp(name, t->params[i].name)) {
      *out = i;
      return 0;
    }
  }
  return unknown_param(t, name, e);
}
