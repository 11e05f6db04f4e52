/* strategy_bayes.c -- Bayesian optimisation: a Gaussian process models the logarithm of the time,
 * and the point with the largest expected improvement comes next.
 *
 * The process sees the fastest half of GP_MAX answers and the latest of the others; failures count
 * as slow as the slowest that worked. It is fitted again after every BATCH answers. (src: Jones,
 * Schonlau and Welch, Efficient Global Optimization of Expensive Black-Box Functions, Journal of
 * Global Optimization 13, 1998; for kernels: Willemsen, van Nieuwpoort and van Werkhoven, Bayesian
 * Optimization for auto-tuning GPU kernels, PMBS 2021.)
 */
#include <math.h>
#include <stdlib.h>

#include "gp.h"
#include "prospects.h"

enum { FIRST = 20, LEAST = 10, BATCH = 4, PROSPECTS = 384 };

typedef struct bayes {
  trail t;
  prospects p;
  gp model;
  size_t n_seen, n_fitted;
} bayes;

static void close_(void *self) {
  bayes *x = self;
  trail_clear(&x->t);
  prospects_clear(&x->p);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  bayes *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = trail_init(&x->t, space, seed, e);
  rc = rc ? rc : prospects_init(&x->p, PROSPECTS, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

/* The answers to learn from: the fastest first, then the latest that aren't among them. */
static size_t choose(const bayes *x, const size_t *order, size_t n_ok, size_t *chosen) {
  size_t n = 0, n_best = n_ok < GP_MAX / 2 ? n_ok : GP_MAX / 2;
  double cut = n_best ? x->t.told[order[n_best - 1]].sec : 0;
  for (; n < n_best; n++) {
    chosen[n] = order[n];
  }
  for (size_t i = x->t.n_told; i-- > 0 && n < GP_MAX;) {
    if (!(x->t.told[i].sec <= cut)) {
      chosen[n++] = i;
    }
  }
  return n;
}

static bool fit(bayes *x, const size_t *chosen, size_t n, double worst) {
  const uint16_t *places[GP_MAX];
  double target[GP_MAX];
  for (size_t i = 0; i < n; i++) {
    places[i] = x->t.places[chosen[i]];
    target[i] = log(fmin(x->t.told[chosen[i]].sec, worst));
  }
  return gp_fit(&x->model, x->t.space, places, target, n);
}

/* Minus the expected improvement on `best`. */
static double improvement(double mean, double deviation, double best) {
  double z = (best - mean) / fmax(deviation, 1e-9);
  double below = 0.5 * erfc(-z * 0.70710678118654752),
         density = exp(-z * z / 2) * 0.39894228040143268;
  return -((best - mean) * below + deviation * density);
}

static bool learn(bayes *x) {
  size_t chosen[GP_MAX], *order = malloc(x->t.n_told * sizeof *order);
  if (!order) {
    return false;
  }
  size_t n_ok = trail_order(&x->t, order), n = choose(x, order, n_ok, chosen);
  bool fits = fit(x, chosen, n, x->t.told[order[n_ok - 1]].sec);
  prospects_collect(&x->p, &x->t, order, n_ok);
  free(order);
  for (size_t i = 0; i < x->p.n && fits; i++) {
    double mean, deviation;
    gp_predict(&x->model, x->p.p[i].places, &mean, &deviation);
    x->p.p[i].score = improvement(mean, deviation, log(x->t.told[x->t.best].sec));
  }
  x->n_fitted = x->t.n_told;
  return fits;
}

static bool ask(void *self, size_t *point) {
  bayes *x = self;
  bool model = x->n_seen >= FIRST && x->t.n_told >= LEAST && x->t.best != SIZE_MAX;
  x->n_seen++;
  if (model && (!x->n_fitted || x->t.n_told >= x->n_fitted + BATCH)) {
    model = learn(x);
  }
  return (model && prospects_take(&x->p, &x->t, point)) || trail_fresh(&x->t, point);
}

static void tell(void *self, size_t point, double sec) {
  bayes *x = self;
  x->n_seen += !trail_is_asked(&x->t, point);
  trail_tell(&x->t, point, sec);
}

const tune_strategy tune_bayes = {
    .name = "bayes",
    .brief = "Bayesian optimisation with a Gaussian process",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
