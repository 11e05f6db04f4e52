/* session.h -- the state of a tuning session, for the files that work on it: tune_problem.c opens
 * problems, search_loop.c runs the search, propose.c decides what to try, sync.c reads what other
 * processes store, finals.c races the best.
 */
#ifndef TUNE_SESSION_H
#define TUNE_SESSION_H

#include "initial_configs.h"
#include "known.h"
#include "rng.h"

enum { DEFERRED_MOST = 4096, STEPS_MOST = 256 };

typedef struct session_problem { /* the problem that is tuned */
  str text;                      /* canonical */
  gen_problem p;
  gen_instance *g;
  gen_space *space;
  searcher *search;
  arena memory;    /* cleared with the problem */
  db_result *rows; /* stored at the start */
  size_t n_rows;
} session_problem;

typedef struct session_proposals { /* what to try next */
  struct {
    gen_config configs[INITIAL_MOST];
    size_t n, points[INITIAL_MOST], n_points; /* points: known once the space is */
    size_t next;                              /* the first not tried */
  } initial;
  bool first_done;        /* initial.configs[0], which would be served untuned, has a result */
  bool exhausted;         /* no point is left */
  uint64_t asked;         /* candidates, by this run */
  candidate_queue drafts; /* sources written ahead, for the compilers */
  rng rng;                /* seeded by the process, unlike the strategy's */
  size_t deferred[DEFERRED_MOST], n_deferred; /* points left to other processes for now */
} session_proposals;

typedef struct session_sync { /* with other processes that tune the same problem */
  bool concurrent;            /* another process has written to the database */
  int64_t changes;            /* the database's counter at the last look */
  double at;                  /* when that was */
  arena memory;               /* of what was read then */
} session_sync;

typedef struct session_best {
  double score;   /* by the objective; INFINITY: none yet */
  double fastest; /* least seconds of any candidate; INFINITY: none yet */
  struct {        /* each new best of this run, the last STEPS_MOST */
    uint64_t trial;
    double score;
  } steps[STEPS_MOST];
  size_t n_steps;
} session_best;

struct tune_session {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  tune_options o;
  const char *data; /* see tune_data; NULL: none */
  pipeline pipe;

  /* of one problem */
  session_problem problem;
  session_proposals next;
  session_sync sync;
  session_best best;
  scorer scorer;
  known_points known;        /* stored by earlier runs or other processes */
  double started, stored_at; /* stored_at: up to when the time spent is in the database */
  tune_state state;
};

bool session_stopped(const tune_session *s);
/* session_results -- the problem's rows, as the database has them now */
int session_results(tune_session *s, arena *a, db_result **rows, size_t *n, err *e);
/* session_know -- score the rows, and tell them to the search
 *   in  a  holds *scores and s->known */
int session_know(tune_session *s, const db_result *rows, size_t n, arena *a, scored **scores,
                 err *e);
/* session_note_best -- keep it if its score is the best so far */
void session_note_best(tune_session *s, const char *config, double sec, double joules,
                       const scored *x);
/* session_report -- to the caller; trial NULL: the phase has changed */
void session_report(tune_session *s, const db_result *trial);
/* session_spent -- add the seconds since `from` to a phase */
void session_spent(double *phase, double from);
/* session_drop -- free all candidates in flight */
void session_drop(tune_session *s);

/* ---- its parts ------------------------------------------------------------------------------- */

/* search_loop -- keep compilers and device busy until the budget is spent; everything in flight is
 * finished, or dropped, when it returns */
int search_loop(tune_session *s, err *e);
/* search_loop_owner -- what the session's pipeline calls */
pipeline_owner search_loop_owner(tune_session *s);

int sync_start(tune_session *s, err *e);
/* sync_read -- a few times a second, if another process has written to the database: tell its
 * results to the search */
int sync_read(tune_session *s, err *e);

/* finals_race -- time the best candidates and the default again, side by side */
int finals_race(tune_session *s, err *e);
/* finals_keep_images -- the database has the images of the few best configurations, which may be
 * served; those of other trials are left to the compiler's cache */
int finals_keep_images(tune_session *s, err *e);

#endif
