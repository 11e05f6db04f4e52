/* db_sql.h -- how the files of this folder use SQLite; internal to it.
 *
 * A query is prepared, given its arguments in order, and read row by row, columns in order. Errors
 * stick to the query: later calls do nothing, and db_done reports the first one.
 *
 *   db_query q = db_ask(d, "SELECT id, name FROM device WHERE cc = ?1", e);
 *   db_in(&q, DB_INT(90));
 *   while (db_row(&q)) {
 *     id = db_out_int(&q);
 *     name = db_out_text(&q, a);
 *   }
 *   return db_done(&q);
 *
 * A command runs a handful of statements thousands of times, so each is prepared once per handle
 * and found again by the address of its text, which must be a literal. db_done comes before the
 * next db_ask of the same text; a statement left half read keeps a read transaction open. */
#ifndef DB_SQL_H
#define DB_SQL_H

#include <math.h>
#include <sqlite3.h>

#include "db.h"
#include "hash.h"

enum {
  DB_MAX_TEXT = 8 << 20, /* a portfolio of 24 configurations and 3000 sizes has 1 MB */
  DB_MAX_BULK = 64 << 20,
  DB_MAX_STATEMENTS = 128, /* this folder has about half as many texts */
  DB_BUSY_MS = 5000
};

typedef struct db_format { /* of file; distinguished by the application id in its header */
  int application_id;
  const char *const *steps; /* SQL of each version of its schema */
  int n_steps;
  bool is_disposable; /* a damaged file is deleted and begun anew */
  bool is_immutable;  /* readers need no locks: a file in place never changes */
} db_format;

struct db {
  sqlite3 *sql;
  const db_format *format;
  struct {
    const char *text;
    sqlite3_stmt *s;
  } cache[DB_MAX_STATEMENTS];
  size_t n_cache;
  int version;      /* of the file's schema when it was opened */
  int64_t run;      /* of the facts stored through this handle: schema.sql, step 5 */
  const char *note; /* static, or NULL */
  bool is_damaged;  /* SQLite found the file damaged */
  bool was_damaged; /* so when it was opened, and it was begun anew */
  char path[];
};

typedef struct db_query {
  db *d;
  sqlite3_stmt *s;
  err *e;
  int code; /* the first failure */
  int i;    /* argument or column last used */
} db_query;

db_query db_ask(db *d, const char *sql, err *e);

/* The values of a query's arguments; texts and bytes are borrowed until db_done. */
typedef struct db_arg {
  enum { DB_ARG_INT, DB_ARG_REAL, DB_ARG_TEXT, DB_ARG_BULK } type;
  int64_t i;
  double r;
  const void *p;
  size_t n; /* bytes; of a text: the most that it may have */
} db_arg;
#define DB_INT(x) ((db_arg){.type = DB_ARG_INT, .i = (x)})
#define DB_REAL(x) ((db_arg){.type = DB_ARG_REAL, .r = (x)}) /* NaN is stored as NULL */
#define DB_KNOWN(x) DB_REAL((x) != 0 ? (x) : NAN)            /* 0: not known */
#define DB_TEXT(x) ((db_arg){.type = DB_ARG_TEXT, .p = (x), .n = DB_MAX_TEXT}) /* NULL is NULL */
#define DB_BULK_TEXT(x) ((db_arg){.type = DB_ARG_TEXT, .p = (x), .n = SIZE_MAX})
#define DB_BULK(x, nbytes) ((db_arg){.type = DB_ARG_BULK, .p = (x), .n = (nbytes)}) /* 0: NULL */
/* db_in -- the next arguments of the query, in order: db_in(&q, DB_TEXT(key), DB_INT(90)) */
#define db_in(q, ...)                                                                              \
  db_bind(q, (const db_arg[]){__VA_ARGS__}, sizeof((db_arg[]){__VA_ARGS__}) / sizeof(db_arg))
void db_bind(db_query *q, const db_arg *args, size_t n);

/* db_row -- next row; false at the end. Columns start again at the first */
bool db_row(db_query *q);
int64_t db_out_int(db_query *q);
double db_out_real(db_query *q);                /* NULL is NaN */
const char *db_out_text(db_query *q, arena *a); /* NULL is an error: a damaged file */
const char *db_out_text_or_null(db_query *q, arena *a);
const void *db_out_bulk(db_query *q, arena *a, size_t *n); /* a NUL follows; NULL is NULL */
/* db_done -- finish, whether or not every row was read; returns the first failure */
int db_done(db_query *q);
/* db_run -- step to the end, then db_done */
int db_run(db_query *q);
/* What a new fact is known by (schema.sql, step 5): columns, and their values, which are selected
 * FROM host WHERE id = 1. */
#define DB_KEY_COLUMNS "host, run, sequence"
#define DB_NEW_KEY "1, current_run(), sequence + 1"
/* Of facts of a trial, the one that counts comes first. */
#define DB_LAST_FIRST "at DESC, sequence DESC, run DESC"
/* A template in two databases, or under two digests: its first path. In a SET over `template`. */
#define DB_JOIN_TEMPLATE(other)                                                                    \
  "version = max(template.version, " other ".version), path = iif((" other ".at, " other ".path) " \
  "< (template.at, template.path), " other ".path, template.path), at = min(template.at, " other   \
  ".at)"
enum { DB_KEYS = 5 }; /* the step of schema.sql that added the keys */
#define DB_JOIN_PREPARATION                                                                        \
  "(sec, at) = (excluded.sec, excluded.at) WHERE (excluded.at, excluded.sec) > (at, sec)"
enum { DB_PREPARATIONS = 6 }; /* that added the table */

/* db_first_int -- the first column of the first row.
 *   err  ERR_NOTFOUND  no row; no message */
int db_first_int(db_query *q, int64_t *value);

/* db_room -- room for one more row in an array in an arena, which doubles when full. NULL when out
 * of memory, which sticks to the query */
void *db_room(db_query *q, arena *a, void *rows, size_t n, size_t nbytes);

/* db_begin ... db_end -- all writes between them are stored, or none.
 *   code  the result since db_begin: 0 commits, anything else rolls back and is returned */
int db_begin(db *d, err *e);
int db_end(db *d, int code, err *e);

/* db_fail -- turn SQLite's result into an error of ours; the message says how to fix it */
int db_fail(db *d, int rc, err *e);
/* db_damaged -- the same for damage that SQLite did not notice */
int db_damaged(db *d, const char *what, err *e);

/* db_has -- does this table exist? A file of an older version, open for reading, lacks later
 * ones */
int db_has(db *d, const char *table, bool *yes, err *e);

/* db_execute -- statements without arguments and results; need not be literals */
int db_execute(db *d, const char *sql, err *e);
/* Of 64 MB, for what reads or writes most of a file. */
#define DB_LARGE_CACHE_OF(name) "PRAGMA " name ".cache_size = -65536"
#define DB_LARGE_CACHE DB_LARGE_CACHE_OF("main")
/* db_add_uri -- append a path as a URI, so that names such as "file:x" and "a?b" mean themselves */
struct str;
void db_add_uri(struct str *s, const char *path);

/* db_open_format -- db_open for another kind of file */
int db_open_format(const char *path, db_mode mode, const db_format *format, db **out, err *e);
/* db_remove -- delete a database and the files beside it; an absent one is no error */
int db_remove(const char *path, err *e);

/* db_schema_is_newest -- are its tables, views, indices and triggers those of a new database? In digest
 * what db_check.c compares; false as well when reading fails */
bool db_schema_is_newest(db *d, char digest[HASH_TEXT]);
/* db_migrate -- bring an empty or older file to the version after the n-th step, in one
 * transaction.
 *   err  ERR_DB  another program's file, a newer one, or a step failed; then nothing has changed */
int db_migrate(db *d, const char *const *steps, int n, err *e);

/* db_trial_put_at -- db_trial_put with a given time, in seconds since 1970; below 0: now */
int db_trial_put_at(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t at,
                    int64_t *id, err *e);

/* db_image_digest -- of an image's source, log, cubin and PTX */
void db_image_digest(const db_image *row, char digest[HASH_TEXT]);

#endif
