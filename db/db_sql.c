#include "db_sql.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- failures -------------------------------------------------------------------------------- */

#define MEND_DAMAGE                                                                                \
  "restore a copy, or move the file away and tune again (sqlite3's .recover saves what it can)"

static const struct {
  int rc, code;
  const char *what, *remedy;
  bool is_damage; /* the file is not as this program made it */
} failures[] = {
    {SQLITE_BUSY, ERR_DB, "is in use by another program",
     "wait until it has finished, or name another database with --db"},
    {SQLITE_LOCKED, ERR_DB, "is in use by another program",
     "wait until it has finished, or name another database with --db"},
    {SQLITE_READONLY, ERR_DB, "cannot be written",
     "make the file and its folder writable, or name another database with --db"},
    {SQLITE_CANTOPEN, ERR_DB, "cannot be opened, or the files beside it cannot",
     "make the file and its folder readable and writable, or name another database with --db"},
    {SQLITE_PERM, ERR_DB, "cannot be opened", "make it readable, or name another with --db"},
    {SQLITE_NOTADB, ERR_DB, "is not a database", "name another file with --db", true},
    {SQLITE_CORRUPT, ERR_DB, "is damaged", MEND_DAMAGE, true},
    {SQLITE_ERROR, ERR_DB, "does not hold the tables this program expects",
     "restore a copy, or name another database with --db", true},
    {SQLITE_FULL, ERR_DB, "has no room to grow, so this was not stored; earlier rows are intact",
     "free some space and run the same command again"},
    {SQLITE_IOERR, ERR_DB, "could not be read or written",
     "check the disk and its free space, or name another database with --db"},
    {SQLITE_CONSTRAINT, ERR_DB, "does not accept this row",
     "store the template, device, image and trial it refers to first, with values in range", true},
    {SQLITE_TOOBIG, ERR_LIMIT, "does not take texts or images over 64 MiB", "store a smaller one"},
    {SQLITE_NOMEM, ERR_NOMEM, "could not be used", "free some memory and run the command again"},
    {SQLITE_INTERRUPT, ERR_INTERRUPTED, "was interrupted", "run the same command again"},
    {0, ERR_DB, "cannot be used", "name another database with --db"}, /* anything else */
};

/* The reason of the operating system where there is one: SQLite only says "disk I/O error". */
static const char *detail(db *d, int rc) {
  int number = d->sql ? sqlite3_system_errno(d->sql) : 0;
  int kind = rc & 0xff;
  if (kind == SQLITE_CANTOPEN && number == ENOENT) {
    return "it cannot be created there";
  }
  if ((kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && number && number != ENOENT) {
    return strerror(number);
  }
  return d->sql && sqlite3_errcode(d->sql) == rc ? sqlite3_errmsg(d->sql) : sqlite3_errstr(rc);
}

/* SQLite's messages can span lines, and quote the contents of a damaged file. */
static int one_line(int code, err *e) {
  for (char *p = e ? e->message : NULL; p && *p; p++) {
    if ((unsigned char)*p < ' ' || *p == 127) {
      *p = ' ';
    }
  }
  return code;
}

int db_fail(db *d, int rc, err *e) {
  size_t i = 0;
  while (failures[i].rc && failures[i].rc != (rc & 0xff)) {
    i++;
  }
  d->is_damaged |= failures[i].is_damage;
  return one_line(err_set(e, failures[i].code, "database %s %s (%s); %s", d->path, failures[i].what,
                          detail(d, rc), failures[i].remedy),
                  e);
}

int db_damaged(db *d, const char *what, err *e) {
  d->is_damaged = true;
  return one_line(err_set(e, ERR_DB, "database %s is damaged (%s); " MEND_DAMAGE, d->path, what),
                  e);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int prepare(db *d, const char *sql, sqlite3_stmt **s) {
  for (size_t i = 0; i < d->n_cache; i++) {
    if (d->cache[i].text == sql) {
      *s = d->cache[i].s;
      return SQLITE_OK;
    }
  }
  int rc = sqlite3_prepare_v3(d->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
  if (!rc) {
    assert(d->n_cache < DB_MAX_STATEMENTS);
    d->cache[d->n_cache].text = sql;
    d->cache[d->n_cache++].s = *s;
  }
  return rc;
}

db_query db_ask(db *d, const char *sql, err *e) {
  db_query q = {.d = d, .e = e};
  int rc = prepare(d, sql, &q.s);
  if (rc) {
    q.code = db_fail(d, rc, e);
  }
  assert(q.code || !sqlite3_stmt_busy(q.s));
  return q;
}

static void note_rc(db_query *q, int rc) {
  if (rc && !q->code) {
    q->code = db_fail(q->d, rc, q->e);
  }
}

static int bind_text(db_query *q, const db_arg *x) {
  const size_t n = x->p ? strlen(x->p) : 0;
  if (n > x->n) {
    q->code = err_set(q->e, ERR_LIMIT,
                      "a text of %zu bytes is too long to store: \"%.60s...\"; at "
                      "most %d bytes",
                      n, (const char *)x->p, DB_MAX_TEXT);
    return SQLITE_OK;
  }
  return sqlite3_bind_text64(q->s, q->i, x->p, n, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_one(db_query *q, const db_arg *x) {
  switch (x->type) {
  case DB_ARG_INT: return sqlite3_bind_int64(q->s, q->i, x->i);
  case DB_ARG_REAL: return sqlite3_bind_double(q->s, q->i, x->r);
  case DB_ARG_TEXT: return bind_text(q, x);
  default: return sqlite3_bind_blob64(q->s, q->i, x->n ? x->p : NULL, x->n, SQLITE_STATIC);
  }
}

void db_bind(db_query *q, const db_arg *args, size_t n) {
  for (size_t i = 0; i < n && !q->code; i++) {
    q->i++;
    note_rc(q, bind_one(q, &args[i]));
  }
}

/* ---- reading --------------------------------------------------------------------------------- */

bool db_row(db_query *q) {
  if (q->code) {
    return false;
  }
  q->i = 0;
  int rc = sqlite3_step(q->s);
  note_rc(q, rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc);
  return rc == SQLITE_ROW;
}

int64_t db_out_int(db_query *q) {
  return sqlite3_column_int64(q->s, q->i++);
}

double db_out_real(db_query *q) {
  int i = q->i++;
  return sqlite3_column_type(q->s, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q->s, i);
}

/* The bytes of a column, copied and NUL-terminated; NULL for NULL. */
static void *out_bytes(db_query *q, arena *a, size_t max, size_t *n) {
  int i = q->i++;
  bool null = sqlite3_column_type(q->s, i) == SQLITE_NULL;
  const void *bytes = sqlite3_column_blob(q->s, i);
  *n = (size_t)sqlite3_column_bytes(q->s, i);
  if (null || q->code) {
    return NULL;
  }
  if (*n > max) {
    q->code = db_damaged(q->d, "it holds a text longer than any this program writes", q->e);
    return NULL;
  }
  bool lost = *n && !bytes; /* SQLite ran out of memory */
  void *copy = lost ? NULL : arena_text_n(a, *n ? bytes : "", *n);
  if (!copy) {
    q->code = err_set(q->e, ERR_NOMEM, "out of memory reading database %s", q->d->path);
  }
  return copy;
}

const char *db_out_text_or_null(db_query *q, arena *a) {
  size_t n;
  return out_bytes(q, a, DB_MAX_TEXT, &n);
}

const char *db_out_text(db_query *q, arena *a) {
  const char *text = db_out_text_or_null(q, a);
  if (!text && !q->code) {
    q->code = db_damaged(q->d, "a text is missing", q->e);
  }
  return text;
}

const void *db_out_bulk(db_query *q, arena *a, size_t *n) {
  return out_bytes(q, a, DB_MAX_BULK, n);
}

int db_done(db_query *q) {
  if (q->s) {
    sqlite3_reset(q->s); /* its return value repeats what db_row has reported */
    sqlite3_clear_bindings(q->s);
  }
  return q->code;
}

int db_run(db_query *q) {
  while (db_row(q)) {
  }
  return db_done(q);
}

int db_first_int(db_query *q, int64_t *value) {
  bool found = db_row(q);
  if (found) {
    *value = db_out_int(q);
  }
  TRY(db_done(q));
  return found ? 0 : ERR_NOTFOUND;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* SQLite rolls back by itself after some failures; and a rollback can fail for lack of memory, so
 * the next transaction checks again. */
static void rollback(db *d) {
  if (!sqlite3_get_autocommit(d->sql)) {
    sqlite3_exec(d->sql, "ROLLBACK", NULL, NULL, NULL);
  }
}

int db_begin(db *d, err *e) {
  rollback(d);
  db_query q = db_ask(d, "BEGIN IMMEDIATE", e);
  return db_run(&q);
}

int db_end(db *d, int code, err *e) {
  if (!code) {
    db_query q = db_ask(d, "COMMIT", e);
    code = db_run(&q);
  }
  if (code) {
    rollback(d);
  }
  return code;
}
