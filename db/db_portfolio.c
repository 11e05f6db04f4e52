/* db_portfolio.c -- portfolios: the latest text for each template and device. */
#include <string.h>

#include "db_sql.h"

int db_has(db *d, const char *table, bool *yes, err *e) {
  int64_t n = 0;
  db_query q =
      db_ask(d, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = ?1", e);
  db_in(&q, DB_TEXT(table));
  TRY(db_first_int(&q, &n));
  *yes = n > 0;
  return 0;
}

/* Of two texts the later one counts, of one second the greater one; so a new one that is smaller is
 * a second later. */
int db_portfolio_put(db *d, int64_t template_id, int64_t device_id, const char *text,
                     const char *when, bool *stored, err *e) {
  db_query q =
      db_ask(d,
             "INSERT INTO portfolio (template, device, text, at)"
             "VALUES (?1, ?2, ?3, iif(?4 IS NULL, unixepoch(), coalesce(unixepoch(?4), 0)))"
             "ON CONFLICT (template, device) DO UPDATE SET (text, at) = (excluded.text,"
             " iif(?4 IS NULL, max(excluded.at, at + (excluded.text < text)), excluded.at))"
             "WHERE ?4 IS NULL OR (excluded.at, excluded.text) > (at, text)",
             e);
  db_in(&q, DB_INT(template_id), DB_INT(device_id), DB_TEXT(text), DB_TEXT(when));
  TRY(db_run(&q));
  *stored = sqlite3_changes64(d->sql) > 0;
  return 0;
}

int db_portfolio_get(db *d, const char *template_hash, const char *device_key, arena *a,
                     const char **text, err *e) {
  bool there;
  *text = NULL;
  TRY(db_has(d, "portfolio", &there, e));
  if (!there) {
    return ERR_NOTFOUND;
  }
  db_query q = db_ask(d,
                      "SELECT p.text FROM portfolio AS p JOIN template AS m ON m.id = p.template"
                      " JOIN device AS v ON v.id = p.device WHERE m.hash = ?1 AND v.key = ?2",
                      e);
  db_in(&q, DB_TEXT(template_hash), DB_TEXT(device_key));
  if (db_row(&q)) {
    *text = db_out_text(&q, a);
  }
  TRY(db_done(&q));
  return *text ? 0 : ERR_NOTFOUND;
}

static void read_portfolio(db_query *q, arena *a, db_portfolio *p) {
  p->family = db_out_text(q, a);
  p->template_hash = db_out_text(q, a);
  p->device_key = db_out_text(q, a);
  p->device_name = db_out_text(q, a);
  p->text = db_out_text(q, a);
  p->when = db_out_text(q, a);
}

int db_portfolios(db *d, const char *family, arena *a, db_portfolio **rows, size_t *n, err *e) {
  bool there;
  *rows = NULL;
  *n = 0;
  TRY(db_has(d, "portfolio", &there, e));
  if (!there) {
    return 0;
  }
  db_query q = db_ask(d,
                      "SELECT m.family, m.hash, v.key, v.name, p.text,"
                      " strftime('%Y-%m-%dT%H:%M:%SZ', p.at, 'unixepoch') "
                      "FROM portfolio AS p JOIN template AS m ON m.id = p.template"
                      " JOIN device AS v ON v.id = p.device "
                      "WHERE ?1 IS NULL OR m.family = ?1 ORDER BY m.family, v.key, p.id",
                      e);
  db_in(&q, DB_TEXT(family));
  while (db_row(&q) && (*rows = db_room(&q, a, *rows, *n, sizeof **rows))) {
    read_portfolio(&q, a, &(*rows)[(*n)++]);
  }
  return db_done(&q);
}
