/* strategy_bayes.c -- Bayesian optimisation: a Gaussian process models the logarithm of the time,
 * and the point with the largest expected improvement comes next.
 *
 * The model is fitted to at most GP_MAX evaluations, half of them the fastest, the rest the latest;
 * a failure counts like the slowest success. It is fitted again after every BATCH results. (src:
 * Jones, Schonlau and Welch, Efficient Global Optimization of Expensive Black-Box Functions,
 * Journal of Global Optimization 13, 1998; for kernels: Willemsen, van Nieuwpoort and van
 * Werkhoven, Bayesian Optimization for auto-tuning GPU kernels, PMBS 2021.)
 */
#include <math.h>
#include <stdlib.h>

#include "acquisition.h"
#include "gp.h"
#include "sampling.h"
#include "strategy.h"

enum { FIRST = 20, LEAST = 10, BATCH = 4, CANDIDATES = 384 };

typedef struct bayes {
  history h;
  acquisition candidates;
  gp model;
  size_t n_seen, n_fitted;
} bayes;

static void stop(void *self) {
  bayes *x = self;
  acquisition_clear(&x->candidates);
}

static int start(void *self, err *e) {
  bayes *x = self;
  return acquisition_init(&x->candidates, CANDIDATES, e);
}

/* Choose the evaluations to fit: the fastest, then the latest of the others. */
static size_t choose(const bayes *x, const size_t *order, size_t n_ok, size_t *chosen) {
  size_t n = 0, n_best = n_ok < GP_MAX / 2 ? n_ok : GP_MAX / 2;
  double cut = n_best ? x->h.evaluations[order[n_best - 1]].sec : 0;
  for (; n < n_best; n++) {
    chosen[n] = order[n];
  }
  for (size_t i = x->h.n; i-- > 0 && n < GP_MAX;) {
    if (!(x->h.evaluations[i].sec <= cut)) {
      chosen[n++] = i;
    }
  }
  return n;
}

static bool fit(bayes *x, const size_t *chosen, size_t n, double worst) {
  const uint16_t *coordinates[GP_MAX];
  double target[GP_MAX];
  for (size_t i = 0; i < n; i++) {
    coordinates[i] = x->h.coordinates[chosen[i]];
    target[i] = log(fmin(x->h.evaluations[chosen[i]].sec, worst));
  }
  return gp_fit(&x->model, x->h.space, coordinates, target, n);
}

/* Minus the expected improvement on `best`. */
static double improvement(double mean, double deviation, double best) {
  double z = (best - mean) / fmax(deviation, 1e-9);
  double below = 0.5 * erfc(-z * 0.70710678118654752),
         density = exp(-z * z / 2) * 0.39894228040143268;
  return -((best - mean) * below + deviation * density);
}

static bool learn(bayes *x) {
  size_t chosen[GP_MAX], *order = malloc(x->h.n * sizeof *order);
  if (!order) {
    return false;
  }
  size_t n_ok = history_order(&x->h, order), n = choose(x, order, n_ok, chosen);
  bool fits = fit(x, chosen, n, x->h.evaluations[order[n_ok - 1]].sec);
  acquisition_collect(&x->candidates, &x->h, order, n_ok);
  free(order);
  acquisition_candidate *list = x->candidates.candidates;
  for (size_t i = 0; i < x->candidates.n && fits; i++) {
    double mean, deviation;
    gp_predict(&x->model, list[i].coordinates, &mean, &deviation);
    list[i].score = improvement(mean, deviation, log(x->h.evaluations[x->h.best].sec));
  }
  x->n_fitted = x->h.n;
  return fits;
}

static bool ask(void *self, size_t *point) {
  bayes *x = self;
  bool model = x->n_seen >= FIRST && x->h.n >= LEAST && x->h.best != SIZE_MAX;
  x->n_seen++;
  if (model && (!x->n_fitted || x->h.n >= x->n_fitted + BATCH)) {
    model = learn(x);
  }
  return (model && acquisition_take(&x->candidates, &x->h, point)) || sample_random(&x->h, point);
}

static void tell(void *self, size_t point, double sec) {
  bayes *x = self;
  x->n_seen += !history_is_asked(&x->h, point);
  history_tell(&x->h, point, sec);
}

const search_strategy search_bayes = {
    .name = "bayes",
    .brief = "Bayesian optimisation with a Gaussian process",
    .nbytes = sizeof(bayes),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};
