/* db_put.c -- store facts. Each put is committed when it returns. */
#include <string.h>

#include "db_sql.h"

static const char *const statuses[DB_STATUSES] = {"ok",    "invalid", "compile", "launch",
                                                  "wrong", "timeout", "crashed"};

const char *db_status_name(db_status s) {
  return statuses[s];
}

int db_device_put(db *d, const db_device *row, int64_t *id, err *e) {
  db_query put = db_ask(d,
                        "INSERT INTO device (key, name, cc, sms) VALUES (?1, ?2, ?3, ?4)"
                        "ON CONFLICT (key) DO NOTHING",
                        e);
  db_in(&put, DB_TEXT(row->key), DB_TEXT(row->name), DB_INT(row->cc), DB_INT(row->sms));
  TRY(db_run(&put));
  return db_device_find(d, row->key, id, e);
}

int db_template_put(db *d, const db_template *row, int64_t *id, err *e) {
  db_query put = db_ask(d,
                        "INSERT INTO template (hash, family, version, path)"
                        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (hash) DO NOTHING",
                        e);
  db_in(&put, DB_TEXT(row->hash), DB_TEXT(row->family), DB_INT(row->version), DB_TEXT(row->path));
  TRY(db_run(&put));
  return db_template_find(d, row->hash, id, e);
}

/* ---- images ---------------------------------------------------------------------------------- */

static void hash_text(const char *text, char out[HASH_TEXT]) {
  hash_bytes(text, text ? strlen(text) : 0, out);
}

void db_image_digest(const db_image *row, char digest[HASH_TEXT]) {
  char parts[4][HASH_TEXT];
  hash_text(row->source, parts[0]);
  hash_text(row->log, parts[1]);
  hash_bytes(row->cubin, row->n_cubin, parts[2]);
  hash_bytes(row->ptx, row->n_ptx, parts[3]);
  hash_bytes(parts, sizeof parts, digest);
}

static int put_image(db *d, const db_image *row, err *e) {
  db_query q = db_ask(d,
                      "INSERT INTO image (key, arch, nvrtc, regs, spill, smem, sec)"
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO NOTHING",
                      e);
  db_in(&q, DB_TEXT(row->key), DB_TEXT(row->arch), DB_INT(row->nvrtc), DB_INT(row->regs),
        DB_INT(row->spill), DB_INT(row->smem), DB_REAL(row->sec));
  return db_run(&q);
}

static int put_bulk(db *d, const db_image *row, err *e) {
  char digest[HASH_TEXT];
  db_image_digest(row, digest);
  db_query q = db_ask(d,
                      "INSERT INTO image_bulk (image, digest, source, log, cubin, ptx)"
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (image) DO NOTHING",
                      e);
  db_in(&q, DB_TEXT(row->key), DB_TEXT(digest), DB_BULK_TEXT(row->source), DB_BULK_TEXT(row->log),
        DB_BULK(row->cubin, row->n_cubin), DB_BULK(row->ptx, row->n_ptx));
  return db_run(&q);
}

int db_image_put(db *d, const db_image *row, err *e) {
  TRY(db_begin(d, e));
  int code = put_image(d, row, e);
  return db_end(d, code || !row->source ? code : put_bulk(d, row, e), e);
}

/* ---- trials and their times ------------------------------------------------------------------ */

static int put_problem(db *d, int64_t template_id, int64_t device_id, const char *text, int64_t *id,
                       err *e) {
  db_query put = db_ask(d,
                        "INSERT INTO problem (template, device, text) VALUES (?1, ?2, ?3)"
                        "ON CONFLICT (template, device, text) DO NOTHING",
                        e);
  db_in(&put, DB_INT(template_id), DB_INT(device_id), DB_TEXT(text));
  TRY(db_run(&put));
  db_query get =
      db_ask(d, "SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3", e);
  db_in(&get, DB_INT(template_id), DB_INT(device_id), DB_TEXT(text));
  return db_first_int(&get, id);
}

/* The outcome stored last counts, also where the clock was set back meanwhile. */
static int put_trial(db *d, int64_t problem, const db_trial *row, int64_t at, int64_t *id, err *e) {
  db_query put =
      db_ask(d,
             "INSERT INTO trial (problem, config, status, reason, image, error, at, " DB_KEY_COLUMNS
             ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, iif(?7 < 0, unixepoch(), ?7), " DB_NEW_KEY
             " FROM host WHERE id = 1 "
             "ON CONFLICT (problem, config) DO UPDATE"
             " SET (status, reason, image, error, at, " DB_KEY_COLUMNS ") ="
             " (excluded.status, excluded.reason, excluded.image, excluded.error,"
             "  max(excluded.at, at), excluded.host, excluded.run, excluded.sequence)"
             "WHERE (status, reason, image, error) IS NOT"
             " (excluded.status, excluded.reason, excluded.image, excluded.error)",
             e);
  db_in(&put, DB_INT(problem), DB_TEXT(row->config), DB_TEXT(db_status_name(row->status)),
        DB_TEXT(row->reason), DB_TEXT(row->image), DB_REAL(row->error), DB_INT(at));
  TRY(db_run(&put));
  db_query get = db_ask(d, "SELECT id FROM trial WHERE problem = ?1 AND config = ?2", e);
  db_in(&get, DB_INT(problem), DB_TEXT(row->config));
  return db_first_int(&get, id);
}

int db_trial_put_at(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t at,
                    int64_t *id, err *e) {
  int64_t problem;
  TRY(db_begin(d, e));
  int code = put_problem(d, template_id, device_id, row->problem, &problem, e);
  return db_end(d, code ? code : put_trial(d, problem, row, at, id, e), e);
}

int db_trial_put(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t *id,
                 err *e) {
  return db_trial_put_at(d, template_id, device_id, row, -1, id, e);
}

/* Now; where the clock was set back, the time that the trial has. */
#define NOW "max(unixepoch(), coalesce((SELECT max(at) FROM standing WHERE trial = ?1), 0))"

int db_sample_put(db *d, int64_t trial_id, const db_sample *row, err *e) {
  db_query q = db_ask(
      d,
      "INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, uuid, clock_mhz,"
      " power_w, temperature_c, memory_mhz, energy_j, held, retaken, ended, replay, batches,"
      " at, " DB_KEY_COLUMNS
      ") SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,"
      " " NOW ", " DB_NEW_KEY " FROM host WHERE id = 1",
      e);
  db_in(&q, DB_INT(trial_id), DB_TEXT(row->stage == DB_FINAL ? "final" : "screen"),
        DB_REAL(row->median), DB_REAL(row->spread), DB_INT(row->launches), DB_INT(row->cold),
        DB_INT(row->driver), DB_TEXT(row->uuid), DB_KNOWN(row->clock_mhz), DB_KNOWN(row->power_w),
        DB_KNOWN(row->temperature_c), DB_KNOWN(row->memory_mhz), DB_KNOWN(row->energy_j),
        DB_INT(row->held), DB_INT(row->retaken), DB_TEXT(row->ended), DB_TEXT(row->replay),
        DB_TEXT(row->batches));
  return db_run(&q);
}

int db_estimate_put(db *d, int64_t trial_id, const char *model, double sec, err *e) {
  db_query q = db_ask(d,
                      "INSERT INTO estimate (trial, model, sec, at, " DB_KEY_COLUMNS
                      ") SELECT ?1, ?2, ?3, " NOW ", " DB_NEW_KEY " FROM host WHERE id = 1",
                      e);
  db_in(&q, DB_INT(trial_id), DB_TEXT(model), DB_REAL(sec));
  return db_run(&q);
}

int db_preparation_put(db *d, int64_t trial_id, double sec, err *e) {
  db_query q = db_ask(d,
                      "INSERT INTO preparation (trial, sec) VALUES (?1, ?2) ON CONFLICT (trial)"
                      " DO UPDATE SET " DB_JOIN_PREPARATION,
                      e);
  db_in(&q, DB_INT(trial_id), DB_REAL(sec));
  return db_run(&q);
}
