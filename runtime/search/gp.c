#include "gp.h"

#include <math.h>
#include <string.h>

static const double lengths[] = {0.25, 0.5, 1, 2}, noises[] = {1e-4, 1e-2};

/* ---- the kernel ---------------- */

static double distance(const gp *g, const uint16_t *a, const uint16_t *b) {
  double sum = 0;
  for (size_t i = 0; i < g->space->n_params; i++) {
    if (a[i] != b[i]) { /* so n_values is at least 2 */
      double d = ((double)a[i] - b[i]) / (g->space->n_values[i] - 1.0);
      sum += d * d;
    }
  }
  return sqrt(sum);
}

static double kernel(const gp *g, const uint16_t *a, const uint16_t *b) {
  double d = sqrt(5) * distance(g, a, b) / g->length;
  return (1 + d + d * d / 3) * exp(-d);
}

/* ---- fitting ----------------

The lower triangle of `chol` holds the kernel matrix without the noise, which the next noise level
needs again. The upper triangle holds the factor, transposed, so that inner loops run along rows. */

static void fill(gp *g) {
  for (size_t i = 0; i < g->n; i++) {
    for (size_t j = 0; j < i; j++) {
      g->chol[i][j] = kernel(g, g->coordinates[i], g->coordinates[j]);
    }
  }
}

/* to[i] -= by * row[i] */
static inline void subtract(double *restrict to, const double *restrict row, double by, size_t from,
                            size_t n) {
#pragma omp simd
  for (size_t i = from; i < n; i++) {
    to[i] -= by * row[i];
  }
}

/* The Cholesky factor L: L^T becomes the upper triangle. */
static bool factor(gp *g) {
  for (size_t i = 0; i < g->n; i++) {
    double row[GP_MAX];
    memcpy(row, g->chol[i], i * sizeof *row);
    row[i] = 1 + g->noise;
    for (size_t k = 0; k < i; k++) {
      row[k] /= g->chol[k][k];
      subtract(row, g->chol[k], row[k], k + 1, i);
      row[i] -= row[k] * row[k];
      g->chol[k][i] = row[k];
    }
    if (row[i] <= 0) {
      return false;
    }
    g->chol[i][i] = sqrt(row[i]);
  }
  return true;
}

/* v := L^-1 v */
static void solve_lower(const gp *g, double *v) {
  for (size_t k = 0; k < g->n; k++) {
    v[k] /= g->chol[k][k];
    subtract(v, g->chol[k], v[k], k + 1, g->n);
  }
}

/* v := L^-T v */
static void solve_upper(const gp *g, double *v) {
  for (size_t i = g->n; i-- > 0;) {
    double sum = v[i];
    for (size_t k = i + 1; k < g->n; k++) {
      sum -= g->chol[i][k] * v[k];
    }
    v[i] = sum / g->chol[i][i];
  }
}

/* Fit with the current kernel and noise; return the log likelihood up to a constant. */
static double fit_once(gp *g) {
  double fit = 0, volume = 0;
  if (!factor(g)) {
    return -INFINITY;
  }
  for (size_t i = 0; i < g->n; i++) {
    g->alpha[i] = (g->target[i] - g->mean) / g->scale;
    volume += log(g->chol[i][i]);
  }
  solve_lower(g, g->alpha);
  for (size_t i = 0; i < g->n; i++) {
    fit += g->alpha[i] * g->alpha[i];
  }
  solve_upper(g, g->alpha);
  return -0.5 * fit - volume;
}

static void standardise(gp *g) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < g->n; i++) {
    sum += g->target[i];
  }
  g->mean = sum / (double)g->n;
  for (size_t i = 0; i < g->n; i++) {
    squares += (g->target[i] - g->mean) * (g->target[i] - g->mean);
  }
  g->scale = squares > 0 ? sqrt(squares / (double)g->n) : 1;
}

bool gp_fit(gp *g, const search_space *space, const uint16_t *const *coordinates,
            const double *target, size_t n) {
  double best = -INFINITY, length = 0, noise = 0;
  g->space = space;
  g->n = n;
  for (size_t i = 0; i < n; i++) {
    g->coordinates[i] = coordinates[i];
    g->target[i] = target[i];
  }
  standardise(g);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    g->length = lengths[i];
    fill(g);
    for (size_t j = 0; j < sizeof noises / sizeof *noises; j++) {
      g->noise = noises[j];
      double likelihood = fit_once(g);
      if (likelihood > best) {
        best = likelihood;
        length = g->length;
        noise = g->noise;
      }
    }
  }
  g->length = length;
  g->noise = noise;
  if (!isfinite(best)) {
    return false;
  }
  fill(g);
  return isfinite(fit_once(g));
}

void gp_predict(const gp *g, const uint16_t *coordinates, double *mean, double *deviation) {
  double v[GP_MAX], m = 0, explained = 0;
  for (size_t i = 0; i < g->n; i++) {
    v[i] = kernel(g, coordinates, g->coordinates[i]);
    m += v[i] * g->alpha[i];
  }
  solve_lower(g, v);
  for (size_t i = 0; i < g->n; i++) {
    explained += v[i] * v[i];
  }
  *mean = g->mean + g->scale * m;
  *deviation = g->scale * sqrt(fmax(0, 1 + g->noise - explained));
}
