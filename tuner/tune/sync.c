/* sync.c -- other searches of the same problem in the same database: what they find is known
 * here too. The database tells cheaply whether somebody else has written. */
#include <math.h>

#include "file.h"
#include "session.h"

static const double SYNC_SEC = 0.2;

/* Rows that another process stored since we looked: known from now on, told to the strategy. Our
 * own among them were told before, and a strategy takes an answer once. */
static int read_others(tune_session *s, arena *a, err *e) {
  db_result *rows;
  scored *scores;
  size_t n;
  TRY(db_results(s->db, s->crew.template_id, s->crew.device_id, str_text(&s->problem), a, &rows, &n,
                 e));
  const uint64_t ours = s->state.known_before + s->state.tried;
  s->state.shared = n > ours ? n - ours : 0;
  s->state.known = s->state.known_before + s->state.shared;
  TRY(samples_score_rows(s, rows, n, a, &scores, e));
  TRY(known_load(s->t, s->space, scores, n, a, &s->known, e));
  for (size_t i = 0; i < s->known.n; i++) {
    search_tell(s->search, s->known.p[i].point, s->known.p[i].score);
  }
  for (size_t i = 0; i < n && rows[i].t.status == DB_OK; i++) {
    s->fastest = fmin(s->fastest, rows[i].median > 0 ? rows[i].median : INFINITY);
  }
  return 0;
}

/* What is known lies in an arena of its own, which is replaced as a whole. */
static int learn_from_others(tune_session *s, err *e) {
  arena fresh = {0};
  int rc = read_others(s, &fresh, e);
  if (rc) {
    s->known = (known_points){0};
  }
  arena_clear(&s->known_memory);
  s->known_memory = fresh;
  return rc;
}

int session_sync(tune_session *s, err *e) {
  int64_t changes;
  double now = now_sec();
  if (now - s->synced_at < SYNC_SEC) {
    return 0;
  }
  s->synced_at = now;
  TRY(db_changes(s->db, &changes, e));
  if (changes == s->changes) {
    return 0;
  }
  s->changes = changes;
  s->concurrent = true;
  int rc = learn_from_others(s, e);
  session_spent(&s->state.phases.store, now);
  return rc;
}
