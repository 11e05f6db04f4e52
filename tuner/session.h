/* session.h -- the inside of a tuning session, for the files that it is spread over: session.c (the
 * loop), asking.c, sharing.c, seeds.c, samples.c, finals.c. */
#ifndef TUNE_SESSION_H
#define TUNE_SESSION_H

#include "crew.h"
#include "samples.h"
#include "seeds.h"
#include "rng.h"
#include "tune.h"

enum { PUT_OFF_MOST = 4096 };
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
  arena known_memory;            /* of what was learnt from others */
  gen_config starts[SEEDS_MOST]; /* what is asked first, as configurations */
  size_t n_starts, seeds[SEEDS_MOST], n_seeds, seeds_asked; /* and as points */
  bool exhausted, first_answered; /* the first seed, what would be served untuned */
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
  bool accompanied;  /* somebody else writes to the database */
  size_t put_off[PUT_OFF_MOST], n_put_off;
  int64_t changes; /* of the database, when it was last looked at */
  double shared_at;
  double started, effort_from;
  tune_state state;
};

/* session_build -- the image of a row that has none, by a compile worker; stored, and kept as long
 * as the session's memory. err  ERR_COMPILE  it doesn't build, or takes too long */
int session_build(tune_session *s, const db_result *row, measure_image *image, err *e);

/* asking.c */
bool session_stopped(const tune_session *s);
bool session_out_of_time(const tune_session *s);
/* session_may_ask -- is there budget, a point, and need for another candidate? */
bool session_may_ask(const tune_session *s);
bool session_may_draft(const tune_session *s);
/* session_draft -- ask for one and write its source: it joins the drafts, or, when an equal source
 * was compiled before, what is ready for the device; neither when no point is left */
int session_draft(tune_session *s, err *e);

/* session_share -- a few times a second: learn what others have stored */
int session_share(tune_session *s, err *e);

/* session_spent -- seconds since `from`, for one of the phases */
void session_spent(double *phase, double from);

#endif
