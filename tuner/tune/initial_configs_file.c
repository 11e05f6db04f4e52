#define _GNU_SOURCE
#include "initial_configs_file.h"

#include <stdio.h>
#include <string.h>

#include "file.h"

enum { NBYTES_MOST = 1 << 24 };

typedef struct reader {
  gen_template *t;
  arena *a;
  initial_configs *out;
} reader;

/* The fields of "[FAMILY] FIELD=VALUE ...", which ends at `end`; NULL: of another family. */
static const char *problem_words(const reader *r, char *line, char *end) {
  *end = 0;
  line += strspn(line, " \t");
  const size_t n = strcspn(line, " \t");
  if (memchr(line, '=', n) || !n) {
    return line;
  }
  return n == strlen(r->t->name) && !strncmp(line, r->t->name, n) ? line + n : NULL;
}

static int add(reader *r, const char *problem, const char *config, err *e) {
  initial_config *g = &r->out->given[r->out->n];
  auto_str text = {0};
  gen_problem p;
  *g = (initial_config){0};
  TRY(gen_config_parse(r->t, config, &g->config, e));
  if (problem) {
    TRY(gen_problem_parse(r->t, problem, &p, e));
    gen_problem_text(r->t, &p, &text);
    TRY(text.failed ? err_nomem(e) : 0);
    g->problem = arena_text(r->a, str_text(&text));
    TRY(g->problem ? 0 : err_nomem(e));
  }
  r->out->n++;
  return 0;
}

static int read_line(reader *r, char *line, err *e) {
  line[strcspn(line, "\r")] = 0;
  line += strspn(line, " \t");
  char *colon = strchr(line, ':');
  if (!*line || *line == '#') {
    return 0;
  }
  if (!colon) {
    return add(r, NULL, line, e);
  }
  const char *problem = problem_words(r, line, colon);
  return problem ? add(r, problem, colon + 1, e) : 0;
}

static size_t count_lines(const char *text) {
  size_t n = 1;
  for (; (text = strchr(text, '\n')); text++) {
    n++;
  }
  return n;
}

static int read_text(reader *r, const char *path, char *text, err *e) {
  size_t number = 0;
  r->out->given = ARENA_ARRAY(r->a, initial_config, count_lines(text));
  TRY(r->out->given ? 0 : err_nomem(e));
  for (char *line; (line = strsep(&text, "\n"));) {
    err why = {0};
    char place[200];
    number++;
    const int rc = read_line(r, line, &why);
    if (rc) {
      snprintf(place, sizeof place, "%s:%zu", path, number);
      return err_at(e, rc, place, "%s", why.message);
    }
  }
  return 0;
}

int initial_configs_read(gen_template *t, const char *path, arena *a, initial_configs *out,
                         err *e) {
  reader r = {.t = t, .a = a, .out = out};
  auto_str text = {0};
  *out = (initial_configs){0};
  TRY(file_read(path, NBYTES_MOST, &text, e));
  char *copy = arena_text(a, str_text(&text));
  return copy ? read_text(&r, path, copy, e) : err_nomem(e);
}
