/* session.h -- the inside of a tuning session, for session.c and finals.c only. */
#ifndef TUNE_SESSION_H
#define TUNE_SESSION_H

#include "candidate.h"
#include "tune.h"

struct tune_session {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  tune_options o;
  double timeout_sec;
  int64_t device_id, template_id;

  measurer m;
  candidate *measuring;
  worker *jobs;      /* compile workers */
  candidate **slots; /* slots[i]: what jobs[i] compiles */
  size_t n_jobs;
  compile_setting setting;
  candidate_queue ready;

  /* the problem at hand */
  str problem;
  gen_instance *g;
  gen_space *space;
  tune_space view; /* of the space, for the strategy */
  void *search;    /* the strategy's */
  arena memory;
  known_points known;
  size_t default_point;
  bool default_asked, exhausted;
  uint64_t asked;
  double started, effort_from;
  tune_state state;
};

#endif
