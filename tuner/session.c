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
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "candidate.h"
#include "file.h"
#include "finals.h"
#include "run.h"
#include "session.h"

enum { MAX_JOBS = 256, POLL_MS = 200, TIMEOUT_SEC = 120 };
/* Joules are counted in steps of up to a tenth of a second. What is slower than this times the
 * fastest would need less than half its power to be the best. */
static const double ENERGY_SEC = 0.25, ENERGY_WITHIN = 2;

/* ---- opening
 * ---------------------------------------------------------------------------------------- */

void tune_device_key(const rt_info *info, rt_replay replay, str *key) {
  rt_device_key(info, key);
  str_add(key, replay == RT_GRAPH ? "|graphs" : "");
}

static int register_device(tune_session *s, err *e) {
  str key = {0};
  tune_device_key(&s->m.info, s->o.replay, &key);
  db_device row = {
      .key = str_text(&key), .name = s->m.info.name, .cc = s->m.info.cc, .sms = s->m.info.sms};
  int rc = db_device_put(s->db, &row, &s->device_id, e);
  str_clear(&key);
  return rc;
}

static int register_template(tune_session *s, err *e) {
  db_template row = {
      .family = s->t->name, .hash = s->t->hash, .path = s->t->path, .version = s->t->version};
  return db_template_put(s->db, &row, &s->template_id, e);
}

static int start_compilers(tune_session *s, err *e) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int jobs = s->o.jobs > 0 ? s->o.jobs : cores > 0 ? (int)cores : 1;
  s->n_jobs = jobs < MAX_JOBS ? (size_t)jobs : MAX_JOBS;
  s->jobs = calloc(s->n_jobs, sizeof *s->jobs);
  s->slots = calloc(s->n_jobs, sizeof *s->slots);
  if (!s->jobs || !s->slots) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  snprintf(s->setting.arch, sizeof s->setting.arch, "%s", s->m.info.arch);
  s->setting.compiler = s->compiler;
  s->setting.lineinfo = s->m.info.format == RT_PTX;
  s->setting.registers = s->m.info.format == RT_PTX;
  for (size_t i = 0; i < s->n_jobs; i++) {
    s->jobs[i].run = compile_worker_main;
    s->jobs[i].setting = &s->setting;
    TRY(worker_start(&s->jobs[i], e));
  }
  return 0;
}

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
  s->chance.state = (uint64_t)getpid();
  s->timeout_sec = o->timeout_sec > 0 ? o->timeout_sec : TIMEOUT_SEC;
  const measure_how how = {.replay = o->replay,
                           .energy_sec = o->objective == TUNE_TIME ? 0 : ENERGY_SEC};
  int rc = measurer_start(&s->m, o->device, c, t, &how, e);
  rc = rc ? rc : register_device(s, e);
  rc = rc ? rc : register_template(s, e);
  rc = rc ? rc : start_compilers(s, e);
  if (rc) {
    tune_close(s);
    return rc;
  }
  *out = s;
  return 0;
}

/* Empties every stage; workers that were busy are ended, and started again when next needed. */
static void drop_in_flight(tune_session *s) {
  for (size_t i = 0; i < s->n_jobs; i++) {
    candidate_free(s->slots[i]);
    s->slots[i] = NULL;
    if (s->jobs[i].busy) {
      worker_stop(&s->jobs[i]);
    }
  }
  candidate_drop(&s->drafts);
  candidate_drop(&s->ready);
  candidate_free(s->measuring);
  s->measuring = NULL;
}

static void close_problem(tune_session *s) {
  drop_in_flight(s);
  if (s->search) {
    s->o.strategy->close(s->search);
    s->search = NULL;
  }
  gen_space_free(s->space);
  gen_instance_free(s->g);
  s->space = NULL;
  s->g = NULL;
  s->known = (known_points){0};
  arena_clear(&s->known_memory);
  s->exhausted = false;
  s->n_seeds = s->seeds_asked = s->n_steps = s->n_put_off = 0;
  s->accompanied = false;
  arena_clear(&s->memory);
}

void tune_close(tune_session *s) {
  if (!s) {
    return;
  }
  close_problem(s);
  for (size_t i = 0; i < s->n_jobs && s->jobs; i++) {
    worker_stop(&s->jobs[i]);
  }
  measurer_stop(&s->m);
  str_clear(&s->problem);
  free(s->jobs);
  free(s->slots);
  free(s);
}

const rt_info *tune_device(const tune_session *s) {
  return &s->m.info;
}
const char *tune_note(const tune_session *s) {
  return s->m.note;
}
int64_t tune_device_id(const tune_session *s) {
  return s->device_id;
}
int64_t tune_template_id(const tune_session *s) {
  return s->template_id;
}

/* ---- one result
 * -------------------------------------------------------------------------------------- */

static void report(tune_session *s, const db_result *trial) {
  s->state.sec = now_sec() - s->started;
  s->state.compiled_ahead = s->ready.n;
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
  int rc = db_trial_put(s->db, s->template_id, s->device_id, &row->t, &row->trial, e);
  if (!rc && m->status == DB_OK) {
    rc = samples_put(s, row->trial, DB_SCREEN, m, e);
  }
  double now = now_sec();
  rc = rc ? rc
          : db_effort_add(s->db, s->template_id, s->device_id, row->t.problem, now - s->effort_from,
                          e);
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
static int finish(tune_session *s, candidate *c, const measured *m, err *e) {
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
  if (s->o.strategy->tell) {
    s->o.strategy->tell(s->search, c->point, score);
  }
  session_spent(&s->state.phases.search, from);
  add_phases(&s->state.phases, m);
  s->state.tried++;
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

static int fail(tune_session *s, candidate *c, db_status status, const err *why, err *e) {
  measured m = {.status = status, .why = *why};
  return finish(s, c, &m, e);
}

/* ---- compiling
 * ---------------------------------------------------------------------------- */

static bool may_compile(const tune_session *s) {
  return s->drafts.n ? !session_stopped(s) && !session_out_of_time(s) : session_may_ask(s);
}

static int feed_compiler(tune_session *s, size_t i, err *e) {
  while (!s->slots[i] && may_compile(s)) {
    candidate *c;
    if (!s->drafts.n) {
      TRY(session_draft(s, e));
    }
    if (!(c = candidate_pop(&s->drafts))) {
      continue;
    }
    s->slots[i] = c;
    if (!s->jobs[i].pid) {
      TRY(worker_start(&s->jobs[i], e));
    }
    str frame = {0};
    compile_worker_request(&frame, str_text(&c->source), c->body);
    int rc = worker_ask(&s->jobs[i], &frame, e);
    str_clear(&frame);
    TRY(rc);
  }
  return 0;
}

static int take_compiled(tune_session *s, candidate *c, const str *frame, err *e) {
  compiled built = {0};
  int rc = compile_worker_result(frame, &built, e);
  if (!rc && built.why.code) {
    rc = fail(s, c, DB_COMPILE, &built.why, e);
    candidate_free(c);
    return rc;
  }
  double from = now_sec();
  rc = rc ? rc
          : candidate_built(c, s->db, &built, s->setting.arch, rt_compiler_version(s->compiler),
                            s->m.info.format, e);
  session_spent(&s->state.phases.store, from);
  s->state.phases.compile += built.sec;
  if (rc) {
    candidate_free(c);
    return rc;
  }
  candidate_push(&s->ready, c);
  return 0;
}

static int compile_answer(tune_session *s, size_t i, err *e) {
  str frame = {0}, how = {0};
  candidate *c = s->slots[i];
  s->slots[i] = NULL;
  int rc;
  if (worker_answer(&s->jobs[i], &frame, &how, NULL)) {
    err why = {0};
    err_set(&why, ERR_COMPILE, "the compiler died: %s", str_text(&how));
    rc = fail(s, c, DB_CRASHED, &why, e);
    candidate_free(c);
  } else {
    rc = take_compiled(s, c, &frame, e);
  }
  str_clear(&frame);
  str_clear(&how);
  return rc;
}

/* One source, waited for. */
static int compile_now(tune_session *s, candidate *c, str *frame, compiled *built, err *e) {
  worker *w = &s->jobs[0];
  str how = {0};
  TRY(w->pid ? 0 : worker_start(w, e));
  compile_worker_request(frame, str_text(&c->source), c->body);
  TRY(worker_ask(w, frame, e));
  struct pollfd p = {.fd = w->fd, .events = POLLIN};
  if (poll(&p, 1, (int)(1000 * s->timeout_sec)) <= 0) {
    worker_stop(w);
    return err_set(e, ERR_COMPILE, "compiling took longer than %.0f s", s->timeout_sec);
  }
  int rc = worker_answer(w, frame, &how, NULL);
  str_clear(&how);
  if (rc) {
    return err_set(e, ERR_COMPILE, "the compiler died");
  }
  TRY(compile_worker_result(frame, built, e));
  return built->why.code ? err_set(e, ERR_COMPILE, "%s", built->why.message) : 0;
}

static int build(tune_session *s, candidate *c, err *e) {
  str frame = {0};
  compiled built = {0};
  bool found;
  TRY(candidate_from_db(c, s->db, s->m.info.format, &found, e));
  if (found) {
    return 0;
  }
  int rc = compile_now(s, c, &frame, &built, e);
  rc = rc ? rc
          : candidate_built(c, s->db, &built, s->setting.arch, rt_compiler_version(s->compiler),
                            s->m.info.format, e);
  str_clear(&frame);
  return rc;
}

int session_build(tune_session *s, const db_result *row, measure_image *image, err *e) {
  candidate *c;
  int64_t same;
  TRY(candidate_new(s->g, s->compiler, &s->setting, 0, &image->config, &c, e));
  int rc = build(s, c, e);
  if (!rc) {
    db_trial with = row->t;
    with.image = c->key;
    image->n = c->image.n;
    image->bytes = arena_text_n(&s->memory, str_text(&c->image), c->image.n);
    rc = image->bytes ? db_trial_put(s->db, s->template_id, s->device_id, &with, &same, e)
                      : err_set(e, ERR_NOMEM, "out of memory");
  }
  candidate_free(c);
  return rc;
}

/* ---- measuring
 * --------------------------------------------------------------------------------------- */

/* The next that is ready and not known meanwhile. */
static candidate *next_ready(tune_session *s) {
  candidate *c = NULL;
  while (!c && s->ready.n) {
    c = candidate_pop(&s->ready);
    if (known_find(&s->known, c->point)) {
      candidate_free(c);
      c = NULL;
      s->asked--; /* somebody else's trial, counted as known */
    }
  }
  return c;
}

static int feed_measurer(tune_session *s, err *e) {
  if (s->measuring || !(s->measuring = next_ready(s))) {
    return 0;
  }
  candidate *c = s->measuring;
  measure_image image = {.config = c->config, .bytes = str_text(&c->image), .n = c->image.n};
  const bool time = s->o.objective == TUNE_TIME;
  const double limit = time ? s->fastest : ENERGY_WITHIN * s->fastest;
  return measurer_ask(&s->m, &image, limit, limit, e);
}

/* The device gets its next candidate before the books are kept on the last one. What that was may
 * be the fastest so far, which the next one's time is held against. */
static int measured_answer(tune_session *s, err *e) {
  measured m;
  candidate *c = s->measuring;
  s->measuring = NULL;
  int rc = measurer_answer(&s->m, &m, e);
  if (!rc && m.status == DB_OK) {
    s->fastest = fmin(s->fastest, m.times.median);
  }
  rc = rc ? rc : m.dead ? measurer_restart(&s->m, e) : 0;
  rc = rc || session_stopped(s) || session_out_of_time(s) ? rc : feed_measurer(s, e);
  rc = rc ? rc : finish(s, c, &m, e);
  candidate_free(c);
  return rc;
}

/* Nobody waits for ever: a compiler or kernel past its time is killed and becomes a row. */
static int watch(tune_session *s, err *e) {
  double now = now_sec();
  err why = {0};
  err_set(&why, ERR_LIMIT, "took longer than %.0f s", s->timeout_sec);
  for (size_t i = 0; i < s->n_jobs; i++) {
    if (s->slots[i] && now - s->jobs[i].since > s->timeout_sec) {
      candidate *c = s->slots[i];
      s->slots[i] = NULL;
      worker_stop(&s->jobs[i]);
      int rc = fail(s, c, DB_TIMEOUT, &why, e);
      candidate_free(c);
      TRY(rc);
    }
  }
  if (s->measuring && now - s->m.w.since > s->timeout_sec) {
    candidate *c = s->measuring;
    s->measuring = NULL;
    int rc = fail(s, c, DB_TIMEOUT, &why, e);
    candidate_free(c);
    TRY(rc);
    return measurer_restart(&s->m, e);
  }
  return 0;
}

static int wait_for_answers(tune_session *s, err *e) {
  struct pollfd fds[MAX_JOBS + 1];
  nfds_t n = 0;
  size_t who[MAX_JOBS + 1];
  if (s->measuring) { /* first: an idle device is what costs */
    who[n] = s->n_jobs;
    fds[n++] = (struct pollfd){.fd = s->m.w.fd, .events = POLLIN};
  }
  for (size_t i = 0; i < s->n_jobs; i++) {
    if (s->slots[i]) {
      who[n] = i;
      fds[n++] = (struct pollfd){.fd = s->jobs[i].fd, .events = POLLIN};
    }
  }
  double from = now_sec();
  const bool idle = session_may_draft(s);
  int ready = poll(fds, n, idle ? 0 : POLL_MS);
  session_spent(&s->state.phases.wait, from);
  if (!ready && idle) {
    TRY(session_draft(s, e));
  }
  if (ready < 0) {
    return 0; /* a signal; the loop looks at the flag */
  }
  for (nfds_t i = 0; i < n; i++) {
    if (fds[i].revents) {
      TRY(who[i] == s->n_jobs ? measured_answer(s, e) : compile_answer(s, who[i], e));
    }
  }
  return watch(s, e);
}

/* Out of time or out of points: what is compiled but not measured is dropped when time is the bound
 * (its image is kept), and measured when the number of trials is. */
static bool more_to_do(const tune_session *s) {
  if (session_stopped(s)) {
    return false;
  }
  if (session_out_of_time(s)) {
    return s->measuring != NULL;
  }
  return session_may_ask(s) || s->drafts.n || session_compiling(s) || s->ready.n || s->measuring;
}

static int search(tune_session *s, err *e) {
  TRY(db_changes(s->db, &s->changes, e));
  while (more_to_do(s)) {
    TRY(session_share(s, e));
    TRY(feed_measurer(s, e));
    for (size_t i = 0; i < s->n_jobs; i++) {
      TRY(feed_compiler(s, i, e));
    }
    TRY(feed_measurer(s, e)); /* an image may have been there already */
    TRY(wait_for_answers(s, e));
  }
  drop_in_flight(s);
  return 0;
}

/* ---- one problem
 * ------------------------------------------------------------------------------------- */

static int open_problem(tune_session *s, const gen_problem *p, err *e) {
  gen_number numbers[RT_NUMBERS];
  gen_config def;
  str_reset(&s->problem);
  gen_problem_text(s->t, p, &s->problem);
  rt_numbers(&s->m.info, numbers);
  TRY(gen_instance_new(s->t, p, numbers, RT_NUMBERS, &s->g, e));
  TRY(gen_space_new(s->g, &s->space, e));
  gen_config_default(s->t, &def);
  if (!gen_space_find(s->space, &def, &s->default_point)) {
    TRY(gen_config_check(s->g, &def, e));
    return err_at(e, ERR_TEMPLATE, s->t->path, "the default configuration is not in the space");
  }
  tune_space_view(s->space, s->t, &s->view);
  s->p = *p;
  TRY(seeds_find(s, s->seeds, &s->n_seeds, e));
  return s->o.within ? tune_within_open(s->o.within, &s->view, s->o.seed, &s->search, e)
                     : s->o.strategy->open(&s->view, s->o.seed, &s->search, e);
}

static int load_known(tune_session *s, err *e) {
  db_result *rows;
  size_t n;
  TRY(db_results(s->db, s->template_id, s->device_id, str_text(&s->problem), &s->memory, &rows, &n,
                 e));
  scored *scores;
  TRY(samples_score_rows(s, rows, n, &s->memory, &scores, e));
  TRY(known_load(s->t, s->space, scores, n, &s->memory, &s->known, e));
  s->state.known = s->state.known_before = n;
  for (size_t i = 0; i < s->known.n && s->o.strategy->tell; i++) {
    s->o.strategy->tell(s->search, s->known.p[i].point, s->known.p[i].score);
  }
  for (size_t i = 0; i < n; i++) {
    if (isfinite(scores[i].score)) {
      const double sec = rows[i].median > 0 ? rows[i].median : rows[i].modelled;
      note_best(s, rows[i].t.config, sec, 0, scores[i].score);
      s->n_steps = 1; /* known before this run's first trial */
      s->steps[0].trial = 0;
      s->steps[0].score = s->best_score;
    }
  }
  return db_effort_get(s->db, s->template_id, s->device_id, str_text(&s->problem),
                       &s->state.sec_before, e);
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
  s->state.device = &s->m.info;
  s->state.tally = gen_space_tally(s->space);
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
  if (session_may_ask(s)) {
    TRY(measurer_problem(&s->m, str_text(&s->problem), e));
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
  if (s->state.tried && strcmp(s->m.info.kind, "emu")) { /* a model gives the same answer twice */
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
                          .phases.jobs = s->n_jobs,
                          .objective = s->o.objective,
                          .replay = s->o.replay};
  s->best_score = s->fastest = INFINITY;
  s->watts = 0;
  s->asked = 0;
  int rc = open_problem(s, p, e);
  rc = rc ? rc : describe_problem(s, e);
  rc = rc ? rc : load_known(s, e);
  rc = rc ? rc : search_and_race(s, e);
  drop_in_flight(s);
  *last = s->state;
  return rc;
}

void tune_narrow(tune_session *s, const tune_within *w, const tune_budget *budget) {
  close_problem(s); /* its search still has the strategy that is replaced */
  s->o.within = w;
  s->o.strategy = &tune_within_strategy;
  s->o.budget = *budget;
}
