/* db_lines.c -- the best results of a database as db_text.h writes them, and back. */
#include <string.h>

#include "db_sql.h"
#include "db_text.h"

/* ---- out ------------------------------------------------------------------------------------- */

static void read_line(db_query *q, arena *a, db_line *l) {
  *l = (db_line){0};
  l->device.key = db_out_text(q, a);
  l->device.name = db_out_text(q, a);
  l->device.cc = (int)db_out_int(q);
  l->device.sms = (int)db_out_int(q);
  l->template.family = db_out_text(q, a);
  l->template.version = db_out_int(q);
  l->template.hash = db_out_text(q, a);
  l->template.path = db_out_text(q, a);
  l->problem = db_out_text(q, a);
  l->config = db_out_text(q, a);
  l->kind = (db_kind)db_out_int(q);
  l->sec = db_out_real(q);
  l->spread = db_out_real(q);
  l->launches = db_out_int(q);
  l->driver = (int)db_out_int(q);
  l->nvrtc = (int)db_out_int(q);
  l->when = db_out_text(q, a);
}

#define BEST_LINES(order)                                                                          \
  "SELECT v.key, v.name, v.cc, v.sms, m.family, m.version, m.hash, m.path, p.text, t.config,"      \
  " s.rank, s.sec, s.spread, coalesce(x.launches, 0), coalesce(x.driver, 0),"                      \
  " coalesce(i.nvrtc, 0), strftime('%Y-%m-%dT%H:%M:%SZ', s.at, 'unixepoch') "                      \
  "FROM problem AS p JOIN template AS m ON m.id = p.template"                                      \
  " JOIN device AS v ON v.id = p.device JOIN winner AS w ON w.problem_id = p.id"                   \
  " JOIN trial AS t ON t.id = w.trial JOIN standing AS s ON s.trial = t.id"                        \
  " LEFT JOIN sample AS x ON x.id ="                                                               \
  "  (SELECT id FROM sample WHERE trial = t.id ORDER BY stage, " order " LIMIT 1)"                 \
  " LEFT JOIN image AS i ON i.key = t.image "                                                      \
  "WHERE (?1 IS NULL OR m.family = ?1) AND (?2 IS NULL OR v.key = ?2) AND s.sec > 0 "              \
  "ORDER BY m.family, v.key, m.hash, p.text"

static int best_lines(db *d, const char *family, const char *device_key, arena *a, db_line **rows,
                      size_t *n, err *e) {
  db_query q =
      db_ask(d, d->version < DB_KEYS ? BEST_LINES("id DESC") : BEST_LINES(DB_LAST_FIRST), e);
  db_in(&q, DB_TEXT(family), DB_TEXT(device_key));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_line(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}

static int portfolio_lines(db *d, const char *family, const char *device_key, arena *a,
                           db_line **rows, size_t *n, err *e) {
  bool there;
  TRY(db_has(d, "portfolio", &there, e));
  if (!there) {
    return 0;
  }
  db_query q = db_ask(d,
                      "SELECT v.key, v.name, v.cc, v.sms, m.family, m.version, m.hash, m.path,"
                      " m.family, o.text, ?3, 1.0, 0.0, 0, 0, 0,"
                      " strftime('%Y-%m-%dT%H:%M:%SZ', o.at, 'unixepoch') "
                      "FROM portfolio AS o JOIN template AS m ON m.id = o.template"
                      " JOIN device AS v ON v.id = o.device "
                      "WHERE (?1 IS NULL OR m.family = ?1) AND (?2 IS NULL OR v.key = ?2) "
                      "ORDER BY m.family, v.key, m.hash",
                      e);
  db_in(&q, DB_TEXT(family), DB_TEXT(device_key), DB_INT(DB_KIND_PORTFOLIO));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_line(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}

int db_lines(db *d, const char *family, const char *device_key, arena *a, db_line **rows, size_t *n,
             err *e) {
  *rows = NULL;
  *n = 0;
  TRY(best_lines(d, family, device_key, a, rows, n, e));
  return portfolio_lines(d, family, device_key, a, rows, n, e);
}

/* ---- in -------------------------------------------------------------------------------------- */

typedef struct known { /* the database's trial of the line's configuration */
  int64_t trial;       /* 0: none */
  bool ok, newer;      /* it works; its time is at least as good a measurement as the line */
} known;

static int look(db *d, const db_line *l, int64_t template_id, int64_t device_id, known *k, err *e) {
  db_query q =
      db_ask(d,
             "SELECT t.id, t.status = 'ok', coalesce(s.rank < ?5 OR s.rank = ?5 AND"
             " s.at >= unixepoch(?6), 0) FROM trial AS t JOIN problem AS p ON p.id = t.problem"
             " LEFT JOIN standing AS s ON s.trial = t.id "
             "WHERE p.template = ?1 AND p.device = ?2 AND p.text = ?3 AND t.config = ?4",
             e);
  db_in(&q, DB_INT(template_id), DB_INT(device_id), DB_TEXT(l->problem), DB_TEXT(l->config),
        DB_INT(l->kind), DB_TEXT(l->when));
  *k = (known){0};
  if (db_row(&q)) {
    k->trial = db_out_int(&q);
    k->ok = db_out_int(&q) != 0;
    k->newer = db_out_int(&q) != 0;
  }
  return db_done(&q);
}

static int put_sample(db *d, int64_t trial, const db_line *l, err *e) {
  db_query q =
      db_ask(d,
             "INSERT INTO sample (trial, stage, median, spread, launches, cold, driver, at,"
             " " DB_KEY_COLUMNS ") SELECT ?1, ?2, ?3, ?4, ?5, 1, ?6, coalesce(unixepoch(?7), 0),"
             " " DB_NEW_KEY " FROM host WHERE id = 1",
             e);
  db_in(&q, DB_INT(trial), DB_TEXT(l->kind == DB_KIND_FINAL ? "final" : "screen"), DB_REAL(l->sec),
        DB_REAL(l->spread), DB_INT(l->launches), DB_INT(l->driver), DB_TEXT(l->when));
  return db_run(&q);
}

static int put_estimate(db *d, int64_t trial, const db_line *l, err *e) {
  db_query q = db_ask(d,
                      "INSERT INTO estimate (trial, model, sec, at, " DB_KEY_COLUMNS
                      ") SELECT ?1, 'imported', ?2, coalesce(unixepoch(?3), 0), " DB_NEW_KEY
                      " FROM host WHERE id = 1",
                      e);
  db_in(&q, DB_INT(trial), DB_REAL(l->sec), DB_TEXT(l->when));
  return db_run(&q);
}

/* A configuration that failed here, or has an equal or better measurement, is kept. The time of an
 * imported trial is 0, so that the outcome on a machine that tries it counts. */
int db_line_put(db *d, const db_line *l, bool *stored, err *e) {
  int64_t device_id, template_id;
  known k;
  const db_trial trial = {.problem = l->problem, .config = l->config, .status = DB_OK};
  *stored = false;
  TRY(db_device_put(d, &l->device, &device_id, e));
  TRY(db_template_put(d, &l->template, &template_id, e));
  if (l->kind == DB_KIND_PORTFOLIO) {
    return db_portfolio_put(d, template_id, device_id, l->config, l->when, stored, e);
  }
  TRY(look(d, l, template_id, device_id, &k, e));
  if (k.trial && (!k.ok || k.newer)) {
    return 0;
  }
  if (!k.trial) {
    TRY(db_trial_put_at(d, template_id, device_id, &trial, 0, &k.trial, e));
  }
  *stored = true;
  return l->kind == DB_KIND_MODEL ? put_estimate(d, k.trial, l, e) : put_sample(d, k.trial, l, e);
}
