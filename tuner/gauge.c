#define _GNU_SOURCE
#include "gauge.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "candidate.h"
#include "file.h"
#include "serve_adapt.h"

enum { MAX_JOBS = 256, POLL_MS = 200, TIMEOUT_SEC = 120 };

/* Slower than this many times the best is slow enough to know. */
static const double HOPELESS = 3;

typedef struct variant { /* a configuration as it fits this size */
  gen_config config;
  double sec; /* INFINITY: it failed */
  bool known;
} variant;

struct gauge {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  gauge_options o;
  double timeout_sec, started;
  int64_t device_id, template_id;
  uint64_t n_measured;

  measurer m;
  candidate *measuring;
  worker *jobs;
  candidate **slots; /* slots[i]: what jobs[i] compiles */
  size_t n_jobs;
  compile_setting setting;
  candidate_queue ready;

  /* the size at hand */
  gen_instance *g;
  str problem;
  variant *variants;
  size_t n_variants, next; /* next: the first not looked at */
  double best;
  arena memory;
};

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- opening -------------------------------------------------------------------------------- */

static int register_device(gauge *g, err *e) {
  str key = {0};
  rt_device_key(&g->m.info, &key);
  const db_device row = {
      .key = str_text(&key), .name = g->m.info.name, .cc = g->m.info.cc, .sms = g->m.info.sms};
  const int rc = db_device_put(g->db, &row, &g->device_id, e);
  str_clear(&key);
  return rc;
}

static int register_template(gauge *g, err *e) {
  const db_template row = {
      .family = g->t->name, .hash = g->t->hash, .path = g->t->path, .version = g->t->version};
  return db_template_put(g->db, &row, &g->template_id, e);
}

static int start_compilers(gauge *g, err *e) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const int jobs = g->o.jobs > 0 ? g->o.jobs : cores > 0 ? (int)cores : 1;
  g->n_jobs = jobs < MAX_JOBS ? (size_t)jobs : MAX_JOBS;
  g->jobs = calloc(g->n_jobs, sizeof *g->jobs);
  g->slots = calloc(g->n_jobs, sizeof *g->slots);
  if (!g->jobs || !g->slots) {
    return no_room(e);
  }
  snprintf(g->setting.arch, sizeof g->setting.arch, "%s", g->m.info.arch);
  g->setting.compiler = g->compiler;
  g->setting.lineinfo = g->setting.registers = g->m.info.format == RT_PTX;
  for (size_t i = 0; i < g->n_jobs; i++) {
    g->jobs[i].run = compile_worker_main;
    g->jobs[i].setting = &g->setting;
  }
  return 0;
}

int gauge_open(gen_template *t, db *d, rt_compiler *c, const gauge_options *o, gauge **out,
               err *e) {
  gauge *g = calloc(1, sizeof *g);
  if (!g) {
    return no_room(e);
  }
  g->t = t;
  g->db = d;
  g->compiler = c;
  g->o = *o;
  g->timeout_sec = o->timeout_sec > 0 ? o->timeout_sec : TIMEOUT_SEC;
  int rc = measurer_start(&g->m, o->device, c, t, &(measure_how){0}, e);
  rc = rc ? rc : register_device(g, e);
  rc = rc ? rc : register_template(g, e);
  rc = rc ? rc : start_compilers(g, e);
  if (rc) {
    gauge_close(g);
    return rc;
  }
  *out = g;
  return 0;
}

/* Workers that were busy are ended, and started again when next needed. */
static void drop_in_flight(gauge *g) {
  for (size_t i = 0; i < g->n_jobs && g->slots; i++) {
    candidate_free(g->slots[i]);
    g->slots[i] = NULL;
    if (g->jobs[i].busy) {
      worker_stop(&g->jobs[i]);
    }
  }
  candidate_drop(&g->ready);
  candidate_free(g->measuring);
  g->measuring = NULL;
}

static void close_size(gauge *g) {
  drop_in_flight(g);
  gen_instance_free(g->g);
  g->g = NULL;
  arena_clear(&g->memory);
}

void gauge_close(gauge *g) {
  if (!g) {
    return;
  }
  close_size(g);
  for (size_t i = 0; i < g->n_jobs && g->jobs; i++) {
    worker_stop(&g->jobs[i]);
  }
  measurer_stop(&g->m);
  str_clear(&g->problem);
  free(g->jobs);
  free(g->slots);
  free(g);
}

const rt_info *gauge_device(const gauge *g) {
  return &g->m.info;
}
int64_t gauge_device_id(const gauge *g) {
  return g->device_id;
}
int64_t gauge_template_id(const gauge *g) {
  return g->template_id;
}

/* ---- one result ----------------------------------------------------------------------------- */

static int put_times(gauge *g, int64_t trial, const measured *m, err *e) {
  const rt_times *t = &m->times;
  if (!strcmp(g->m.info.kind, "emu")) {
    return db_estimate_put(g->db, trial, TUNE_MODEL, t->median, e);
  }
  return db_sample_put(g->db, trial,
                       &(db_sample){.stage = DB_SCREEN,
                                    .median = t->median,
                                    .spread = rt_times_spread(t),
                                    .launches = (int64_t)t->launches,
                                    .cold = t->cold,
                                    .driver = g->m.info.driver,
                                    .uuid = g->m.info.uuid,
                                    .clock_mhz = m->health.clock_mhz,
                                    .power_w = m->health.power_w,
                                    .temperature_c = m->health.temperature_c,
                                    .memory_mhz = m->health.memory_mhz,
                                    .held = (int64_t)m->health.held,
                                    .retaken = m->retaken,
                                    .ended = rt_ended_name(t->ended),
                                    .replay = "stream"},
                       e);
}

static int finish(gauge *g, candidate *c, const measured *m, err *e) {
  str config = {0};
  int64_t trial;
  const bool ok = m->status == DB_OK;
  gen_config_text(g->t, &c->config, &config);
  const db_trial row = {.problem = str_text(&g->problem),
                        .config = str_text(&config),
                        .status = m->status,
                        .reason = ok ? NULL : m->why.message,
                        .image = c->image.n ? c->key : NULL,
                        .error = m->error};
  int rc = db_trial_put(g->db, g->template_id, g->device_id, &row, &trial, e);
  rc = rc || !ok ? rc : put_times(g, trial, m, e);
  g->variants[c->point].sec = ok ? m->times.median : INFINITY;
  g->best = fmin(g->best, g->variants[c->point].sec);
  g->n_measured++;
  str_clear(&config);
  candidate_free(c);
  return rc;
}

static int fail(gauge *g, candidate *c, db_status status, const err *why, err *e) {
  const measured m = {.status = status, .why = *why};
  return finish(g, c, &m, e);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static int ask_compiler(gauge *g, size_t i, candidate *c, err *e) {
  str frame = {0};
  g->slots[i] = c;
  if (!g->jobs[i].pid) {
    TRY(worker_start(&g->jobs[i], e));
  }
  compile_worker_request(&frame, str_text(&c->source), c->body);
  const int rc = worker_ask(&g->jobs[i], &frame, e);
  str_clear(&frame);
  return rc;
}

/* The next one nobody knows: ready when its image is stored, else for worker i. */
static int feed_compiler(gauge *g, size_t i, err *e) {
  while (!g->slots[i] && g->next < g->n_variants) {
    const size_t at = g->next++;
    candidate *c;
    bool found;
    if (g->variants[at].known) {
      continue;
    }
    TRY(candidate_new(g->g, g->compiler, &g->setting, at, &g->variants[at].config, &c, e));
    const int rc = candidate_from_db(c, g->db, g->m.info.format, &found, e);
    if (rc) {
      candidate_free(c);
      return rc;
    }
    if (found) {
      candidate_push(&g->ready, c);
    } else {
      TRY(ask_compiler(g, i, c, e));
    }
  }
  return 0;
}

static int take_built(gauge *g, candidate *c, const str *frame, err *e) {
  compiled built = {0};
  int rc = compile_worker_result(frame, &built, e);
  if (!rc && built.why.code) {
    return fail(g, c, DB_COMPILE, &built.why, e);
  }
  rc = rc ? rc
          : candidate_built(c, g->db, &built, g->setting.arch, rt_compiler_version(g->compiler),
                            g->m.info.format, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  candidate_push(&g->ready, c);
  return 0;
}

static int compile_answer(gauge *g, size_t i, err *e) {
  str frame = {0}, how = {0};
  candidate *c = g->slots[i];
  int rc;
  g->slots[i] = NULL;
  if (worker_answer(&g->jobs[i], &frame, &how, NULL)) {
    err why = {0};
    err_set(&why, ERR_COMPILE, "the compiler died: %s", str_text(&how));
    rc = fail(g, c, DB_CRASHED, &why, e);
  } else {
    rc = take_built(g, c, &frame, e);
  }
  str_clear(&frame);
  str_clear(&how);
  return rc;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static int feed_measurer(gauge *g, err *e) {
  if (g->measuring || !g->ready.n) {
    return 0;
  }
  if (strcmp(str_text(&g->m.problem), str_text(&g->problem)) != 0) {
    TRY(measurer_problem(&g->m, str_text(&g->problem), e));
  }
  candidate *c = g->measuring = candidate_pop(&g->ready);
  const measure_image image = {.config = c->config, .bytes = str_text(&c->image), .n = c->image.n};
  return measurer_ask(&g->m, &image, isfinite(g->best) ? HOPELESS * g->best : 0, 0, e);
}

static int measured_answer(gauge *g, err *e) {
  measured m;
  candidate *c = g->measuring;
  g->measuring = NULL;
  int rc = measurer_answer(&g->m, &m, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  rc = finish(g, c, &m, e);
  return rc || !m.dead ? rc : measurer_restart(&g->m, e);
}

/* Who takes too long is killed and becomes a row. */
static int watch(gauge *g, err *e) {
  const double now = now_sec();
  err why = {0};
  err_set(&why, ERR_LIMIT, "took longer than %.0f s", g->timeout_sec);
  for (size_t i = 0; i < g->n_jobs; i++) {
    if (g->slots[i] && now - g->jobs[i].since > g->timeout_sec) {
      candidate *c = g->slots[i];
      g->slots[i] = NULL;
      worker_stop(&g->jobs[i]);
      TRY(fail(g, c, DB_TIMEOUT, &why, e));
    }
  }
  if (g->measuring && now - g->m.w.since > g->timeout_sec) {
    candidate *c = g->measuring;
    g->measuring = NULL;
    TRY(fail(g, c, DB_TIMEOUT, &why, e));
    return measurer_restart(&g->m, e);
  }
  return 0;
}

static int wait_for_answers(gauge *g, err *e) {
  struct pollfd fds[MAX_JOBS + 1];
  size_t who[MAX_JOBS + 1];
  nfds_t n = 0;
  for (size_t i = 0; i < g->n_jobs; i++) {
    if (g->slots[i]) {
      who[n] = i;
      fds[n++] = (struct pollfd){.fd = g->jobs[i].fd, .events = POLLIN};
    }
  }
  if (g->measuring) {
    who[n] = g->n_jobs;
    fds[n++] = (struct pollfd){.fd = g->m.w.fd, .events = POLLIN};
  }
  if (poll(fds, n, POLL_MS) < 0) {
    return 0; /* a signal; the loop looks at the flag */
  }
  for (nfds_t i = 0; i < n; i++) {
    if (fds[i].revents) {
      TRY(who[i] == g->n_jobs ? measured_answer(g, e) : compile_answer(g, who[i], e));
    }
  }
  return watch(g, e);
}

static bool in_flight(const gauge *g) {
  bool any = g->next < g->n_variants || g->ready.n || g->measuring;
  for (size_t i = 0; i < g->n_jobs; i++) {
    any = any || g->slots[i];
  }
  return any;
}

static int measure_all(gauge *g, err *e) {
  while (in_flight(g)) {
    if (g->o.stop && *g->o.stop) {
      return err_set(e, ERR_INTERRUPTED,
                     "interrupted; %llu measurements are stored, the same command goes on",
                     (unsigned long long)g->n_measured);
    }
    for (size_t i = 0; i < g->n_jobs; i++) {
      TRY(feed_compiler(g, i, e));
    }
    TRY(feed_measurer(g, e));
    if (in_flight(g)) {
      TRY(wait_for_answers(g, e));
    }
  }
  return 0;
}

/* ---- one size ------------------------------------------------------------------------------- */

/* The variant of this configuration; SIZE_MAX when none fits. Several may be adapted to one. */
static size_t variant_of(gauge *g, const gen_config *config) {
  gen_config c = *config;
  int changed;
  if (!serve_adapt(g->t, g->g, &c, &changed)) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < g->n_variants; i++) {
    if (!memcmp(g->variants[i].config.index, c.index, g->t->n_params * sizeof *c.index)) {
      return i;
    }
  }
  g->variants[g->n_variants] = (variant){.config = c, .sec = INFINITY};
  return g->n_variants++;
}

static void take_known(gauge *g, const db_result *r) {
  gen_config c;
  if (gen_config_parse(g->t, r->t.config, &c, NULL)) {
    return;
  }
  for (size_t i = 0; i < g->n_variants; i++) {
    variant *v = &g->variants[i];
    if (!memcmp(v->config.index, c.index, g->t->n_params * sizeof *c.index)) {
      const double sec = r->median > 0 ? r->median : r->modelled;
      v->known = true;
      v->sec = r->t.status == DB_OK && sec > 0 ? sec : INFINITY;
      g->best = fmin(g->best, v->sec);
    }
  }
}

static int open_size(gauge *g, const gen_problem *p, size_t n_configs, err *e) {
  gen_number numbers[RT_NUMBERS];
  close_size(g);
  str_reset(&g->problem);
  gen_problem_text(g->t, p, &g->problem);
  rt_numbers(&g->m.info, numbers);
  g->n_variants = g->next = 0;
  g->best = INFINITY;
  g->variants = ARENA_ARRAY(&g->memory, variant, n_configs + 1);
  return g->variants ? gen_instance_new(g->t, p, numbers, RT_NUMBERS, &g->g, e) : no_room(e);
}

static int gauge_size(gauge *g, const gen_config *configs, size_t n_configs, const gen_problem *p,
                      double *sec, size_t stride, err *e) {
  db_result *rows;
  size_t n;
  TRY(open_size(g, p, n_configs, e));
  size_t *which = ARENA_ARRAY(&g->memory, size_t, n_configs + 1);
  if (!which) {
    return no_room(e);
  }
  for (size_t i = 0; i < n_configs; i++) {
    which[i] = variant_of(g, &configs[i]);
  }
  TRY(db_results(g->db, g->template_id, g->device_id, str_text(&g->problem), &g->memory, &rows, &n,
                 e));
  for (size_t i = 0; i < n; i++) {
    take_known(g, &rows[i]);
  }
  TRY(measure_all(g, e));
  for (size_t i = 0; i < n_configs; i++) {
    sec[i * stride] = which[i] == SIZE_MAX ? INFINITY : g->variants[which[i]].sec;
  }
  return 0;
}

/* A size that can't be had at all, for want of memory say, costs its column. */
static bool is_of_size(int rc) {
  return rc == ERR_NOMEM || rc == ERR_LIMIT || rc == ERR_LAUNCH || rc == ERR_TEMPLATE ||
         rc == ERR_USAGE;
}

static int gauge_column(gauge *g, const gen_config *configs, size_t n_configs, const sizes *list,
                        size_t j, double *sec, err *e) {
  err why = {0};
  int rc = gauge_size(g, configs, n_configs, &list->p[j], sec + j, list->n, &why);
  if (rc && !is_of_size(rc)) {
    return err_at(e, rc, why.place, "%s", why.message);
  }
  for (size_t i = 0; rc && i < n_configs; i++) {
    sec[i * list->n + j] = INFINITY;
  }
  if (rc) {
    drop_in_flight(g);
    str_reset(&g->m.problem);
    TRY(measurer_restart(&g->m, e));
  }
  if (g->o.report) {
    g->o.report(g->o.report_self, &(gauge_progress){.problem = str_text(&g->problem),
                                                    .i = j + 1,
                                                    .n = list->n,
                                                    .measured = g->n_measured,
                                                    .why = rc ? why.message : NULL});
  }
  return 0;
}

int gauge_table(gauge *g, const gen_config *configs, size_t n_configs, const sizes *list,
                double *sec, size_t *n_done, err *e) {
  const double started = now_sec();
  int rc = 0;
  for (*n_done = 0; !rc && *n_done < list->n; ++*n_done) {
    if (g->o.sec > 0 && now_sec() - started > g->o.sec) {
      break;
    }
    rc = gauge_column(g, configs, n_configs, list, *n_done, sec, e);
  }
  close_size(g);
  return rc;
}
