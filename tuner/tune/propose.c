/* propose.c -- what to try next, and whether to try any more. */
#include "file.h"
#include "session.h"

/* So many images wait for the device before the compilers pause: enough that it never waits for
 * them, few enough that the search, which asks before it has these answers, does not fall behind.
 */
enum { READY_MOST = 8 };
/* Sources written ahead, one for so many compilers: while this process searches, none waits for it.
 */
enum { JOBS_PER_DRAFT = 4 };

bool session_stopped(const tune_session *s) {
  return s->o.stop && *s->o.stop;
}

/* What would be served untuned is measured whatever time that takes: a search that ends with less,
 * because that alone was compiled in time, would be worse than none. */
static bool owes_first(const tune_session *s) {
  return s->initial.n_points && !s->first_answered && !known_find(&s->known, s->initial.points[0]);
}

bool session_out_of_time(const tune_session *s) {
  return s->o.budget.sec > 0 && !owes_first(s) &&
         s->state.sec_before + now_sec() - s->started >= s->o.budget.sec;
}

static bool budget_left(const tune_session *s) {
  const tune_budget *b = &s->o.budget;
  if (b->trials && s->state.known + s->asked >= b->trials) {
    return false;
  }
  return !session_out_of_time(s);
}

static bool is_initial(const tune_session *s, size_t point) {
  for (size_t i = 0; i < s->initial.n_points; i++) {
    if (s->initial.points[i] == point) {
      return true;
    }
  }
  return false;
}

/* Two searches with the same seed ask for the same points. Beside another one, every other point is
 * put off, by a process's own coin; what nobody has tried by then comes at the end. */
static bool defer(tune_session *s, size_t point) {
  if (!s->concurrent || s->n_deferred == DEFERRED_MOST || rng_below(&s->rng, 2)) {
    return false;
  }
  s->deferred[s->n_deferred++] = point;
  return true;
}

/* The next point nobody knows yet: first the seeds, then what the strategy asks for. */
static bool next_point(tune_session *s, size_t *point) {
  while (s->initial.next < s->initial.n_points) {
    *point = s->initial.points[s->initial.next++];
    if (!known_find(&s->known, *point)) {
      return true;
    }
  }
  while (search_ask(s->search, point)) {
    if (!is_initial(s, *point) && !known_find(&s->known, *point) && !defer(s, *point)) {
      return true;
    }
  }
  while (s->n_deferred) {
    *point = s->deferred[--s->n_deferred];
    if (!known_find(&s->known, *point)) {
      return true;
    }
  }
  s->exhausted = true;
  return false;
}

bool session_may_ask(const tune_session *s) {
  return !s->exhausted && !session_stopped(s) && budget_left(s) && s->crew.ready.n < READY_MOST;
}

/* A source for worker i: *out stays NULL when the candidate needs no compiler. */
static int next_candidate(tune_session *s, candidate **out, err *e) {
  size_t point;
  gen_config config;
  candidate *c;
  bool found;
  double from = now_sec();
  *out = NULL;
  found = next_point(s, &point);
  session_spent(&s->state.phases.search, from);
  if (!found) {
    return 0;
  }
  s->asked++;
  from = now_sec();
  gen_space_at(s->space, point, &config);
  TRY(candidate_new(s->g, s->compiler, &s->crew.setting, point, &config, &c, e));
  session_spent(&s->state.phases.generate, from);
  from = now_sec();
  int rc = candidate_from_db(c, s->db, s->crew.m.info.format, &found, e);
  session_spent(&s->state.phases.store, from);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  if (found) {
    candidate_push(&s->crew.ready, c);
  } else {
    *out = c;
  }
  return 0;
}

bool session_may_draft(const tune_session *s) {
  return s->drafts.n < 1 + s->crew.n_jobs / JOBS_PER_DRAFT && session_may_ask(s);
}

int session_draft(tune_session *s, err *e) {
  candidate *c;
  TRY(next_candidate(s, &c, e));
  if (c) {
    candidate_push(&s->drafts, c);
  }
  return 0;
}
