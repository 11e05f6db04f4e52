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
  db_in_text(&put, row->key);
  db_in_text(&put, row->name);
  db_in_int(&put, row->cc);
  db_in_int(&put, row->sms);
  TRY(db_run(&put));
  db_query get = db_ask(d, "SELECT id FROM device WHERE key = ?1", e);
  db_in_text(&get, row->key);
  return db_first_int(&get, id);
}

int db_template_put(db *d, const db_template *row, int64_t *id, err *e) {
  db_query put = db_ask(d,
                        "INSERT INTO template (hash, family, version, path)"
                        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (hash) DO NOTHING",
                        e);
  db_in_text(&put, row->hash);
  db_in_text(&put, row->family);
  db_in_int(&put, row->version);
  db_in_text(&put, row->path);
  TRY(db_run(&put));
  db_query get = db_ask(d, "SELECT id FROM template WHERE hash = ?1", e);
  db_in_text(&get, row->hash);
  return db_first_int(&get, id);
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
  db_in_text(&q, row->key);
  db_in_text(&q, row->arch);
  db_in_int(&q, row->nvrtc);
  db_in_int(&q, row->regs);
  db_in_int(&q, row->spill);
  db_in_int(&q, row->smem);
  db_in_real(&q, row->sec);
  return db_run(&q);
}

static int put_bulk(db *d, const db_image *row, err *e) {
  char digest[HASH_TEXT];
  db_image_digest(row, digest);
  db_query q = db_ask(d,
                      "INSERT INTO image_bulk (image, digest, source, log, cubin, ptx)"
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (image) DO NOTHING",
                      e);
  db_in_text(&q, row->key);
  db_in_text(&q, digest);
  db_in_bulk_text(&q, row->source);
  db_in_bulk_text(&q, row->log);
  db_in_bulk(&q, row->cubin, row->n_cubin);
  db_in_bulk(&q, row->ptx, row->n_ptx);
  return db_run(&q);
}

int db_image_put(db *d, const db_image *row, err *e) {
  TRY(db_begin(d, e));
  int code = put_image(d, row, e);
  return db_end(d, code ? code : put_bulk(d, row, e), e);
}

/* ---- trials and their times ------------------------------------------------------------------ */

static int put_problem(db *d, int64_t template_id, int64_t device_id, const char *text, int64_t *id,
                       err *e) {
  db_query put = db_ask(d,
                        "INSERT INTO problem (template, device, text) VALUES (?1, ?2, ?3)"
                        "ON CONFLICT (template, device, text) DO NOTHING",
                        e);
  db_in_int(&put, template_id);
  db_in_int(&put, device_id);
  db_in_text(&put, text);
  TRY(db_run(&put));
  db_query get =
      db_ask(d, "SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3", e);
  db_in_int(&get, template_id);
  db_in_int(&get, device_id);
  db_in_text(&get, text);
  return db_first_int(&get, id);
}

static int put_trial(db *d, int64_t problem, const db_trial *row, int64_t *id, err *e) {
  db_query put =
      db_ask(d,
             "INSERT INTO trial (problem, config, status, reason, image, error)"
             "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
             "ON CONFLICT (problem, config) DO UPDATE SET (status, reason, image, error, at) ="
             " (excluded.status, excluded.reason, excluded.image, excluded.error, excluded.at)"
             "WHERE (status, reason, image, error) IS NOT"
             " (excluded.status, excluded.reason, excluded.image, excluded.error)",
             e);
  db_in_int(&put, problem);
  db_in_text(&put, row->config);
  db_in_text(&put, db_status_name(row->status));
  db_in_text(&put, row->reason);
  db_in_text(&put, row->image);
  db_in_real(&put, row->error);
  TRY(db_run(&put));
  db_query get = db_ask(d, "SELECT id FROM trial WHERE problem = ?1 AND config = ?2", e);
  db_in_int(&get, problem);
  db_in_text(&get, row->config);
  return db_first_int(&get, id);
}

int db_trial_put(db *d, int64_t template_id, int64_t device_id, const db_trial *row, int64_t *id,
                 err *e) {
  int64_t problem;
  TRY(db_begin(d, e));
  int code = put_problem(d, template_id, device_id, row->problem, &problem, e);
  return db_end(d, code ? code : put_trial(d, problem, row, id, e), e);
}

int db_sample_put(db *d, int64_t trial_id, const db_sample *row, err *e) {
  db_query q = db_ask(
      d,
      "INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, uuid, clock_mhz,"
      " power_w, temperature_c, memory_mhz, energy_j, held, retaken, ended, replay, batches)"
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
      e);
  db_in_int(&q, trial_id);
  db_in_text(&q, row->stage == DB_FINAL ? "final" : "screen");
  db_in_real(&q, row->median);
  db_in_real(&q, row->spread);
  db_in_int(&q, row->launches);
  db_in_int(&q, row->cold);
  db_in_int(&q, row->driver);
  db_in_text(&q, row->uuid);
  db_in_known(&q, row->clock_mhz);
  db_in_known(&q, row->power_w);
  db_in_known(&q, row->temperature_c);
  db_in_known(&q, row->memory_mhz);
  db_in_known(&q, row->energy_j);
  db_in_int(&q, row->held);
  db_in_int(&q, row->retaken);
  db_in_text(&q, row->ended);
  db_in_text(&q, row->replay);
  db_in_text(&q, row->batches);
  return db_run(&q);
}

int db_estimate_put(db *d, int64_t trial_id, const char *model, double sec, err *e) {
  db_query q = db_ask(d, "INSERT INTO estimate (trial, model, sec) VALUES (?1, ?2, ?3)", e);
  db_in_int(&q, trial_id);
  db_in_text(&q, model);
  db_in_real(&q, sec);
  return db_run(&q);
}
