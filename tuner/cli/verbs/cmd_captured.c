/* cmd_captured.c -- autotune tune-captured: tune the problems that a program brought to libtuned. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "c_name.h"
#include "file.h"
#include "tuning.h"
#include "verbs.h"

enum { FILE_MOST = 64 << 20, FAMILIES_MOST = 64 };

typedef struct captured { /* problems by family */
  const char *family[FAMILIES_MOST];
  size_t first[FAMILIES_MOST];   /* line that names it */
  bool fieldless[FAMILIES_MOST]; /* one of its problems has no fields */
  str problems[FAMILIES_MOST];   /* as --sizes takes them, at the line numbers of the file */
  size_t n_lines[FAMILIES_MOST];
  tuning_data *data[FAMILIES_MOST];
  size_t n_data[FAMILIES_MOST];
  const char *path;
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

/* Length of a family's name or a template's path, which may contain spaces. */
static size_t name_length(const char *text) {
  const char *lua = strstr(text, ".lua");
  return lua && strchr(" \t", lua[4]) ? (size_t)(lua + 4 - text) : strcspn(text, " \t");
}

/* Rejects files of other text, such as scripts and tables. */
static bool is_family(const char *name, size_t n) {
  size_t i = 0;
  while (i < n && c_name_has(name[i])) {
    i++;
  }
  return i == n || (n > 4 && !strncmp(name + n - 4, ".lua", 4));
}

static bool is_text(const char *line) {
  while (*line && (*line == '\t' || !iscntrl((unsigned char)*line))) {
    line++;
  }
  return !*line;
}

/* ", data PATH" ends the comment; the path may contain anything but a newline. */
static const char *data_of(char *line) {
  static const char word[] = ", data ";
  const char *comment = strchr(line, '#');
  const char *data = comment ? strstr(comment, word) : NULL;
  return data && data[strlen(word)] ? data + strlen(word) : NULL;
}

static int add_data(captured *x, size_t i, const char *fields, const char *path, err *e) {
  const size_t n = x->n_data[i];
  tuning_data *more = n & (n - 1) ? x->data[i] : realloc(x->data[i], (2 * n + 1) * sizeof *more);
  TRY(more ? 0 : err_nomem(e));
  x->data[i] = more;
  more[x->n_data[i]++] = (tuning_data){fields, path};
  return 0;
}

static int check_line(const char *place, const char *name, size_t n_name, const char *data,
                      err *e) {
  if (!is_text(name) || (data && !is_text(data))) {
    return err_at(e, ERR_USAGE, place, "not a text file; TUNED_CAPTURE writes one problem a line");
  }
  if (memchr(name, '=', n_name)) {
    return err_at(e, ERR_USAGE, place, "a line starts with the family: sgemm m=64 n=64 k=64");
  }
  if (!is_family(name, n_name)) {
    return err_at(e, ERR_USAGE, place,
                  "'%.*s' is neither a family nor a template's path (.lua): this is not a list of "
                  "captured problems; TUNED_CAPTURE=FILE writes one",
                  (int)(n_name < 60 ? n_name : 60), name);
  }
  return 0;
}

static void place_of(const captured *x, size_t number, char out[200]) {
  snprintf(out, 200, "%.180s:%zu", x->path, number);
}

static int add(captured *x, size_t number, char *line, err *e) {
  line[strcspn(line, "\r")] = 0;
  const char *data = data_of(line);
  line[strcspn(line, "#")] = 0;
  char *name = line + strspn(line, " \t"), *fields = name + name_length(name);
  char place[200];
  place_of(x, number, place);
  if (!*name) {
    return 0;
  }
  TRY(check_line(place, name, (size_t)(fields - name), data, e));
  if (*fields) {
    *fields++ = 0;
  }
  const size_t i = family_of(x, name);
  if (i == FAMILIES_MOST) {
    return err_set(e, ERR_LIMIT, "%s has more than %d families", x->path, FAMILIES_MOST);
  }
  if (i == x->n) {
    x->family[x->n++] = name;
    x->first[i] = number;
  }
  while (++x->n_lines[i] < number) {
    str_add(&x->problems[i], "\n");
  }
  str_addf(&x->problems[i], "%s\n", fields);
  x->fieldless[i] |= !fields[strspn(fields, " \t")];
  x->n_problems++;
  return data ? add_data(x, i, fields, data, e) : 0;
}

static int read_lines(captured *x, char *text, err *e) {
  size_t number = 0;
  for (char *line; (line = strsep(&text, "\n"));) {
    TRY(add(x, ++number, line, e));
  }
  return x->n ? 0
              : err_set(e, ERR_NOTFOUND,
                        "%s names no problem; run a program that uses libtuned with "
                        "TUNED_CAPTURE=%s",
                        x->path, x->path);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/* In a list of a template's problems, one without fields is written as the family's name. */
static int open_template(const captured *x, size_t i, tuning *family, str *problems, err *e) {
  err why = {0};
  char place[200];
  const int rc = cli_open_template(family->c, &family->memory, &family->t, &why);
  if (!rc && x->fieldless[i]) {
    str_addf(problems, "%s\n", family->t->name);
  }
  place_of(x, x->first[i], place);
  return rc ? err_at(e, rc, rc == ERR_NOTFOUND ? place : why.place, "%s", why.message) : 0;
}

static int check_data(const tuning *family, err *e) {
  gen_problem p;
  for (size_t i = 0; i < family->n_data; i++) {
    if (gen_problem_parse(family->t, family->data[i].fields, &p, NULL)) {
      return err_set(e, ERR_USAGE, "'%s' has data, so it must be one problem, not a list",
                     family->data[i].fields);
    }
  }
  return 0;
}

static int tune(captured *x, size_t i, tuning *family, err *e) {
  const cli *c = family->c;
  family->data = x->data[i];
  family->n_data = x->n_data[i];
  TRY(open_template(x, i, family, &x->problems[i], e));
  TRY(sizes_read(family->t, str_text(&x->problems[i]), "", &family->memory, &family->problems, e));
  TRY(check_data(family, e));
  TRY(tune_settings(c, family->t, &family->memory, &family->progress, &family->options, e));
  TRY(cli_number("top", c->top, 1, 1000, 5, &family->top, e));
  return tuning_run(family, e);
}

static int tune_family(captured *x, size_t i, const cli *c, err *e) {
  cli words = *c;
  tuning family = {.c = &words};
  words.words = &x->family[i];
  words.n_words = 1;
  const int rc = tune(x, i, &family, e);
  tuning_close(&family);
  return rc;
}

/* Line numbers of the list are those of the file. */
static int report(const captured *x, size_t i, const err *why, err *e) {
  static const char list[] = "--sizes:";
  char place[200];
  if (!strncmp(why->place, list, strlen(list))) {
    snprintf(place, sizeof place, "%.180s:%s", x->path, why->place + strlen(list));
  } else {
    snprintf(place, sizeof place, "%s", why->place);
  }
  return err_at(e, why->code, place, "%s: %s", x->family[i], why->message);
}

/* Family after family. One that fails does not stop the others; the first failure is reported. */
static int tune_all(const cli *c, captured *x, err *e) {
  int rc = 0;
  for (size_t i = 0; i < x->n && rc != ERR_INTERRUPTED; i++) {
    err why = {0};
    if (tune_family(x, i, c, &why)) {
      rc = report(x, i, &why, e);
    }
  }
  return rc;
}

int cmd_captured(const cli *c, err *e) {
  captured x = {.path = c->n_words ? c->words[0] : ""};
  auto_arena a = {0};
  auto_str text = {0};
  if (c->n_words != 1) {
    return err_set(e, ERR_USAGE,
                   "name the file given as TUNED_CAPTURE: autotune tune-captured FILE");
  }
  int rc = file_read(c->words[0], FILE_MOST, &text, e);
  char *copy = rc ? NULL : arena_text(&a, str_text(&text));
  rc = rc ? rc : copy ? read_lines(&x, copy, e) : err_nomem(e);
  rc = rc ? rc : tune_all(c, &x, e);
  for (size_t i = 0; i < x.n; i++) {
    str_clear(&x.problems[i]);
    free(x.data[i]);
  }
  return rc;
}
