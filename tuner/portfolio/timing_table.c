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

/* Slower than this many times the best is slow enough to know. */
static const double HOPELESS = 3;

typedef struct variant { /* a configuration as it fits this size */
  gen_config config;
  model_work work;
  double sec; /* INFINITY: it failed */
  bool known;
} variant;

typedef struct ahead { /* what the compilers do when the size at hand leaves them idle */
  gen_instance *g;     /* of size `size`; NULL: not looked at yet */
  size_t size, config; /* the first not looked at */
} ahead;

struct timing_table {
  gen_template *t;
  db *db;
  rt_compiler *compiler;
  timing_options o;
  uint64_t n_measured;
  pipeline pipe;

  /* the size at hand */
  gen_instance *g;
  str problem;
  variant *variants;
  size_t n_variants, next; /* next: the first not looked at */
  double best;
  arena memory;

  /* all of them */
  const gen_config *configs;
  const sizes *sizes;
  size_t n_configs, size; /* size: the one at hand */
  ahead ahead;
};

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- opening -------------------------------------------------------------------------------- */

static int finish(void *self, candidate *c, const measured *m, err *e);
static int next(void *self, const measured *m, err *e);

int timing_table_open(gen_template *t, db *d, rt_compiler *c, const timing_options *o,
                      timing_table **out, err *e) {
  timing_table *g = calloc(1, sizeof *g);
  if (!g) {
    return no_room(e);
  }
  g->t = t;
  g->db = d;
  g->compiler = c;
  g->o = *o;
  const pipeline_options options = {
      .device = o->device, .jobs = o->jobs, .timeout_sec = o->timeout_sec};
  const pipeline_owner owner = {.self = g, .finish = finish, .next = next};
  const int rc = pipeline_open(&g->pipe, t, d, c, &options, &owner, e);
  if (rc) {
    timing_table_close(g);
    return rc;
  }
  *out = g;
  return 0;
}

static void close_size(timing_table *g) {
  gen_instance_free(g->g);
  g->g = NULL;
  arena_clear(&g->memory);
}

void timing_table_close(timing_table *g) {
  if (!g) {
    return;
  }
  close_size(g);
  gen_instance_free(g->ahead.g);
  pipeline_close(&g->pipe);
  str_clear(&g->problem);
  free(g);
}

const rt_info *timing_table_device(const timing_table *g) {
  return &g->pipe.m.info;
}
int64_t timing_table_device_id(const timing_table *g) {
  return g->pipe.device_id;
}
int64_t timing_table_template_id(const timing_table *g) {
  return g->pipe.template_id;
}

/* ---- one result ----------------------------------------------------------------------------- */

static int finish(void *self, candidate *c, const measured *m, err *e) {
  timing_table *g = self;
  str config = {0};
  int64_t trial;
  if (c->ahead) { /* its own size will tell why it failed */
    return 0;
  }
  const bool ok = m->status == DB_OK;
  gen_config_text(g->t, &c->config, &config);
  const db_trial row = {.problem = str_text(&g->problem),
                        .config = str_text(&config),
                        .status = m->status,
                        .reason = ok ? NULL : m->why.message,
                        .image = c->image.n ? c->key : NULL,
                        .error = m->error};
  int rc = db_trial_put(g->db, g->pipe.template_id, g->pipe.device_id, &row, &trial, e);
  rc = rc || !ok ? rc : samples_put(g->db, &g->pipe.m.info, trial, DB_SCREEN, m, e);
  g->variants[c->point].sec = ok ? m->times.median : INFINITY;
  g->best = fmin(g->best, g->variants[c->point].sec);
  g->n_measured++;
  str_clear(&config);
  return rc;
}

/* ---- compiling ------------------------------------------------------------------------------ */

static candidate *compiling(const timing_table *g, const char *key) {
  for (size_t i = 0; i < g->pipe.pool.n; i++) {
    if (pipeline_compiling(&g->pipe, i) && !strcmp(pipeline_compiling(&g->pipe, i)->key, key)) {
      return pipeline_compiling(&g->pipe, i);
    }
  }
  return NULL;
}

/* Ready when its image is stored, else for worker i, who may be at it already. */
static int prepare(timing_table *g, size_t i, candidate *c, err *e) {
  candidate *same = compiling(g, c->key);
  bool found = false;
  if (same && same->ahead) {
    same->point = c->point;
    same->config = c->config;
    same->ahead = false;
    candidate_free(c);
    return 0;
  }
  const int rc = candidate_from_db(c, g->db, g->pipe.m.info.format, &found, e);
  if (rc) {
    candidate_free(c);
    return rc;
  }
  if (!found) {
    return pipeline_compile(&g->pipe, i, c, e);
  }
  candidate_push(&g->pipe.ready, c);
  return 0;
}

/* The next one nobody knows. */
static int feed_compiler(timing_table *g, size_t i, err *e) {
  while (!pipeline_compiling(&g->pipe, i) && g->next < g->n_variants) {
    const size_t at = g->next++;
    candidate *c;
    if (!g->variants[at].known) {
      TRY(candidate_new(g->g, g->compiler, &g->pipe.pool.setting, at, &g->variants[at].config, &c,
                        e));
      TRY(prepare(g, i, c, e));
    }
  }
  return 0;
}

/* ---- compiling for the sizes that come next ------------------------------------------------- */

static void skip_to(timing_table *g, size_t size) {
  gen_instance_free(g->ahead.g);
  g->ahead = (ahead){.size = size};
}

/* A size's slowest compilation can take longer than measuring all of it. */
static bool next_ahead(timing_table *g) {
  ahead *a = &g->ahead;
  gen_number numbers[RT_NUMBERS];
  rt_numbers(&g->pipe.m.info, numbers);
  if (a->size <= g->size) {
    skip_to(g, g->size + 1);
  }
  while (a->size < g->sizes->n && a->size <= g->size + SIZES_AHEAD) {
    if (a->g ? a->config < g->n_configs
             : !gen_instance_new(g->t, &g->sizes->p[a->size], numbers, RT_NUMBERS, &a->g, NULL)) {
      return true;
    }
    skip_to(g, a->size + 1);
  }
  return false;
}

/* Whatever goes wrong here goes wrong again, and is told, when its size is at hand. */
static int compile_ahead(timing_table *g, size_t i, err *e) {
  while (!pipeline_compiling(&g->pipe, i) && next_ahead(g)) {
    gen_config c = g->configs[g->ahead.config++];
    candidate *x;
    bool found = false;
    int changed;
    if (!adapt_config(g->t, g->ahead.g, &c, &changed) ||
        candidate_new(g->ahead.g, g->compiler, &g->pipe.pool.setting, 0, &c, &x, NULL)) {
      continue;
    }
    x->ahead = true;
    const int rc = candidate_from_db(x, g->db, g->pipe.m.info.format, &found, e);
    if (rc || found || compiling(g, x->key)) {
      candidate_free(x);
      TRY(rc);
    } else {
      TRY(pipeline_compile(&g->pipe, i, x, e));
    }
  }
  return 0;
}

/* ---- measuring ------------------------------------------------------------------------------ */

static int feed_measurer(timing_table *g, err *e) {
  if (g->pipe.measuring || !g->pipe.ready.n) {
    return 0;
  }
  if (strcmp(str_text(&g->pipe.m.problem), str_text(&g->problem)) != 0) {
    TRY(measurer_problem(&g->pipe.m, str_text(&g->problem), e));
  }
  return pipeline_measure(&g->pipe, candidate_pop(&g->pipe.ready),
                          isfinite(g->best) ? HOPELESS * g->best : 0, 0, e);
}

static int next(void *self, const measured *m, err *e) {
  timing_table *g = self;
  if (m->status == DB_OK) {
    g->best = fmin(g->best, m->times.median);
  }
  return g->o.stop && *g->o.stop ? 0 : feed_measurer(g, e);
}

static bool in_flight(const timing_table *g) {
  bool any = g->next < g->n_variants || g->pipe.ready.n || g->pipe.measuring;
  for (size_t i = 0; i < g->pipe.pool.n; i++) {
    any = any || (pipeline_compiling(&g->pipe, i) && !pipeline_compiling(&g->pipe, i)->ahead);
  }
  return any;
}

static int measure_all(timing_table *g, err *e) {
  int answers;
  double waited = 0;
  while (in_flight(g)) {
    if (g->o.stop && *g->o.stop) {
      return err_set(e, ERR_INTERRUPTED,
                     "interrupted; %llu measurements are stored, the same command goes on",
                     (unsigned long long)g->n_measured);
    }
    for (size_t i = 0; i < g->pipe.pool.n; i++) {
      TRY(feed_compiler(g, i, e));
    }
    TRY(feed_measurer(g, e));
    for (size_t i = 0; i < g->pipe.pool.n && in_flight(g); i++) {
      TRY(compile_ahead(g, i, e));
    }
    if (in_flight(g)) {
      TRY(pipeline_wait(&g->pipe, POLL_MS, &answers, &waited, e));
    }
  }
  return 0;
}

/* ---- one size ------------------------------------------------------------------------------- */

/* The variant of this configuration; SIZE_MAX when none fits. Several may be adapted to one. */
static size_t variant_of(timing_table *g, const gen_config *config) {
  gen_config c = *config;
  int changed;
  if (!adapt_config(g->t, g->g, &c, &changed)) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < g->n_variants; i++) {
    if (!memcmp(g->variants[i].config.index, c.index, g->t->n_params * sizeof *c.index)) {
      return i;
    }
  }
  variant *v = &g->variants[g->n_variants];
  *v = (variant){.config = c, .sec = INFINITY};
  model_work_of(g->g, g->t, &c, &v->work);
  return g->n_variants++;
}

static void take_known(timing_table *g, const db_result *r) {
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

static int open_size(timing_table *g, err *e) {
  const gen_problem *p = &g->sizes->p[g->size];
  gen_number numbers[RT_NUMBERS];
  close_size(g);
  str_reset(&g->problem);
  gen_problem_text(g->t, p, &g->problem);
  rt_numbers(&g->pipe.m.info, numbers);
  g->n_variants = g->next = 0;
  g->best = INFINITY;
  g->variants = ARENA_ARRAY(&g->memory, variant, g->n_configs + 1);
  return g->variants ? gen_instance_new(g->t, p, numbers, RT_NUMBERS, &g->g, e) : no_room(e);
}

typedef struct column { /* of the table */
  double *sec;
  model_work *work;
  size_t stride;
} column;

static void fill_column(const timing_table *g, const size_t *which, const column *out) {
  for (size_t i = 0; i < g->n_configs; i++) {
    const variant none = {.sec = INFINITY};
    const variant *v = which[i] == SIZE_MAX ? &none : &g->variants[which[i]];
    out->sec[i * out->stride] = v->sec;
    out->work[i * out->stride] = v->work;
  }
}

static int time_size(timing_table *g, const column *out, err *e) {
  db_result *rows;
  size_t n;
  TRY(open_size(g, e));
  size_t *which = ARENA_ARRAY(&g->memory, size_t, g->n_configs + 1);
  if (!which) {
    return no_room(e);
  }
  for (size_t i = 0; i < g->n_configs; i++) {
    which[i] = variant_of(g, &g->configs[i]);
  }
  TRY(db_results(g->db, g->pipe.template_id, g->pipe.device_id, str_text(&g->problem), &g->memory,
                 &rows, &n, e));
  for (size_t i = 0; i < n; i++) {
    take_known(g, &rows[i]);
  }
  TRY(measure_all(g, e));
  fill_column(g, which, out);
  return 0;
}

/* A size that can't be had at all, for want of memory say, costs its column. */
static bool is_of_size(int rc) {
  return rc == ERR_NOMEM || rc == ERR_LIMIT || rc == ERR_LAUNCH || rc == ERR_TEMPLATE ||
         rc == ERR_USAGE;
}

static int time_column(timing_table *g, const column *out, err *e) {
  err why = {0};
  int rc = time_size(g, out, &why);
  if (rc && !is_of_size(rc)) {
    return err_at(e, rc, why.place, "%s", why.message);
  }
  for (size_t i = 0; rc && i < g->n_configs; i++) {
    out->sec[i * out->stride] = INFINITY;
    out->work[i * out->stride] = (model_work){0};
  }
  if (rc) {
    pipeline_drop(&g->pipe);
    str_reset(&g->pipe.m.problem);
    TRY(measurer_restart(&g->pipe.m, e));
  }
  if (g->o.report) {
    g->o.report(g->o.report_self, &(timing_progress){.problem = str_text(&g->problem),
                                                     .i = g->size + 1,
                                                     .n = g->sizes->n,
                                                     .measured = g->n_measured,
                                                     .why = rc ? why.message : NULL});
  }
  return 0;
}

int timing_table_fill(timing_table *g, const gen_config *configs, size_t n_configs,
                      const sizes *list, double budget, size_t stride, double *sec,
                      model_work *work, size_t *n_done, err *e) {
  const double started = now_sec();
  int rc = 0;
  g->configs = configs;
  g->n_configs = n_configs;
  g->sizes = list;
  skip_to(g, 0);
  for (*n_done = 0; !rc && *n_done < list->n; ++*n_done) {
    if (budget > 0 && now_sec() - started > budget) {
      break;
    }
    g->size = *n_done;
    rc = time_column(g, &(column){.sec = sec + *n_done, .work = work + *n_done, .stride = stride},
                     e);
  }
  pipeline_drop(&g->pipe);
  close_size(g);
  return rc;
}
