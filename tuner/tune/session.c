#include "session.h"

#include <stdio.h>
#include <string.h>

#include "file.h"

bool session_stopped(const tune_session *s) {
  return s->o.stop && *s->o.stop;
}

int session_results(tune_session *s, arena *a, db_result **rows, size_t *n, err *e) {
  return db_results(s->db, s->pipe.template_id, s->pipe.device_id, str_text(&s->problem.text), a,
                    rows, n, e);
}

int session_know(tune_session *s, const db_result *rows, size_t n, arena *a, scored **scores,
                 err *e) {
  TRY(known_score(s->t, s->db, &s->scorer, rows, n, a, scores, e));
  TRY(known_load(s->t, s->problem.space, *scores, n, a, &s->known, e));
  for (size_t i = 0; i < s->known.n; i++) {
    search_tell(s->problem.search, s->known.p[i].point, s->known.p[i].score);
  }
  return 0;
}

void session_note_best(tune_session *s, const char *config, double sec, double joules,
                       const scored *x) {
  session_best *b = &s->best;
  b->fastest = sec < b->fastest ? sec : b->fastest;
  if (x->score < b->score) {
    b->score = x->score;
    memcpy(s->state.best_values, x->values, sizeof x->values);
    s->state.best_sec = sec;
    s->state.best_joules = joules;
    b->n_steps -= b->n_steps == STEPS_MOST;
    b->steps[b->n_steps].trial = s->state.tried + 1;
    b->steps[b->n_steps++].score = x->score;
    snprintf(s->state.best_config, sizeof s->state.best_config, "%s", config);
  }
}

void session_report(tune_session *s, const db_result *trial) {
  s->state.sec = now_sec() - s->started;
  s->state.compiled_ahead = s->pipe.ready.n;
  if (s->o.report) {
    s->o.report(s->o.report_self, &s->state, trial);
  }
}

void session_spent(double *phase, double from) {
  *phase += now_sec() - from;
}

void session_drop(tune_session *s) {
  candidate_drop(&s->next.drafts);
  pipeline_drop(&s->pipe);
}
