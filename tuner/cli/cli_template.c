/* cli_template.c -- the template and the problem that the words name. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "db_trust.h"
#include "t1.h"

static int check_folder(const char *path, err *e) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode)
             ? 0
             : err_set(e, ERR_USAGE, "--templates %s: there is no such folder", path);
}

static bool names_plain(const char *word) {
  const size_t n = strlen(word);
  return n > 3 && !strcmp(word + n - 3, ".cu");
}

/* The lines of the command line, and the fields that its words name. */
static int plain_lines(const cli *c, arena *a, gen_options *out, err *e) {
  const char **lines = ARENA_ARRAY(a, const char *, c->n_lines + c->n_words + 1);
  TRY(lines ? 0 : err_nomem(e));
  for (; out->n_lines < c->n_lines; out->n_lines++) {
    lines[out->n_lines] = c->lines[out->n_lines];
  }
  for (size_t i = 1; i < c->n_words; i++) {
    if (!strchr(c->words[i], '=')) {
      continue;
    }
    const char *line =
        arena_format(a, "?problem %.*s", (int)strcspn(c->words[i], "="), c->words[i]);
    TRY(line ? 0 : err_nomem(e));
    lines[out->n_lines++] = line;
  }
  out->lines = lines;
  return 0;
}

int cli_template_options(const cli *c, arena *a, gen_options *out, err *e) {
  enum { MAX_FOLDERS = 64 };
  const char **folders = ARENA_ARRAY(a, const char *, MAX_FOLDERS);
  TRY(folders ? 0 : err_nomem(e));
  const char *variable = secure_getenv("TUNED_TEMPLATES");
  bool plain = false;
  for (size_t i = 0; i < c->n_words; i++) { /* export-results FILE comes first in some verbs */
    plain = plain || names_plain(c->words[i]);
  }
  *out = (gen_options){
      .folders = folders, .data = c->data, .trust = db_trusts_all(), .stop = cli_stop_flag()};
  TRY(plain ? plain_lines(c, a, out, e) : 0);
  if (c->n_lines && !plain) {
    return err_set(e, ERR_USAGE, "--%.*s describes a CUDA file: autotune kernel.cu --%.*s ...",
                   (int)strcspn(c->lines[0], " "), c->lines[0], (int)strcspn(c->lines[0], " "),
                   c->lines[0]);
  }
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

/* A T1 file stands for the kernel's file and lines in front of those of the command line. */
static int t1_named(const cli *c, arena *a, gen_options *o, const char **name, err *e) {
  t1_problem t1;
  cli with = *c;
  TRY(t1_open(c->words[0], a, &t1, e));
  const char **words = ARENA_ARRAY(a, const char *, c->n_words + 1);
  with.lines = ARENA_ARRAY(a, const char *, t1.n_lines + c->n_lines + 1);
  TRY(words && with.lines ? 0 : err_nomem(e));
  memcpy(words, c->words, c->n_words * sizeof *words);
  words[0] = *name = t1.kernel_file;
  with.words = words;
  memcpy(with.lines, t1.lines, t1.n_lines * sizeof *t1.lines);
  memcpy(with.lines + t1.n_lines, c->lines, c->n_lines * sizeof *c->lines);
  with.n_lines = t1.n_lines + c->n_lines;
  return cli_template_options(&with, a, o, e);
}

int cli_template_named(const cli *c, arena *a, gen_options *o, const char **name, err *e) {
  *name = c->words[0];
  return t1_is_path(c->words[0]) ? t1_named(c, a, o, name, e) : cli_template_options(c, a, o, e);
}

int cli_open_template(const cli *c, arena *a, gen_template **t, err *e) {
  gen_options o;
  if (!c->n_words) {
    return err_set(e, ERR_USAGE, "name a family or a template file: autotune %s sgemm ...",
                   c->verb);
  }
  const char *name;
  TRY(cli_template_named(c, a, &o, &name, e));
  return gen_open(&o, name, t, e);
}

int cli_fields(const cli *c, str *out, err *e) {
  for (size_t i = 1; i < c->n_words; i++) {
    str_addf(out, "%s%s", i > 1 ? " " : "", c->words[i]);
  }
  return out->failed ? err_nomem(e) : 0;
}

int cli_problem(const cli *c, gen_template *t, gen_problem *p, err *e) {
  auto_str text = {0};
  TRY(cli_fields(c, &text, e));
  return gen_problem_parse(t, str_text(&text), p, e);
}

int cli_param(const gen_template *t, const char *name, size_t *out, err *e) {
  const char *names[GEN_MAX_PARAMS];
  char what[100];
  for (size_t i = 0; i < t->n_params; i++) {
    names[i] = t->params[i].name;
    if (name && !strcmp(name, names[i])) {
      *out = i;
      return 0;
    }
  }
  snprintf(what, sizeof what, "%.80s has no parameter", t->name);
  return err_unknown(e, name ? what : "name a parameter: --by", name, names, t->n_params);
}
