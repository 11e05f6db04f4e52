/* cmd_captured.c -- autotune tune-captured: tune what a program really asked for. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "file.h"
#include "verbs.h"

enum { FILE_MOST = 64 << 20, FAMILIES_MOST = 64 };

typedef struct captured { /* problems by family */
  const char *family[FAMILIES_MOST];
  str problems[FAMILIES_MOST]; /* as --sizes takes them */
  size_t n;
  size_t n_problems;
} captured;

static size_t family_of(captured *x, const char *name) {
  size_t i = 0;
  while (i < x->n && strcmp(x->family[i], name) != 0) {
    i++;
  }
  return i;
}

static int add(captured *x, const char *path, size_t number, char *line, err *e) {
  line[strcspn(line, "#\r")] = 0;
  char *name = line + strspn(line, " \t"), *fields = name + strcspn(name, " \t");
  if (!*name) {
    return 0;
  }
  if (strchr(name, '=') && strchr(name, '=') < fields) {
    char place[200];
    snprintf(place, sizeof place, "%.180s:%zu", path, number);
    return err_at(e, ERR_USAGE, place, "a line starts with the family: sgemm m=64 n=64 k=64");
  }
  if (*fields) {
    *fields++ = 0;
  }
  const size_t i = family_of(x, name);
  if (i == FAMILIES_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more than %d families", path, FAMILIES_MOST);
  }
  x->n += i == x->n;
  x->family[i] = name;
  str_addf(&x->problems[i], "%s\n", fields);
  x->n_problems++;
  return 0;
}

static int read_lines(captured *x, const char *path, char *text, err *e) {
  size_t number = 0;
  for (char *line; (line = strsep(&text, "\n"));) {
    TRY(add(x, path, ++number, line, e));
  }
  return x->n ? 0
              : err_set(e, ERR_NOTFOUND,
                        "%s names no problem; run a program that uses libtuned with "
                        "TUNED_CAPTURE=%s",
                        path, path);
}

/* Family after family, each as `autotune FAMILY --sizes` would. One that fails costs the others
 * nothing; the first failure is told. */
static int tune_all(const cli *c, const captured *x, err *e) {
  int rc = 0;
  for (size_t i = 0; i < x->n && rc != ERR_INTERRUPTED; i++) {
    err why = {0};
    cli one = *c;
    one.words = &x->family[i];
    one.n_words = 1;
    one.sizes = str_text(&x->problems[i]);
    if (cmd_tune(&one, &why)) {
      rc = err_at(e, why.code, why.place, "%s: %s", x->family[i], why.message);
    }
  }
  return rc;
}

int cmd_captured(const cli *c, err *e) {
  captured x = {0};
  arena a = {0};
  str text = {0};
  if (c->n_words != 1) {
    return err_set(e, ERR_USAGE,
                   "name the file that TUNED_CAPTURE named: autotune tune-captured FILE");
  }
  int rc = file_read(c->words[0], FILE_MOST, &text, e);
  char *copy = rc ? NULL : arena_text(&a, str_text(&text));
  rc = rc     ? rc
       : copy ? read_lines(&x, c->words[0], copy, e)
              : err_set(e, ERR_NOMEM, "out of memory");
  rc = rc ? rc : tune_all(c, &x, e);
  for (size_t i = 0; i < x.n; i++) {
    str_clear(&x.problems[i]);
  }
  str_clear(&text);
  arena_clear(&a);
  return rc;
}
