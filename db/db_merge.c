/* db_merge.c -- merge two databases, and shrink one.
 *
 * The other database is attached, and every table is copied in the order of references. Ids are
 * translated by what identifies a row: a device's key, a template's hash, a problem's text, a
 * configuration, and the key of a fact. Each statement joins two sets, or takes the larger of two
 * values: merges in any order, grouping and number give the same rows. */
#define _GNU_SOURCE
#include <string.h>

#include "db_sql.h"
#include "str.h"

/* ---- what facts are of ----------------------------------------------------------------------- */

/* The other database's problems with our ids. */
#define PROBLEMS                                                                                   \
  "JOIN other.template AS om ON om.id = op.template JOIN other.device AS ov ON ov.id = op.device " \
  "JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "           \
  "JOIN main.problem AS p ON p.template = m.id AND p.device = v.id AND p.text = op.text "

static const char *const things[] = {
    "INSERT INTO main.device (key, name, cc, sms, at)"
    " SELECT key, name, cc, sms, at FROM other.device WHERE true ON CONFLICT (key) DO UPDATE"
    " SET (name, cc, sms, at) = (excluded.name, excluded.cc, excluded.sms, excluded.at)"
    " WHERE (excluded.at, excluded.name, excluded.cc, excluded.sms) < (at, name, cc, sms)",

    "INSERT INTO main.template (hash, family, version, path, at)"
    " SELECT hash, family, version, path, at FROM other.template WHERE true"
    " ON CONFLICT (hash) DO UPDATE SET " DB_JOIN_TEMPLATE("excluded"),

    "INSERT INTO main.image (key, arch, nvrtc, regs, spill, smem, sec, at)"
    " SELECT key, arch, nvrtc, regs, spill, smem, sec, at FROM other.image WHERE true"
    " ON CONFLICT (key) DO UPDATE SET (sec, at) = (excluded.sec, excluded.at)"
    " WHERE (excluded.at, excluded.sec) < (at, sec)",

    "INSERT INTO main.image_bulk (image, digest, source, log, cubin, ptx)"
    " SELECT image, digest, source, log, cubin, ptx FROM other.image_bulk WHERE true"
    " ON CONFLICT (image) DO NOTHING",

    "INSERT INTO main.problem (template, device, text, at)"
    " SELECT m.id, v.id, op.text, op.at FROM other.problem AS op"
    " JOIN other.template AS om ON om.id = op.template JOIN other.device AS ov ON ov.id = op.device"
    " JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "
    "WHERE true ON CONFLICT (template, device, text) DO UPDATE SET at = excluded.at"
    " WHERE excluded.at < at",
};

/* ---- facts ----------------------------------------------------------------------------------- */

#define SAMPLE_COLUMNS                                                                             \
  "stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w, temperature_c, "       \
  "memory_mhz, held, retaken, energy_j, ended, replay, batches"

/* clang-format off */
/* Their trials with our ids; our host of the fact s. */
#define TRIALS(from)                                                                               \
  from "trial AS ot JOIN other.problem AS op ON op.id = ot.problem " PROBLEMS                      \
  "JOIN main.trial AS t ON t.problem = p.id AND t.config = ot.config "
#define HOST(from)                                                                                 \
  "JOIN " from "host AS oh ON oh.id = s.host JOIN main.host AS h ON h.key = oh.key WHERE true "

/* from: the prefix of the tables that have them */
#define FACTS(from)                                                                                \
  "INSERT INTO main.host (key, sequence) SELECT key, 0 FROM " from "host WHERE true"               \
  " ON CONFLICT (key) DO NOTHING",                                                                 \
                                                                                                   \
  "INSERT INTO main.trial (problem, config, status, reason, image, error, at, " DB_KEY_COLUMNS ")" \
  " SELECT p.id, s.config, s.status, s.reason, s.image, s.error, s.at, h.id, s.run, s.sequence"    \
  " FROM " from "trial AS s JOIN other.problem AS op ON op.id = s.problem " PROBLEMS HOST(from)    \
  "ON CONFLICT (problem, config) DO UPDATE"                                                        \
  " SET (status, reason, image, error, at, " DB_KEY_COLUMNS ") ="                                  \
  " (excluded.status, excluded.reason, excluded.image, excluded.error, excluded.at,"               \
  "  excluded.host, excluded.run, excluded.sequence)"                                              \
  " WHERE (excluded.at, excluded.sequence, excluded.run) > (at, sequence, run)",                   \
                                                                                                   \
  "INSERT INTO main.sample (trial, " SAMPLE_COLUMNS ", at, " DB_KEY_COLUMNS ")"                    \
  " SELECT t.id, " SAMPLE_COLUMNS ", s.at, h.id, s.run, s.sequence FROM " TRIALS(from)             \
  "JOIN " from "sample AS s ON s.trial = ot.id " HOST(from)                                        \
  "ON CONFLICT (trial, host, run, sequence) DO NOTHING",                                           \
                                                                                                   \
  "INSERT INTO main.estimate (trial, model, sec, at, " DB_KEY_COLUMNS ")"                          \
  " SELECT t.id, s.model, s.sec, s.at, h.id, s.run, s.sequence FROM " TRIALS(from)                 \
  "JOIN " from "estimate AS s ON s.trial = ot.id " HOST(from)                                      \
  "ON CONFLICT (trial, host, run, sequence) DO NOTHING",                                           \
                                                                                                   \
  "INSERT INTO main.effort (problem, host, run, sec) SELECT p.id, h.id, s.run, s.sec"              \
  " FROM " from "effort AS s JOIN other.problem AS op ON op.id = s.problem " PROBLEMS HOST(from)   \
  "ON CONFLICT (problem, host, run) DO UPDATE SET sec = max(sec, excluded.sec)"
/* clang-format on */

static const char *const keyed_facts[] = {FACTS("other.")};

/* Those of an older file get the keys of schema.sql, step 5. */
static const char *const older_facts[] = {
    "CREATE TEMP VIEW their_host AS SELECT id, key FROM main.host WHERE id = 0",

    "CREATE TEMP VIEW their_trial AS SELECT *, 0 AS host,"
    " row_digest(status, reason, image, error, at) AS run, image IS NOT NULL AS sequence"
    " FROM other.trial",

    "CREATE TEMP VIEW their_sample AS SELECT *, 0 AS host,"
    " row_digest(stage, median, spread, launches, cold, driver, uuid, clock_mhz, power_w,"
    "  temperature_c, at, memory_mhz, held, retaken, energy_j, ended, replay, batches) AS run,"
    " row_number() OVER (PARTITION BY trial, stage, at ORDER BY id) - 1 AS sequence"
    " FROM other.sample",

    "CREATE TEMP VIEW their_estimate AS SELECT *, 0 AS host, row_digest(model, sec, at) AS run,"
    " row_number() OVER (PARTITION BY trial, at ORDER BY id) - 1 AS sequence FROM other.estimate",

    "CREATE TEMP VIEW their_effort AS SELECT problem, 0 AS host, 0 AS run, sec FROM other.effort",

    FACTS("temp.their_"),

    "DROP VIEW temp.their_host; DROP VIEW temp.their_trial; DROP VIEW temp.their_sample;"
    "DROP VIEW temp.their_estimate; DROP VIEW temp.their_effort",
};

/* ---- merging --------------------------------------------------------------------------------- */

/* An older file has no table. */
static const char *const portfolios[] = {
    "INSERT INTO main.portfolio (template, device, text, at)"
    " SELECT m.id, v.id, o.text, o.at FROM other.portfolio AS o"
    " JOIN other.template AS om ON om.id = o.template JOIN other.device AS ov ON ov.id = o.device"
    " JOIN main.template AS m ON m.hash = om.hash JOIN main.device AS v ON v.key = ov.key "
    "WHERE true ON CONFLICT (template, device) DO UPDATE SET (text, at) ="
    " (excluded.text, excluded.at) WHERE (excluded.at, excluded.text) > (at, text)",
};

/* Likewise. */
static const char *const preparations[] = {
    "INSERT INTO main.preparation (trial, sec, at) SELECT t.id, s.sec, s.at FROM " TRIALS(
        "other.") "JOIN other.preparation AS s ON s.trial = ot.id WHERE true"
                  " ON CONFLICT (trial) DO UPDATE SET " DB_JOIN_PREPARATION,
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
  TRY(version < PORTFOLIOS ? 0 : run_list(d, portfolios, LENGTH(portfolios), e));
  TRY(version < DB_KEYS ? run_list(d, older_facts, LENGTH(older_facts), e)
                        : run_list(d, keyed_facts, LENGTH(keyed_facts), e));
  return version < DB_PREPARATIONS ? 0 : run_list(d, preparations, LENGTH(preparations), e);
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
  db_execute(d, DB_LARGE_CACHE ";" DB_LARGE_CACHE_OF("other"), NULL);
  int rc = db_begin(d, e);
  rc = rc ? rc : db_end(d, copy_all(d, version, e), e);
  const int left = db_execute(d, "DETACH other", rc ? NULL : e);
  return rc ? rc : left;
}

/* ---- pruning --------------------------------------------------------------------------------- */

/* What is known of an image stays: the results name it. */
static int drop_images(db *d, int keep, int64_t *n, err *e) {
  db_query q =
      db_ask(d,
             "DELETE FROM image_bulk WHERE image NOT IN (SELECT image FROM (SELECT t.image,"
             " row_number() OVER (PARTITION BY t.problem ORDER BY s.rank, s.sec, t.config)"
             "  AS place FROM trial AS t JOIN standing AS s ON s.trial = t.id"
             " WHERE t.status = 'ok') WHERE place <= ?1 AND image IS NOT NULL)",
             e);
  db_in(&q, DB_INT(keep));
  TRY(db_run(&q));
  *n = sqlite3_changes64(d->sql);
  return 0;
}

int db_prune(db *d, int keep, int64_t *n, err *e) {
  TRY(db_execute(d, DB_LARGE_CACHE, e));
  TRY(drop_images(d, keep, n, e));
  return db_execute(d, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e);
}
