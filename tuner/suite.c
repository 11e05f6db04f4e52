#define _GNU_SOURCE
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "tuner_files.h"

enum { FILE_MOST = 1 << 20, PROBLEMS_MOST = 4096, WORDS_MOST = 32 };

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- one line -------------------------------------------------------------------------------- */

static int add_problem(gen_template *t, const char *text, arena *a, suite *s, err *e) {
  if (s->n == PROBLEMS_MOST) {
    return err_set(e, ERR_LIMIT, "a suite of more than %d problems", PROBLEMS_MOST);
  }
  if ((s->n & (s->n - 1)) == 0) { /* full at every power of two */
    suite_problem *more = ARENA_ARRAY(a, suite_problem, s->n ? 2 * s->n : 1);
    if (!more) {
      return no_room(e);
    }
    if (s->n) {
      memcpy(more, s->problems, s->n * sizeof *more);
    }
    s->problems = more;
  }
  suite_problem *p = (suite_problem *)&s->problems[s->n];
  p->text = arena_text(a, text);
  TRY(p->text ? gen_problem_parse(t, text, &p->p, e) : no_room(e));
  s->n++;
  return 0;
}

/* "m=n=k=64": the names before the last = share what stands behind it. */
static void add_fields(const char *word, size_t n_names, const char *value, size_t n_value,
                       str *out) {
  for (const char *p = word; p < word + n_names;) {
    size_t n = strcspn(p, "=");
    str_addf(out, "%s%.*s=%.*s", out->n ? " " : "", (int)n, p, (int)n_value, value);
    p += n + 1;
  }
}

/* The words from the i-th on, behind what is chosen of those before. */
static int expand(gen_template *t, char *const *words, size_t n, const str *chosen, arena *a,
                  suite *s, err *e) {
  if (!n) {
    return add_problem(t, str_text(chosen), a, s, e);
  }
  const char *last = strrchr(words[0], '=');
  if (!last) {
    return err_set(e, ERR_USAGE, "'%s' is no FIELD=VALUE or FIELD={VALUE,VALUE,...}", words[0]);
  }
  const char *value = last + 1;
  size_t length = strlen(value);
  bool list = value[0] == '{';
  if (list && value[length - 1] != '}') {
    return err_set(e, ERR_USAGE, "the list of '%s' has no } at its end, or blanks inside",
                   words[0]);
  }
  const char *end = list ? value + length - 1 : value + length;
  int rc = 0;
  for (const char *p = list ? value + 1 : value; !rc && p <= end;) {
    size_t n_value = list ? strcspn(p, ",}") : length;
    str more = {0};
    str_add(&more, str_text(chosen));
    add_fields(words[0], (size_t)(last - words[0]), p, n_value, &more);
    rc = more.failed ? no_room(e) : expand(t, words + 1, n - 1, &more, a, s, e);
    str_clear(&more);
    p += n_value + 1;
  }
  return rc;
}

int suite_expand(gen_template *t, const char *line, arena *a, suite *out, err *e) {
  char *words[WORDS_MOST], *rest = NULL, *copy = arena_text(a, line);
  size_t n = 0;
  str none = {0};
  if (!copy) {
    return no_room(e);
  }
  for (char *p = strtok_r(copy, " \t\r", &rest); p; p = strtok_r(NULL, " \t\r", &rest)) {
    if (n == WORDS_MOST) {
      return err_set(e, ERR_LIMIT, "a problem of more than %d words", WORDS_MOST);
    }
    if (n || strcmp(p, t->name)) { /* the family's name in front is allowed */
      words[n++] = p;
    }
  }
  return expand(t, words, n, &none, a, out, e);
}

int suite_of(gen_template *t, const char *const *texts, size_t n, arena *a, suite *out, err *e) {
  *out = (suite){0};
  for (size_t i = 0; i < n; i++) {
    TRY(add_problem(t, texts[i], a, out, e));
  }
  return 0;
}

/* ---- a file ---------------------------------------------------------------------------------- */

typedef struct reader {
  gen_template *t;
  const char *path, *wanted; /* name of a suite; NULL: the nameless one, or all there is */
  arena *a;
  suite *out;
  bool found;
  const char *names[WORDS_MOST]; /* that there are */
  size_t n_names;
} reader;

static int read_name(reader *r, char *line, bool *inside, err *e) {
  char *end = strchr(line, ']');
  if (!end || end == line + 1) {
    return err_set(e, ERR_TEMPLATE, "a suite begins with [NAME]");
  }
  *end = 0;
  *inside = !r->wanted || !strcmp(line + 1, r->wanted);
  r->found |= *inside;
  if (r->n_names < WORDS_MOST) {
    r->names[r->n_names++] = line + 1;
  }
  return 0;
}

static int read_line(reader *r, char *line, bool *inside, err *e) {
  line[strcspn(line, "#")] = 0;
  line += strspn(line, " \t\r");
  if (*line == '[') {
    return read_name(r, line, inside, e);
  }
  return *line && *inside ? suite_expand(r->t, line, r->a, r->out, e) : 0;
}

static int read_text(reader *r, const char *text, err *e) {
  char *copy = arena_text(r->a, text);
  bool inside = !r->wanted;
  int number = 0;
  for (char *line = copy, *next; line; line = next) {
    err why = {0};
    char place[200];
    next = strchr(line, '\n');
    if (next) {
      *next++ = 0;
    }
    number++;
    int rc = read_line(r, line, &inside, &why);
    if (rc) {
      snprintf(place, sizeof place, "%s:%d", r->path, number);
      return err_at(e, rc == ERR_USAGE ? ERR_TEMPLATE : rc, place, "%s", why.message);
    }
  }
  return copy ? 0 : no_room(e);
}

static int unknown(const reader *r, err *e) {
  str list = {0};
  const char *near = text_nearest(r->wanted, r->names, r->n_names);
  for (size_t i = 0; i < r->n_names; i++) {
    str_addf(&list, "%s%s", i ? ", " : "", r->names[i]);
  }
  int rc = err_set(e, ERR_USAGE, "%s has no suite '%s'%s%s%s; there are: %s", r->t->name, r->wanted,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
                   r->n_names ? str_text(&list) : "none, but --suite takes a file of problems too");
  str_clear(&list);
  return rc;
}

/* ---- where it is ----------------------------------------------------------------------------- */

static const char *builtin_text(const char *family) {
  str name = {0};
  const char *text = NULL;
  str_addf(&name, "%s.txt", family);
  for (const gen_file *f = tuner_files; f->name; f++) {
    text = strcmp(f->name, str_text(&name)) ? text : f->text;
  }
  str_clear(&name);
  return text;
}

/* Beside the template, if that is a file; else built in. */
static int family_text(const gen_template *t, str *text, str *path, err *e) {
  size_t n = strlen(t->path);
  str_addf(path, "%.*s.txt", (int)(n > 4 ? n - 4 : n), t->path);
  int rc = file_read(str_text(path), FILE_MOST, text, e);
  if (rc != ERR_NOTFOUND) {
    return rc;
  }
  err_clear(e);
  str_reset(path);
  str_addf(path, "tuner/suites/%s.txt", t->name);
  const char *builtin = builtin_text(t->name);
  str_add(text, builtin ? builtin : "");
  return 0;
}

static bool is_path(const char *name) {
  size_t n = strlen(name);
  return strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".txt"));
}

int suite_open(gen_template *t, const char *name, arena *a, suite *out, err *e) {
  str text = {0}, path = {0};
  bool is_file = is_path(name);
  *out = (suite){0};
  if (is_file) {
    str_add(&path, name);
  }
  int rc = is_file ? file_read(name, FILE_MOST, &text, e) : family_text(t, &text, &path, e);
  reader r = {.t = t, .path = str_text(&path), .wanted = is_file ? NULL : name, .a = a, .out = out};
  rc = rc ? rc : read_text(&r, str_text(&text), e);
  if (!rc && r.wanted && !r.found) {
    rc = unknown(&r, e);
  } else if (!rc && !out->n) {
    rc = err_at(e, ERR_USAGE, r.path, "the suite has no problems");
  }
  str_clear(&text);
  str_clear(&path);
  return rc;
}
