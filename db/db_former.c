/* db_former.c -- rows of templates under the digests they had before: shown under the present ones
 * where the file is open for reading, moved to them where it is open for writing.
 *
 * What is moved joins what is there as in a merge (db_merge.c), so that it makes no difference
 * which of two databases was moved before they were merged. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "db_sql.h"
#include "str.h"

/* ---- rows and their present texts -------------------------------------------------------------- */

typedef struct row { /* a trial or a problem */
  int64_t id;
  const char *text; /* of a trial: its configuration */
  int64_t device;   /* of a problem */
} row;

static int list_rows(db *d, const char *sql, int64_t of, arena *a, row **rows, size_t *n, err *e) {
  *rows = NULL;
  *n = 0;
  db_query q = db_ask(d, sql, e);
  db_in(&q, DB_INT(of));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    row *x = &(*rows)[(*n)++];
    x->id = db_out_int(&q);
    x->text = db_out_text(&q, a);
    x->device = db_out_int(&q);
  }
  return db_done(&q);
}

static int list_problems(db *d, int64_t template_id, arena *a, row **rows, size_t *n, err *e) {
  return list_rows(d, "SELECT id, text, device FROM main.problem WHERE template = ?1", template_id,
                   a, rows, n, e);
}

/* The text in present words, in the arena; where that can't be told, as it is. */
static int present_text(const db_formers *f, db_rename *rename, const char *family,
                        const char **text, arena *a, err *e) {
  auto_str now = {0};
  if (!rename || (rename(f->self, family, *text, &now) && !now.failed)) {
    return 0;
  }
  const char *copy = now.failed ? NULL : arena_text(a, str_text(&now));
  *text = copy ? copy : *text;
  return copy ? 0 : err_nomem(e);
}

/* The first column of a query's first row; 0 without one. */
static int find(db_query *q, int64_t *id) {
  *id = 0;
  const int rc = db_first_int(q, id);
  return rc == ERR_NOTFOUND ? 0 : rc;
}

static int find_template(db *d, const char *digest, int64_t *id, err *e) {
  db_query q = db_ask(d, "SELECT id FROM main.template WHERE hash = ?1", e);
  db_in(&q, DB_TEXT(digest));
  return find(&q, id);
}

/* ---- for reading ----------------------------------------------------------------------------- */

/* Temporary tables and views come before those of the file of the same name. A digest that the file
 * has rows of, too, stays apart: those rows are newer. A problem that another process moves has its
 * present text from then on. */
static const char SHOWN[] =
    "CREATE TEMP VIEW template AS SELECT id, coalesce((SELECT present FROM temp.former AS f"
    "  WHERE f.digest = hash AND NOT EXISTS (SELECT 1 FROM main.template WHERE hash = f.present)"
    "  LIMIT 1), hash) AS hash, family, version, path, at FROM main.template";
static const char RENAMED[] =
    "CREATE TEMP VIEW problem AS SELECT id, template, device, text, at FROM main.problem AS p"
    "  WHERE NOT EXISTS (SELECT 1 FROM temp.renamed AS r WHERE r.id = p.id AND r.former = p.text)"
    " UNION ALL SELECT p.id, template, device, r.present, at FROM temp.renamed AS r"
    "  JOIN main.problem AS p ON p.id = r.id AND p.text = r.former";

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

static int note_problem(db *d, const row *problem, const char *present, err *e) {
  db_query q = db_ask(d, "INSERT INTO temp.renamed (id, former, present) VALUES (?1, ?2, ?3)", e);
  db_in(&q, DB_INT(problem->id), DB_TEXT(problem->text), DB_TEXT(present));
  return db_run(&q);
}

static int note_problems(db *d, const db_formers *f, const db_former *of, bool *any, err *e) {
  auto_arena a = {0};
  row *rows;
  size_t n;
  int64_t id;
  TRY(find_template(d, of->digest, &id, e));
  TRY(list_problems(d, id, &a, &rows, &n, e));
  for (size_t i = 0; i < n; i++) {
    const char *now = rows[i].text;
    TRY(present_text(f, f->rename_problem, of->family, &now, &a, e));
    if (strcmp(now, rows[i].text) != 0) {
      TRY(note_problem(d, &rows[i], now, e));
      *any = true;
    }
  }
  return 0;
}

static int show(db *d, const db_formers *f, err *e) {
  bool any = false;
  TRY(db_execute(d,
                 "CREATE TEMP TABLE former (digest TEXT, present TEXT);"
                 "CREATE TEMP TABLE renamed (id INTEGER PRIMARY KEY, former TEXT, present TEXT);"
                 "CREATE INDEX temp.renamed_text ON renamed (present)",
                 e));
  for (size_t i = 0; i < f->n; i++) {
    TRY(note_former(d, &f->list[i], e));
    TRY(note_problems(d, f, &f->list[i], &any, e));
  }
  TRY(db_execute(d, SHOWN, e));
  TRY(any ? db_execute(d, RENAMED, e) : 0);
  TRY(copy_view(d, "result", e));
  TRY(copy_view(d, "winner", e));
  return copy_view(d, "best", e);
}

/* ---- for writing ----------------------------------------------------------------------------- */

static int with_ids(db *d, const char *sql, int64_t from, int64_t to, err *e) {
  db_query q = db_ask(d, sql, e);
  db_in(&q, DB_INT(from));
  if (!q.code && sqlite3_bind_parameter_count(q.s) > 1) {
    db_in(&q, DB_INT(to));
  }
  return db_run(&q);
}

static int find_trial(db *d, int64_t problem, const char *config, int64_t *id, err *e) {
  db_query q = db_ask(d, "SELECT id FROM trial WHERE problem = ?1 AND config = ?2", e);
  db_in(&q, DB_INT(problem), DB_TEXT(config));
  return find(&q, id);
}

/* The facts of trial ?1 become those of trial ?2; what both have is kept once. A row that does not
 * match its digest keeps it. */
#define MOVE_FACTS(table)                                                                          \
  "DELETE FROM " #table " WHERE trial = ?1 AND EXISTS (SELECT 1 FROM " #table " AS x"              \
  " WHERE x.trial = ?2 AND (x.host, x.run, x.sequence) ="                                          \
  "  (" #table ".host, " #table ".run, " #table ".sequence))",                                     \
      "UPDATE " #table " SET digest = NULL WHERE trial = ?1 AND digest ="                          \
      " (SELECT digest FROM " #table "_seal AS y WHERE y.id = " #table ".id)",                     \
      "UPDATE " #table " SET trial = ?2 WHERE trial = ?1",                                         \
      "UPDATE " #table " SET digest = (SELECT digest FROM " #table "_seal AS y"                    \
      " WHERE y.id = " #table ".id) WHERE trial = ?2 AND digest IS NULL"

static const char *const join_trials[] = {
    "UPDATE trial SET (status, reason, image, error, at, " DB_KEY_COLUMNS ") ="
    " (o.status, o.reason, o.image, o.error, o.at, o.host, o.run, o.sequence)"
    " FROM trial AS o WHERE o.id = ?1 AND trial.id = ?2"
    " AND (o.at, o.sequence, o.run) > (trial.at, trial.sequence, trial.run)",
    MOVE_FACTS(sample),
    MOVE_FACTS(estimate),
    "INSERT INTO preparation (trial, sec, at) SELECT ?2, sec, at FROM preparation WHERE trial = ?1"
    " ON CONFLICT (trial) DO UPDATE SET " DB_JOIN_PREPARATION,
    "DELETE FROM preparation WHERE trial = ?1",
    "DELETE FROM standing WHERE trial IN (?1, ?2)",
    "INSERT INTO standing (trial, problem, rank, sec, spread, at, sequence, run)"
    " SELECT t.id, t.problem, x.rank, x.sec, x.spread, x.at, x.sequence, x.run"
    " FROM (SELECT * FROM timing WHERE trial = ?2 ORDER BY rank, " DB_LAST_FIRST " LIMIT 1) AS x"
    " JOIN trial AS t ON t.id = x.trial",
    "DELETE FROM trial WHERE id = ?1",
};

static const char *const move_trial[] = {
    "UPDATE trial SET problem = ?2 WHERE id = ?1",
    "UPDATE standing SET problem = ?2 WHERE trial = ?1",
};

static const char *const join_problems[] = {
    "UPDATE problem SET at = min(problem.at, o.at) FROM problem AS o"
    " WHERE o.id = ?1 AND problem.id = ?2",
    "INSERT INTO effort (problem, host, run, sec) SELECT ?2, host, run, sec FROM effort"
    " WHERE problem = ?1 ON CONFLICT (problem, host, run) DO UPDATE"
    " SET sec = max(sec, excluded.sec)",
    "DELETE FROM effort WHERE problem = ?1",
    "DELETE FROM problem WHERE id = ?1",
};

static const char *const join_templates[] = {
    "UPDATE template SET " DB_JOIN_TEMPLATE("o") " FROM template AS o WHERE o.id = ?1 AND"
                                                 " template.id = ?2",
    "INSERT INTO portfolio (template, device, text, at) SELECT ?2, device, text, at FROM portfolio"
    " WHERE template = ?1 ON CONFLICT (template, device) DO UPDATE"
    " SET (text, at) = (excluded.text, excluded.at)"
    " WHERE (excluded.at, excluded.text) > (at, text)",
    "DELETE FROM portfolio WHERE template = ?1",
    "DELETE FROM template WHERE id = ?1",
};

static int run_all(db *d, const char *const *list, size_t n, int64_t from, int64_t to, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(with_ids(d, list[i], from, to, e));
  }
  return 0;
}
#define RUN_ALL(d, list, from, to, e) run_all(d, list, sizeof(list) / sizeof *(list), from, to, e)

/* ---- trials ---------------------------------------------------------------------------------- */

static int rename_trial(db *d, int64_t problem, int64_t trial, const char *config, err *e) {
  int64_t same;
  TRY(find_trial(d, problem, config, &same, e));
  if (same) {
    return same == trial ? 0 : RUN_ALL(d, join_trials, trial, same, e);
  }
  db_query q = db_ask(d, "UPDATE trial SET config = ?2 WHERE id = ?1", e);
  db_in(&q, DB_INT(trial), DB_TEXT(config));
  return db_run(&q);
}

static int list_trials(db *d, int64_t problem, arena *a, row **rows, size_t *n, err *e) {
  return list_rows(d, "SELECT id, config, 0 FROM trial WHERE problem = ?1", problem, a, rows, n, e);
}

static int rename_trials(db *d, const db_formers *f, const char *family, int64_t problem, err *e) {
  auto_arena a = {0};
  row *rows;
  size_t n;
  TRY(list_trials(d, problem, &a, &rows, &n, e));
  for (size_t i = 0; i < n; i++) {
    const char *config = rows[i].text;
    TRY(present_text(f, f->rename_config, family, &config, &a, e));
    TRY(strcmp(config, rows[i].text) ? rename_trial(d, problem, rows[i].id, config, e) : 0);
  }
  return 0;
}

static int move_trials(db *d, int64_t from, int64_t to, err *e) {
  arena a = {0};
  row *rows;
  size_t n;
  int rc = list_trials(d, from, &a, &rows, &n, e);
  for (size_t i = 0; !rc && i < n; i++) {
    int64_t same;
    rc = find_trial(d, to, rows[i].text, &same, e);
    rc = rc     ? rc
         : same ? RUN_ALL(d, join_trials, rows[i].id, same, e)
                : RUN_ALL(d, move_trial, rows[i].id, to, e);
  }
  arena_clear(&a);
  return rc;
}

/* ---- problems and templates ------------------------------------------------------------------ */

/* The kernels of a former text may have other names and arguments. */
static int forget_images(db *d, int64_t problem, err *e) {
  db_query q =
      db_ask(d, "UPDATE trial SET image = NULL WHERE image IS NOT NULL AND problem = ?1", e);
  db_in(&q, DB_INT(problem));
  return db_run(&q);
}

static int find_problem(db *d, int64_t template_id, int64_t device, const char *text, int64_t *id,
                        err *e) {
  db_query q =
      db_ask(d, "SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3", e);
  db_in(&q, DB_INT(template_id), DB_INT(device), DB_TEXT(text));
  return find(&q, id);
}

/* To another template, or under another text, or both. */
static int move_problem(db *d, const row *problem, int64_t to, const char *text, err *e) {
  int64_t same;
  TRY(find_problem(d, to, problem->device, text, &same, e));
  if (same == problem->id) {
    return 0;
  }
  if (!same) {
    db_query q = db_ask(d, "UPDATE problem SET template = ?2, text = ?3 WHERE id = ?1", e);
    db_in(&q, DB_INT(problem->id), DB_INT(to), DB_TEXT(text));
    return db_run(&q);
  }
  TRY(move_trials(d, problem->id, same, e));
  return RUN_ALL(d, join_problems, problem->id, same, e);
}

static int move_problems(db *d, const db_formers *f, const char *family, int64_t from, int64_t to,
                         err *e) {
  auto_arena a = {0};
  row *rows;
  size_t n;
  TRY(list_problems(d, from, &a, &rows, &n, e));
  for (size_t i = 0; i < n; i++) {
    const char *text = rows[i].text;
    TRY(rename_trials(d, f, family, rows[i].id, e));
    TRY(forget_images(d, rows[i].id, e));
    TRY(present_text(f, f->rename_problem, family, &text, &a, e));
    TRY(move_problem(d, &rows[i], to, text, e));
  }
  return 0;
}

static int take_digest(db *d, int64_t template_id, const char *present, err *e) {
  db_query q = db_ask(d, "UPDATE template SET hash = ?2 WHERE id = ?1", e);
  db_in(&q, DB_INT(template_id), DB_TEXT(present));
  return db_run(&q);
}

static int move(db *d, const db_formers *f, const db_former *x, int64_t from, err *e) {
  int64_t to;
  TRY(find_template(d, x->present, &to, e));
  TRY(move_problems(d, f, x->family, from, to ? to : from, e));
  return to ? RUN_ALL(d, join_templates, from, to, e) : take_digest(d, from, x->present, e);
}

static int move_all(db *d, const db_formers *f, err *e) {
  for (size_t i = 0; i < f->n; i++) {
    int64_t id;
    TRY(find_template(d, f->list[i].digest, &id, e));
    TRY(id ? move(d, f, &f->list[i], id, e) : 0);
  }
  return 0;
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

static int any_former(db *d, const db_formers *f, bool *any, err *e) {
  *any = false;
  for (size_t i = 0; !*any && i < f->n; i++) {
    int64_t id;
    TRY(has_former(d, &f->list[i], &id, any, e));
  }
  return 0;
}

/* Is there a template to move? */
static int any_to_move(db *d, const db_formers *f, bool *any, err *e) {
  *any = false;
  for (size_t i = 0; !*any && i < f->n; i++) {
    int64_t id;
    TRY(find_template(d, f->list[i].digest, &id, e));
    *any = id != 0;
  }
  return 0;
}

int db_follow(db *d, const db_formers *f, err *e) {
  bool any;
  if (sqlite3_db_readonly(d->sql, "main")) {
    TRY(any_former(d, f, &any, e));
    return any ? show(d, f, e) : 0;
  }
  TRY(any_to_move(d, f, &any, e));
  if (!any) {
    return 0;
  }
  TRY(db_begin(d, e));
  return db_end(d, move_all(d, f, e), e);
}

int db_is_former(db *d, const char *digest, bool *yes, err *e) {
  int64_t id;
  TRY(find_template(d, digest, &id, e));
  *yes = !id;
  return 0;
}
