#include "cover_model.h"

#include <math.h>
#include <string.h>

enum { COSTS = 24, FIT_ROUNDS = 300, ROWS_LEAST = 8 };

/* Blocks that one multiprocessor is tried to hold at a time; the cubin's registers would say, but
 * sizes share a configuration and not its adapted forms. */
static const double AT_ONCE[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

/* Neighbours count by their distance in octaves of the fields; the sum of costs itself counts as
 * much as this many of them right beside. Judged on sizes of sgemm left out, on an H200. */
static const double NEAR = 1.5, PRIOR = 0.1, OTHER_CHOICE = 2, OTHER_VARIANT = 1;

struct cover_model {
  const gen_template *t;
  const cover_known *rows;
  size_t n;
  double sms, at_once;
  double cost[COSTS];
  double *off; /* per row: log(measured / sum of costs) */
};

static bool is_measured(const cover_known *r) {
  return r->work.blocks > 0 && isfinite(r->sec) && r->sec > 0;
}

/* The fields stand for the length of one block's work, which the operations per block tell only
 * where no tile hangs over an edge. */
static void regressors(const cover_model *m, const int64_t *values, const cover_work *w,
                       double held, double x[COSTS]) {
  const double one = ceil(w->blocks / m->sms), rounds = ceil(w->blocks / held);
  memset(x, 0, COSTS * sizeof *x);
  x[0] = w->launches;
  x[1] = one;
  x[2] = rounds;
  x[3] = one * (w->flops / w->blocks);
  x[4] = rounds * (w->flops / w->blocks);
  x[5] = w->flops;
  x[6] = w->bytes;
  x[7] = w->blocks;
  size_t n = 8;
  for (size_t f = 0; f < m->t->n_fields && n + 1 < COSTS; f++) {
    if (!m->t->fields[f].names) {
      x[n++] = one * (double)values[f];
      x[n++] = rounds * (double)values[f];
    }
  }
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

static normal normal_of(const cover_model *m, double held) {
  normal q = {0};
  for (size_t i = 0; i < m->n; i++) {
    double x[COSTS];
    if (!is_measured(&m->rows[i])) {
      continue;
    }
    regressors(m, m->rows[i].values, &m->rows[i].work, held, x);
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
  memset(cost, 0, COSTS * sizeof *cost);
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

static void fit(cover_model *m) {
  double least = INFINITY;
  for (size_t i = 0; i < sizeof AT_ONCE / sizeof *AT_ONCE; i++) {
    double cost[COSTS];
    const normal q = normal_of(m, AT_ONCE[i] * m->sms);
    solve(&q, cost);
    const double off = misfit(&q, cost);
    if (off < least) {
      least = off;
      m->at_once = AT_ONCE[i];
      memcpy(m->cost, cost, sizeof cost);
    }
  }
}

/* ---- what neighbours say -------------------------------------------------------------------- */

static double sum_of_costs(const cover_model *m, const int64_t *values, const cover_work *w) {
  double x[COSTS];
  regressors(m, values, w, m->at_once * m->sms, x);
  return dot(m->cost, x);
}

static double distance2(const cover_model *m, const int64_t *values, const cover_work *work,
                        const cover_known *row) {
  double sum = work->variant == row->work.variant ? 0 : OTHER_VARIANT * OTHER_VARIANT;
  for (size_t f = 0; f < m->t->n_fields; f++) {
    const int64_t a = values[f], b = row->values[f];
    if (m->t->fields[f].names) {
      sum += a == b ? 0 : OTHER_CHOICE * OTHER_CHOICE;
    } else {
      const double d = log2((double)(a > 1 ? a : 1) / (double)(b > 1 ? b : 1));
      sum += d * d;
    }
  }
  return sum;
}

double cover_model_sec(const cover_model *m, const int64_t *values, const cover_work *work) {
  double off = 0, weights = PRIOR;
  if (!(work->blocks > 0)) {
    return INFINITY;
  }
  for (size_t i = 0; i < m->n; i++) {
    if (is_measured(&m->rows[i])) {
      const double w = exp(-distance2(m, values, work, &m->rows[i]) / (2 * NEAR * NEAR));
      off += w * m->off[i];
      weights += w;
    }
  }
  return sum_of_costs(m, values, work) * exp(off / weights);
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
  *m = (cover_model){.t = t, .rows = rows, .n = n, .sms = sms, .off = off};
  fit(m);
  for (size_t i = 0; i < n; i++) {
    off[i] = is_measured(&rows[i])
                 ? log(rows[i].sec / sum_of_costs(m, rows[i].values, &rows[i].work))
                 : 0;
  }
  *out = m;
  return 0;
}
