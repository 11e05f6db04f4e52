/* search_loop.c -- the tuning loop: compile workers ahead, one measuring process behind, rows
 * between. A candidate moves
 *
 *     strategy -> (known already: skipped) -> (image in the database: ready) -> compile worker
 *     -> ready -> measuring process -> row -> strategy
 */
#include <math.h>

#include "file.h"
#include "propose.h"
#include "samples.h"

enum { POLL_MS = 200 };
/* NVML's energy counter moves in steps of up to a tenth of a second. A candidate slower than
 * ENERGY_WITHIN times the fastest would need less than half its power to have the least energy. */
static const double ENERGY_WITHIN = 2;

/* ---- one result ----------------------------------------------------------------------------- */

static int store_result(tune_session *s, const measured *m, db_result *row, err *e) {
  const pipeline *k = &s->pipe;
  double from = now_sec();
  int rc = db_trial_put(s->db, k->template_id, k->device_id, &row->t, &row->trial, e);
  if (!rc && m->status == DB_OK) {
    rc = samples_put(s->db, &k->m.info, row->trial, DB_SCREEN, m, e);
  }
  double now = now_sec();
  rc = rc ? rc
          : db_effort_add(s->db, k->template_id, k->device_id, row->t.problem, now - s->stored_at,
                          e);
  s->stored_at = now;
  session_spent(&s->state.phases.store, from);
  return rc;
}

static void tell(tune_session *s, size_t point, double score) {
  double from = now_sec();
  search_tell(s->problem.search, point, score);
  session_spent(&s->state.phases.search, from);
}

/* A mistake in the template that the default configuration meets, too, ends the search. */
static int check_default(const tune_session *s, const candidate *c, const measured *m, err *e) {
  gen_config def;
  gen_config_default(s->t, &def);
  return m->why.code == ERR_TEMPLATE && gen_config_equal(s->t, &c->config, &def)
             ? err_copy(e, ERR_TEMPLATE, &m->why)
             : 0;
}

static void count(tune_session *s, const candidate *c, const measured *m) {
  tune_phases *p = &s->state.phases;
  p->load += m->load_sec;
  p->check += m->check_sec;
  p->measure += m->time_sec;
  s->state.tried++;
  s->state.failed[m->status]++;
  s->next.first_done = s->next.first_done || c->point == s->next.initial.points[0];
  samples_note(&s->state.health, m, false);
}

static scored score_of(const tune_session *s, const candidate *c, const measured *m) {
  scored out = {.score = INFINITY};
  const double x[GEN_MEASURED] = {
      [GEN_MEASURED_sec] = m->times.median,  [GEN_MEASURED_joules] = m->energy_j,
      [GEN_MEASURED_registers] = c->regs,    [GEN_MEASURED_spill] = (double)c->spill,
      [GEN_MEASURED_smem] = (double)c->smem, [GEN_MEASURED_error] = m->error};
  if (m->status == DB_OK) {
    out.score = scorer_score(&s->scorer, &c->config, x, out.values);
  }
  return out;
}

/* Store the result, tell it to the strategy, report it: only stored results are reported. */
static int finish(void *self, candidate *c, const measured *m, err *e) {
  tune_session *s = self;
  auto_str config = {0};
  gen_config_text(s->t, &c->config, &config);
  TRY(config.failed ? err_nomem(e) : 0);
  bool ok = m->status == DB_OK;
  db_result row = {.t = {.problem = str_text(&s->problem.text),
                         .config = str_text(&config),
                         .status = m->status,
                         .reason = ok ? NULL : m->why.message,
                         .image = c->image.n ? c->key : NULL,
                         .error = m->error},
                   .median = m->times.median,
                   .spread = ok ? rt_times_spread(&m->times) : 0};
  int rc = store_result(s, m, &row, e);
  scorer_note(&s->scorer, m->times.median, m->energy_j);
  const scored score = score_of(s, c, m);
  if (!rc && ok) {
    session_note_best(s, row.t.config, m->times.median, m->energy_j, &score);
  }
  tell(s, c->point, score.score);
  count(s, c, m);
  if (!rc) {
    s->state.measured = m;
    session_report(s, &row);
    s->state.measured = NULL;
  }
  return rc ? rc : check_default(s, c, m, e);
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

/* ---- compiling ------------------------------------------------------------------------------ */

static bool may_compile(const tune_session *s) {
  return s->next.drafts.n ? !session_stopped(s) && !propose_out_of_time(s) : propose_wanted(s);
}

static int feed_compiler(tune_session *s, size_t i, err *e) {
  while (!pipeline_compiling(&s->pipe, i) && may_compile(s)) {
    candidate *c;
    if (!s->next.drafts.n) {
      TRY(propose_draft(s, e));
    }
    if ((c = candidate_pop(&s->next.drafts))) {
      TRY(pipeline_compile(&s->pipe, i, c, e));
    }
  }
  return 0;
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* The next that is ready, without those that other processes have measured meanwhile. */
static candidate *next_ready(tune_session *s) {
  candidate *c;
  while ((c = candidate_pop(&s->pipe.ready)) && known_find(&s->known, c->point)) {
    candidate_free(c);
    s->next.asked--; /* state.known counts it */
  }
  return c;
}

/* Times the fastest one's time: what is slower cannot be the best, and is not timed to the end. */
static double within(const tune_objective *o) {
  const uint32_t cost = 1u << GEN_MEASURED_sec | 1u << GEN_MEASURED_joules |
                        1u << GEN_MEASURED_flops | 1u << GEN_MEASURED_bytes;
  const bool by_cost = o->n == 1 && !(o->measured & ~cost) && !o->reads_config;
  return tune_objective_is_time(o) ? 1 : by_cost ? ENERGY_WITHIN : INFINITY;
}

static int feed_measurer(tune_session *s, err *e) {
  candidate *c = s->pipe.measuring ? NULL : next_ready(s);
  const double fastest = s->best.fastest;
  const double limit = within(&s->o.objective) * fastest;
  return c ? pipeline_measure(&s->pipe, c, limit, limit, e) : 0;
}

/* The next candidate's limits depend on the fastest, which may be this one. */
static int next(void *self, const measured *m, err *e) {
  tune_session *s = self;
  if (m->status == DB_OK) {
    s->best.fastest = fmin(s->best.fastest, m->times.median);
  }
  return session_stopped(s) || propose_out_of_time(s) ? 0 : feed_measurer(s, e);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static int wait_for_results(tune_session *s, err *e) {
  const bool draft = propose_draft_wanted(s);
  int answers;
  TRY(pipeline_wait(&s->pipe, draft ? 0 : POLL_MS, &answers, &s->state.phases.wait, e));
  return !answers && draft ? propose_draft(s, e) : 0;
}

/* When time is the bound, candidates that are compiled but not measured are dropped at the end
 * (their images stay in the database); when the number of trials is, they are measured. */
static bool more_to_do(const tune_session *s) {
  if (session_stopped(s)) {
    return false;
  }
  if (propose_out_of_time(s)) {
    return s->pipe.measuring != NULL;
  }
  return propose_wanted(s) || s->next.drafts.n || worker_pool_busy(&s->pipe.pool) ||
         s->pipe.ready.n || s->pipe.measuring;
}

int search_loop(tune_session *s, err *e) {
  TRY(sync_start(s, e));
  while (more_to_do(s)) {
    TRY(sync_read(s, e));
    TRY(feed_measurer(s, e));
    for (size_t i = 0; i < s->pipe.pool.n; i++) {
      TRY(feed_compiler(s, i, e));
    }
    TRY(feed_measurer(s, e)); /* a proposed image may have been stored */
    TRY(wait_for_results(s, e));
  }
  session_drop(s);
  return 0;
}

pipeline_owner search_loop_owner(tune_session *s) {
  return (pipeline_owner){
      .self = s, .finish = finish, .next = next, .built = built, .restarted = restarted};
}
