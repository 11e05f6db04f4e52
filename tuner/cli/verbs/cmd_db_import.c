/* cmd_db_import.c -- autotune db import: results as text (db_text.h) into the database. */
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "verbs.h"
#include "db_text.h"
#include "file.h"

typedef struct importer {
  db *d;
  gen_options options;
  gen_template *t; /* of the family looked at last; NULL: there is none */
  str family;
  const char *path;
  size_t n, n_stored, n_bad; /* results; new ones; malformed lines */
  err first;                 /* the error of the first malformed line */
  char place[200];
  bool closed; /* the file's end is there */
} importer;

static void note_bad(importer *in, size_t number, const err *why) {
  if (!in->n_bad++) {
    in->first = *why;
    snprintf(in->place, sizeof in->place, "%.180s:%zu", in->path, number);
  }
}

static void look_up_template(importer *in, const char *family) {
  if (strcmp(str_text(&in->family), family)) {
    gen_close(in->t);
    in->t = NULL;
    str_reset(&in->family);
    str_add(&in->family, family);
    gen_open(&in->options, family, &in->t, NULL);
  }
}

/* A line may be written by hand, with fields left out or reordered; problems are stored in
 * canonical text, which only the same version of the template can produce. */
static int make_canonical(importer *in, db_line *l, arena *a, err *e) {
  gen_problem p;
  gen_config c;
  auto_str problem = {0}, config = {0};
  look_up_template(in, l->template.family);
  if (!in->t || !gen_digest_is(in->t, l->template.hash)) {
    return 0;
  }
  if (l->kind != DB_KIND_PORTFOLIO && strcmp(l->template.hash, in->t->hash) != 0) {
    gen_problem_update(in->t->name, l->problem, &problem);
    l->problem = arena_text(a, str_text(&problem));
    str_reset(&problem);
  }
  l->template.hash = arena_text(a, in->t->hash);
  if (!l->problem || !l->template.hash) {
    return err_nomem(e);
  }
  if (l->kind == DB_KIND_PORTFOLIO) {
    return 0;
  }
  TRY(gen_problem_parse(in->t, l->problem, &p, e));
  TRY(gen_config_parse(in->t, l->config, &c, e));
  gen_problem_text(in->t, &p, &problem);
  gen_config_text(in->t, &c, &config);
  l->problem = arena_text(a, str_text(&problem));
  l->config = arena_text(a, str_text(&config));
  const bool ok = !problem.failed && !config.failed && l->problem && l->config;
  return ok ? 0 : err_nomem(e);
}

static int import_line(importer *in, const char *line, size_t n, size_t number, err *e) {
  auto_arena a = {0};
  db_line l;
  bool none, stored = false;
  err why = {0};
  int rc = db_text_read(line, n, &a, &l, &none, &why);
  rc = rc || none ? rc : make_canonical(in, &l, &a, &why);
  if (rc == ERR_USAGE) {
    note_bad(in, number, &why);
    rc = 0;
  } else if (rc) {
    rc = err_copy(e, rc, &why);
  } else if (!none) {
    rc = db_line_put(in->d, &l, &stored, e);
    in->n++;
    in->n_stored += stored;
  }
  return rc;
}

static int check_head(const char *path, const str *text, err *e) {
  const size_t n = strlen(DB_TEXT_HEAD);
  if (text->n >= n && !memcmp(text->p, DB_TEXT_HEAD, n) && strchr("\r\n", text->p[n])) {
    return 0;
  }
  return err_at(e, ERR_USAGE, path,
                "does not start with \"" DB_TEXT_HEAD "\"; it is not a file of results, or one of "
                "another version of autotune");
}

/* Before anything is stored. */
static int check_end(importer *in, const str *text, err *e) {
  err why = {0};
  size_t number;
  const int rc = db_text_check(text->p, text->n, &in->closed, &number, &why);
  char place[200];
  snprintf(place, sizeof place, "%.180s:%zu", in->path, number);
  return rc ? err_at(e, rc, place, "%s", why.message) : 0;
}

static int import_text(importer *in, const str *text, err *e) {
  size_t number = 1;
  TRY(check_head(in->path, text, e));
  TRY(check_end(in, text, e));
  for (const char *at = text->p, *end = at + text->n; at < end; number++) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    stop = stop ? stop : end;
    TRY(import_line(in, at, (size_t)(stop - at), number, e));
    at = stop + 1;
  }
  return 0;
}

enum { FILE_MOST = 256 << 20 };

int cmd_db_import_file(const cli *c, db *d, const char *path, err *e) {
  importer in = {.d = d, .path = path};
  arena a = {0};
  auto_str text = {0};
  int rc = cli_template_options(c, &a, &in.options, e);
  in.options.names_only = true;
  rc = rc ? rc : file_read(path, FILE_MOST, &text, e);
  rc = rc ? rc : import_text(&in, &text, e);
  gen_close(in.t);
  str_clear(&in.family);
  arena_clear(&a);
  TRY(rc);
  if (c->json) {
    str s = {0};
    jw_event(&s, "import");
    jw_text(&s, "file", path);
    jw_integer(&s, "results", (int64_t)in.n);
    jw_integer(&s, "new", (int64_t)in.n_stored);
    jw_end_line(&s);
    print_str(&s);
  } else if (!c->quiet) {
    printf("%s: %zu results, %zu of them new or better\n", path, in.n, in.n_stored);
  }
  if (!c->quiet && !in.closed && !in.n_bad) {
    fprintf(stderr,
            "autotune: %s does not end with a line \"" DB_TEXT_END
            "...\": unless an older autotune wrote it or it was edited by hand, it is truncated\n",
            path);
  }
  return in.n_bad ? err_at(e, ERR_USAGE, in.place, "%s; %zu line%s left out, the others are stored",
                           in.first.message, in.n_bad, in.n_bad == 1 ? " was" : "s were")
                  : 0;
}
