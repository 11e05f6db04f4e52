/* db_known.c -- the tuned problems of similar devices, as guesses for other sizes. */
#include <string.h>

#include "db_sql.h"

static void read_known(db_query *q, arena *a, db_known *k) {
  k->device_key = db_out_text(q, a);
  k->sms = (int)db_out_int(q);
  k->problem = db_out_text(q, a);
  k->config = db_out_text(q, a);
  k->image = db_out_text_or_null(q, a);
  k->median = db_out_real(q);
  k->modelled = db_out_real(q);
}

/* The newest problems are selected by the index alone, before any of their rows is read. Rows with
 * overlong texts, which this program never writes, are skipped. */
int db_known_list(db *d, const char *template_hash, const char *device_key, int cc, size_t most,
                  arena *a, db_known *rows, size_t *n, err *e) {
  *n = 0;
  db_query q = db_ask(d,
                      "SELECT v.key, v.sms, p.text, t.config, t.image,"
                      " iif(s.rank < 2, s.sec, 0.0), iif(s.rank = 2, s.sec, 0.0) "
                      "FROM (SELECT id, device, text FROM problem"
                      "  WHERE template = (SELECT id FROM template WHERE hash = ?1)"
                      "   AND device IN (SELECT id FROM device WHERE key = ?2 OR cc = ?3)"
                      "  ORDER BY id DESC LIMIT ?4) AS p"
                      " JOIN winner AS w ON w.problem_id = p.id JOIN trial AS t ON t.id = w.trial"
                      " JOIN standing AS s ON s.trial = t.id JOIN device AS v ON v.id = p.device"
                      " WHERE max(length(CAST(v.key AS BLOB)), length(CAST(p.text AS BLOB)),"
                      "  length(CAST(t.config AS BLOB)), length(coalesce(t.image, ''))) <= ?5",
                      e);
  db_in(&q, DB_TEXT(template_hash), DB_TEXT(device_key), DB_INT(cc), DB_INT((int64_t)most),
        DB_INT(DB_MAX_TEXT));
  while (*n < most && db_row(&q)) {
    read_known(&q, a, &rows[(*n)++]);
  }
  return db_done(&q);
}

int db_changes(db *d, int64_t *number, err *e) {
  db_query q = db_ask(d, "PRAGMA data_version", e);
  return db_first_int(&q, number);
}

/* From each problem to its trial by the index; there are far fewer problems than trials. */
int db_config_images(db *d, const char *template_hash, const char *device_key, const char *config,
                     size_t most, arena *a, const char **keys, size_t *n, err *e) {
  *n = 0;
  db_query q = db_ask(d,
                      "SELECT DISTINCT t.image FROM problem AS p"
                      " CROSS JOIN trial AS t ON t.problem = p.id AND t.config = ?3 "
                      "WHERE p.template = (SELECT id FROM template WHERE hash = ?1)"
                      " AND p.device = (SELECT id FROM device WHERE key = ?2)"
                      " AND t.status = 'ok' AND t.image IN (SELECT image FROM image_bulk) LIMIT ?4",
                      e);
  db_in(&q, DB_TEXT(template_hash), DB_TEXT(device_key), DB_TEXT(config), DB_INT((int64_t)most));
  while (*n < most && db_row(&q)) {
    keys[(*n)++] = db_out_text(&q, a);
  }
  return db_done(&q);
}
