/* db_check.c -- the size of a database, and whether it is sound. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "db_sql.h"
#include "str.h"

/* ---- size ------------------------------------------------------------------------------------ */

static const struct {
  const char *table, *count;
} tables[DB_TABLES] = {
#define COUNT(name)                                                                                \
  { #name, "SELECT count(*) FROM " #name }
    COUNT(device),    COUNT(template), COUNT(problem),     COUNT(image),  COUNT(image_bulk),
    COUNT(trial),     COUNT(sample),   COUNT(estimate),    COUNT(effort), COUNT(standing),
    COUNT(portfolio), COUNT(host),     COUNT(preparation),
#undef COUNT
};

static int64_t file_nbytes(const char *path, const char *ending) {
  char name[4096];
  struct stat s;
  snprintf(name, sizeof name, "%s%s", path, ending);
  return stat(name, &s) ? 0 : (int64_t)s.st_size;
}

static int count(db *d, int i, int64_t *rows, err *e) {
  bool there;
  TRY(db_has(d, tables[i].table, &there, e));
  *rows = 0;
  if (!there) {
    return 0;
  }
  db_query q = db_ask(d, tables[i].count, e);
  return db_first_int(&q, rows);
}

int db_stat(db *d, db_stats *out, err *e) {
  int64_t version;
  *out = (db_stats){.nbytes = file_nbytes(d->path, "") + file_nbytes(d->path, "-wal")};
  for (int i = 0; i < DB_TABLES; i++) {
    out->tables[i].table = tables[i].table;
    TRY(count(d, i, &out->tables[i].rows, e));
  }
  db_query q = db_ask(d, "PRAGMA user_version", e);
  TRY(db_first_int(&q, &version));
  out->schema = (int)version;
  return 0;
}

/* ---- soundness ------------------------------------------------------------------------------- */

/* Each query returns a description of the first defect, or no row. SQLite's own check covers pages,
 * indexes and types; it tests the CHECKs of schema.sql only where the file is open for writing. */
static const char *const checks[] = {
    "SELECT integrity_check FROM pragma_integrity_check(1) WHERE integrity_check <> 'ok'",

    "SELECT 'a row of ' || \"table\" || ' refers to a missing ' || parent "
    "FROM pragma_foreign_key_check LIMIT 1",

    "SELECT 'an image''s key is not a hash: ' || key FROM image "
    "WHERE length(key) <> 32 OR key GLOB '*[^0-9a-f]*' LIMIT 1",
};

/* For files without keys and with them (schema.sql, step 5): where trials stand. */
#define DOES_NOT_STAND " || ' does not stand where its samples put it' "

static const char *const unkeyed[] = {
    "SELECT 'trial ' || trial" DOES_NOT_STAND "FROM (SELECT t.id AS trial, s.sec, s.rank,"
    "  (SELECT median FROM sample WHERE trial = t.id AND stage = 'final' ORDER BY id DESC LIMIT 1)"
    "   AS final,"
    "  (SELECT median FROM sample WHERE trial = t.id AND stage = 'screen' ORDER BY id DESC LIMIT 1)"
    "   AS screen,"
    "  (SELECT sec FROM estimate WHERE trial = t.id ORDER BY id DESC LIMIT 1) AS modelled"
    " FROM trial AS t LEFT JOIN standing AS s ON s.trial = t.id) "
    "WHERE sec IS NOT coalesce(final, screen, modelled) OR rank IS NOT"
    " CASE WHEN final IS NOT NULL THEN 0 WHEN screen IS NOT NULL THEN 1"
    "  WHEN modelled IS NOT NULL THEN 2 END LIMIT 1",
};

static const char *const keyed[] = {
    "SELECT 'trial ' || id || ' has no key' FROM trial"
    " WHERE host IS NULL OR run IS NULL OR sequence IS NULL LIMIT 1",

    "SELECT 'trial ' || x.trial" DOES_NOT_STAND
    "FROM timing AS x LEFT JOIN standing AS s ON s.trial = x.trial"
    " WHERE s.trial IS NULL OR (-x.rank, x.at, x.sequence, x.run) >"
    "  (-s.rank, s.at, s.sequence, s.run) LIMIT 1",

    "SELECT 'trial ' || s.trial" DOES_NOT_STAND
    "FROM standing AS s JOIN trial AS t ON t.id = s.trial"
    " WHERE s.problem <> t.problem OR NOT EXISTS (SELECT 1 FROM sample WHERE trial = s.trial"
    "   AND (iif(stage = 'final', 0, 1), median, spread, at, sequence, run) ="
    "    (s.rank, s.sec, s.spread, s.at, s.sequence, s.run))"
    "  AND NOT EXISTS (SELECT 1 FROM estimate WHERE trial = s.trial"
    "   AND (2, sec, at, sequence, run) = (s.rank, s.sec, s.at, s.sequence, s.run)) LIMIT 1",
};

/* For files with digests (schema.sql, step 4). */
static const char *const seals[] = {
#define SEAL(table)                                                                                \
  "SELECT '" #table " ' || x.id || ' (' || t.config || ' of ' || p.text || ') is not what was "    \
  "stored' FROM " #table " AS x JOIN " #table "_seal AS y ON y.id = x.id"                          \
  " JOIN trial AS t ON t.id = x.trial JOIN problem AS p ON p.id = t.problem"                       \
  " WHERE x.digest IS NOT y.digest LIMIT 1"
    SEAL(sample),
    SEAL(estimate),
#undef SEAL
};
enum { SEALED = 4 };

static int check(db *d, const char *sql, err *e) {
  arena a = {0};
  db_query q = db_ask(d, sql, e);
  const char *wrong = db_row(&q) ? db_out_text(&q, &a) : NULL;
  int code = db_done(&q);
  if (!code && wrong) {
    code = db_damaged(d, wrong, e);
  }
  arena_clear(&a);
  return code;
}

/* Reading an image compares it with its digest. */
static int check_image(db *d, const char *key, err *e) {
  arena a = {0};
  db_image row;
  int code = db_image_get(d, key, &a, &row, e);
  arena_clear(&a);
  return code;
}

static int check_images(db *d, err *e) {
  arena a = {0};
  db_query q = db_ask(d, "SELECT image FROM image_bulk", e);
  while (db_row(&q)) {
    const char *key = db_out_text(&q, &a);
    if (!q.code) {
      q.code = check_image(d, key, e);
    }
    arena_clear(&a);
  }
  return db_done(&q);
}

/* ---- the schema: a view, trigger or table that is not ours would answer for us ----------------- */

#define OBJECTS(condition)                                                                         \
  "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema "                              \
  "WHERE name NOT GLOB 'sqlite_*' AND " condition " ORDER BY type || ' ' || name"
static const char triggers[] = OBJECTS("type = 'trigger'");
static const char what_queries_read[] = OBJECTS("type <> 'trigger'");

typedef struct object {
  const char *name, *sql; /* NULL: there is none left */
} object;

static object next_object(db_query *q, arena *a) {
  object o = {NULL, NULL};
  if (db_row(q)) {
    o.name = db_out_text(q, a);
    o.sql = db_out_text(q, a);
  }
  return q->code ? (object){NULL, NULL} : o;
}

/* What is wrong with the object that comes first by name; NULL: they are the same. */
static const char *difference(const object *is, const object *should, arena *a) {
  const int order = !is->name ? 1 : !should->name ? -1 : strcmp(is->name, should->name);
  if (order > 0) {
    return arena_format(a, "the %s is missing", should->name);
  }
  return order < 0 ? arena_format(a, "the %s is not of autotune's making", is->name)
         : strcmp(is->sql, should->sql) ? arena_format(a, "the %s is not autotune's", is->name)
                                        : NULL;
}

static int check_schema(db *d, db *fresh, const char *sql, err *e) {
  auto_arena a = {0};
  db_query q = db_ask(d, sql, e), r = db_ask(fresh, sql, e);
  const char *wrong = NULL;
  bool more = true;
  while (more && !wrong) {
    const object is = next_object(&q, &a), should = next_object(&r, &a);
    more = is.name || should.name;
    wrong = more && !q.code && !r.code ? difference(&is, &should, &a) : NULL;
    more = more && !q.code && !r.code;
  }
  const int rc = db_done(&q), rd = db_done(&r);
  return rc || rd ? (rc ? rc : rd) : wrong ? db_damaged(d, wrong, e) : 0;
}

/* Of the newest schema, as a database without results has it. Making such a one for the comparison
 * takes a hundred times as long. */
static const char newest_schema[] = "c60205e92637948b6ae0702918cad538";

bool db_schema_is_newest(db *d, char digest[HASH_TEXT]) {
  err e = {0};
  auto_str all = {0};
  auto_arena a = {0};
  db_query q = db_ask(d, OBJECTS("true"), &e);
  for (object o = next_object(&q, &a); o.name; o = next_object(&q, &a)) {
    str_addf(&all, "%s\n%s\n", o.name, o.sql);
  }
  hash_bytes(str_text(&all), all.n, digest);
  return !db_done(&q) && !all.failed && d->version == d->format->n_steps &&
         !strcmp(digest, newest_schema);
}

/* A database with the schema that this one should have. */
static int open_fresh(const db *d, db **fresh, err *e) {
  db_format format = *d->format;
  format.n_steps = d->version;
  return db_open_format(":memory:", DB_WRITE, &format, fresh, e);
}

static int check_list(db *d, const char *const *list, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(check(d, list[i], e));
  }
  return 0;
}
#define CHECK_LIST(d, list, e) check_list(d, list, sizeof(list) / sizeof *(list), e)

static int check_contents(db *d, err *e) {
  TRY(CHECK_LIST(d, checks, e));
  TRY(d->version < DB_KEYS ? CHECK_LIST(d, unkeyed, e) : CHECK_LIST(d, keyed, e));
  TRY(d->version < SEALED ? 0 : CHECK_LIST(d, seals, e));
  return check_images(d, e);
}

/* The other checks read views. */
static int check_all(db *d, err *e) {
  auto_db *fresh = NULL;
  TRY(open_fresh(d, &fresh, e));
  TRY(check_schema(d, fresh, what_queries_read, e));
  TRY(check_contents(d, e));
  return check_schema(d, fresh, triggers, e);
}

int db_verify(db *d, err *e) {
  char digest[HASH_TEXT];
  TRY(db_execute(d, DB_LARGE_CACHE, e));
  return db_schema_is_newest(d, digest) ? check_contents(d, e) : check_all(d, e);
}
