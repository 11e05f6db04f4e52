/* session.c -- the tuning loop: compile workers ahead, one measuring process behind, rows between.
 *
 * One thread, one poll(). A candidate moves
 *     strategy -> (known already? skipped) -> (image in the database? ready) -> compile worker ->
 * ready
 *     -> measuring process -> row -> strategy
 * and belongs to exactly one of: a compile worker's slot, the ready queue, the measuring slot.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "finals.h"
#include "run.h"
#include "session.h"

enum { POLL_MS = 200 };
/* Joules are counted in steps of up to a tenth of a second. What is slower than this times the
 * fastest would need less than half its power to be the best. */
static const double ENERGY_SEC = 0.25, ENERGY_WITHIN = 2;

/* ---- opening --------------------------------------------------------------------------------- */

void tune_device_key(const rt_info *info, rt_replay replay, str *key) {
  rt_device_key(info, key);
  str_add(key, replay == RT_GRAPH ? "|graphs" : "");
}

static int finish(void *self, candidate *c, const measured *m, err *e);
static int next(void *self, const measured *m, err *e);
static void built(void *self, double compile_sec, double store_sec);
static void restarted(void *self, double sec);

int tune_open(gen_template *t, db *d, rt_compiler *c, const tune_options *o, tune_session **out,
              err *e) {
  tune_session *s = calloc(1, sizeof *s);
  if (!s) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  s->t = t;
  s->db = d;
  s->compiler = c;
  s->o = *o;
  s->rng.state = (uint64_t)getpid();
  const crew_options options = {
      .device = o->device,
      .jobs = o->jobs,
      .timeout_sec = o->timeout_sec,
      .how = {.replay = o->replay, .energy_sec = o->objective == TUNE_TIME ? 0 : ENERGY_SEC}};
  const crew_owner owner = {
      .self = s, .finish = finish, .next = next, .built = built, .restarted = restarted};
  const int rc = crew_open(&s->crew, t, d, c, &options, &owner, e);
  if (rc) {
    tune_close(s);
    return rc;
  }
  *out = s;
  return 0;
}

/* Empties every stage. */
static void drop_in_flight(tune_session *s) {
  candidate_drop(&s->drafts);
  crew_drop(&s->crew);
}

static void close_problem(tune_session *s) {
  drop_in_flight(s);
  search_close(s->search);
  s->search = NULL;
  gen_space_free(s->space);
  gen_instance_free(s->g);
  s->space = NULL;
  s->g = NULL;
  s->known = (known_points){0};
  arena_clear(&s->known_memory);
  s->exhausted = s->first_answered = false;
  s->initial.n = s->initial.n_points = s->initial.next = s->n_steps = s->n_deferred = 0;
  s->rows = NULL;
  s->n_rows = 0;
  s->concurrent = false;
  arena_clear(&s->memory);
}

void tune_close(tune_session *s) {
  if (!s) {
    return;
  }
  close_problem(s);
  crew_close(&s->crew);
  str_clear(&s->problem);
  free(s);
}

const rt_info *tune_device(const tune_session *s) {
  return &s->crew.m.info;
}
const char *tune_note(const tune_session *s) {
  return s->crew.m.note;
}
int64_t tune_device_id(const tune_session *s) {
  return s->crew.device_id;
}
int64_t tune_template_id(const tune_session *s) {
  return s->crew.template_id;
}

/* ---- one result ------------------------------------------------------------------------------ */

static void report(tune_session *s, const db_result *trial) {
  s->state.sec = now_sec() - s->started;
  s->state.compiled_ahead = s->crew.ready.n;
  if (s->o.report) {
    s->o.report(s->o.report_self, &s->state, trial);
  }
}

static void note_best(tune_session *s, const char *config, double sec, double joules,
                      double score) {
  s->fastest = sec < s->fastest ? sec : s->fastest;
  if (score < s->best_score) {
    s->best_score = score;
    s->state.best_sec = sec;
    s->state.best_joules = joules;
    s->n_steps -= s->n_steps == STEPS_MOST;
    s->steps[s->n_steps].trial = s->state.tried + 1;
    s->steps[s->n_steps++].score = score;
    snprintf(s->state.best_config, sizeof s->state.best_config, "%s", config);
  }
}

void session_spent(double *phase, double from) {
  *phase += now_sec() - from;
}

static int store_result(tune_session *s, const measured *m, db_result *row, err *e) {
  double from = now_sec();
  int rc = db_trial_put(s->db, s->crew.template_id, s->crew.device_id, &row->t, &row->trial, e);
  if (!rc && m->status == DB_OK) {
    rc = samples_put(s->db, &s->crew.m.info, row->trial, DB_SCREEN, m, e);
  }
  double now = now_sec();
  rc = rc ? rc
          : db_effort_add(s->db, s->crew.template_id, s->crew.device_id, row->t.problem,
                          now - s->effort_from, e);
  s->effort_from = now;
  session_spent(&s->state.phases.store, from);
  return rc;
}

static void add_phases(tune_phases *p, const measured *m) {
  p->load += m->load_sec;
  p->check += m->check_sec;
  p->measure += m->time_sec;
}

/* Everything that is known of a finished candidate, into the database, the strategy and the report.
 */
static int finish(void *self, candidate *c, const measured *m, err *e) {
  tune_session *s = self;
  str config = {0};
  gen_config_text(s->t, &c->config, &config);
  bool ok = m->status == DB_OK;
  db_result row = {.t = {.problem = str_text(&s->problem),
                         .config = str_text(&config),
                         .status = m->status,
                         .reason = ok ? NULL : m->why.message,
                         .image = c->image.n ? c->key : NULL,
                         .error = m->error},
                   .median = m->times.median,
                   .spread = ok ? rt_times_spread(&m->times) : 0};
  int rc = store_result(s, m, &row, e);
  s->watts = m->energy_j > 0 ? m->energy_j / m->times.median : s->watts;
  const double score = ok ? samples_score(s, m->times.median, m->energy_j) : INFINITY;
  if (!rc && ok) {
    note_best(s, row.t.config, m->times.median, m->energy_j, score);
  }
  double from = now_sec();
  search_tell(s->search, c->point, score);
  session_spent(&s->state.phases.search, from);
  add_phases(&s->state.phases, m);
  s->state.tried++;
  s->first_answered = s->first_answered || c->point == s->initial.points[0];
  s->state.failed[m->status]++;
  samples_note(&s->state.health, m, false);
  if (!rc) { /* what is told is stored */
    s->state.measured = m;
    report(s, &row);
    s->state.measured = NULL;
  }
  str_clear(&config);
  return rc;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool may_compile(const tune_session *s) {
  return s->drafts.n ? !session_stopped(s) && !session_out_of_time(s) : session_may_ask(s);
}

static int feed_compiler(tune_session *s, size_t i, err *e) {
  while (!s->crew.slots[i] && may_compile(s)) {
    candidate *c;
    if (!s->drafts.n) {
      TRY(session_draft(s, e));
    }
    if (!(c = candidate_pop(&s->drafts))) {
      continue;
    }
    TRY(crew_compile(&s->crew, i, c, e));
  }
  return 0;
}

static void built(void *self, double compile_sec, double store_sec) {
  tune_session *s = self;
  s->state.phases.compile += compile_sec;
  s->state.phases.store += store_sec;
}

static void restarted(void *self, double sec) {
  tune_session *s = self;
  s->state.phases.setup += sec;
}

static int build(tune_session *s, candidate *c, err *e) {
  bool found;
  TRY(candidate_from_db(c, s->db, s->crew.m.info.format, &found, e));
  return found ? 0 : crew_compile_now(&s->crew, c, e);
}

int session_build(tune_session *s, const db_result *row, measure_image *image, err *e) {
  candidate *c;
  int64_t same;
  TRY(candidate_new(s->g, s->compiler, &s->crew.setting, 0, &image->config, &c, e));
  int rc = build(s, c, e);
  if (!rc) {
    db_trial with = row->t;
    with.image = c->key;
    image->n = c->image.n;
    image->bytes = arena_text_n(&s->memory, str_text(&c->image), c->image.n);
    rc = image->bytes ? db_trial_put(s->db, s->crew.template_id, s->crew.device_id, &with, &same, e)
                      : err_set(e, ERR_NOMEM, "out of memory");
  }
  candidate_free(c);
  return rc;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The next that is ready and not known meanwhile. */
static candidate *next_ready(tune_session *s) {
  candidate *c = NULL;
  while (!c && s->crew.ready.n) {
    c = candidate_pop(&s->crew.ready);
    if (known_find(&s->known, c->point)) {
      candidate_free(c);
      c = NULL;
      s->asked--; /* somebody else's trial, counted as known */
    }
  }
  return c;
}

static int feed_measurer(tune_session *s, err *e) {
  candidate *c = s->crew.measuring ? NULL : next_ready(s);
  const double limit = s->o.objective == TUNE_TIME ? s->fastest : ENERGY_WITHIN * s->fastest;
  return c ? crew_measure(&s->crew, c, limit, limit, e) : 0;
}

/* What was measured may be the fastest so far, which the next one's time is held against. */
static int next(void *self, const measured *m, err *e) {
  tune_session *s = self;
  if (m->status == DB_OK) {
    s->fastest = fmin(s->fastest, m->times.median);
  }
  return session_stopped(s) || session_out_of_time(s) ? 0 : feed_measurer(s, e);
}

static int wait_for_answers(tune_session *s, err *e) {
  const bool idle = session_may_draft(s);
  int answers;
  TRY(crew_wait(&s->crew, idle ? 0 : POLL_MS, &answers, &s->state.phases.wait, e));
  return !answers && idle ? session_draft(s, e) : 0;
}

/* Out of time or out of points: what is compiled but not measured is dropped when time is the bound
 * (its image is kept), and measured when the number of trials is. */
static bool more_to_do(const tune_session *s) {
  if (session_stopped(s)) {
    return false;
  }
  if (session_out_of_time(s)) {
    return s->crew.measuring != NULL;
  }
  return session_may_ask(s) || s->drafts.n || crew_compiling(&s->crew) || s->crew.ready.n ||
         s->crew.measuring;
}

static int search(tune_session *s, err *e) {
  TRY(db_changes(s->db, &s->changes, e));
  while (more_to_do(s)) {
    TRY(session_sync(s, e));
    TRY(feed_measurer(s, e));
    for (size_t i = 0; i < s->crew.n_jobs; i++) {
      TRY(feed_compiler(s, i, e));
    }
    TRY(feed_measurer(s, e)); /* an image may have been there already */
    TRY(wait_for_answers(s, e));
  }
  drop_in_flight(s);
  return 0;
}

/* ---- one problem ----------------------------------------------------------------------------- */

/* What needs no space: who measures and who compiles have something to do while it is built. */
static int open_problem(tune_session *s, const gen_problem *p, err *e) {
  gen_number numbers[RT_NUMBERS];
  str_reset(&s->problem);
  gen_problem_text(s->t, p, &s->problem);
  rt_numbers(&s->crew.m.info, numbers);
  TRY(gen_instance_new(s->t, p, numbers, RT_NUMBERS, &s->g, e));
  s->p = *p;
  TRY(db_results(s->db, s->crew.template_id, s->crew.device_id, str_text(&s->problem), &s->memory,
                 &s->rows, &s->n_rows, e));
  s->state.known = s->state.known_before = s->n_rows;
  TRY(db_effort_get(s->db, s->crew.template_id, s->crew.device_id, str_text(&s->problem),
                    &s->state.sec_before, e));
  return initial_configs_find(s, s->initial.configs, &s->initial.n, e);
}

static bool is_row(const tune_session *s, const gen_config *c) {
  str text = {0};
  bool found = false;
  gen_config_text(s->t, c, &text);
  for (size_t i = 0; i < s->n_rows && !found; i++) {
    found = !strcmp(s->rows[i].t.config, str_text(&text));
  }
  str_clear(&text);
  return found;
}

static int compile_start(tune_session *s, size_t i, const gen_config *config, err *e) {
  candidate *c;
  bool found;
  TRY(candidate_new(s->g, s->compiler, &s->crew.setting, 0, config, &c, e));
  const int rc = candidate_from_db(c, s->db, s->crew.m.info.format, &found, e);
  if (rc) {
    candidate_free(c);
  } else if (found) {
    candidate_push(&s->crew.ready, c);
  } else {
    return crew_compile(&s->crew, i, c, e);
  }
  return rc;
}

/* The first of the starts, one for a compiler, and the problem itself to who measures. */
static int set_off(tune_session *s, err *e) {
  s->started = s->effort_from = now_sec();
  if (!session_may_ask(s)) {
    return 0;
  }
  TRY(measurer_begin(&s->crew.m, str_text(&s->problem), s->data, e));
  for (size_t i = 0; i < s->crew.n_jobs && s->initial.next < s->initial.n && session_may_ask(s);
       s->initial.next++) {
    const gen_config *c = &s->initial.configs[s->initial.next];
    if (!is_row(s, c)) {
      s->asked++;
      TRY(compile_start(s, i, c, e));
      i += s->crew.slots[i] != NULL;
    }
  }
  return 0;
}

static int open_space(tune_session *s, err *e) {
  gen_config def;
  search_space view;
  size_t point;
  TRY(gen_space_new(s->g, &s->space, e));
  gen_config_default(s->t, &def);
  if (!gen_space_find(s->space, &def, &point)) {
    TRY(gen_config_check(s->g, &def, e));
    return err_at(e, ERR_TEMPLATE, s->t->path, "the default configuration is not in the space");
  }
  search_space_view(s->space, s->t, &view);
  s->state.tally = gen_space_tally(s->space);
  const search_options o = {.strategy = s->o.strategy, .within = s->o.within, .seed = s->o.seed};
  return search_open(&view, &o, &s->search, e);
}

/* Starts become points, also those that are being compiled. */
static int find_points(tune_session *s, err *e) {
  for (; s->initial.n_points < s->initial.n; s->initial.n_points++) {
    if (!gen_space_find(s->space, &s->initial.configs[s->initial.n_points],
                        &s->initial.points[s->initial.n_points])) {
      return err_at(e, ERR_TEMPLATE, s->t->path, "a valid configuration is not in the space");
    }
  }
  for (size_t i = 0; i < s->crew.n_jobs; i++) {
    if (s->crew.slots[i]) {
      gen_space_find(s->space, &s->crew.slots[i]->config, &s->crew.slots[i]->point);
    }
  }
  for (candidate *c = s->crew.ready.first; c; c = c->next) {
    gen_space_find(s->space, &c->config, &c->point);
  }
  return 0;
}

static int load_known(tune_session *s, err *e) {
  const db_result *rows = s->rows;
  scored *scores;
  TRY(samples_score_rows(s, s->rows, s->n_rows, &s->memory, &scores, e));
  TRY(known_load(s->t, s->space, scores, s->n_rows, &s->memory, &s->known, e));
  for (size_t i = 0; i < s->known.n; i++) {
    search_tell(s->search, s->known.p[i].point, s->known.p[i].score);
  }
  for (size_t i = 0; i < s->n_rows; i++) {
    if (isfinite(scores[i].score)) {
      const double sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
      note_best(s, rows[i].t.config, sec, 0, scores[i].score);
      s->n_steps = 1; /* known before this run's first trial */
      s->steps[0].trial = 0;
      s->steps[0].score = s->best_score;
    }
  }
  return 0;
}

static int describe_problem(tune_session *s, err *e) {
  gen_config def;
  const gen_plan *plan;
  gen_config_default(s->t, &def);
  TRY(gen_plan_make(s->g, &def, &s->memory, &plan, e));
  if (!plan->n) {
    return err_set(e, ERR_USAGE, "'%s' launches nothing: there is nothing to tune; give it a size",
                   str_text(&s->problem));
  }
  s->state.problem = str_text(&s->problem);
  s->state.device = &s->crew.m.info;
  s->state.flops = plan->flops;
  s->state.bytes = plan->bytes;
  s->state.budget = s->o.budget;
  return 0;
}

/* How soon was a first look as good as the best one, or nearly? Before the finals, whose times are
 * taken otherwise. */
static void note_settled(tune_session *s) {
  static const double NEARLY = 1.03;
  size_t i = 0;
  while (i < s->n_steps && s->steps[i].score > NEARLY * s->best_score) {
    i++;
  }
  s->state.settled = i < s->n_steps ? s->steps[i].trial : 0;
}

static int search_and_race(tune_session *s, err *e) {
  s->started = s->effort_from = now_sec();
  if (s->crew.m.opening) {
    TRY(measurer_ready(&s->crew.m, e));
    session_spent(&s->state.phases.setup, s->started);
  }
  s->state.phase = "search";
  TRY(search(s, e));
  note_settled(s);
  if (session_stopped(s)) {
    return err_set(e, ERR_INTERRUPTED,
                   "interrupted; %llu trials are stored, the same command goes on",
                   (unsigned long long)(s->state.known + s->state.tried));
  }
  if (s->state.tried && !s->crew.m.info.modelled) { /* a model gives the same time every time */
    s->state.phase = "finals";
    report(s, NULL);
    double from = now_sec();
    TRY(finals_race(s, e));
    session_spent(&s->state.phases.finals, from);
  }
  s->state.phase = "done";
  report(s, NULL);
  return 0;
}

int tune_problem(tune_session *s, const gen_problem *p, tune_state *last, err *e) {
  close_problem(s);
  s->state = (tune_state){.best_sec = INFINITY,
                          .phase = "search",
                          .phases.jobs = s->crew.n_jobs,
                          .objective = s->o.objective,
                          .replay = s->o.replay};
  s->best_score = s->fastest = INFINITY;
  s->watts = 0;
  s->asked = 0;
  int rc = open_problem(s, p, e);
  rc = rc ? rc : describe_problem(s, e);
  rc = rc ? rc : set_off(s, e);
  rc = rc ? rc : open_space(s, e);
  rc = rc ? rc : find_points(s, e);
  rc = rc ? rc : load_known(s, e);
  rc = rc ? rc : search_and_race(s, e);
  drop_in_flight(s);
  *last = s->state;
  return rc;
}

void tune_data(tune_session *s, const char *path) {
  s->data = path;
}

int tune_pause(tune_session *s, err *e) {
  close_problem(s);
  return measurer_forget(&s->crew.m, NULL) ? measurer_restart(&s->crew.m, e) : 0;
}

void tune_narrow(tune_session *s, const search_subspace *w, const tune_budget *budget) {
  close_problem(s);
  s->o.within = w;
  s->o.budget = *budget;
}
