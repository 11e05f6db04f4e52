/* cmd_db.c -- autotune db: exchange results as text, and maintain the database.
 *
 *   export, import   the best result of every problem, one line each (db_text.h)
 *   merge            everything in another database
 *   prune            delete images that are unlikely to be used
 *   stat, verify     size, and integrity */
#include <string.h>

#include "json_writer.h"
#include "print.h"
#include "serve_former.h"
#include "verbs.h"

static void print_unless_quiet(const cli *c, str *s) {
  if (c->quiet && !c->json) {
    str_reset(s);
  }
  print_str(s);
}

/* ---- from several files ---------------------------------------------------------------------- */

typedef int take_file(const cli *c, db *d, const char *path, err *e);

static int64_t rows_of(const db_stats *s, const char *table) {
  for (int i = 0; i < DB_TABLES; i++) {
    if (!strcmp(s->tables[i].table, table)) {
      return s->tables[i].rows;
    }
  }
  return 0;
}

static int merge_file(const cli *c, db *d, const char *path, err *e) {
  static const char *const tables[] = {"problem", "trial", "sample", "image", "portfolio"};
  db_stats before = {0}, after = {0};
  TRY(db_stat(d, &before, e));
  TRY(db_merge(d, path, e));
  TRY(serve_follow(d, e));
  TRY(db_stat(d, &after, e));
  str out = {0};
  if (c->json) {
    jw_event(&out, "merge");
    jw_text(&out, "file", path);
    jw_text(&out, "into", db_path(d));
  } else {
    str_addf(&out, "%s is merged into %s:", path, db_path(d));
  }
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    const int64_t n = rows_of(&after, tables[i]) - rows_of(&before, tables[i]);
    if (c->json) {
      jw_integer(&out, tables[i], n);
    } else {
      str_addf(&out, "%s %lld %s%s", i ? "," : "", (long long)n, tables[i], n == 1 ? "" : "s");
    }
  }
  str_add(&out, c->json ? "}\n" : " more\n");
  print_unless_quiet(c, &out);
  return 0;
}

static int take_files(const cli *c, take_file *take, err *e) {
  auto_db *d = NULL;
  if (c->n_words < 2) {
    return err_set(e, ERR_USAGE, "name a file: autotune db %s FILE", c->words[0]);
  }
  TRY(cli_open_db(c, DB_WRITE, &d, e));
  for (size_t i = 1; i < c->n_words; i++) {
    TRY(take(c, d, c->words[i], e));
  }
  return 0;
}

static int db_import(const cli *c, err *e) {
  return take_files(c, cmd_db_import_file, e);
}

static int db_merge_files(const cli *c, err *e) {
  return take_files(c, merge_file, e);
}

/* ---- maintenance ------------------------------------------------------------------------------ */

static int prune(const cli *c, err *e) {
  auto_db *d = NULL;
  int64_t keep, n = 0;
  db_stats before = {0}, after = {0};
  str out = {0};
  TRY(cli_number("top", c->top, 1, 1000000, 3, &keep, e));
  TRY(cli_open_db(c, DB_READ, &d, e)); /* does not create a missing database */
  db_close(d);
  d = NULL;
  TRY(cli_open_db(c, DB_WRITE, &d, e));
  TRY(db_stat(d, &before, e));
  TRY(db_prune(d, (int)keep, &n, e));
  TRY(db_stat(d, &after, e));
  if (c->json) {
    jw_event(&out, "prune");
    jw_integer(&out, "deleted", n);
    jw_integer(&out, "nbytes_before", before.nbytes);
    jw_integer(&out, "nbytes", after.nbytes);
    jw_end_line(&out);
  } else {
    str_addf(&out, "%lld images deleted, %lld KB before, %lld KB now\n", (long long)n,
             (long long)before.nbytes / 1024, (long long)after.nbytes / 1024);
  }
  print_unless_quiet(c, &out);
  return 0;
}

static void add_stats(const char *path, const db_stats *s, str *out) {
  str_addf(out, "%s: %lld KB, schema %d\n", path, (long long)s->nbytes / 1024, s->schema);
  for (int i = 0; i < DB_TABLES; i++) {
    str_addf(out, "  %-12s %9lld\n", s->tables[i].table, (long long)s->tables[i].rows);
  }
}

static void add_stats_json(const char *path, const db_stats *s, str *out) {
  jw_event(out, "database");
  jw_text(out, "file", path);
  jw_integer(out, "nbytes", s->nbytes);
  jw_integer(out, "schema", s->schema);
  for (int i = 0; i < DB_TABLES; i++) {
    jw_integer(out, s->tables[i].table, s->tables[i].rows);
  }
  jw_end_line(out);
}

static int stat_db(const cli *c, err *e) {
  auto_db *d = NULL;
  db_stats s;
  str out = {0};
  TRY(cli_open_db(c, DB_READ, &d, e));
  TRY(db_stat(d, &s, e));
  (c->json ? add_stats_json : add_stats)(db_path(d), &s, &out);
  print_str(&out);
  return 0;
}

static int verify(const cli *c, err *e) {
  auto_db *d = NULL;
  str out = {0};
  TRY(cli_open_db(c, DB_READ, &d, e));
  TRY(db_verify(d, e));
  if (c->json) {
    jw_event(&out, "verify");
    jw_text(&out, "file", db_path(d));
    jw_integer(&out, "damaged", 0);
    jw_end_line(&out);
  } else {
    str_addf(&out, "%s is sound\n", db_path(d));
  }
  print_unless_quiet(c, &out);
  return 0;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  int (*run)(const cli *c, err *e);
  size_t most; /* words after it */
} actions[] = {
    {"export", cmd_db_export, SIZE_MAX},
    {"import", db_import, SIZE_MAX},
    {"merge", db_merge_files, SIZE_MAX},
    {"prune", prune, 0},
    {"stat", stat_db, 0},
    {"verify", verify, 0},
};

int cmd_db(const cli *c, err *e) {
  const char *word = c->n_words ? c->words[0] : "";
  for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
    if (!strcmp(actions[i].name, word)) {
      return c->n_words - 1 <= actions[i].most
                 ? actions[i].run(c, e)
                 : err_set(e, ERR_USAGE, "autotune db %s takes no word \"%s\"", word, c->words[1]);
    }
  }
  return cli_no_action(c, e);
}
