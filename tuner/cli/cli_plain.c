/* cli_plain.c -- options that are lines of a plain CUDA file (generator/plain). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct {
  const char *name, *value, *text;
} options[] = {
#define CLI_ROW(name, value, text) {#name, value, text},
    CLI_PLAIN(CLI_ROW)
#undef CLI_ROW
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* Verbs about one family. */
static bool takes_plain(const cli_verb *verb) {
  static const char verbs[] = " tune list show space emit build profile check bench compare export "
                              "export-results ";
  char word[32];
  snprintf(word, sizeof word, " %s ", verb->name);
  return strstr(verbs, word);
}

/* A folder of the command line is relative to where it is typed. */
static int add_line(const char *name, const char *value, arena *a, cli *c, err *e) {
  char *folder = !strcmp(name, "include") ? realpath(value, NULL) : NULL;
  const char *line = arena_format(a, "%s %s", name, folder ? folder : value);
  free(folder);
  c->lines[c->n_lines++] = line;
  return line ? 0 : err_nomem(e);
}

/* --NAME VALUE, --NAME=VALUE, -I VALUE, -IVALUE */
static const char *name_of(const char *word, size_t *n) {
  if (!strncmp(word, "-I", 2)) {
    *n = 2;
    return "include";
  }
  for (size_t i = 0; !strncmp(word, "--", 2) && i < N_OPTIONS; i++) {
    *n = strlen(options[i].name) + 2;
    if (!strncmp(word + 2, options[i].name, *n - 2) && (!word[*n] || word[*n] == '=')) {
      return options[i].name;
    }
  }
  return NULL;
}

int cli_plain_parse(const cli_verb *verb, int argc, char **argv, int *i, arena *a, cli *c, bool *is,
                    err *e) {
  size_t n;
  const char *name = takes_plain(verb) ? name_of(argv[*i], &n) : NULL;
  *is = name;
  if (!name) {
    return 0;
  }
  const char *rest = argv[*i] + n;
  if (!*rest && *i + 1 >= argc) {
    return err_set(e, ERR_USAGE, "%s needs a value; see autotune %s --help", argv[*i], verb->name);
  }
  return add_line(name, *rest ? rest + (*rest == '=') : argv[++*i], a, c, e);
}

size_t cli_plain_names(const cli_verb *verb, const char **names) {
  size_t n = 0;
  for (size_t i = 0; takes_plain(verb) && i < N_OPTIONS; i++) {
    names[n++] = options[i].name;
  }
  return n;
}

const char *cli_plain_meaning(const char *name) {
  for (size_t i = 0; i < N_OPTIONS; i++) {
    if (!strcmp(options[i].name, name)) {
      return options[i].text;
    }
  }
  return "";
}

void cli_plain_help(FILE *f, const cli_verb *verb) {
  if (!takes_plain(verb)) {
    return;
  }
  fprintf(f, "\nof a CUDA file, beside its own lines (//@ param BLOCK=32,64; see autotune(1)):\n");
  for (size_t i = 0; i < N_OPTIONS; i++) {
    char left[80];
    snprintf(left, sizeof left, "--%s %s", options[i].name, options[i].value);
    fprintf(f, "  %-22s %s\n", left, options[i].text);
  }
}
