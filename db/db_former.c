/* db_former.c -- rows of templates under the digests they had before: shown under the present ones
 * where the file is open for reading, moved to them where it is open for writing. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "db_sql.h"
#include "str.h"

/* ---- for reading ----------------------------------------------------------------------------- */

/* Temporary tables and views come before those of the file of the same name. A digest that the file
 * has rows of, too, stays apart: those rows are newer. */
static const char SHOWN[] =
    "CREATE TEMP VIEW template AS SELECT id, coalesce((SELECT present FROM temp.former AS f"
    "  WHERE f.digest = hash AND NOT EXISTS (SELECT 1 FROM main.template WHERE hash = f.present)"
    "  LIMIT 1), hash) AS hash, family, version, path, at FROM main.template";

/* The file's views read the file's tables; copies of them read the temporary ones. */
static int copy_view(db *d, const char *name, err *e) {
  arena a = {0};
  str sql = {0};
  db_query q = db_ask(d, "SELECT substr(sql, 12) FROM main.sqlite_schema WHERE name = ?1", e);
  db_in(&q, DB_TEXT(name));
  const char *text = db_row(&q) ? db_out_text(&q, &a) : NULL;
  if (text) {
    str_addf(&sql, "CREATE TEMP VIEW%s", text);
  }
  int rc = db_done(&q);
  rc = rc || !text ? rc : db_execute(d, str_text(&sql), e);
  str_clear(&sql);
  arena_clear(&a);
  return rc;
}

static int note_former(db *d, const db_former *f, err *e) {
  db_query q = db_ask(d, "INSERT INTO temp.former (digest, present) VALUES (?1, ?2)", e);
  db_in(&q, DB_TEXT(f->digest), DB_TEXT(f->present));
  return db_run(&q);
}

static int show(db *d, const db_formers *f, err *e) {
  TRY(db_execute(d, "CREATE TEMP TABLE former (digest TEXT, present TEXT)", e));
  for (size_t i = 0; i < f->n; i++) {
    TRY(note_former(d, &f->list[i], e));
  }
  TRY(db_execute(d, SHOWN, e));
  TRY(copy_view(d, "result", e));
  TRY(copy_view(d, "winner", e));
  return copy_view(d, "best", e);
}

/* ---- for writing ----------------------------------------------------------------------------- */

/* Two configurations that became one stay two. */
static int rename_trial(db *d, int64_t trial, const char *config, err *e) {
  db_query q = db_ask(d, "UPDATE OR IGNORE trial SET config = ?2 WHERE id = ?1", e);
  db_in(&q, DB_INT(trial), DB_TEXT(config));
  return db_run(&q);
}

typedef struct trial {
  int64_t id;
  const char *config;
} trial;

static int list_trials(db *d, int64_t problem_template, arena *a, trial **rows, size_t *n, err *e) {
  *rows = NULL;
  *n = 0;
  db_query q = db_ask(d,
                      "SELECT t.id, t.config FROM problem AS p JOIN trial AS t ON t.problem = p.id"
                      " WHERE p.template = ?1",
                      e);
  db_in(&q, DB_INT(problem_template));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    (*rows)[*n].id = db_out_int(&q);
    (*rows)[(*n)++].config = db_out_text(&q, a);
  }
  return db_done(&q);
}

static int rename_trials(db *d, const db_formers *f, const char *family, int64_t template_id,
                         err *e) {
  arena a = {0};
  str config = {0};
  trial *rows;
  size_t n;
  int rc = list_trials(d, template_id, &a, &rows, &n, e);
  for (size_t i = 0; !rc && i < n; i++) {
    str_reset(&config);
    if (!f->rename(f->self, family, rows[i].config, &config) &&
        strcmp(str_text(&config), rows[i].config) != 0) {
      rc = rename_trial(d, rows[i].id, str_text(&config), e);
    }
  }
  str_clear(&config);
  arena_clear(&a);
  return rc;
}

static int with_two(db *d, const char *sql, int64_t first, int64_t second, err *e) {
  db_query q = db_ask(d, sql, e);
  db_in(&q, DB_INT(first), DB_INT(second));
  return db_run(&q);
}

static int take_digest(db *d, int64_t template_id, const char *present, err *e) {
  db_query q = db_ask(d, "UPDATE template SET hash = ?2 WHERE id = ?1", e);
  db_in(&q, DB_INT(template_id), DB_TEXT(present));
  return db_run(&q);
}

/* Problems that the present text has, too, stay where they are. */
static int join(db *d, int64_t from, int64_t to, err *e) {
  TRY(with_two(d, "UPDATE OR IGNORE problem SET template = ?2 WHERE template = ?1", from, to, e));
  return with_two(d, "UPDATE OR IGNORE portfolio SET template = ?2 WHERE template = ?1", from, to,
                  e);
}

/* The kernels of a former text may have other names and arguments. */
static int forget_images(db *d, int64_t template_id, err *e) {
  db_query q = db_ask(d,
                      "UPDATE trial SET image = NULL WHERE image IS NOT NULL AND problem IN"
                      " (SELECT id FROM problem WHERE template = ?1)",
                      e);
  db_in(&q, DB_INT(template_id));
  return db_run(&q);
}

static int move(db *d, const db_formers *f, const db_former *x, int64_t from, err *e) {
  int64_t to;
  err none = {0};
  TRY(rename_trials(d, f, x->family, from, e));
  TRY(forget_images(d, from, e));
  const int rc = db_template_find(d, x->present, &to, &none);
  return rc == ERR_NOTFOUND ? take_digest(d, from, x->present, e)
         : rc               ? err_set(e, rc, "%s", none.message)
                            : join(d, from, to, e);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Has it problems that the present one has not? */
static int has_former(db *d, const db_former *f, int64_t *id, bool *yes, err *e) {
  db_query q = db_ask(d,
                      "SELECT id FROM main.template AS m WHERE hash = ?1 AND EXISTS"
                      " (SELECT 1 FROM problem AS p WHERE p.template = m.id AND NOT EXISTS"
                      "  (SELECT 1 FROM main.template AS w JOIN problem AS o ON o.template = w.id"
                      "   WHERE w.hash = ?2 AND o.device = p.device AND o.text = p.text))",
                      e);
  db_in(&q, DB_TEXT(f->digest), DB_TEXT(f->present));
  const int rc = db_first_int(&q, id);
  *yes = !rc;
  return rc == ERR_NOTFOUND ? 0 : rc;
}

static int move_all(db *d, const db_formers *f, err *e) {
  for (size_t i = 0; i < f->n; i++) {
    int64_t id;
    bool yes;
    TRY(has_former(d, &f->list[i], &id, &yes, e));
    TRY(yes ? move(d, f, &f->list[i], id, e) : 0);
  }
  return 0;
}

static int any_former(db *d, const db_formers *f, bool *any, err *e) {
  *any = false;
  for (size_t i = 0; !*any && i < f->n; i++) {
    int64_t id;
    TRY(has_former(d, &f->list[i], &id, any, e));
  }
  return 0;
}

int db_follow(db *d, const db_formers *f, err *e) {
  bool any;
  TRY(any_former(d, f, &any, e));
  if (!any) {
    return 0;
  }
  if (sqlite3_db_readonly(d->sql, "main")) {
    return show(d, f, e);
  }
  TRY(db_begin(d, e));
  return db_end(d, move_all(d, f, e), e);
}

int db_is_former(db *d, const char *digest, bool *yes, err *e) {
  int64_t id;
  db_query q = db_ask(d, "SELECT id FROM main.template WHERE hash = ?1", e);
  db_in(&q, DB_TEXT(digest));
  const int rc = db_first_int(&q, &id);
  *yes = rc == ERR_NOTFOUND;
  return *yes ? 0 : rc;
}
