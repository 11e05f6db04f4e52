/* db_get.c -- read facts, and the views over them. */
#include <string.h>

#include "db_sql.h"

static db_status status_parse(db_query *q, const char *name) {
  for (int i = 0; name && i < DB_STATUSES; i++) {
    if (!strcmp(name, db_status_name((db_status)i))) {
      return (db_status)i;
    }
  }
  if (!q->code) {
    q->code = db_damaged(q->d, "a trial has a status that does not exist", q->e);
  }
  return DB_INVALID;
}

void *db_room(db_query *q, arena *a, void *rows, size_t n, size_t nbytes) {
  bool full = (n & (n - 1)) == 0; /* at 0 and at each power of two */
  if (!full) {
    return rows;
  }
  void *larger = arena_new(a, nbytes * (n ? 2 * n : 1));
  if (larger && n) {
    memcpy(larger, rows, nbytes * n);
  }
  if (!larger && !q->code) {
    q->code = err_set(q->e, ERR_NOMEM, "out of memory reading database %s", q->d->path);
  }
  return larger;
}

/* ---- images ---------------------------------------------------------------------------------- */

static void read_image(db_query *q, arena *a, db_image *row, const char **digest) {
  row->key = db_out_text(q, a);
  row->arch = db_out_text(q, a);
  row->nvrtc = (int)db_out_int(q);
  row->regs = (int)db_out_int(q);
  row->spill = db_out_int(q);
  row->smem = db_out_int(q);
  row->sec = db_out_real(q);
  *digest = db_out_text(q, a);
  size_t n;
  row->source = db_out_bulk(q, a, &n);
  row->log = db_out_bulk(q, a, &n);
  row->cubin = db_out_bulk(q, a, &row->n_cubin);
  row->ptx = db_out_bulk(q, a, &row->n_ptx);
}

int db_image_get(db *d, const char *key, arena *a, db_image *row, err *e) {
  const char *stored;
  char digest[HASH_TEXT];
  db_query q = db_ask(d,
                      "SELECT i.key, i.arch, i.nvrtc, i.regs, i.spill, i.smem, i.sec, b.digest,"
                      " b.source, b.log, b.cubin, b.ptx "
                      "FROM image AS i JOIN image_bulk AS b ON b.image = i.key "
                      "WHERE i.key = ?1",
                      e);
  db_in(&q, DB_TEXT(key));
  bool found = db_row(&q);
  if (found) {
    read_image(&q, a, row, &stored);
  }
  TRY(db_done(&q));
  if (!found) {
    return err_set(e, ERR_NOTFOUND, "database %s has no image %s", d->path, key);
  }
  db_image_digest(row, digest);
  bool same = row->source && !strcmp(digest, stored);
  return same ? 0 : db_damaged(d, "an image is not what was stored", e);
}

/* ---- trials ---------------------------------------------------------------------------------- */

#define RESULT_COLUMNS                                                                             \
  "trial, problem, config, status, reason, image, error, median, spread, final, modelled, regs, "  \
  "spill, smem"

static void read_result(db_query *q, arena *a, db_result *r) {
  r->trial = db_out_int(q);
  r->t.problem = db_out_text(q, a);
  r->t.config = db_out_text(q, a);
  r->t.status = status_parse(q, db_out_text(q, a));
  r->t.reason = db_out_text_or_null(q, a);
  r->t.image = db_out_text_or_null(q, a);
  r->t.error = db_out_real(q);
  r->median = db_out_real(q);
  r->spread = db_out_real(q);
  r->final = db_out_int(q) != 0;
  r->modelled = db_out_real(q);
  r->regs = (int)db_out_int(q);
  r->spill = db_out_int(q);
  r->smem = db_out_int(q);
}

static void in_problem(db_query *q, int64_t template_id, int64_t device_id, const char *problem) {
  db_in(q, DB_INT(template_id), DB_INT(device_id), DB_TEXT(problem));
}

int db_results(db *d, int64_t template_id, int64_t device_id, const char *problem, arena *a,
               db_result **rows, size_t *n, err *e) {
  *rows = NULL;
  *n = 0;
  db_query q = db_ask(d,
                      "SELECT " RESULT_COLUMNS " FROM result WHERE problem_id ="
                      " (SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3)"
                      "ORDER BY status <> 'ok', rank IS NULL, rank, sec, config",
                      e);
  in_problem(&q, template_id, device_id, problem);
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_result(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}

/* The fastest come from the index of standings, and only these rows are read. */
int db_results_top(db *d, int64_t template_id, int64_t device_id, const char *problem, size_t top,
                   arena *a, db_result **rows, size_t *n, err *e) {
  *rows = NULL;
  *n = 0;
  db_query q = db_ask(
      d,
      "WITH this (p) AS"
      " (SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3) "
      "SELECT " RESULT_COLUMNS " FROM result WHERE trial IN ("
      " SELECT * FROM (SELECT s.trial FROM standing AS s JOIN trial AS t ON t.id = s.trial"
      "  WHERE s.problem = (SELECT p FROM this) AND t.status = 'ok'"
      "  ORDER BY s.rank, s.sec, t.config LIMIT ?4)"
      " UNION SELECT * FROM (SELECT id FROM trial WHERE problem = (SELECT p FROM this)"
      "  AND status = 'ok' AND id NOT IN (SELECT trial FROM standing) ORDER BY config LIMIT ?4)"
      " UNION SELECT * FROM (SELECT id FROM trial WHERE problem = (SELECT p FROM this)"
      "  AND status <> 'ok' ORDER BY config LIMIT ?4)) "
      "ORDER BY status <> 'ok', rank IS NULL, rank, sec, config",
      e);
  in_problem(&q, template_id, device_id, problem);
  db_in(&q, DB_INT((int64_t)top));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_result(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}

int db_count(db *d, int64_t template_id, int64_t device_id, const char *problem, int64_t *ok,
             int64_t *failed, err *e) {
  db_query q =
      db_ask(d,
             "SELECT total(status = 'ok'), total(status <> 'ok') FROM trial WHERE problem ="
             " (SELECT id FROM problem WHERE template = ?1 AND device = ?2 AND text = ?3)",
             e);
  in_problem(&q, template_id, device_id, problem);
  *ok = *failed = 0;
  if (db_row(&q)) {
    *ok = (int64_t)db_out_real(&q);
    *failed = (int64_t)db_out_real(&q);
  }
  return db_done(&q);
}

int db_best(db *d, const char *template_hash, const char *device_key, const char *problem, arena *a,
            db_result *row, err *e) {
  db_query q = db_ask(d,
                      "SELECT " RESULT_COLUMNS " FROM best "
                      "WHERE template = ?1 AND device = ?2 AND problem = ?3",
                      e);
  db_in(&q, DB_TEXT(template_hash), DB_TEXT(device_key), DB_TEXT(problem));
  bool found = db_row(&q);
  if (found) {
    read_result(&q, a, row);
  }
  TRY(db_done(&q));
  return found ? 0
               : err_set(e, ERR_NOTFOUND, "nothing is tuned for \"%s\" on this device", problem);
}

/* ---- samples --------------------------------------------------------------------------------- */

#define SAMPLE_COLUMNS                                                                             \
  "SELECT stage = 'final', median, spread, launches, cold, driver, uuid, clock_mhz, power_w, "     \
  "temperature_c, "
#define LATER_COLUMNS                                                                              \
  "memory_mhz, energy_j, coalesce(held, 0), coalesce(retaken, 0), ended, replay, batches"
#define OF_TRIAL(order) " FROM sample WHERE trial = ?1 ORDER BY stage, " order " LIMIT 1"

/* By the version of the schema. */
static const char *sample_query(int version) {
  return version >= DB_KEYS ? SAMPLE_COLUMNS LATER_COLUMNS OF_TRIAL(DB_LAST_FIRST)
         : version >= 2     ? SAMPLE_COLUMNS LATER_COLUMNS OF_TRIAL("id DESC")
                        : SAMPLE_COLUMNS "NULL, NULL, 0, 0, NULL, NULL, NULL" OF_TRIAL("id DESC");
}

/* NULL reads as 0: not known. */
static double out_known(db_query *q) {
  const double value = db_out_real(q);
  return value == value ? value : 0;
}

static void read_sample(db_query *q, arena *a, db_sample *s) {
  s->stage = db_out_int(q) ? DB_FINAL : DB_SCREEN;
  s->median = db_out_real(q);
  s->spread = db_out_real(q);
  s->launches = db_out_int(q);
  s->cold = db_out_int(q) != 0;
  s->driver = (int)db_out_int(q);
  s->uuid = db_out_text_or_null(q, a);
  s->clock_mhz = out_known(q);
  s->power_w = out_known(q);
  s->temperature_c = out_known(q);
  s->memory_mhz = out_known(q);
  s->energy_j = out_known(q);
  s->held = db_out_int(q);
  s->retaken = db_out_int(q);
  s->ended = db_out_text_or_null(q, a);
  s->replay = db_out_text_or_null(q, a);
  s->batches = db_out_text_or_null(q, a);
}

int db_sample_get(db *d, int64_t trial_id, arena *a, db_sample *row, err *e) {
  db_query q = db_ask(d, sample_query(d->version), e);
  db_in(&q, DB_INT(trial_id));
  *row = (db_sample){0};
  bool found = db_row(&q);
  if (found) {
    read_sample(&q, a, row);
  }
  TRY(db_done(&q));
  return found ? 0 : err_set(e, ERR_NOTFOUND, "trial %lld was never measured", (long long)trial_id);
}

int db_preparation_get(db *d, int64_t trial_id, double *sec, err *e) {
  *sec = 0;
  if (d->version < DB_PREPARATIONS) {
    return 0;
  }
  db_query q = db_ask(d, "SELECT sec FROM preparation WHERE trial = ?1", e);
  db_in(&q, DB_INT(trial_id));
  if (db_row(&q)) {
    *sec = db_out_real(&q);
  }
  return db_done(&q);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void read_problem(db_query *q, arena *a, db_problem *p) {
  p->family = db_out_text(q, a);
  p->device_key = db_out_text(q, a);
  p->device_name = db_out_text(q, a);
  p->problem = db_out_text(q, a);
  p->template_hash = db_out_text(q, a);
  p->path = db_out_text(q, a);
  p->config = db_out_text_or_null(q, a);
  p->when = db_out_text(q, a);
  p->median = db_out_real(q);
  p->modelled = db_out_real(q);
  p->n_trials = db_out_int(q);
  p->n_ok = db_out_int(q);
  p->template_id = db_out_int(q);
  p->device_id = db_out_int(q);
}

int db_problems(db *d, const char *family, arena *a, db_problem **rows, size_t *n, err *e) {
  *rows = NULL;
  *n = 0;
  db_query q =
      db_ask(d,
             "SELECT m.family, v.key, v.name, p.text, m.hash, m.path, t.config,"
             " strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(s.at, p.at), 'unixepoch'),"
             " iif(s.rank < 2, s.sec, 0.0), iif(s.rank = 2, s.sec, 0.0),"
             " (SELECT count(*) FROM trial WHERE problem = p.id),"
             " (SELECT count(*) FROM trial WHERE problem = p.id AND status = 'ok'), m.id, v.id "
             "FROM problem AS p JOIN template AS m ON m.id = p.template"
             " JOIN device AS v ON v.id = p.device JOIN winner AS w ON w.problem_id = p.id"
             " LEFT JOIN trial AS t ON t.id = w.trial LEFT JOIN standing AS s ON s.trial = t.id "
             "WHERE ?1 IS NULL OR m.family = ?1 ORDER BY m.family, v.key, p.id",
             e);
  db_in(&q, DB_TEXT(family));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_problem(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}
