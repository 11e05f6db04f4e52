#include "propose.h"

#include <string.h>

#include "file.h"

/* Images that may wait for the device before the compilers pause. The device must never wait for
 * them, and yet the search, which has no results of these when it proposes more, must not fall far
 * behind. */
enum { READY_MOST = 8 };
/* One source is written ahead for this many compile workers, so that none waits while this process
 * searches. */
enum { JOBS_PER_DRAFT = 4 };

/* ---- budget --------------------------------------------------------------------------------- */

/* The configuration that would be served untuned is measured however long that takes: the result of
 * a search must not be worse. */
static bool lacks_first(const tune_session *s) {
  return s->next.initial.n_points && !s->next.first_done &&
         !known_find(&s->known, s->next.initial.points[0]);
}

bool propose_out_of_time(const tune_session *s) {
  return s->o.budget.sec > 0 && !lacks_first(s) &&
         s->state.sec_before + now_sec() - s->started >= s->o.budget.sec;
}

static bool budget_left(const tune_session *s) {
  const tune_budget *b = &s->o.budget;
  if (b->trials && s->state.known + s->next.asked >= b->trials) {
    return false;
  }
  return !propose_out_of_time(s);
}

bool propose_wanted(const tune_session *s) {
  return !s->next.exhausted && !session_stopped(s) && budget_left(s) &&
         s->pipe.ready.n < READY_MOST;
}

bool propose_draft_wanted(const tune_session *s) {
  return s->next.drafts.n < 1 + s->pipe.pool.n / JOBS_PER_DRAFT && propose_wanted(s);
}

/* ---- points --------------------------------------------------------------------------------- */

static bool is_initial(const tune_session *s, size_t point) {
  for (size_t i = 0; i < s->next.initial.n_points; i++) {
    if (s->next.initial.points[i] == point) {
      return true;
    }
  }
  return false;
}

/* Two searches with the same seed propose the same points. While another process tunes this
 * problem, a random half is deferred to the end; most of these will be known by then. */
static bool defer(tune_session *s, size_t point) {
  session_proposals *n = &s->next;
  if (!s->sync.concurrent || n->n_deferred == DEFERRED_MOST || rng_below(&n->rng, 2)) {
    return false;
  }
  n->deferred[n->n_deferred++] = point;
  return true;
}

/* The next point that is not known yet: the initial ones, those of the strategy, those deferred. */
static bool next_point(tune_session *s, size_t *point) {
  session_proposals *n = &s->next;
  while (n->initial.next < n->initial.n_points) {
    *point = n->initial.points[n->initial.next++];
    if (!known_find(&s->known, *point)) {
      return true;
    }
  }
  while (search_ask(s->problem.search, point)) {
    if (!is_initial(s, *point) && !known_find(&s->known, *point) && !defer(s, *point)) {
      return true;
    }
  }
  while (n->n_deferred) {
    *point = n->deferred[--n->n_deferred];
    if (!known_find(&s->known, *point)) {
      return true;
    }
  }
  n->exhausted = true;
  return false;
}

/* ---- candidates ----------------------------------------------------------------------------- */

/* Take its image from the database; true: the candidate is ready now. */
static int find_image(tune_session *s, candidate *c, bool *found, err *e) {
  const int rc = candidate_from_db(c, s->db, s->pipe.m.info.format, found, e);
  if (rc) {
    candidate_free(c);
  } else if (*found) {
    candidate_push(&s->pipe.ready, c);
  }
  return rc;
}

int propose_draft(tune_session *s, err *e) {
  tune_phases *phases = &s->state.phases;
  size_t point;
  gen_config config;
  candidate *c;
  double from = now_sec();
  bool found = next_point(s, &point);
  session_spent(&phases->search, from);
  if (!found) {
    return 0;
  }
  s->next.asked++;
  from = now_sec();
  gen_space_at(s->problem.space, point, &config);
  TRY(candidate_new(s->problem.g, s->compiler, &s->pipe.pool.setting, point, &config, &c, e));
  session_spent(&phases->generate, from);
  from = now_sec();
  const int rc = find_image(s, c, &found, e);
  session_spent(&phases->store, from);
  if (!rc && !found) {
    candidate_push(&s->next.drafts, c);
  }
  return rc;
}

/* ---- before the space is enumerated --------------------------------------------------------- */

static bool is_stored(const tune_session *s, const gen_config *c) {
  auto_str text = {0};
  bool found = false;
  gen_config_text(s->t, c, &text);
  for (size_t i = 0; i < s->problem.n_rows && !found; i++) {
    found = !strcmp(s->problem.rows[i].t.config, str_text(&text));
  }
  return found;
}

static int compile_first(tune_session *s, size_t i, const gen_config *config, err *e) {
  candidate *c;
  bool found;
  TRY(candidate_new(s->problem.g, s->compiler, &s->pipe.pool.setting, 0, config, &c, e));
  TRY(find_image(s, c, &found, e));
  return found ? 0 : pipeline_compile(&s->pipe, i, c, e);
}

int propose_first(tune_session *s, err *e) {
  session_proposals *n = &s->next;
  size_t i = 0;
  for (; i < s->pipe.pool.n && n->initial.next < n->initial.n && propose_wanted(s);
       n->initial.next++) {
    const gen_config *c = &n->initial.configs[n->initial.next];
    if (!is_stored(s, c)) {
      n->asked++;
      TRY(compile_first(s, i, c, e));
      i += pipeline_compiling(&s->pipe, i) != NULL;
    }
  }
  return 0;
}

int propose_points(tune_session *s, err *e) {
  session_proposals *n = &s->next;
  const gen_space *space = s->problem.space;
  for (size_t i = 0; i < n->initial.n; i++) {
    if (!gen_space_find(space, &n->initial.configs[i], &n->initial.points[i])) {
      return err_at(e, ERR_TEMPLATE, s->t->path, "a valid configuration is not in the space");
    }
    n->initial.n_points = i + 1;
  }
  for (size_t i = 0; i < s->pipe.pool.n; i++) {
    candidate *c = pipeline_compiling(&s->pipe, i);
    if (c) {
      gen_space_find(space, &c->config, &c->point);
    }
  }
  for (candidate *c = s->pipe.ready.first; c; c = c->next) {
    gen_space_find(space, &c->config, &c->point);
  }
  return 0;
}
