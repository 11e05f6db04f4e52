/* present_presets.c -- the problems of shipped results in present words: after fields of problems
 * were renamed or added (templates/digests.txt), so that a program that starts need not.
 *
 *   make presets
 *   build/tests/bench/present_presets FILE ...
 *
 * Nothing else of the files changes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "db_text.h"
#include "file.h"
#include "gen.h"

enum { FILE_MOST = 256 << 20 };

static int add_result(db_line *l, arena *a, str *out, err *e) {
  auto_str problem = {0};
  if (l->kind != DB_KIND_PORTFOLIO) {
    gen_problem_update(l->template.family, l->problem, &problem);
    l->problem = arena_text(a, str_text(&problem));
    TRY(l->problem ? 0 : err_nomem(e));
  }
  db_text_write(l, out);
  return 0;
}

static int add_line(const char *line, size_t n, str *out, err *e) {
  auto_arena a = {0};
  db_line l;
  bool none;
  TRY(db_text_read(line, n, &a, &l, &none, e));
  if (!none) {
    return add_result(&l, &a, out, e);
  }
  if (strncmp(line, DB_TEXT_END, strlen(DB_TEXT_END)) != 0) {
    str_add_n(out, line, n);
    str_add(out, "\n");
  }
  return 0;
}

static int rewrite(const char *path, err *e) {
  auto_str text = {0}, out = {0};
  TRY(file_read(path, FILE_MOST, &text, e));
  for (const char *at = str_text(&text), *end; *at; at = *end ? end + 1 : end) {
    end = strchrnul(at, '\n');
    TRY(add_line(at, (size_t)(end - at), &out, e));
  }
  db_text_end(&out);
  return out.failed ? err_nomem(e) : file_write(path, str_text(&out), out.n, e);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    err e = {0};
    if (rewrite(argv[i], &e)) {
      fprintf(stderr, "present_presets: %s: %s\n", argv[i], e.message);
      return 1;
    }
  }
  return 0;
}
