/* sync.c -- other searches of the same problem in the same database: each learns from the results
 * of all. */
#include <math.h>

#include "file.h"
#include "session.h"

static const double EVERY_SEC = 0.2;

/* The search ignores the rows of this process, which it was told before. */
static int read_rows(tune_session *s, arena *a, err *e) {
  db_result *rows;
  scored *scores;
  size_t n;
  TRY(session_results(s, a, &rows, &n, e));
  const uint64_t ours = s->state.known_before + s->state.tried;
  s->state.shared = n > ours ? n - ours : 0;
  s->state.known = s->state.known_before + s->state.shared;
  TRY(session_know(s, rows, n, a, &scores, e));
  for (size_t i = 0; i < n && rows[i].t.status == DB_OK; i++) {
    s->best.fastest = fmin(s->best.fastest, rows[i].median > 0 ? rows[i].median : INFINITY);
  }
  return 0;
}

/* What is known lies in an arena of its own, which is replaced as a whole. */
static int replace_known(tune_session *s, err *e) {
  arena fresh = {0};
  int rc = read_rows(s, &fresh, e);
  if (rc) {
    s->known = (known_points){0};
  }
  arena_clear(&s->sync.memory);
  s->sync.memory = fresh;
  return rc;
}

int sync_start(tune_session *s, err *e) {
  return db_changes(s->db, &s->sync.changes, e);
}

int sync_read(tune_session *s, err *e) {
  int64_t changes;
  double now = now_sec();
  if (now - s->sync.at < EVERY_SEC) {
    return 0;
  }
  s->sync.at = now;
  TRY(db_changes(s->db, &changes, e));
  if (changes == s->sync.changes) {
    return 0;
  }
  s->sync.changes = changes;
  s->sync.concurrent = true;
  int rc = replace_known(s, e);
  session_spent(&s->state.phases.store, now);
  return rc;
}
