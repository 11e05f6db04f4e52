/* db_effort.c -- the seconds spent searching for a problem, and whether tables exist. */
#include "db_sql.h"

const char *db_path(const db *d) {
  return d->path;
}

int db_device_find(db *d, const char *key, int64_t *id, err *e) {
  db_query q = db_ask(d, "SELECT id FROM device WHERE key = ?1", e);
  db_in(&q, DB_TEXT(key));
  return db_first_int(&q, id);
}

int db_template_find(db *d, const char *hash, int64_t *id, err *e) {
  db_query q = db_ask(d, "SELECT id FROM template WHERE hash = ?1", e);
  db_in(&q, DB_TEXT(hash));
  return db_first_int(&q, id);
}

int db_effort_add(db *d, int64_t template_id, int64_t device_id, const char *problem, double sec,
                  err *e) {
  db_query q = db_ask(d,
                      "INSERT INTO effort (problem, host, run, sec) SELECT id, 1, current_run(), ?4"
                      " FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3 "
                      "ON CONFLICT (problem, host, run) DO UPDATE SET sec = sec + excluded.sec",
                      e);
  db_in(&q, DB_INT(template_id), DB_INT(device_id), DB_TEXT(problem), DB_REAL(sec));
  return db_run(&q);
}

int db_effort_get(db *d, int64_t template_id, int64_t device_id, const char *problem, double *sec,
                  err *e) {
  db_query q = db_ask(d,
                      "SELECT total(e.sec) FROM effort AS e JOIN problem AS p ON p.id = e.problem "
                      "WHERE p.template = ?1 AND p.device = ?2 AND p.text = ?3",
                      e);
  db_in(&q, DB_INT(template_id), DB_INT(device_id), DB_TEXT(problem));
  *sec = db_row(&q) ? db_out_real(&q) : 0;
  return db_done(&q);
}
