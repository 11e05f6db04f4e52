#include "fit_model.h"

#include <math.h>
#include <string.h>

enum { COSTS = CHOOSER_COSTS, FIT_ROUNDS = 300, ROWS_LEAST = 8, ROWS_MOST = CHOOSER_SIZES };

/* Numbers of blocks that one multiprocessor may hold at a time; the fit takes the best. The cubin's
 * registers would tell, but the adapted variants of a configuration differ in them. */
static const double AT_ONCE[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

/* The noise of a time: a logarithm for clocks and what the distances leave out, and seconds for
 * launches, which a host busy with compilers delays now and then. */
static const double NOISE = 0.065, HELD_UP = 3e-7;

/* A time that is longer by this many deviations than the other sizes say was delayed by more: a
 * launch that waits for the host takes 50 us for 5. It is left out, since it would spoil what is
 * expected of its neighbours; at most this share of the sizes are. */
static const double FAR_OFF = 5, FAR_OFF_MOST = 0.05;

/* The host delays no launch that takes longer than this: such a time is kept. */
static const double HELD_UP_MOST = 2e-5;

typedef struct fitter {
  const gen_template *t;
  chooser_fields fields;
  const fit_sample *rows;
  const float *apart;
  size_t n;
  model_fit fit;

  /* the rows that were measured */
  size_t *row, n_measured; /* which */
  uint32_t *variant;
  chooser_load *load;
  double *off; /* log(measured / sum of costs) */
  bool *held_up;

  model_variant *variants;
  size_t n_variants;
} fitter;

static bool is_measured(const fit_sample *r) {
  return r->work.amount.blocks > 0 && isfinite(r->sec) && r->sec > 0;
}

static double dot(const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < COSTS; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* ---- non-negative least squares of the relative error, by coordinates ---------------------- */

typedef struct normal { /* equations */
  double m[COSTS][COSTS], v[COSTS];
} normal;

static normal normal_of(const fitter *f, const chooser_costs *at) {
  normal q = {0};
  for (size_t i = 0; i < f->n_measured; i++) {
    const fit_sample *r = &f->rows[f->row[i]];
    double x[COSTS];
    chooser_cost_terms(&f->fields, at, r->values, &r->work.amount, x);
    for (size_t a = 0; a < COSTS; a++) {
      x[a] /= r->sec;
    }
    for (size_t a = 0; a < COSTS; a++) {
      q.v[a] += x[a];
      for (size_t b = 0; b < COSTS; b++) {
        q.m[a][b] += x[a] * x[b];
      }
    }
  }
  return q;
}

static void solve(const normal *q, double cost[COSTS]) {
  for (int round = 0; round < FIT_ROUNDS; round++) {
    for (size_t a = 0; a < COSTS; a++) {
      if (q->m[a][a] > 0) {
        cost[a] = fmax(0, cost[a] + (q->v[a] - dot(q->m[a], cost)) / q->m[a][a]);
      }
    }
  }
}

/* The sum of squared relative errors, less the number of rows. */
static double misfit(const normal *q, const double cost[COSTS]) {
  double sum = 0;
  for (size_t a = 0; a < COSTS; a++) {
    sum += cost[a] * (dot(q->m[a], cost) - 2 * q->v[a]);
  }
  return sum;
}

static void fit_costs(fitter *f, double sms) {
  double least = INFINITY;
  for (size_t i = 0; i < sizeof AT_ONCE / sizeof *AT_ONCE; i++) {
    chooser_costs at = {.sms = sms, .at_once = AT_ONCE[i]};
    const normal q = normal_of(f, &at);
    solve(&q, at.cost);
    const double off = misfit(&q, at.cost);
    if (off < least) {
      least = off;
      f->fit.chooser.costs = at;
    }
  }
}

/* ---- what is known of each row -------------------------------------------------------------- */

static uint32_t variant_of(fitter *f, const model_work *w) {
  size_t i = 0;
  while (i < f->n_variants && !gen_config_equal(f->t, &f->variants[i].config, &w->config)) {
    i++;
  }
  if (i == f->n_variants) {
    f->variants[f->n_variants++] =
        (model_variant){.config = w->config, .threads = w->amount.threads};
  }
  f->variants[i].n++;
  return (uint32_t)i;
}

static void look_at_rows(fitter *f) {
  for (size_t i = 0; i < f->n_measured; i++) {
    const fit_sample *r = &f->rows[f->row[i]];
    f->variant[i] = variant_of(f, &r->work);
    f->load[i] =
        chooser_load_of(&f->fit.chooser.costs, r->work.amount.flops, r->work.amount.blocks);
    f->off[i] = log(
        r->sec / chooser_cost_sum(&f->fields, &f->fit.chooser.costs, r->values, &r->work.amount));
  }
}

/* ---- the Gaussian process ------------------------------------------------------------------- */

static double noise_of(const fitter *f, size_t i) {
  const double held_up = HELD_UP / f->rows[f->row[i]].sec;
  return NOISE * NOISE + held_up * held_up;
}

static void fill(const fitter *f, const double *distances, double *c) {
  for (size_t i = 0; i < f->n_measured; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double apart = f->apart[f->row[i] * f->n + f->row[j]] +
                           distances[f->variant[i] * f->n_variants + f->variant[j]] +
                           chooser_load_distance(&f->load[i], &f->load[j]);
      c[i * f->n_measured + j] = chooser_covariance(apart) + (i == j ? noise_of(f, i) : 0);
    }
  }
}

static double product(const double *a, const double *b, size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

/* In place: the lower triangle becomes its Cholesky factor. The noise keeps it definite. */
static void factor(double *c, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      const double v = c[i * n + j] - product(&c[i * n], &c[j * n], j);
      c[i * n + j] = i == j ? sqrt(v) : v / c[j * n + j];
    }
  }
}

/* In place: the lower triangle becomes its inverse, transposed into the upper one: row i has what
 * was column i, from the diagonal on. */
static void invert(double *c, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double *x = &c[i * n];
    const double first = 1 / x[i];
    for (size_t k = i + 1; k < n; k++) {
      const double v = product(&c[k * n + i + 1], &x[i + 1], k - i - 1);
      x[k] = -(c[k * n + i] * first + v) / c[k * n + k];
    }
    x[i] = first;
  }
}

/* weight := C^-1 off, diagonal := that of C^-1; c holds the inverse factor */
static void weigh(const fitter *f, const double *c, double *weight, double *diagonal) {
  const size_t n = f->n_measured;
  for (size_t k = 0; k < n; k++) {
    double v = 0;
    for (size_t i = 0; i <= k; i++) {
      v += c[i * n + k] * f->off[i];
    }
    for (size_t i = 0; i <= k; i++) {
      weight[i] += c[i * n + k] * v;
      diagonal[i] += c[i * n + k] * c[i * n + k];
    }
  }
}

/* ---- sizes that were held up ------------------------------------------------------------------
 */

typedef struct posterior { /* of the rows that are not left out */
  const double *inverse;   /* factor, as invert has it */
  size_t n;
  double *weight, *diagonal;
  const double *sec;  /* as measured */
  double *longer;     /* than the other sizes say, a logarithm; of those left out */
  double *columns;    /* [left out * n + row] of C^-1 as it was before */
  size_t *out, n_out; /* left out, in order */
} posterior;

static bool is_out(const posterior *p, size_t i) {
  size_t k = 0;
  while (k < p->n_out && p->out[k] != i) {
    k++;
  }
  return k < p->n_out;
}

static size_t longest(const posterior *p, double *deviations) {
  size_t most = 0;
  *deviations = 0;
  for (size_t i = 0; i < p->n; i++) {
    const double z = p->weight[i] / sqrt(p->diagonal[i]);
    const double expected = p->sec[i] * exp(-p->weight[i] / p->diagonal[i]);
    if (z > *deviations && expected < HELD_UP_MOST && !is_out(p, i)) {
      *deviations = z;
      most = i;
    }
  }
  return most;
}

/* Of C^-1, without those that are left out already. */
static void column(const posterior *p, size_t i, double *out) {
  for (size_t a = 0; a < p->n; a++) {
    const size_t from = a > i ? a : i;
    out[a] = product(&p->inverse[a * p->n + from], &p->inverse[i * p->n + from], p->n - from);
  }
  for (size_t k = 0; k < p->n_out; k++) {
    const double *before = p->columns + k * p->n, times = before[i] / before[p->out[k]];
    for (size_t a = 0; a < p->n; a++) {
      out[a] -= times * before[a];
    }
  }
}

/* The inverse without a row and its column, in n^2 steps: (A^-1) - v v^T / v_i. */
static void leave_out(posterior *p, size_t i) {
  double *v = p->columns + p->n_out * p->n;
  column(p, i, v);
  const double times = p->weight[i] / v[i];
  p->longer[i] = times;
  for (size_t a = 0; a < p->n; a++) {
    p->weight[a] -= times * v[a];
    p->diagonal[a] -= v[a] * v[a] / v[i];
  }
  p->weight[i] = 0;
  p->out[p->n_out++] = i;
}

static bool leave_out_far_off(fitter *f, const double *inverse, double *weight, double *diagonal,
                              double *longer, arena *scratch) {
  const size_t n = f->n_measured, most = (size_t)(FAR_OFF_MOST * (double)n);
  posterior p = {
      .inverse = inverse, .n = n, .weight = weight, .diagonal = diagonal, .longer = longer};
  double deviations;
  p.columns = ARENA_ARRAY(scratch, double, most *n + 1);
  p.out = ARENA_ARRAY(scratch, size_t, most + 1);
  double *sec = ARENA_ARRAY(scratch, double, n + 1);
  if (!p.columns || !p.out || !sec) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    sec[i] = f->rows[f->row[i]].sec;
  }
  p.sec = sec;
  for (size_t i = longest(&p, &deviations); deviations > FAR_OFF && p.n_out < most;
       i = longest(&p, &deviations)) {
    leave_out(&p, i);
    f->held_up[f->row[i]] = true;
  }
  for (size_t i = 0; i < n; i++) {
    longer[i] = f->held_up[f->row[i]] ? longer[i] : weight[i] / diagonal[i];
  }
  return true;
}

/* ---- the model ------------------------------------------------------------------------------ */

static bool tell(fitter *f, const double *weight, arena *a) {
  for (size_t i = 0; i < f->n_variants; i++) {
    f->variants[i].samples = ARENA_ARRAY(a, model_sample, f->variants[i].n + 1);
    f->variants[i].n = 0;
    if (!f->variants[i].samples) {
      return false;
    }
  }
  for (size_t i = 0; i < f->n_measured; i++) {
    model_variant *v = &f->variants[f->variant[i]];
    model_sample *samples = (model_sample *)v->samples;
    if (f->held_up[f->row[i]]) {
      continue;
    }
    samples[v->n++] =
        model_sample_new(f->row[i], f->rows[f->row[i]].work.amount.blocks, weight[i], &f->load[i]);
  }
  f->fit.variants = f->variants;
  f->fit.n_variants = f->n_variants;
  return true;
}

static void set_unseen(const fitter *f, const double *longer, double *unseen) {
  for (size_t i = 0; i < f->n; i++) {
    unseen[i] = INFINITY;
  }
  for (size_t i = 0; i < f->n_measured; i++) {
    unseen[f->row[i]] = f->rows[f->row[i]].sec * exp(-longer[i]);
  }
}

static bool learn(fitter *f, arena *scratch, arena *a, double *unseen) {
  const size_t n = f->n_measured;
  double *c = ARENA_ARRAY(scratch, double, n *n);
  double *weight = ARENA_ARRAY(scratch, double, n);
  double *diagonal = ARENA_ARRAY(scratch, double, n), *longer = ARENA_ARRAY(scratch, double, n);
  double *distances = ARENA_ARRAY(scratch, double, f->n_variants * f->n_variants);
  if (!c || !weight || !diagonal || !longer || !distances) {
    return false;
  }
  for (size_t i = 0; i < f->n_variants; i++) {
    for (size_t j = 0; j < f->n_variants; j++) {
      distances[i * f->n_variants + j] =
          model_variant_distance(f->t, &f->variants[i], &f->variants[j]);
    }
  }
  fill(f, distances, c);
  factor(c, n);
  invert(c, n);
  weigh(f, c, weight, diagonal);
  if (!leave_out_far_off(f, c, weight, diagonal, longer, scratch)) {
    return false;
  }
  set_unseen(f, longer, unseen);
  return tell(f, weight, a) && !model_fit_rows(f->t, &f->fit, a, NULL);
}

/* At most ROWS_MOST; sizes come in no order. */
static void find_measured(fitter *f) {
  for (size_t i = 0; i < f->n && f->n_measured < ROWS_MOST; i++) {
    if (is_measured(&f->rows[i])) {
      f->row[f->n_measured++] = i;
    }
  }
}

static int fit(fitter *f, double sms, arena *scratch, arena *a, const fitted_model **out, err *e) {
  fitted_model *m = ARENA_ARRAY(a, fitted_model, 1);
  double *unseen = ARENA_ARRAY(a, double, f->n + 1);
  f->row = ARENA_ARRAY(scratch, size_t, f->n + 1);
  f->variant = ARENA_ARRAY(scratch, uint32_t, f->n + 1);
  f->load = ARENA_ARRAY(scratch, chooser_load, f->n + 1);
  f->off = ARENA_ARRAY(scratch, double, f->n + 1);
  f->variants = ARENA_ARRAY(a, model_variant, f->n + 1);
  f->held_up = ARENA_ARRAY(a, bool, f->n + 1);
  TRY(m && unseen && f->held_up && f->row && f->variant && f->load && f->off && f->variants
          ? 0
          : err_nomem(e));
  find_measured(f);
  if (f->n_measured < ROWS_LEAST) {
    return 0;
  }
  fit_costs(f, sms);
  look_at_rows(f);
  if (!learn(f, scratch, a, unseen)) {
    return err_nomem(e);
  }
  *m = (fitted_model){.fit = f->fit, .unseen = unseen, .held_up = f->held_up};
  *out = m;
  return 0;
}

int fit_model(const gen_template *t, const fit_sample *rows, size_t n, const float *apart,
              double sms, arena *a, const fitted_model **out, err *e) {
  fitter f = {.t = t, .fields = model_fields(t), .rows = rows, .apart = apart, .n = n};
  auto_arena scratch = {0};
  *out = NULL;
  return fit(&f, sms, &scratch, a, out, e);
}

/* ---- doubt ---------------------------------------------------------------------------------- */

static double most_alike(const model_variant *f, double apart, const chooser_load *load,
                         const float *sizes_apart) {
  double most = 0;
  for (size_t i = 0; i < f->n; i++) {
    const model_sample *x = &f->samples[i];
    const chooser_load there = {.length = (double)x->length, .tail = (double)x->tail};
    most = fmax(most, chooser_covariance(apart + sizes_apart[x->size] +
                                         chooser_load_distance(load, &there)));
  }
  return most;
}

/* The exact variance, to which all sizes contribute, takes a square matrix for every configuration
 * and chooses no better. */
double fitted_model_doubt(const gen_template *t, const fitted_model *m, const model_work *work,
                          const float *apart) {
  const double all = chooser_covariance(0);
  const chooser_load load =
      chooser_load_of(&m->fit.chooser.costs, work->amount.flops, work->amount.blocks);
  const model_variant here = {.config = work->config, .threads = work->amount.threads};
  double most = 0;
  for (size_t i = 0; i < m->fit.n_variants; i++) {
    const model_variant *f = &m->fit.variants[i];
    most = fmax(most, most_alike(f, model_variant_distance(t, &here, f), &load, apart));
  }
  return sqrt(fmax(0, all - most * most / all));
}
