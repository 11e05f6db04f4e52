#define _GNU_SOURCE
#include "timing_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "pipeline.h"
#include "samples.h"
#include "adapt.h"

enum { POLL_MS = 200, SIZES_AHEAD = 8 };

/* Measuring stops early at this many times the best time. */
static const double HOPELESS = 3;

typedef struct variant { /* a configuration as it fits this size */
  gen_config config;
  model_work work;
  double sec; /* INFINITY: it failed */
  bool known;
} variant;

typedef struct ahead { /* compiled in advance when the current size leaves compilers idle */
  gen_instance *g;     /* of size `size`; NULL: not opened yet */
  size_t size, config; /* the next to compile */
} ahead;

struct timing_table {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  timing_options o;
  uint64_t n_measured;
  pipeline pipe;

  /* the current size */
  gen_instance *g;
  str problem;
  variant *variants;
  size_t n_variants, next; /* next: the next to compile */
  double best;
  arena memory;

  /* all sizes */
  const gen_config *configs;
  const sizes *sizes;
  size_t n_configs, size; /* size: the current one */
  ahead ahead;
};

/* ---- opening -------------------------------------------------------------------------------- */

static int finish(void *self, candidate *c, const measured *m, err *e);
static int next(void *self, const measured *m, err *e);

int timing_table_open(gen_template *t, db *d, rt_compiler *c, const timing_options *o,
                      timing_table **out, err *e) {
  timing_table *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  x->t = t;
  x->db = d;
  x->compiler = c;
  x->o = *o;
  const pipeline_options options = {
      .device = o->device, .jobs = o->jobs, .timeout_sec = o->timeout_sec};
  const pipeline_owner owner = {.self = x, .finish = finish, .next = next};
  const int rc = pipeline_open(&x->pipe, t, d, c, &options, &owner, e);
  if (rc) {
    timing_table_close(x);
    return rc;
  }
  *out = x;
  return 0;
}

static void close_size(timing_table *x) {
  gen_instance_free(x->g);
  x->g = NULL;
  arena_clear(&x->memory);
}

void timing_table_close(timing_table *x) {
  if (!x) {
    return;
  }
  close_size(x);
  gen_instance_free(x->ahead.g);
  pipeline_close(&x->pipe);
  str_clear(&x->problem);
  free(x);
}

const rt_info *timing_table_device(const timing_table *x) {
  return &x->pipe.m.info;
}
int64_t timing_table_device_id(const timing_table *x) {
  return x->pipe.device_id;
}
int64_t timing_table_template_id(const timing_table *x) {
  return x->pipe.template_id;
}

/* ---- one result ----------------------------------------------------------------------------- */

static int finish(void *self, candidate *c, const measured *m, err *e) {
  timing_table *x = self;
  auto_str config = {0};
  int64_t trial;
  if (c->ahead) { /* a failure is stored when its size is measured */
    return 0;
  }
  const bool ok = m->status == DB_OK;
  gen_config_text(x->t, &c->config, &config);
  TRY(config.failed ? err_nomem(e) : 0);
  const db_trial row = {.problem = str_text(&x->problem),
                        .config = str_text(&config),
                        .status = m->status,
                        .reason = ok ? NULL : m->why.message,
                        .image = c->image.n ? c->key : NULL,
                        .error = m->error};
  int rc = db_trial_put(x->db, x->pipe.template_id, x->pipe.device_id, &row, &trial, e);
  rc = rc || !ok ? rc : samples_put(x->db, &x->pipe.m.info, trial, DB_SCREEN, m, e);
  x->variants[c->point].sec = ok ? m->times.median : INFINITY;
  x->best = fmin(x->best, x->variants[c->point].sec);
  x->n_measured++;
  return rc;
}

/* ---- compiling ------------------------------------------------------------------------------ */

static candidate *compiling(const timing_table *x, const char *key) {
  for (size_t i = 0; i < x->pipe.pool.n; i++) {
    if (pipeline_compiling(&x->pipe, i) && !strcmp(pipeline_compiling(&x->pipe, i)->key, key)) {
      return pipeline_compiling(&x->pipe, i);
    }
  }
  return NULL;
}

/* Ready if its image is stored; else compile it on worker i, unless that is under way ahead. */
static int prepare(timing_table *x, size_t i, candidate *c, err *e) {
  candidate *same = compiling(x, c->key);
  bool found = false;
  if (same && same->ahead) {
    same->point = c->point;
    same->config = c->config;
    same->ahead = false;
    candidate_free(c);
    return 0;
  }
  const int rc = candidate_from_db(c, x->db, x->pipe.m.info.format, &found, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  if (!found) {
    return pipeline_compile(&x->pipe, i, c, e);
  }
  candidate_push(&x->pipe.ready, c);
  return 0;
}

/* Compile the next variant without a stored result. */
static int feed_compiler(timing_table *x, size_t i, err *e) {
  while (!pipeline_compiling(&x->pipe, i) && x->next < x->n_variants) {
    const size_t at = x->next++;
    candidate *c;
    if (!x->variants[at].known) {
      TRY(candidate_new(x->g, x->compiler, &x->pipe.pool.setting, at, &x->variants[at].config, &c,
                        e));
      TRY(prepare(x, i, c, e));
    }
  }
  return 0;
}

/* ---- compiling for the next sizes ----------------------------------------------------------- */

static void skip_to(timing_table *x, size_t size) {
  gen_instance_free(x->ahead.g);
  x->ahead = (ahead){.size = size};
}

/* Compile ahead: a size's slowest compilation can take longer than all its measurements. */
static bool next_ahead(timing_table *x) {
  ahead *a = &x->ahead;
  if (a->size <= x->size) {
    skip_to(x, x->size + 1);
  }
  while (a->size < x->sizes->n && a->size <= x->size + SIZES_AHEAD) {
    if (a->g ? a->config < x->n_configs
             : !rt_instance_new(x->t, &x->sizes->p[a->size], &x->pipe.m.info, &a->g, NULL)) {
      return true;
    }
    skip_to(x, a->size + 1);
  }
  return false;
}

/* A failure here is ignored: it recurs, and is reported, when its size is measured. */
static int compile_ahead(timing_table *x, size_t i, err *e) {
  while (!pipeline_compiling(&x->pipe, i) && next_ahead(x)) {
    gen_config c = x->configs[x->ahead.config++];
    candidate *a;
    bool found = false;
    int changed;
    if (!adapt_config(x->t, x->ahead.g, &c, &changed) ||
        candidate_new(x->ahead.g, x->compiler, &x->pipe.pool.setting, 0, &c, &a, NULL)) {
      continue;
    }
    a->ahead = true;
    const int rc = candidate_from_db(a, x->db, x->pipe.m.info.format, &found, e);
    if (rc || found || compiling(x, a->key)) {
      candidate_free(a);
      TRY(rc);
    } else {
      TRY(pipeline_compile(&x->pipe, i, a, e));
    }
  }
  return 0;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static int feed_measurer(timing_table *x, err *e) {
  if (x->pipe.measuring || !x->pipe.ready.n) {
    return 0;
  }
  if (strcmp(str_text(&x->pipe.m.problem), str_text(&x->problem)) != 0) {
    TRY(measurer_problem(&x->pipe.m, str_text(&x->problem), e));
  }
  return pipeline_measure(&x->pipe, candidate_pop(&x->pipe.ready),
                          isfinite(x->best) ? HOPELESS * x->best : 0, 0, e);
}

static int next(void *self, const measured *m, err *e) {
  timing_table *x = self;
  if (m->status == DB_OK) {
    x->best = fmin(x->best, m->times.median);
  }
  return x->o.stop && *x->o.stop ? 0 : feed_measurer(x, e);
}

static bool in_flight(const timing_table *x) {
  bool any = x->next < x->n_variants || x->pipe.ready.n || x->pipe.measuring;
  for (size_t i = 0; i < x->pipe.pool.n; i++) {
    any = any || (pipeline_compiling(&x->pipe, i) && !pipeline_compiling(&x->pipe, i)->ahead);
  }
  return any;
}

static int measure_all(timing_table *x, err *e) {
  int answers;
  double waited = 0;
  while (in_flight(x)) {
    if (x->o.stop && *x->o.stop) {
      return err_set(e, ERR_INTERRUPTED,
                     "interrupted; %llu measurements are stored, the same command continues",
                     (unsigned long long)x->n_measured);
    }
    for (size_t i = 0; i < x->pipe.pool.n; i++) {
      TRY(feed_compiler(x, i, e));
    }
    TRY(feed_measurer(x, e));
    for (size_t i = 0; i < x->pipe.pool.n && in_flight(x); i++) {
      TRY(compile_ahead(x, i, e));
    }
    if (in_flight(x)) {
      TRY(pipeline_wait(&x->pipe, POLL_MS, &answers, &waited, e));
    }
  }
  return 0;
}

/* ---- one size ------------------------------------------------------------------------------- */

/* The variant of this configuration, which others may share; SIZE_MAX when it does not fit. */
static size_t variant_of(timing_table *x, const gen_config *config) {
  gen_config c = *config;
  int changed;
  if (!adapt_config(x->t, x->g, &c, &changed)) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < x->n_variants; i++) {
    if (gen_config_equal(x->t, &x->variants[i].config, &c)) {
      return i;
    }
  }
  variant *v = &x->variants[x->n_variants];
  *v = (variant){.config = c, .sec = INFINITY};
  model_work_of(x->g, &c, &v->work);
  return x->n_variants++;
}

static void take_known(timing_table *x, const db_result *r) {
  gen_config c;
  if (gen_config_parse(x->t, r->t.config, &c, NULL)) {
    return;
  }
  for (size_t i = 0; i < x->n_variants; i++) {
    variant *v = &x->variants[i];
    if (gen_config_equal(x->t, &v->config, &c)) {
      const double sec = r->median > 0 ? r->median : r->modelled;
      v->known = true;
      v->sec = r->t.status == DB_OK && sec > 0 ? sec : INFINITY;
      x->best = fmin(x->best, v->sec);
    }
  }
}

static int open_size(timing_table *x, err *e) {
  const gen_problem *p = &x->sizes->p[x->size];
  close_size(x);
  str_reset(&x->problem);
  gen_problem_text(x->t, p, &x->problem);
  TRY(x->problem.failed ? err_nomem(e) : 0);
  x->n_variants = x->next = 0;
  x->best = INFINITY;
  x->variants = ARENA_ARRAY(&x->memory, variant, x->n_configs + 1);
  return x->variants ? rt_instance_new(x->t, p, &x->pipe.m.info, &x->g, e) : err_nomem(e);
}

typedef struct column { /* of the table */
  double *sec;
  model_work *work;
  size_t stride;
} column;

static void fill_column(const timing_table *x, const size_t *which, const column *out) {
  for (size_t i = 0; i < x->n_configs; i++) {
    const variant none = {.sec = INFINITY};
    const variant *v = which[i] == SIZE_MAX ? &none : &x->variants[which[i]];
    out->sec[i * out->stride] = v->sec;
    out->work[i * out->stride] = v->work;
  }
}

static int time_size(timing_table *x, const column *out, err *e) {
  db_result *rows;
  size_t n;
  TRY(open_size(x, e));
  size_t *which = ARENA_ARRAY(&x->memory, size_t, x->n_configs + 1);
  TRY(which ? 0 : err_nomem(e));
  for (size_t i = 0; i < x->n_configs; i++) {
    which[i] = variant_of(x, &x->configs[i]);
  }
  TRY(db_results(x->db, x->pipe.template_id, x->pipe.device_id, str_text(&x->problem), &x->memory,
                 &rows, &n, e));
  for (size_t i = 0; i < n; i++) {
    take_known(x, &rows[i]);
  }
  TRY(measure_all(x, e));
  fill_column(x, which, out);
  return 0;
}

/* Errors of one size, such as too little memory: they cost its column only. */
static bool is_of_size(int rc) {
  return rc == ERR_NOMEM || rc == ERR_LIMIT || rc == ERR_LAUNCH || rc == ERR_TEMPLATE ||
         rc == ERR_USAGE;
}

static int time_column(timing_table *x, const column *out, err *e) {
  err why = {0};
  int rc = time_size(x, out, &why);
  if (rc && !is_of_size(rc)) {
    return err_copy(e, rc, &why);
  }
  for (size_t i = 0; rc && i < x->n_configs; i++) {
    out->sec[i * out->stride] = INFINITY;
    out->work[i * out->stride] = (model_work){0};
  }
  if (rc) {
    pipeline_drop(&x->pipe);
    str_reset(&x->pipe.m.problem);
    TRY(measurer_restart(&x->pipe.m, e));
  }
  if (x->o.report) {
    x->o.report(x->o.report_self, &(timing_progress){.problem = str_text(&x->problem),
                                                     .i = x->size + 1,
                                                     .n = x->sizes->n,
                                                     .measured = x->n_measured,
                                                     .why = rc ? why.message : NULL});
  }
  return 0;
}

int timing_table_fill(timing_table *x, const gen_config *configs, size_t n_configs,
                      const sizes *list, double budget, size_t stride, double *sec,
                      model_work *work, size_t *n_done, err *e) {
  const double started = now_sec();
  int rc = 0;
  x->configs = configs;
  x->n_configs = n_configs;
  x->sizes = list;
  skip_to(x, 0);
  for (*n_done = 0; !rc && *n_done < list->n; ++*n_done) {
    if (budget > 0 && now_sec() - started > budget) {
      break;
    }
    x->size = *n_done;
    rc = time_column(x, &(column){.sec = sec + *n_done, .work = work + *n_done, .stride = stride},
                     e);
  }
  pipeline_drop(&x->pipe);
  close_size(x);
  return rc;
}
