/* db_open.c -- open a database: identify the file, choose the journal, migrate.
 *
 * Nothing is written before the file is known to be empty or a database of autotune. The
 * application id in its header distinguishes it from other SQLite files; user_version counts the
 * steps of schema.sql that it has seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db_sql.h"
#include "file.h"
#include "schema_steps.h" /* steps[], made from schema.sql */

static const db_format results = {.application_id = 0x4174756e, /* "Atun" */
                                  .steps = steps,
                                  .n_steps = sizeof steps / sizeof *steps};

/* ---- the connection -------------------------------------------------------------------------- */

int db_execute(db *d, const char *sql, err *e) {
  int rc = sqlite3_exec(d->sql, sql, NULL, NULL, NULL);
  return rc ? db_fail(d, rc, e) : 0;
}

void db_add_uri(str *s, const char *path) {
  str_add(s, *path == '/' ? "file://" : "file:");
  for (; *path; path++) {
    str_addf(s, strchr("?#%", *path) ? "%%%02x" : "%c", (unsigned char)*path);
  }
}

/* row_digest(...) -- of values with their types: schema.sql, step 4 */
static void row_digest(sqlite3_context *c, int n, sqlite3_value **values) {
  uint64_t digest = 0;
  for (int i = 0; i < n; i++) {
    const int type = sqlite3_value_type(values[i]);
    const int64_t whole = sqlite3_value_int64(values[i]);
    const double real = sqlite3_value_double(values[i]);
    digest = hash_more(digest, &type, sizeof type);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
      const void *bytes = sqlite3_value_blob(values[i]);
      digest = hash_more(digest, bytes, (size_t)sqlite3_value_bytes(values[i]));
    } else if (type == SQLITE_FLOAT) {
      digest = hash_more(digest, &real, sizeof real);
    } else {
      digest = hash_more(digest, &whole, sizeof whole);
    }
  }
  sqlite3_result_int64(c, (int64_t)digest);
}

/* current_run() -- schema.sql, step 5 */
static void current_run(sqlite3_context *c, int n, sqlite3_value **values) {
  (void)n, (void)values;
  const db *d = sqlite3_user_data(c);
  sqlite3_result_int64(c, d->run);
}

static int add_functions(db *d) {
  const int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
  const int rc = sqlite3_create_function(d->sql, "row_digest", -1, flags | SQLITE_DETERMINISTIC,
                                         NULL, row_digest, NULL, NULL);
  return rc ? rc
            : sqlite3_create_function(d->sql, "current_run", 0, flags, d, current_run, NULL, NULL);
}

static int connect(db *d, int flags, const char *parameters, err *e) {
  str uri = {0};
  db_add_uri(&uri, d->path);
  str_add(&uri, parameters);
  int rc = SQLITE_NOMEM;
  if (!uri.failed) {
    rc = sqlite3_open_v2(uri.p, &d->sql, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
  }
  str_clear(&uri);
  if (rc) {
    return db_fail(d, rc, e);
  }
  sqlite3_extended_result_codes(d->sql, 1);
  sqlite3_db_config(d->sql, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0); /* this saves 50 KB */
  sqlite3_busy_timeout(d->sql, DB_BUSY_MS);
  sqlite3_limit(d->sql, SQLITE_LIMIT_LENGTH, DB_MAX_BULK + DB_MAX_TEXT);
  sqlite3_db_config(d->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(d->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  rc = add_functions(d);
  if (rc) {
    return db_fail(d, rc, e);
  }
  sqlite3_randomness(sizeof d->run, &d->run);
  return db_execute(d, "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON", e);
}

/* touch -- read once: SQLite opens files lazily, so that the first read shows what is wrong */
static int touch(db *d) {
  return sqlite3_exec(d->sql, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
}

static void disconnect(db *d) {
  for (size_t i = 0; i < d->n_cache; i++) {
    sqlite3_finalize(d->cache[i].s);
  }
  sqlite3_close(d->sql);
  d->n_cache = 0;
  d->sql = NULL;
}

/* ---- whose file is it? ----------------------------------------------------------------------- */

/* identify -- the version of a database of autotune; 0 when it is empty.
 *   err  ERR_DB  another program's file, or newer than `known` */
static int identify(db *d, int known, int *version, err *e) {
  int64_t id = 0, v = 0, n = 0;
  /* one statement, so that all three are of one moment while another process creates the file */
  db_query q = db_ask(d,
                      "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
                      "FROM pragma_application_id, pragma_user_version",
                      e);
  if (db_row(&q)) {
    id = db_out_int(&q);
    v = db_out_int(&q);
    n = db_out_int(&q);
  }
  TRY(db_done(&q));
  *version = (int)v;
  bool empty = !id && !v && !n;
  if (v < 0 || (id != d->format->application_id && !empty)) {
    return err_set(e, ERR_DB, "%s is a database of another program; name another file with --db",
                   d->path);
  }
  if (v > known) {
    return err_set(e, ERR_DB,
                   "database %s was written by a newer version (schema %d, this program knows %d); "
                   "upgrade autotune or name another database with --db",
                   d->path, *version, known);
  }
  return 0;
}

/* ---- making it up to date -------------------------------------------------------------------- */

static int apply(db *d, const char *const *all, int n, err *e) {
  int version;
  TRY(identify(d, n, &version, e)); /* again, under the lock: another process may have migrated it
                                     * meanwhile */
  for (int i = version; i < n; i++) {
    TRY(db_execute(d, all[i], e));
  }
  char stamp[96];
  snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
           d->format->application_id, n);
  return db_execute(d, stamp, e);
}

int db_migrate(db *d, const char *const *all, int n, err *e) {
  TRY(db_begin(d, e));
  return db_end(d, apply(d, all, n, e), e);
}

/* ---- the write-ahead log --------------------------------------------------------------------- */

/* granted -- did SQLite switch? It answers with the current mode. */
static int ask_wal(db *d, bool *granted) {
  sqlite3_stmt *s;
  int rc = sqlite3_prepare_v2(d->sql, "PRAGMA journal_mode = WAL", -1, &s, NULL);
  if (!rc) {
    rc = sqlite3_step(s);
    const char *mode = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    *granted = mode && (!strcmp(mode, "wal") || !strcmp(mode, "memory"));
    sqlite3_finalize(s);
  }
  return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* SQLite's busy timeout does not cover this switch, which two processes may try on a new file. */
static int ask_wal_patiently(db *d, bool *granted) {
  double end = now_sec() + DB_BUSY_MS / 1000.0;
  int rc;
  while (((rc = ask_wal(d, granted)) & 0xff) == SQLITE_BUSY && now_sec() < end) {
    usleep(2000);
  }
  return rc;
}

/* SQLite switched but cannot use the log: its index is memory shared between processes, which this
 * file system does not provide. A sole owner needs no shared memory, and can switch back. */
static int take_back_wal(db *d, err *e) {
  disconnect(d);
  TRY(connect(d, SQLITE_OPEN_READWRITE, "", e));
  return db_execute(d,
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;"
                    "PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_schema",
                    e);
}

/* With a log, NORMAL survives a kill at any moment, and a power failure costs at most the last
 * rows; a rollback journal needs FULL for that (SQLite manual, PRAGMA synchronous). A disposable file
 * need not survive a power failure, and is not waited for: its creation would take as long as all else
 * before a first launch. */
static int set_synchronous(db *d, bool has_log, err *e) {
  return db_execute(d,
                    d->format->is_disposable ? "PRAGMA synchronous = OFF"
                    : has_log                ? "PRAGMA synchronous = NORMAL"
                                             : "PRAGMA synchronous = FULL",
                    e);
}

static int use_wal(db *d, err *e) {
  bool granted = false;
  int rc = ask_wal_patiently(d, &granted);
  rc = rc ? rc : touch(d);
  if ((rc & 0xff) == SQLITE_IOERR) {
    granted = false;
    TRY(take_back_wal(d, e));
  } else if (rc) {
    return db_fail(d, rc, e);
  }
  if (granted) {
    return set_synchronous(d, true, e);
  }
  d->note = "this file system cannot keep a write-ahead log, so readers and the writer of the "
            "database wait for each other; a local disk would not (name one with --db)";
  return set_synchronous(d, false, e);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int make_parents(db *d, err *e) {
  err why = {0};
  int code = strcmp(d->path, ":memory:") ? file_make_parents(d->path, &why) : 0;
  return code ? err_set(e, code, "%s; name another database with --db", why.message) : 0;
}

static int open_write(db *d, err *e) {
  TRY(make_parents(d, e));
  TRY(connect(d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "", e));
  if (sqlite3_db_readonly(d->sql, "main") == 1) {
    return db_fail(d, SQLITE_READONLY, e);
  }
  int version;
  const int newest = d->format->n_steps;
  TRY(identify(d, newest, &version, e));
  TRY(set_synchronous(d, false, e)); /* of the switch, too */
  TRY(use_wal(d, e));
  d->version = newest;
  return version == newest ? 0 : db_migrate(d, d->format->steps, newest, e);
}

/* Are there other files: a log, or the journal of an unfinished change? */
static bool file_is_partial(const db *d) {
  static const char *const endings[] = {"-wal", "-journal"};
  bool partial = false;
  for (int i = 0; i < 2; i++) {
    char name[4096];
    struct stat s;
    snprintf(name, sizeof name, "%s%s", d->path, endings[i]);
    partial = partial || (!stat(name, &s) && s.st_size > 0);
  }
  return partial;
}

/* SQLite reads a database with the help of files beside it. Where it cannot create them (a
 * read-only medium, a folder of another user), it can read a complete file as immutable. */
static int connect_unchanging(db *d, err *e) {
  if (file_is_partial(d)) {
    return err_set(e, ERR_DB,
                   "database %s was not closed and its folder cannot be written; copy it and the "
                   "files %s-* to a folder of your own, and name the copy with --db",
                   d->path, d->path);
  }
  disconnect(d);
  d->note = "the folder of the database is read-only: rows that others add while it is open here "
            "are not seen";
  return connect(d, SQLITE_OPEN_READONLY, "?immutable=1", e);
}

/* A reader is mostly a serving program that reads a row now and then: eight pages are enough, where
 * the default cache starts with 20 and grows to 2 MB. */
static int keep_small(db *d, err *e) {
  TRY(db_execute(d, "PRAGMA cache_size = 8", e));
  sqlite3_db_release_memory(d->sql); /* memory of the first pages */
  return 0;
}

static int open_read(db *d, err *e) {
  if (strcmp(d->path, ":memory:") && faccessat(AT_FDCWD, d->path, R_OK, AT_EACCESS)) {
    return errno == ENOENT ? err_set(e, ERR_NOTFOUND,
                                     "there is no database %s yet; tune something first, or "
                                     "name one with --db",
                                     d->path)
                           : err_set(e, ERR_DB,
                                     "database %s cannot be read (%s); make it readable, or name "
                                     "another with --db",
                                     d->path, strerror(errno));
  }
  TRY(connect(d, SQLITE_OPEN_READONLY, d->format->is_immutable ? "?immutable=1" : "", e));
  int rc = touch(d);
  if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) {
    TRY(connect_unchanging(d, e));
  }
  TRY(keep_small(d, e));
  int version;
  TRY(identify(d, d->format->n_steps, &version, e));
  if (version == 0) {
    return err_set(e, ERR_NOTFOUND, "database %s is empty; tune something first", d->path);
  }
  d->version = version; /* what an older file lacks is missing (db_has) */
  return 0;
}

/* Memory comes from SQLite's allocator, so that tests can fail any allocation. */
static db *new_handle(const char *path, const db_format *format) {
  size_t n = strlen(path) + 1;
  db *d = sqlite3_malloc64(sizeof *d + n);
  if (d) {
    memset(d, 0, sizeof *d);
    memcpy(d->path, path, n);
    d->format = format;
  }
  return d;
}

int db_remove(const char *path, err *e) {
  static const char *const beside[] = {"-wal", "-shm", "-journal", ""};
  int rc = 0;
  for (size_t i = 0; i < sizeof beside / sizeof *beside && !rc; i++) {
    auto_str name = {0};
    str_addf(&name, "%s%s", path, beside[i]);
    if (name.failed) {
      rc = err_nomem(e);
    } else if (unlink(name.p) && errno != ENOENT) {
      rc = err_set(e, ERR_IO, "%s cannot be deleted: %s", name.p, strerror(errno));
    }
  }
  return rc;
}

static int open_once(const char *path, db_mode mode, const db_format *format, db **out,
                     bool *damaged, err *e) {
  if (!*path) {
    return err_set(e, ERR_USAGE, "the name of the database is empty; name a file (--db, TUNED_DB)");
  }
  struct stat st;
  if (strcmp(path, ":memory:") && !stat(path, &st) && !S_ISREG(st.st_mode)) {
    return err_set(e, ERR_DB, "database %s is not a file; name another with --db", path);
  }
  db *d = new_handle(path, format);
  if (!d) {
    return err_set(e, ERR_NOMEM, "out of memory opening database %s", path);
  }
  int code = mode == DB_WRITE ? open_write(d, e) : open_read(d, e);
  if (code) {
    *damaged = d->is_damaged;
    db_close(d);
    return code;
  }
  *out = d;
  return 0;
}

int db_open_format(const char *path, db_mode mode, const db_format *format, db **out, err *e) {
  bool damaged = false;
  err why = {0};
  *out = NULL;
  int rc = open_once(path, mode, format, out, &damaged, &why);
  if (damaged && format->is_disposable && mode == DB_WRITE) {
    TRY(db_remove(path, e));
    TRY(open_once(path, mode, format, out, &damaged, e));
    (*out)->was_damaged = true;
    return 0;
  }
  return rc ? err_at(e, rc, why.place, "%s", why.message) : 0;
}

int db_open(const char *path, db_mode mode, db **out, err *e) {
  return db_open_format(path, mode, &results, out, e);
}

void db_close(db *d) {
  if (d) {
    disconnect(d);
    sqlite3_free(d);
  }
}

const char *db_note(const db *d) {
  return d->note;
}

int db_default_path(arena *a, const char **path, err *e) {
  const char *named = secure_getenv("TUNED_DB");
  if (named && *named) {
    *path = arena_text(a, named);
  } else {
    str home = {0};
    int code = file_data_home(&home, e);
    *path = code ? NULL : arena_format(a, "%s/tuned.db", home.p);
    str_clear(&home);
    TRY(code);
  }
  return *path ? 0 : err_nomem(e);
}
