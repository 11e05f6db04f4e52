/* session.h -- the inside of a tuning session, for the files that it is spread over: session.c (the
 * loop), propose.c, sync.c, initial_configs.c, samples.c, finals.c. */
#ifndef TUNE_SESSION_H
#define TUNE_SESSION_H

#include "crew.h"
#include "samples.h"
#include "initial_configs.h"
#include "rng.h"
#include "tune.h"

enum { DEFERRED_MOST = 4096 };
enum { STEPS_MOST = 256 }; /* of the improvements kept */

struct tune_session {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  tune_options o;
  crew crew;
  candidate_queue drafts; /* for the compilers */
  const char *data;       /* tune_data; NULL: none */

  /* the problem at hand */
  str problem;
  gen_problem p;
  gen_instance *g;
  gen_space *space;
  searcher *search;
  arena memory;
  db_result *rows; /* what was known at the start */
  size_t n_rows;
  known_points known;
  arena known_memory; /* of what was learnt from others */
  struct {
    gen_config configs[INITIAL_MOST];
    size_t n, points[INITIAL_MOST], n_points; /* points: known once the space is */
    size_t next;                              /* the first not asked for */
  } initial;                                  /* tried first */
  bool exhausted, first_answered; /* the first initial one, which would be served untuned */
  struct {
    uint64_t trial;
    double score;
  } steps[STEPS_MOST]; /* each a new best of this run */
  size_t n_steps;
  uint64_t asked;
  double best_score; /* by the objective; INFINITY: none yet */
  double fastest;    /* seconds of whatever was fastest; INFINITY: none yet */
  double watts;      /* of the last candidate whose energy was measured; 0: none yet */
  rng rng;           /* for this process alone */
  bool concurrent;   /* another process writes to the database */
  size_t deferred[DEFERRED_MOST], n_deferred;
  int64_t changes; /* of the database, when it was last looked at */
  double synced_at;
  double started, effort_from;
  tune_state state;
};

/* session_build -- the image of a row that has none, by a compile worker; stored, and kept as long
 * as the session's memory. err  ERR_COMPILE  it doesn't build, or takes too long */
int session_build(tune_session *s, const db_result *row, measure_image *image, err *e);

/* propose.c */
bool session_stopped(const tune_session *s);
bool session_out_of_time(const tune_session *s);
/* session_may_ask -- is there budget, a point, and need for another candidate? */
bool session_may_ask(const tune_session *s);
bool session_may_draft(const tune_session *s);
/* session_draft -- ask for one and write its source: it joins the drafts, or, when an equal source
 * was compiled before, what is ready for the device; neither when no point is left */
int session_draft(tune_session *s, err *e);

/* session_sync -- a few times a second: learn what others have stored */
int session_sync(tune_session *s, err *e);

/* session_spent -- seconds since `from`, for one of the phases */
void session_spent(double *phase, double from);

#endif
