/* db_merge.c -- merge two databases, and shrink one.
 *
 * The other database is attached, and every table is copied in the order of references. Ids are
 * translated by what identifies a row: a device's key, a template's hash, a problem's text, a
 * configuration. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "db_sql.h"
#include "str.h"

/* ---- merging --------------------------------------------------------------------------------- */

/* The other database's problems and trials with our ids. */
#define THEIRS                                                                                     \
  "other.trial AS ot JOIN other.problem AS op ON op.id = ot.problem "                              \
  "JOIN other.template AS om ON om.id = op.template JOIN other.device AS ov ON ov.id = op.device " \
  "JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "           \
  "JOIN main.problem AS p ON p.template = m.id AND p.device = v.id AND p.text = op.text "
#define OURS "JOIN main.trial AS t ON t.problem = p.id AND t.config = ot.config "

#define SAMPLE_COLUMNS                                                                             \
  "stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w, temperature_c, "       \
  "memory_mhz, held, retaken, energy_j, ended, replay, batches, at"

static const char *const things[] = {
    "INSERT INTO main.device (key, name, cc, sms, at)"
    " SELECT key, name, cc, sms, at FROM other.device WHERE true ON CONFLICT (key) DO NOTHING",

    "INSERT INTO main.template (hash, family, version, path, at)"
    " SELECT hash, family, version, path, at FROM other.template WHERE true"
    " ON CONFLICT (hash) DO NOTHING",

    "INSERT INTO main.image (key, arch, nvrtc, regs, spill, smem, sec, at)"
    " SELECT key, arch, nvrtc, regs, spill, smem, sec, at FROM other.image WHERE true"
    " ON CONFLICT (key) DO NOTHING",

    "INSERT INTO main.image_bulk (image, digest, source, log, cubin, ptx)"
    " SELECT image, digest, source, log, cubin, ptx FROM other.image_bulk WHERE true"
    " ON CONFLICT (image) DO NOTHING",

    "INSERT INTO main.problem (template, device, text, at)"
    " SELECT m.id, v.id, op.text, op.at FROM other.problem AS op"
    " JOIN other.template AS om ON om.id = op.template JOIN other.device AS ov ON ov.id = op.device"
    " JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "
    "WHERE true ON CONFLICT (template, device, text) DO NOTHING",

    /* a trial that worked in either database works; an image is better than none */
    "INSERT INTO main.trial (problem, config, status, reason, image, error, at)"
    " SELECT p.id, ot.config, ot.status, ot.reason, ot.image, ot.error, ot.at FROM " THEIRS
    "WHERE true ON CONFLICT (problem, config) DO UPDATE SET (status, reason, image, error, at) ="
    " (excluded.status, excluded.reason, excluded.image, excluded.error, excluded.at)"
    "WHERE excluded.status = 'ok' AND (status <> 'ok' OR image IS NULL AND"
    " excluded.image IS NOT NULL)",

    "INSERT INTO main.effort (problem, sec) SELECT p.id, oe.sec FROM other.effort AS oe"
    " JOIN other.problem AS op ON op.id = oe.problem"
    " JOIN other.template AS om ON om.id = op.template JOIN other.device AS ov ON ov.id = op.device"
    " JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key"
    " JOIN main.problem AS p ON p.template = m.id AND p.device = v.id AND p.text = op.text "
    "WHERE true ON CONFLICT (problem) DO UPDATE SET sec = max(sec, excluded.sec)",
};

/* The row of a trial that is inserted last counts (schema.sql, standing). So our later rows of
 * trials that get new ones are removed and inserted again behind them. */
static const char *const times[] = {
    "CREATE TEMP TABLE incoming AS SELECT t.id AS trial, s.* FROM " THEIRS OURS
    "JOIN (SELECT trial AS theirs, " SAMPLE_COLUMNS " FROM other.sample) AS s ON s.theirs = ot.id "
    "WHERE NOT EXISTS (SELECT 1 FROM main.sample AS x WHERE x.trial = t.id AND x.stage = s.stage"
    " AND x.median = s.median AND x.launches = s.launches AND x.uuid IS s.uuid AND x.at = s.at)",

    "INSERT INTO temp.incoming (trial, theirs, " SAMPLE_COLUMNS ")"
    " SELECT trial, -id, " SAMPLE_COLUMNS " FROM main.sample AS x WHERE EXISTS"
    " (SELECT 1 FROM temp.incoming AS i WHERE i.trial = x.trial AND i.at < x.at)",

    "DELETE FROM main.sample WHERE id IN (SELECT -theirs FROM temp.incoming WHERE theirs < 0)",

    "INSERT INTO main.sample (trial, " SAMPLE_COLUMNS ")"
    " SELECT trial, " SAMPLE_COLUMNS " FROM temp.incoming ORDER BY at, theirs > 0, -theirs",

    "CREATE TEMP TABLE modelled AS SELECT t.id AS trial, s.id AS theirs, s.model, s.sec, s.at"
    " FROM " THEIRS OURS "JOIN other.estimate AS s ON s.trial = ot.id "
    "WHERE NOT EXISTS (SELECT 1 FROM main.estimate AS x WHERE x.trial = t.id AND x.model = s.model"
    " AND x.sec = s.sec AND x.at = s.at)",

    "INSERT INTO temp.modelled (trial, theirs, model, sec, at)"
    " SELECT trial, -id, model, sec, at FROM main.estimate AS x WHERE EXISTS"
    " (SELECT 1 FROM temp.modelled AS i WHERE i.trial = x.trial AND i.at < x.at)",

    "DELETE FROM main.estimate WHERE id IN (SELECT -theirs FROM temp.modelled WHERE theirs < 0)",

    "INSERT INTO main.estimate (trial, model, sec, at)"
    " SELECT trial, model, sec, at FROM temp.modelled ORDER BY at, theirs > 0, -theirs",

    "DROP TABLE temp.incoming",
    "DROP TABLE temp.modelled",
};

/* The later one counts; an older file has no table. */
static const char *const portfolios[] = {
    "INSERT INTO main.portfolio (template, device, text, at)"
    " SELECT m.id, v.id, o.text, o.at FROM other.portfolio AS o"
    " JOIN other.template AS om ON om.id = o.template JOIN other.device AS ov ON ov.id = o.device"
    " JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "
    "WHERE true ON CONFLICT (template, device) DO UPDATE SET (text, at) ="
    " (excluded.text, excluded.at) WHERE excluded.at > at",
};

#define LENGTH(list) (sizeof(list) / sizeof *(list))

static int run_list(db *d, const char *const *list, size_t n, err *e) {
  for (size_t i = 0; i < n; i++) {
    TRY(db_execute(d, list[i], e));
  }
  return 0;
}

/* The steps of schema.sql that added the last columns of other tables, and portfolios. */
enum { LAST_COLUMNS = 2, PORTFOLIOS = 3 };

static int copy_all(db *d, int version, err *e) {
  TRY(run_list(d, things, LENGTH(things), e));
  if (version >= PORTFOLIOS) {
    TRY(run_list(d, portfolios, LENGTH(portfolios), e));
  }
  return run_list(d, times, LENGTH(times), e);
}

static int attach(db *d, const char *path, err *e) {
  str uri = {0};
  db_add_uri(&uri, path);
  str_add(&uri, "?mode=ro");
  if (uri.failed) {
    str_clear(&uri);
    return err_nomem(e);
  }
  db_query q = db_ask(d, "ATTACH ?1 AS other", e);
  db_in(&q, DB_TEXT(str_text(&uri)));
  const int rc = db_run(&q);
  str_clear(&uri);
  return rc;
}

/* Is it a database of autotune, with all columns that are copied, and sound? */
static int inspect(const db *d, const char *path, int *version, err *e) {
  db *other;
  TRY(db_open(path, DB_READ, &other, e));
  int rc = db_verify(other, e);
  if (!rc && other->version < LAST_COLUMNS) {
    rc = err_set(e, ERR_DB,
                 "database %s was written by an older version (schema %d, this program writes %d); "
                 "the next tuning run with --db %s brings it up to date",
                 path, other->version, d->version, path);
  }
  *version = other->version;
  db_close(other);
  return rc;
}

int db_merge(db *d, const char *path, err *e) {
  int version;
  TRY(inspect(d, path, &version, e));
  TRY(attach(d, path, e));
  int rc = db_begin(d, e);
  rc = rc ? rc : db_end(d, copy_all(d, version, e), e);
  const int left = db_execute(d, "DETACH other", rc ? NULL : e);
  return rc ? rc : left;
}

/* ---- pruning --------------------------------------------------------------------------------- */

static int drop_images(db *d, int keep, int64_t *n, err *e) {
  char sql[600];
  snprintf(sql, sizeof sql,
           "CREATE TEMP TABLE kept AS SELECT image FROM (SELECT t.image,"
           " row_number() OVER (PARTITION BY t.problem ORDER BY s.rank, s.sec, s.trial) AS place"
           " FROM main.trial AS t JOIN main.standing AS s ON s.trial = t.id WHERE t.status = 'ok')"
           " WHERE place <= %d AND image IS NOT NULL",
           keep);
  TRY(db_execute(d, sql, e));
  db_query q = db_ask(d,
                      "SELECT count(*) FROM main.image WHERE key NOT IN"
                      " (SELECT image FROM temp.kept)",
                      e);
  TRY(db_first_int(&q, n));
  return db_execute(d,
                    "UPDATE main.trial SET image = NULL WHERE image NOT IN"
                    " (SELECT image FROM temp.kept);"
                    "DELETE FROM main.image_bulk WHERE image NOT IN (SELECT image FROM temp.kept);"
                    "DELETE FROM main.image WHERE key NOT IN (SELECT image FROM temp.kept);"
                    "DROP TABLE temp.kept",
                    e);
}

int db_prune(db *d, int keep, int64_t *n, err *e) {
  TRY(db_begin(d, e));
  TRY(db_end(d, drop_images(d, keep, n, e), e));
  return db_execute(d, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e);
}
