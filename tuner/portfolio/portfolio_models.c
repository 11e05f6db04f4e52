#include "portfolio_models.h"

#include <math.h>
#include <string.h>

#include "threads.h"

static const double LOST_MOST = PORTFOLIO_LOST_MOST;

static const int64_t *values_of(const portfolio_models *m, size_t size) {
  return m->t->values + size * m->t->n_fields;
}

/* ---- asking --------------------------------------------------------------------------------- */

static const model_work *work_of(const portfolio_models *m, size_t k, size_t size) {
  return &m->t->work[m->chosen[k] * (m->t->n_sizes + m->t->n_drawn) + size];
}

/* distances: of this size, from each measured one */
static double model_sec(const portfolio_models *m, size_t k, size_t size, const float *distances) {
  return m->models[k] ? model_fit_sec(m->template, &m->models[k]->fit, values_of(m, size),
                                      work_of(m, k, size), distances)
                      : INFINITY;
}

static void measure_distances(const portfolio_models *m, size_t size, float *distances) {
  double here[GEN_MAX_FIELDS];
  const chooser_fields fields = model_fields(m->template);
  chooser_octaves(&fields, values_of(m, size), here);
  for (size_t i = 0; i < m->t->n_sizes; i++) {
    distances[i] = (float)chooser_field_distance(&fields, here, m->octaves + i * m->t->n_fields);
  }
}

/* From seconds to what is lost against the best. */
static void relate(double *lost, size_t n) {
  double least = INFINITY;
  for (size_t k = 0; k < n; k++) {
    least = fmin(least, lost[k]);
  }
  for (size_t k = 0; k < n; k++) {
    const double x = log(lost[k] / least);
    lost[k] = x < LOST_MOST ? x : LOST_MOST; /* also where nothing is finite */
  }
}

static void foresee_one(void *self, size_t i) {
  portfolio_models *m = self;
  const size_t size = m->t->n_sizes + i;
  double *lost = m->lost + size * m->n_configs;
  float distances[PORTFOLIO_SIZES];
  measure_distances(m, size, distances);
  for (size_t k = 0; k < m->n_configs; k++) {
    lost[k] = model_sec(m, k, size, distances);
  }
  relate(lost, m->n_configs);
}

void portfolio_models_foresee(portfolio_models *m) {
  threads_each(m->t->n_drawn, threads_cores(), foresee_one, m);
}

bool portfolio_models_any(const portfolio_models *m) {
  for (size_t k = 0; m->distances && k < m->n_configs; k++) {
    if (m->models[k]) {
      return true;
    }
  }
  return false;
}

/* ---- fitting -------------------------------------------------------------------------------- */

/* A configuration that loses far more than this at a size is not taken there, and its model need
 * not know by how much: the model is given one in TOLD_BEYOND of these sizes, and those where it
 * would be believed nearly as fast as the fastest. Of 2,639 sizes 24 configurations of sgemm so
 * have two thirds of the rows, and at 600 fresh sizes on an H200 the mean loss fell from 1.4 to 1.3
 * %. Of fewer sizes than TOLD_ALL the models are given all. */
static const double TOLD_MOST = 0.5, BELIEVED_MOST = 0.25;
enum { TOLD_BEYOND = 4, TOLD_ALL = 400, FITS_MOST = 4 };

static bool is_told(const portfolio_models *m, size_t k, size_t size, double sec, double least) {
  return m->t->n_sizes < TOLD_ALL || sec <= (1 + TOLD_MOST) * least ||
         (7 * size + 3 * k) % TOLD_BEYOND == 0;
}

static fit_sample *measurements(const portfolio_models *m) {
  const portfolio_table *t = m->t;
  fit_sample *out = ARENA_ARRAY(m->a, fit_sample, t->n_sizes * m->n_configs + 1);
  for (size_t j = 0; out && t->work && j < t->n_sizes; j++) {
    const double least = portfolio_least(t, j);
    for (size_t k = 0; k < m->n_configs; k++) {
      const double sec = portfolio_sec(t, m->chosen[k], j);
      out[k * t->n_sizes + j] = (fit_sample){.values = t->values + j * t->n_fields,
                                             .work = *work_of(m, k, j),
                                             .sec = is_told(m, k, j, sec, least) ? sec : INFINITY};
    }
  }
  return out;
}

/* Between the measured sizes. */
static bool find_distances(portfolio_models *m) {
  const size_t ns = m->t->n_sizes, nf = m->t->n_fields;
  double *octaves = ARENA_ARRAY(m->a, double, ns *nf + 1);
  float *distances = ARENA_ARRAY(m->a, float, ns *ns + 1);
  const chooser_fields fields = model_fields(m->template);
  for (size_t j = 0; octaves && j < ns; j++) {
    chooser_octaves(&fields, values_of(m, j), octaves + j * nf);
  }
  m->octaves = octaves;
  for (size_t j = 0; octaves && distances && j < ns; j++) {
    measure_distances(m, j, distances + j * ns);
  }
  m->distances = distances;
  return octaves && distances;
}

typedef struct fitting { /* the models, by all threads */
  portfolio_models *m;
  fit_sample *known;
  const fitted_model *models[PORTFOLIO_CONFIGS];
  arena memory[PORTFOLIO_CONFIGS];
  int rc[PORTFOLIO_CONFIGS];
} fitting;

/* Give the model the sizes where the configuration is slow, and it would be believed fast. */
static bool tell_mistakes(const fitting *f, size_t k) {
  const portfolio_models *m = f->m;
  const size_t ns = m->t->n_sizes;
  bool any = false;
  for (size_t j = 0; j < ns; j++) {
    fit_sample *known = &f->known[k * ns + j];
    const double sec = portfolio_sec(m->t, m->chosen[k], j);
    if (isfinite(sec) && !isfinite(known->sec) &&
        model_fit_sec(m->template, &f->models[k]->fit, known->values, &known->work,
                      m->distances + j * ns) < (1 + BELIEVED_MOST) * portfolio_least(m->t, j)) {
      known->sec = sec;
      any = true;
    }
  }
  return any;
}

static void fit_one(void *self, size_t k) {
  fitting *f = self;
  const portfolio_models *m = f->m;
  const size_t ns = m->t->n_sizes;
  for (int i = 0; i < FITS_MOST; i++) {
    arena_clear(&f->memory[k]);
    f->rc[k] = fit_model(m->template, f->known + k * ns, ns, m->distances, m->t->sms, &f->memory[k],
                         &f->models[k], NULL);
    if (f->rc[k] || !f->models[k] || !tell_mistakes(f, k)) {
      break;
    }
  }
}

static int fit_models(portfolio_models *m, fit_sample *known, err *e) {
  fitting *f = ARENA_ARRAY(m->a, fitting, 1);
  int rc = 0;
  if (!f || !find_distances(m)) {
    return err_nomem(e);
  }
  f->m = m;
  f->known = known;
  threads_each(m->n_configs, threads_cores(), fit_one, f);
  for (size_t k = 0; k < m->n_configs; k++) {
    arena_take(m->a, &f->memory[k]);
    rc = f->rc[k] ? f->rc[k] : rc;
  }
  m->models = f->models;
  return rc ? err_nomem(e) : 0;
}

/* Where the measurement was held up, what the model says. */
static double believed(const portfolio_models *m, size_t k, size_t size) {
  const fitted_model *x = m->models ? m->models[k] : NULL;
  return x && x->held_up[size] ? x->unseen[size] : portfolio_sec(m->t, m->chosen[k], size);
}

static double *losses(const portfolio_models *m) {
  const portfolio_table *t = m->t;
  const size_t n = m->n_configs;
  double *out = ARENA_ARRAY(m->a, double, (t->n_sizes + t->n_drawn) * n + 1);
  for (size_t j = 0; out && j < t->n_sizes; j++) {
    const double least = portfolio_least(t, j);
    for (size_t k = 0; k < n; k++) {
      const double x = fmax(0, log(believed(m, k, j) / least));
      out[j * n + k] = x < LOST_MOST ? x : LOST_MOST; /* also where nothing is finite */
    }
  }
  return out;
}

int portfolio_models_new(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                         size_t n, arena *a, portfolio_models *out, err *e) {
  *out = (portfolio_models){.template = t, .t = table, .n_configs = n, .chosen = chosen, .a = a};
  fit_sample *known = measurements(out);
  out->known = known;
  TRY(known ? 0 : err_nomem(e));
  TRY(table->work ? fit_models(out, known, e) : 0);
  out->lost = losses(out);
  return out->lost ? 0 : err_nomem(e);
}

/* Of the first configuration that fits there. */
static double flops_at(const portfolio_models *m, size_t size) {
  double flops = 0;
  for (size_t k = 0; k < m->n_configs && !(flops > 0); k++) {
    flops = m->known[k * m->t->n_sizes + size].work.amount.flops;
  }
  return flops;
}

int portfolio_models_put(const portfolio_models *m, portfolio *out, err *e) {
  const size_t ns = m->t->n_sizes;
  model_fit *fits = ARENA_ARRAY(m->a, model_fit, m->n_configs + 1);
  double *flops = ARENA_ARRAY(m->a, double, ns + 1);
  TRY(fits && flops ? 0 : err_nomem(e));
  for (size_t k = 0; k < m->n_configs; k++) {
    const model_fit none = {.chooser.costs = {.sms = m->t->sms, .at_once = 1}};
    fits[k] = m->models[k] ? m->models[k]->fit : none;
  }
  for (size_t j = 0; j < ns; j++) {
    flops[j] = flops_at(m, j);
  }
  out->model = (portfolio_model){.n_configs = m->n_configs,
                                 .sizes.n = ns,
                                 .fits = fits,
                                 .values = m->t->values,
                                 .flops = flops};
  return portfolio_model_sizes(m->template, &out->model, m->a, e);
}

/* ---- how well the models pick --------------------------------------------------------------- */

typedef struct foresight { /* what the models say of the measured sizes */
  const portfolio_models *m;
  double *sec; /* [configuration * n_sizes + size]: by a model that has not seen the size */
  bool *in;
  size_t n;
} foresight;

/* A configuration that failed at a size is passed over there. */
static int foresight_new(const portfolio_models *m, foresight *x, err *e) {
  const size_t ns = m->t->n_sizes;
  *x = (foresight){.m = m, .n = m->n_configs};
  x->sec = ARENA_ARRAY(m->a, double, m->n_configs *ns + 1);
  x->in = ARENA_ARRAY(m->a, bool, m->n_configs + 1);
  TRY(x->sec && x->in ? 0 : err_nomem(e));
  memset(x->in, true, m->n_configs);
  for (size_t k = 0; k < m->n_configs; k++) {
    for (size_t j = 0; j < ns; j++) {
      const bool works = isfinite(portfolio_sec(m->t, m->chosen[k], j));
      const bool seen = m->models[k] && isfinite(m->models[k]->unseen[j]);
      x->sec[k * ns + j] = !works ? INFINITY
                           : seen ? m->models[k]->unseen[j]
                                  : model_sec(m, k, j, m->distances + j * ns);
    }
  }
  return 0;
}

/* With the configuration that the models would take. */
static double lost_at(const foresight *x, size_t size) {
  const size_t ns = x->m->t->n_sizes, n = x->m->n_configs;
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < n; k++) {
    const double sec = x->in[k] ? x->sec[k * ns + size] : INFINITY;
    best = isfinite(sec) && (best == SIZE_MAX || sec < x->sec[best * ns + size]) ? k : best;
  }
  return best == SIZE_MAX ? LOST_MOST : x->m->lost[size * n + best];
}

int portfolio_models_unseen(const portfolio_models *m, double *held, err *e) {
  foresight x;
  TRY(foresight_new(m, &x, e));
  for (size_t j = 0; j < m->t->n_sizes; j++) {
    held[j] = lost_at(&x, j);
  }
  return 0;
}

/* ---- fewer ---------------------------------------------------------------------------------- */

/* What a configuration must gain over all sizes, in the measure of lost_in_all: each takes time at
 * every size that is not known, and can be taken by mistake. Of 22 of sgemm on an H200, 16 were
 * left, which lost 0.2 % against the best of the 22 at 1092 other sizes, and 0.5 % less than the 22
 * against the best of their own. */
static const double WORTH = 0.005;

/* The mean over the sizes; large losses count more than in proportion. */
static double lost_in_all(const foresight *x) {
  double sum = 0;
  for (size_t j = 0; j < x->m->t->n_sizes; j++) {
    const double lost = lost_at(x, j);
    sum += lost + 4 * lost * lost;
  }
  return sum / (double)x->m->t->n_sizes;
}

/* The one whose absence costs the least; what is lost without it. */
static double least_missed(foresight *x, size_t *which) {
  double least = INFINITY;
  for (size_t k = 0; k < x->m->n_configs; k++) {
    if (x->in[k]) {
      x->in[k] = false;
      const double lost = lost_in_all(x);
      x->in[k] = true;
      *which = lost < least ? k : *which;
      least = fmin(least, lost);
    }
  }
  return least;
}

static void thin(foresight *x) {
  double least = lost_in_all(x);
  while (x->n > 1) {
    size_t which = 0;
    const double lost = least_missed(x, &which);
    if (lost > least + WORTH) {
      break;
    }
    least = fmin(least, lost);
    x->in[which] = false;
    x->n--;
  }
}

int portfolio_thin(const gen_template *t, const portfolio_table *table, size_t *chosen, size_t *n,
                   arena *a, err *e) {
  portfolio_models m;
  foresight x;
  size_t n_kept = 0;
  if (!table->work) {
    return 0; /* nothing is known of what they do */
  }
  TRY(portfolio_models_new(t, table, chosen, *n, a, &m, e));
  TRY(foresight_new(&m, &x, e));
  thin(&x);
  for (size_t k = 0; k < *n; k++) {
    chosen[n_kept] = chosen[k];
    n_kept += x.in[k];
  }
  *n = n_kept;
  return 0;
}

/* ---- where to measure ----------------------------------------------------------------------- */

/* By how much a time that is expected to be longer by `more`, give or take `doubt`, will be
 * shorter: the expectation over a normal distribution. */
static double expected_gain(double more, double doubt) {
  static const double root2 = 1.4142135623730951, root2pi = 2.5066282746310002;
  const double z = more / doubt;
  return doubt > 0 ? doubt * (exp(-z * z / 2) / root2pi - z * erfc(z / root2) / 2) : 0;
}

typedef struct regretting {
  const portfolio_models *m;
  double *regret;
} regretting;

static void regret_one(void *self, size_t i) {
  const regretting *r = self;
  const portfolio_models *m = r->m;
  const size_t size = m->t->n_sizes + i;
  float distances[PORTFOLIO_SIZES];
  double sec[PORTFOLIO_CONFIGS], doubt[PORTFOLIO_CONFIGS], sum = 0;
  size_t best = 0;
  measure_distances(m, size, distances);
  for (size_t k = 0; k < m->n_configs; k++) {
    sec[k] = model_sec(m, k, size, distances);
    doubt[k] = isfinite(sec[k])
                   ? fitted_model_doubt(m->template, m->models[k], work_of(m, k, size), distances)
                   : 0;
    best = sec[k] < sec[best] ? k : best;
  }
  for (size_t k = 0; k < m->n_configs; k++) {
    if (k != best && isfinite(sec[k])) {
      sum += expected_gain(log(sec[k] / sec[best]), hypot(doubt[k], doubt[best]));
    }
  }
  r->regret[i] = sum;
}

int portfolio_regret(const gen_template *t, const portfolio_table *table, double *regret, err *e) {
  size_t all[PORTFOLIO_CONFIGS];
  portfolio_models m;
  auto_arena a = {0};
  for (size_t k = 0; k < table->n_configs; k++) {
    all[k] = k;
  }
  TRY(portfolio_models_new(t, table, all, table->n_configs, &a, &m, e));
  threads_each(table->n_drawn, threads_cores(), regret_one,
               &(regretting){.m = &m, .regret = regret});
  return 0;
}
