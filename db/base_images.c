#define _GNU_SOURCE
#include "base_images.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db_sql.h"
#include "db_trust.h"
#include "packed.h"

static const char *const steps[] = {"CREATE TABLE image ("
                                    "  source TEXT NOT NULL,"
                                    "  arch   TEXT NOT NULL,"
                                    "  key    TEXT NOT NULL,"
                                    "  spill  INTEGER NOT NULL,"
                                    "  nbytes INTEGER NOT NULL,"
                                    "  digest TEXT NOT NULL,"
                                    "  packed BLOB NOT NULL,"
                                    "  PRIMARY KEY (source, arch)"
                                    ") STRICT;"
                                    "CREATE INDEX image_key ON image (key, arch);"};

static const db_format format = {.application_id = 0x41754261, /* "AuBa" */
                                 .steps = steps,
                                 .n_steps = 1,
                                 .is_immutable = true};

struct base_images {
  db *d;
};

/* ---- opening -------------------------------------------------------------------------------- */

/* The reason, without the advice for databases. */
static int refuse(int rc, const err *why, err *e) {
  return err_set(e, rc, "%.*s; install the library again, or name another base set (TUNED_BASE)",
                 (int)strcspn(why->message, ";"), why->message);
}

static int open_file(const char *path, db_mode mode, base_images **out, err *e) {
  base_images *b = calloc(1, sizeof *b);
  err why = {0};
  *out = NULL;
  if (!b) {
    return err_nomem(e);
  }
  const int rc = db_open_format(path, mode, &format, &b->d, &why);
  if (rc) {
    free(b);
    return refuse(rc, &why, e);
  }
  *out = b;
  return 0;
}

int base_images_open(const char *path, base_images **out, err *e) {
  *out = NULL;
  if (access(path, F_OK)) {
    return err_set(e, ERR_NOTFOUND, "there is no base set %s", path);
  }
  err why = {0};
  const int rc = db_check_trust(path, db_trusts_all(), &why);
  return rc ? refuse(rc, &why, e) : open_file(path, DB_READ, out, e);
}

void base_images_close(base_images *b) {
  if (b) {
    db_close(b->d);
    free(b);
  }
}

/* ---- rows ----------------------------------------------------------------------------------- */

typedef struct stored { /* a row as it lies in the file */
  base_image image;     /* without its bytes */
  const char *digest;
  const void *packed;
  size_t n;
} stored;

static void digest_of(const base_image *row, const void *packed, size_t n, char digest[HASH_TEXT]) {
  const int64_t numbers[] = {row->spill, (int64_t)row->nbytes};
  const hash_part parts[] = {{row->source, strlen(row->source) + 1},
                             {row->arch, strlen(row->arch) + 1},
                             {row->key, strlen(row->key) + 1},
                             {numbers, sizeof numbers},
                             {packed, n}};
  hash_parts(parts, sizeof parts / sizeof *parts, digest);
}

static bool is_whole(const stored *s) {
  char digest[HASH_TEXT];
  digest_of(&s->image, s->packed, s->n, digest);
  return s->image.nbytes <= DB_MAX_BULK && !strcmp(digest, s->digest);
}

#define ALL_COLUMNS "SELECT source, arch, key, spill, nbytes, digest, packed FROM image "

static int read_stored(db_query *q, arena *a, stored *s) {
  *s = (stored){0};
  if (db_row(q)) {
    s->image.source = db_out_text(q, a);
    s->image.arch = db_out_text(q, a);
    s->image.key = db_out_text(q, a);
    s->image.spill = db_out_int(q);
    s->image.nbytes = (size_t)db_out_int(q);
    s->digest = db_out_text(q, a);
    s->packed = db_out_bulk(q, a, &s->n);
  }
  TRY(db_done(q));
  return s->packed && is_whole(s) ? 0 : ERR_NOTFOUND;
}

int base_images_get(base_images *b, const char *source, const char *arch, arena *a, base_image *row,
                    err *e) {
  stored s;
  db_query q = db_ask(b->d, ALL_COLUMNS "WHERE source = ?1 AND arch = ?2", e);
  db_in(&q, DB_TEXT(source), DB_TEXT(arch));
  TRY(read_stored(&q, a, &s));
  char *bytes = arena_new(a, s.image.nbytes + 1);
  if (!bytes) {
    return err_nomem(e);
  }
  *row = s.image;
  row->bytes = bytes;
  return packed_read(s.packed, s.n, bytes, row->nbytes) ? 0 : ERR_NOTFOUND;
}

int base_images_archs(base_images *b, const char *source, arena *a, const char ***archs, size_t *n,
                      err *e) {
  db_query q = db_ask(b->d, "SELECT arch FROM image WHERE source = ?1", e);
  db_in(&q, DB_TEXT(source));
  *archs = NULL;
  *n = 0;
  while (db_row(&q)) {
    const char **more = db_room(&q, a, *archs, *n, sizeof **archs);
    if (more) {
      *archs = more;
      more[(*n)++] = db_out_text(&q, a);
    }
  }
  return db_done(&q);
}

int base_images_stat(base_images *b, arena *a, base_totals **list, size_t *n, err *e) {
  db_query q = db_ask(b->d,
                      "SELECT arch, count(*), sum(nbytes), sum(length(packed)) FROM image "
                      "GROUP BY arch ORDER BY arch DESC",
                      e);
  *list = NULL;
  *n = 0;
  while (db_row(&q)) {
    base_totals *more = db_room(&q, a, *list, *n, sizeof **list);
    if (more) {
      *list = more;
      base_totals *x = &more[(*n)++];
      x->arch = db_out_text(&q, a);
      x->n = db_out_int(&q);
      x->nbytes = db_out_int(&q);
      x->n_packed = db_out_int(&q);
    }
  }
  return db_done(&q);
}

/* ---- writing -------------------------------------------------------------------------------- */

static int begin(db *d, err *e) {
  TRY(db_execute(d, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", e));
  return db_begin(d, e);
}

int base_images_create(const char *path, base_images **out, err *e) {
  *out = NULL;
  TRY(db_remove(path, e));
  TRY(open_file(path, DB_WRITE, out, e));
  const int rc = begin((*out)->d, e);
  if (rc) {
    base_images_close(*out);
    *out = NULL;
  }
  return rc;
}

static int put_stored(base_images *b, const stored *s, err *e) {
  db_query q = db_ask(b->d,
                      "INSERT INTO image (source, arch, key, spill, nbytes, digest, packed)"
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                      e);
  const base_image *row = &s->image;
  db_in(&q, DB_TEXT(row->source), DB_TEXT(row->arch), DB_TEXT(row->key), DB_INT(row->spill),
        DB_INT((int64_t)row->nbytes), DB_TEXT(s->digest), DB_BULK(s->packed, s->n));
  return db_run(&q);
}

int base_images_put(base_images *b, const base_image *row, err *e) {
  auto_str packed = {0};
  char digest[HASH_TEXT];
  packed_add(row->bytes, row->nbytes, &packed);
  if (packed.failed) {
    return err_nomem(e);
  }
  digest_of(row, packed.p, packed.n, digest);
  return put_stored(
      b, &(stored){.image = *row, .digest = digest, .packed = packed.p, .n = packed.n}, e);
}

int base_images_copy(base_images *b, base_images *from, const char *key, const char *arch, err *e) {
  auto_arena a = {0};
  stored s;
  db_query q = db_ask(from->d, ALL_COLUMNS "WHERE key = ?1 AND arch = ?2", e);
  db_in(&q, DB_TEXT(key), DB_TEXT(arch));
  TRY(read_stored(&q, &a, &s));
  return put_stored(b, &s, e);
}

int base_images_finish(base_images *b, err *e) {
  TRY(db_end(b->d, 0, e));
  return db_execute(
      b->d,
      "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA page_size = 1024; VACUUM",
      e);
}
