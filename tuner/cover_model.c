#include "cover_model.h"

#include <math.h>
#include <string.h>

enum { COSTS = SERVE_MODEL_COSTS, FIT_ROUNDS = 300, ROWS_LEAST = 8 };

/* Blocks that one multiprocessor is tried to hold at a time; the cubin's registers would say, but
 * sizes share a configuration and not its adapted forms. */
static const double AT_ONCE[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

struct cover_model {
  const gen_template *t;
  const cover_known *rows;
  size_t n;
  serve_costs costs;
  double *off; /* per row: log(measured / sum of costs) */
};

static bool is_measured(const cover_known *r) {
  return r->work.blocks > 0 && isfinite(r->sec) && r->sec > 0;
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

static normal normal_of(const cover_model *m, const serve_costs *at) {
  normal q = {0};
  for (size_t i = 0; i < m->n; i++) {
    double x[COSTS];
    if (!is_measured(&m->rows[i])) {
      continue;
    }
    serve_costs_terms(m->t, at, m->rows[i].values, &m->rows[i].work, x);
    for (size_t a = 0; a < COSTS; a++) {
      x[a] /= m->rows[i].sec;
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

static void fit(cover_model *m, double sms) {
  double least = INFINITY;
  for (size_t i = 0; i < sizeof AT_ONCE / sizeof *AT_ONCE; i++) {
    serve_costs at = {.sms = sms, .at_once = AT_ONCE[i]};
    const normal q = normal_of(m, &at);
    solve(&q, at.cost);
    const double off = misfit(&q, at.cost);
    if (off < least) {
      least = off;
      m->costs = at;
    }
  }
}

/* ---- using it ------------------------------------------------------------------------------- */

double cover_model_sec(const cover_model *m, const int64_t *values, const serve_work *work,
                       const double *near, double *doubt) {
  serve_near sum = {0};
  *doubt = 1;
  if (!(work->blocks > 0)) {
    return INFINITY;
  }
  for (size_t i = 0; i < m->n; i++) {
    if (is_measured(&m->rows[i])) {
      serve_near_add(&sum, near[i], work->variant == m->rows[i].work.variant, m->off[i]);
    }
  }
  *doubt = serve_near_doubt(&sum);
  return serve_costs_sum(m->t, &m->costs, values, work) * serve_near_factor(&sum);
}

const serve_costs *cover_model_costs(const cover_model *m) {
  return &m->costs;
}

double cover_model_off(const cover_model *m, size_t i) {
  return is_measured(&m->rows[i]) ? m->off[i] : NAN;
}

int cover_model_fit(const gen_template *t, const cover_known *rows, size_t n, double sms, arena *a,
                    const cover_model **out, err *e) {
  cover_model *m = ARENA_ARRAY(a, cover_model, 1);
  double *off = ARENA_ARRAY(a, double, n + 1);
  size_t n_measured = 0;
  *out = NULL;
  if (!m || !off) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < n; i++) {
    n_measured += is_measured(&rows[i]);
  }
  if (n_measured < ROWS_LEAST) {
    return 0;
  }
  *m = (cover_model){.t = t, .rows = rows, .n = n, .off = off};
  fit(m, sms);
  for (size_t i = 0; i < n; i++) {
    off[i] = is_measured(&rows[i])
                 ? log(rows[i].sec / serve_costs_sum(t, &m->costs, rows[i].values, &rows[i].work))
                 : 0;
  }
  *out = m;
  return 0;
}
