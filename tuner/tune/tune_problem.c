/* tune_problem.c -- sessions, and one problem from its text to its best configuration. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "file.h"
#include "propose.h"

/* Long enough for NVML's energy counter, which moves in steps of up to a tenth of a second. */
static const double ENERGY_SEC = 0.25;

/* ---- a session ------------------------------------------------------------------------------ */

int tune_open(gen_template *t, db *d, rt_compiler *c, const tune_options *o, tune_session **out,
              err *e) {
  tune_session *s = calloc(1, sizeof *s);
  TRY(s ? 0 : err_nomem(e));
  s->t = t;
  s->db = d;
  s->compiler = c;
  s->o = *o;
  s->next.rng.state = (uint64_t)getpid();
  const pipeline_options options = {
      .device = o->device,
      .jobs = o->jobs,
      .timeout_sec = o->timeout_sec,
      .how = {.replay = o->replay,
              .energy_sec =
                  tune_objective_reads(&o->objective, GEN_MEASURED_joules) ? ENERGY_SEC : 0,
              .draws = o->draws,
              .kinds = o->kinds}};
  const pipeline_owner owner = search_loop_owner(s);
  const int rc = pipeline_open(&s->pipe, t, d, c, &options, &owner, e);
  if (rc) {
    tune_close(s);
    return rc;
  }
  *out = s;
  return 0;
}

static void close_problem(tune_session *s) {
  session_problem *p = &s->problem;
  session_drop(s);
  search_close(p->search);
  gen_space_free(p->space);
  gen_instance_free(p->g);
  str_clear(&p->text);
  arena_clear(&p->memory);
  arena_clear(&s->sync.memory);
  *p = (session_problem){0};
  s->next = (session_proposals){.rng = s->next.rng};
  s->sync = (session_sync){.at = s->sync.at};
  s->best = (session_best){.score = INFINITY, .fastest = INFINITY};
  s->scorer = (scorer){0};
  s->known = (known_points){0};
}

void tune_close(tune_session *s) {
  if (s) {
    close_problem(s);
    pipeline_close(&s->pipe);
    free(s);
  }
}

const rt_info *tune_device(const tune_session *s) {
  return &s->pipe.m.info;
}
const char *tune_note(const tune_session *s) {
  return s->pipe.m.note;
}
int64_t tune_device_id(const tune_session *s) {
  return s->pipe.device_id;
}
int64_t tune_template_id(const tune_session *s) {
  return s->pipe.template_id;
}

void tune_data(tune_session *s, const char *path) {
  s->data = path;
}

int tune_pause(tune_session *s, err *e) {
  close_problem(s);
  return measurer_forget(&s->pipe.m, NULL) ? measurer_restart(&s->pipe.m, e) : 0;
}

void tune_narrow(tune_session *s, const search_subspace *w, const tune_budget *budget) {
  s->o.within = w;
  s->o.budget = *budget;
}

int tune_features(tune_session *s, gen_problem *p, err *e) {
  return p->open && p->input ? measurer_features(&s->pipe.m, p, e) : 0;
}

/* ---- opening a problem ---------------------------------------------------------------------- */

static int find_initial(tune_session *s, err *e) {
  const initial_sources from = {.t = s->t,
                                .p = &s->problem.p,
                                .g = s->problem.g,
                                .problem = str_text(&s->problem.text),
                                .pipe = &s->pipe,
                                .options = &s->o,
                                .memory = &s->problem.memory};
  return initial_configs_find(&from, s->next.initial.configs, &s->next.initial.n, e);
}

/* All that needs no space: measuring process and compilers can start while it is enumerated. */
static int open_problem(tune_session *s, const gen_problem *p, err *e) {
  session_problem *x = &s->problem;
  x->p = *p;
  TRY(tune_features(s, &x->p, e));
  gen_problem_text(s->t, &x->p, &x->text);
  TRY(x->text.failed ? err_nomem(e) : 0);
  TRY(rt_instance_new(s->t, &x->p, &s->pipe.m.info, &x->g, e));
  TRY(scorer_init(&s->scorer, &s->o.objective, s->t, x->g, e));
  TRY(session_results(s, &x->memory, &x->rows, &x->n_rows, e));
  s->state.known = s->state.known_before = x->n_rows;
  TRY(db_effort_get(s->db, s->pipe.template_id, s->pipe.device_id, str_text(&x->text),
                    &s->state.sec_before, e));
  return find_initial(s, e);
}

static int describe_problem(tune_session *s, err *e) {
  gen_config def;
  const gen_plan *plan;
  session_problem *x = &s->problem;
  gen_config_default(s->t, &def);
  TRY(gen_plan_make(x->g, &def, &x->memory, &plan, e));
  if (!plan->n) {
    return err_set(e, ERR_USAGE, "'%s' launches nothing: there is nothing to tune; give it a size",
                   str_text(&x->text));
  }
  s->state.problem = str_text(&x->text);
  s->state.device = &s->pipe.m.info;
  s->state.flops = plan->flops;
  s->state.bytes = plan->bytes;
  s->state.budget = s->o.budget;
  return 0;
}

static int start_processes(tune_session *s, err *e) {
  s->started = s->stored_at = now_sec();
  if (!propose_wanted(s)) {
    return 0;
  }
  auto_str full = {0};
  gen_problem_full_text(s->t, &s->problem.p, &full);
  TRY(full.failed ? err_nomem(e) : 0);
  TRY(measurer_begin(&s->pipe.m, str_text(&full), s->data, e));
  return propose_first(s, e);
}

static int open_space(tune_session *s, err *e) {
  gen_config def;
  search_space view;
  size_t point;
  session_problem *x = &s->problem;
  TRY(gen_space_new(x->g, &x->space, e));
  gen_config_default(s->t, &def);
  if (!gen_space_find(x->space, &def, &point)) {
    TRY(gen_config_check(x->g, &def, e));
    return err_at(e, ERR_TEMPLATE, s->t->path, "the default configuration is not in the space");
  }
  search_space_view(x->space, s->t, &view);
  s->state.tally = gen_space_tally(x->space);
  const search_options o = {.strategy = s->o.strategy, .within = s->o.within, .seed = s->o.seed};
  return search_open(&view, &o, &x->search, e);
}

static int load_known(tune_session *s, err *e) {
  const session_problem *x = &s->problem;
  scored *scores;
  TRY(session_know(s, x->rows, x->n_rows, &s->problem.memory, &scores, e));
  for (size_t i = 0; i < x->n_rows; i++) {
    if (isfinite(scores[i].score)) {
      const db_result *r = &x->rows[i];
      session_note_best(s, r->t.config, db_result_sec(r), 0, &scores[i]);
      s->best.n_steps = 1; /* known before this run's first trial */
      s->best.steps[0].trial = 0;
      s->best.steps[0].score = s->best.score;
    }
  }
  return 0;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* The first trial within 3 % of the best one; before the finals, whose times are not comparable. */
static void note_settled(tune_session *s) {
  static const double NEARLY = 1.03;
  const session_best *b = &s->best;
  size_t i = 0;
  while (i < b->n_steps && b->steps[i].score > NEARLY * b->score) {
    i++;
  }
  s->state.settled = i < b->n_steps ? b->steps[i].trial : 0;
}

static int race_finals(tune_session *s, err *e) {
  /* a model repeats its times, unless the data are others */
  const bool races = s->state.tried && (!s->pipe.m.info.modelled || s->o.draws > 1);
  s->state.phase = "finals";
  session_report(s, NULL);
  double from = now_sec();
  TRY(races ? finals_race(s, e) : 0);
  TRY(finals_keep_images(s, e));
  session_spent(&s->state.phases.finals, from);
  return 0;
}

static int search_and_race(tune_session *s, err *e) {
  s->started = s->stored_at = now_sec();
  if (s->pipe.m.opening) {
    TRY(measurer_ready(&s->pipe.m, e));
    session_spent(&s->state.phases.setup, s->started);
  }
  s->state.phase = "search";
  TRY(search_loop(s, e));
  note_settled(s);
  if (session_stopped(s)) {
    return err_set(e, ERR_INTERRUPTED,
                   "interrupted; %llu trials are stored, the same command continues",
                   (unsigned long long)(s->state.known + s->state.tried));
  }
  TRY(race_finals(s, e));
  s->state.phase = "done";
  session_report(s, NULL);
  return 0;
}

int tune_problem(tune_session *s, const gen_problem *p, tune_state *last, err *e) {
  close_problem(s);
  s->state = (tune_state){.best_sec = INFINITY,
                          .phase = "search",
                          .phases.jobs = s->pipe.pool.n,
                          .objective = &s->o.objective,
                          .replay = s->o.replay};
  int rc = open_problem(s, p, e);
  rc = rc ? rc : describe_problem(s, e);
  rc = rc ? rc : start_processes(s, e);
  rc = rc ? rc : open_space(s, e);
  rc = rc ? rc : propose_points(s, e);
  rc = rc ? rc : load_known(s, e);
  rc = rc ? rc : search_and_race(s, e);
  session_drop(s);
  *last = s->state;
  return rc;
}
