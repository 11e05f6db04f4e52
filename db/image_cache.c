#define _GNU_SOURCE
#include "image_cache.h"

#include <stdlib.h>
#include <string.h>

#include "db_sql.h"
#include "db_trust.h"
#include "file.h"

/* The index holds all that totals and the choice of what to drop need, so that neither reads images. */
static const char *const steps[] = {"CREATE TABLE image ("
                                    "  key    TEXT PRIMARY KEY,"
                                    "  used   INTEGER NOT NULL," /* seconds since 1970 */
                                    "  nbytes INTEGER NOT NULL,"
                                    "  digest TEXT NOT NULL,"
                                    "  log    TEXT NOT NULL,"
                                    "  cubin  BLOB,"
                                    "  ptx    BLOB"
                                    ") STRICT;"
                                    "CREATE INDEX image_used ON image (used, nbytes);",
                                    "ALTER TABLE image ADD COLUMN form TEXT;"
                                    "CREATE INDEX image_form ON image (form);",
                                    "CREATE TABLE note ("
                                    "  maker  TEXT NOT NULL,"
                                    "  name   TEXT NOT NULL,"
                                    "  value  BLOB NOT NULL,"
                                    "  digest TEXT NOT NULL," /* of the others */
                                    "  PRIMARY KEY (maker, name)"
                                    ") STRICT, WITHOUT ROWID;"};

static const db_format format = {
    .application_id = 0x4175496d, /* "AuIm" */ .steps = steps, .n_steps = 3, .is_disposable = true};

struct image_cache {
  db *d; /* NULL: a damaged file could not be begun anew */
  uint64_t max_nbytes;
  struct image_cache *next; /* a shared one, asked for what this one lacks; NULL: none */
  bool is_shared;           /* it is only read */
  char path[];
};

/* Packages fill it for all users. */
static const char SYSTEM_FOLDERS[] = "/var/cache/autotune";

enum {
  BUSY_MS = 50,         /* a caller rather compiles than waits longer */
  USED_STEP_SEC = 3600, /* a row that was used in the last hour is not written again */
  KEPT_EIGHTHS = 7      /* of the bound: what stays when the cache is full */
};

/* ---- opening -------------------------------------------------------------------------------- */

static int own_folder(const char *named, str *out, err *e) {
  if (!*named) {
    return file_cache_home(out, e);
  }
  str_add_n(out, named, strcspn(named, ":"));
  return out->failed ? err_nomem(e) : 0;
}

static const char *named_folders(void) {
  const char *named = secure_getenv("TUNED_CACHE");
  return named ? named : "";
}

int image_cache_path(arena *a, const char **path, err *e) {
  auto_str folder = {0};
  TRY(own_folder(named_folders(), &folder, e));
  *path = arena_format(a, "%s/images.db", str_text(&folder));
  return *path ? 0 : err_nomem(e);
}

bool image_cache_shared_path(size_t i, arena *a, const char **path) {
  const char *named = named_folders();
  const char *rest = *named ? named + strcspn(named, ":") : SYSTEM_FOLDERS;
  for (*path = NULL; *rest && !*path; rest += strcspn(rest, ":")) {
    rest += *rest == ':';
    const int n = (int)strcspn(rest, ":");
    if (n && !i--) {
      *path = arena_format(a, "%.*s/images.db", n, rest);
    }
  }
  return *path;
}

/* What cannot be written may hold images nevertheless: an earlier layout aside. */
static bool open_to_read(const char *path, db **d) {
  if (db_open_format(path, DB_READ, &format, d, NULL)) {
    return false;
  }
  if ((*d)->version == format.n_steps) {
    return true;
  }
  db_close(*d);
  *d = NULL;
  return false;
}

static int open_file(const char *path, db **d, err *e) {
  err why = {0};
  const int rc = db_open_format(path, DB_WRITE, &format, d, &why);
  if (rc && (rc != ERR_DB || !open_to_read(path, d))) {
    return err_copy(e, rc, &why);
  }
  sqlite3_busy_timeout((*d)->sql, BUSY_MS);
  return db_execute(*d, "PRAGMA cache_size = -256", e);
}

/* The reason without the advice to name another database. */
static int refuse(int rc, const err *why, err *e) {
  return err_set(e, rc,
                 "%.*s; name another folder for compiled images (TUNED_CACHE), or delete the file",
                 (int)strcspn(why->message, ";"), why->message);
}

static int reopen(image_cache *c, err *e) {
  err why = {0};
  const int rc = c->d ? 0 : open_file(c->path, &c->d, &why);
  return rc ? refuse(rc, &why, e) : 0;
}

static image_cache *new_handle(const char *path) {
  const size_t n = strlen(path) + 1;
  image_cache *c = calloc(1, sizeof *c + n);
  if (c) {
    memcpy(c->path, path, n);
  }
  return c;
}

int image_cache_open(const char *path, uint64_t max_nbytes, image_cache **out, err *e) {
  *out = NULL;
  TRY(db_check_trust(path, db_trusts_all(), e));
  image_cache *c = new_handle(path);
  if (!c) {
    return err_nomem(e);
  }
  c->max_nbytes = max_nbytes ? max_nbytes : IMAGE_CACHE_NBYTES;
  const int rc = reopen(c, e);
  if (rc) {
    image_cache_close(c);
    return rc;
  }
  *out = c;
  return 0;
}

/* NULL: it is absent, or cannot be used. */
static image_cache *open_shared(const char *path) {
  image_cache *c = db_check_trust(path, db_trusts_all(), NULL) ? NULL : new_handle(path);
  if (c && !open_to_read(path, &c->d)) {
    free(c);
    return NULL;
  }
  if (c) {
    c->is_shared = true;
  }
  return c;
}

int image_cache_open_all(image_cache **out, err *e) {
  auto_arena a = {0};
  err why = {0};
  const char *path;
  *out = NULL;
  int rc = image_cache_path(&a, &path, &why);
  rc = rc ? rc : image_cache_open(path, 0, out, &why);
  image_cache **end = *out ? &(*out)->next : out;
  for (size_t i = 0; image_cache_shared_path(i, &a, &path); i++) {
    *end = open_shared(path);
    end = *end ? &(*end)->next : end;
  }
  return *out ? 0 : err_copy(e, rc, &why);
}

void image_cache_close(image_cache *c) {
  for (image_cache *next; c; c = next) {
    next = c->next;
    db_close(c->d);
    free(c);
  }
}

/* What a use of the file returns: ERR_NOTFOUND after damage, for which it was begun anew. */
static int after(image_cache *c, int rc, const err *why, err *e) {
  if (!rc || rc == ERR_NOTFOUND) {
    return rc;
  }
  if (!c->d->is_damaged) {
    return refuse(rc, why, e);
  }
  db_close(c->d);
  c->d = NULL;
  if (c->is_shared) {
    return ERR_NOTFOUND;
  }
  TRY(db_remove(c->path, e));
  TRY(reopen(c, e));
  return ERR_NOTFOUND;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void digest_of(const char *key, const cached_image *row, char digest[HASH_TEXT]) {
  const hash_part parts[] = {{key, strlen(key)},
                             {row->log, strlen(row->log) + 1},
                             {row->cubin, row->n_cubin},
                             {row->ptx, row->n_ptx}};
  hash_parts(parts, sizeof parts / sizeof *parts, digest);
}

static int forget(image_cache *c, const char *key, err *e) {
  db_query q = db_ask(c->d, "DELETE FROM image WHERE key = ?1", e);
  db_in(&q, DB_TEXT(key));
  return db_run(&q);
}

/* Without effect where the file is read-only or another process writes. */
static void note_use(image_cache *c, const char *key) {
  err ignored = {0};
  db_query q = db_ask(c->d, "UPDATE image SET used = unixepoch() WHERE key = ?1", &ignored);
  db_in(&q, DB_TEXT(key));
  db_run(&q);
}

static int read_row(image_cache *c, const char *key, arena *a, cached_image *row, bool *is_old,
                    err *e) {
  char digest[HASH_TEXT];
  const char *stored = NULL;
  db_query q = db_ask(
      c->d,
      "SELECT used < unixepoch() - ?2, digest, form, log, cubin, ptx FROM image WHERE key = ?1", e);
  db_in(&q, DB_TEXT(key), DB_INT(USED_STEP_SEC));
  if (db_row(&q)) {
    *is_old = db_out_int(&q);
    stored = db_out_text(&q, a);
    row->form = db_out_text_or_null(&q, a);
    row->log = db_out_text(&q, a);
    row->cubin = db_out_bulk(&q, a, &row->n_cubin);
    row->ptx = db_out_bulk(&q, a, &row->n_ptx);
  }
  TRY(db_done(&q));
  if (!stored) {
    return ERR_NOTFOUND;
  }
  digest_of(key, row, digest);
  if (!strcmp(digest, stored)) {
    return 0;
  }
  if (!c->is_shared) {
    forget(c, key, e);
  }
  return ERR_NOTFOUND;
}

static int get_here(image_cache *c, const char *key, arena *a, cached_image *row, err *e) {
  err why = {0};
  bool is_old = false;
  *row = (cached_image){0};
  const int rc = c->d ? read_row(c, key, a, row, &is_old, &why) : ERR_NOTFOUND;
  if (!rc && is_old && !c->is_shared) {
    note_use(c, key);
  }
  return after(c, rc, &why, e);
}

/* The newest of the rows, which differ in NVRTC's version only. */
static int key_of_form(image_cache *c, const char *form, arena *a, const char **key, err *e) {
  *key = NULL;
  db_query q = db_ask(c->d, "SELECT key FROM image WHERE form = ?1 ORDER BY rowid DESC LIMIT 1", e);
  db_in(&q, DB_TEXT(form));
  if (db_row(&q)) {
    *key = db_out_text(&q, a);
  }
  TRY(db_done(&q));
  return *key ? 0 : ERR_NOTFOUND;
}

static int get_form_here(image_cache *c, const char *form, arena *a, cached_image *row, err *e) {
  err why = {0};
  const char *key = NULL;
  *row = (cached_image){0};
  const int rc = c->d ? key_of_form(c, form, a, &key, &why) : ERR_NOTFOUND;
  TRY(rc ? after(c, rc, &why, e) : get_here(c, key, a, row, e));
  /* after a power failure the index may be older than the rows */
  return row->form && !strcmp(row->form, form) ? 0 : ERR_NOTFOUND;
}

typedef int get_fn(image_cache *c, const char *name, arena *a, cached_image *row, err *e);

/* The error is that of the user's own. */
static int get_of_all(get_fn *get, image_cache *c, const char *name, arena *a, cached_image *row,
                      err *e) {
  err why = {0};
  const int rc = get(c, name, a, row, &why);
  bool found = !rc;
  while (!found && (c = c->next)) {
    found = !get(c, name, a, row, NULL);
  }
  return found ? 0 : err_copy(e, rc, &why);
}

int image_cache_get(image_cache *c, const char *key, arena *a, cached_image *row, err *e) {
  return get_of_all(get_here, c, key, a, row, e);
}

int image_cache_get_form(image_cache *c, const char *form, arena *a, cached_image *row, err *e) {
  return get_of_all(get_form_here, c, form, a, row, e);
}

static int64_t row_nbytes(const cached_image *row) {
  return (int64_t)(row->n_cubin + row->n_ptx + strlen(row->log));
}

static int put_row(image_cache *c, const char *key, const cached_image *row, err *e) {
  char digest[HASH_TEXT];
  digest_of(key, row, digest);
  db_query q = db_ask(c->d,
                      "INSERT INTO image (key, used, nbytes, digest, log, cubin, ptx, form)"
                      "VALUES (?1, unixepoch(), ?2, ?3, ?4, ?5, ?6, ?7)"
                      "ON CONFLICT (key) DO UPDATE SET form = excluded.form",
                      e);
  db_in(&q, DB_TEXT(key), DB_INT(row_nbytes(row)), DB_TEXT(digest), DB_BULK_TEXT(row->log),
        DB_BULK(row->cubin, row->n_cubin), DB_BULK(row->ptx, row->n_ptx), DB_TEXT(row->form));
  return db_run(&q);
}

/* Drops the least recently used rows once all are over the bound, down to KEPT_EIGHTHS of it. */
static int make_room(image_cache *c, err *e) {
  int64_t nbytes = 0;
  db_query sum = db_ask(c->d, "SELECT coalesce(sum(nbytes), 0) FROM image", e);
  TRY(db_first_int(&sum, &nbytes));
  if ((uint64_t)nbytes <= c->max_nbytes) {
    return 0;
  }
  db_query drop = db_ask(
      c->d,
      "DELETE FROM image WHERE rowid IN (SELECT rowid FROM"
      " (SELECT rowid, sum(nbytes) OVER (ORDER BY used DESC, rowid DESC) AS newer FROM image)"
      " WHERE newer > ?1)",
      e);
  db_in(&drop, DB_INT((int64_t)(c->max_nbytes / 8 * KEPT_EIGHTHS)));
  return db_run(&drop);
}

int image_cache_put(image_cache *c, const char *key, const cached_image *row, err *e) {
  err why = {0};
  if (!c->d || c->is_shared || (uint64_t)row_nbytes(row) > c->max_nbytes / 8) {
    return 0;
  }
  int rc = db_begin(c->d, &why);
  if (!rc) {
    rc = put_row(c, key, row, &why);
    rc = db_end(c->d, rc ? rc : make_room(c, &why), &why);
  }
  rc = after(c, rc, &why, e);
  return rc == ERR_NOTFOUND ? 0 : rc;
}

/* ---- notes ---------------------------------------------------------------------------------- */

enum { NOTES_MOST = 1 << 16 }; /* of all makers; some 20 MB */

static void note_digest(const char *maker, const cached_note *x, char digest[HASH_TEXT]) {
  const hash_part parts[] = {
      {maker, strlen(maker)}, {x->name, strlen(x->name) + 1}, {x->value, x->nbytes}};
  hash_parts(parts, sizeof parts / sizeof *parts, digest);
}

/* A row that is damaged is as one that is absent. */
static bool read_note(db_query *q, const char *maker, arena *a, cached_note *out) {
  char digest[HASH_TEXT];
  *out = (cached_note){.name = db_out_text(q, a)};
  out->value = db_out_bulk(q, a, &out->nbytes);
  const char *stored = db_out_text(q, a);
  if (!out->name || !out->value || !stored) {
    return false;
  }
  note_digest(maker, out, digest);
  return !strcmp(digest, stored);
}

static int read_notes(image_cache *c, const char *maker, arena *a, cached_note **notes, size_t *n,
                      err *e) {
  db_query q = db_ask(c->d, "SELECT name, value, digest FROM note WHERE maker = ?1 LIMIT ?2", e);
  db_in(&q, DB_TEXT(maker), DB_INT(IMAGE_CACHE_NOTES));
  while (db_row(&q)) {
    cached_note *more = db_room(&q, a, *notes, *n, sizeof **notes);
    if (more) {
      *notes = more;
      *n += read_note(&q, maker, a, &more[*n]);
    }
  }
  return db_done(&q);
}

static int get_notes_here(image_cache *c, const char *maker, arena *a, cached_note **list,
                          size_t *n, err *e) {
  err why = {0};
  const size_t before = *n;
  const int rc = c->d ? read_notes(c, maker, a, list, n, &why) : ERR_NOTFOUND;
  *n = rc ? before : *n;
  return after(c, rc, &why, e);
}

/* The error is that of the user's own. */
int image_cache_get_notes(image_cache *c, const char *maker, arena *a, const cached_note **notes,
                          size_t *n, err *e) {
  cached_note *list = NULL;
  *n = 0;
  const int rc = get_notes_here(c, maker, a, &list, n, e);
  while ((c = c->next)) {
    get_notes_here(c, maker, a, &list, n, NULL);
  }
  *notes = list;
  return *n ? 0 : rc;
}

static int read_one_note(image_cache *c, const char *maker, const char *name, arena *a,
                         cached_note *out, err *e) {
  bool found = false;
  db_query q =
      db_ask(c->d, "SELECT name, value, digest FROM note WHERE maker = ?1 AND name = ?2", e);
  db_in(&q, DB_TEXT(maker), DB_TEXT(name));
  if (db_row(&q)) {
    found = read_note(&q, maker, a, out);
  }
  TRY(db_done(&q));
  return found ? 0 : ERR_NOTFOUND;
}

static int get_note_here(image_cache *c, const char *maker, const char *name, arena *a,
                         cached_note *out, err *e) {
  err why = {0};
  const int rc = c->d ? read_one_note(c, maker, name, a, out, &why) : ERR_NOTFOUND;
  return after(c, rc, &why, e);
}

int image_cache_get_note(image_cache *c, const char *maker, const char *name, arena *a,
                         cached_note *out, err *e) {
  err why = {0};
  const int rc = get_note_here(c, maker, name, a, out, &why);
  bool found = !rc;
  while (!found && (c = c->next)) {
    found = !get_note_here(c, maker, name, a, out, NULL);
  }
  return found ? 0 : err_copy(e, rc, &why);
}

static int put_note(image_cache *c, const char *maker, const cached_note *x, err *e) {
  char digest[HASH_TEXT];
  note_digest(maker, x, digest);
  db_query q = db_ask(
      c->d, "INSERT OR REPLACE INTO note (maker, name, value, digest) VALUES (?1, ?2, ?3, ?4)", e);
  db_in(&q, DB_TEXT(maker), DB_TEXT(x->name), DB_BULK(x->value, x->nbytes), DB_TEXT(digest));
  return db_run(&q);
}

/* They cost little to find anew: a table that is full is begun anew. */
static int bound_notes(image_cache *c, err *e) {
  int64_t n = 0;
  db_query count = db_ask(c->d, "SELECT count(*) FROM note", e);
  TRY(db_first_int(&count, &n));
  if (n <= NOTES_MOST) {
    return 0;
  }
  db_query drop = db_ask(c->d, "DELETE FROM note", e);
  return db_run(&drop);
}

int image_cache_put_notes(image_cache *c, const char *maker, const cached_note *notes, size_t n,
                          err *e) {
  err why = {0};
  if (!c->d || c->is_shared) {
    return 0;
  }
  int rc = db_begin(c->d, &why);
  if (!rc) {
    rc = bound_notes(c, &why);
    for (size_t i = 0; i < n && !rc; i++) {
      rc = put_note(c, maker, &notes[i], &why);
    }
    rc = db_end(c->d, rc, &why);
  }
  rc = after(c, rc, &why, e);
  return rc == ERR_NOTFOUND ? 0 : rc;
}

/* ---- the whole cache ------------------------------------------------------------------------ */

static int read_totals(image_cache *c, image_cache_totals *out, err *e) {
  db_query q = db_ask(c->d,
                      "SELECT count(*), coalesce(sum(nbytes), 0), coalesce(min(used), 0),"
                      " coalesce(max(used), 0) FROM image",
                      e);
  if (db_row(&q)) {
    out->n = db_out_int(&q);
    out->nbytes = db_out_int(&q);
    out->oldest = db_out_int(&q);
    out->newest = db_out_int(&q);
  }
  return db_done(&q);
}

int image_cache_stat(image_cache *c, image_cache_totals *out, err *e) {
  err why = {0};
  *out = (image_cache_totals){0};
  TRY(reopen(c, e));
  const int rc = after(c, read_totals(c, out, &why), &why, e);
  return rc == ERR_NOTFOUND ? 0 : rc;
}

static int list_keys(image_cache *c, arena *a, const char ***keys, size_t *n, err *e) {
  db_query q = db_ask(c->d, "SELECT key FROM image", e);
  *keys = NULL;
  *n = 0;
  while (db_row(&q)) {
    const char **more = db_room(&q, a, *keys, *n, sizeof **keys);
    if (more) {
      *keys = more;
      more[(*n)++] = db_out_text(&q, a);
    }
  }
  return db_done(&q);
}

static int check_rows(image_cache *c, int64_t *n_damaged, size_t *n, err *e) {
  auto_arena a = {0};
  const char **keys;
  int rc = list_keys(c, &a, &keys, n, e);
  for (size_t i = 0; i < *n && !rc; i++) {
    auto_arena row_memory = {0};
    cached_image row = {0};
    bool is_old;
    rc = read_row(c, keys[i], &row_memory, &row, &is_old, e);
    *n_damaged += rc == ERR_NOTFOUND;
    rc = rc == ERR_NOTFOUND ? 0 : rc;
  }
  return rc;
}

int image_cache_verify(image_cache *c, int64_t *n_damaged, err *e) {
  err why = {0};
  size_t n = 0;
  *n_damaged = 0;
  TRY(reopen(c, e));
  const int rc = after(c, check_rows(c, n_damaged, &n, &why), &why, e);
  if (rc != ERR_NOTFOUND) {
    return rc;
  }
  *n_damaged = n ? (int64_t)n : 1; /* of a list that could not be read, one at least */
  return 0;
}

static int write_and_delete(image_cache *c, err *e) {
  static const char key[] = "check";
  static const char bytes[65536]; /* as large as images are */
  const cached_image row = {.log = "", .cubin = bytes, .n_cubin = sizeof bytes};
  TRY(forget(c, key, e)); /* a former one, of a process that was killed */
  TRY(put_row(c, key, &row, e));
  return forget(c, key, e);
}

int image_cache_check(image_cache *c, image_cache_health *out, err *e) {
  err why = {0};
  *out = (image_cache_health){0};
  TRY(image_cache_verify(c, &out->n_damaged, e));
  sqlite3_busy_timeout(c->d->sql, DB_BUSY_MS); /* to report "in use" is no help */
  out->begun_anew = c->d->was_damaged;
  const int rc = after(c, write_and_delete(c, &why), &why, e);
  return rc == ERR_NOTFOUND ? 0 : rc;
}

int image_cache_clear(image_cache *c, err *e) {
  err why = {0};
  TRY(reopen(c, e));
  const int rc =
      after(c, db_execute(c->d, "DELETE FROM image; DELETE FROM note; VACUUM", &why), &why, e);
  return rc == ERR_NOTFOUND ? 0 : rc;
}
