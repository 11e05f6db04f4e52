/* strategy_forest.c -- the default: a random forest learns which points are fast and proposes the
 * next ones.
 *
 * After FIRST random points it repeats: fit the forest to all results, score a few thousand
 * candidates (acquisition.h) and ask for the best BATCH of them. Trees suit kernels: parameters
 * interact, times change in steps, values have no distance, and whole corners of the space fail.
 * One point in EXPLORE stays random, to correct the model where it is wrong.
 *
 * The target is the logarithm of the time, clipped above the fastest quarter, so that the splits
 * separate good from very good rather than slow from very slow. A failure's target lies half the
 * range above the clipped ones. The score is a lower confidence bound, the mean over the trees
 * minus their deviation: points that the trees disagree about get tried.
 *
 * src: Hutter, Hoos and Leyton-Brown, Sequential Model-Based Optimization for General Algorithm
 * Configuration, LION 5, 2011 (forest as surrogate, candidates around the incumbents); Song et al.,
 * A General Recipe for Likelihood-free Bayesian Optimization, ICML 2022 (learning only what
 * separates good from the rest). The constants were chosen on recorded and synthetic spaces; half
 * or twice any of them changes the mean result after 200 trials by about 1 %.
 */
#include <math.h>
#include <stdlib.h>

#include "acquisition.h"
#include "array.h"
#include "forest.h"
#include "sampling.h"
#include "strategy.h"

enum { FIRST = 20, LEAST = 10, BATCH = 4, EXPLORE = 12, TREES = 48, CANDIDATES = 2048 };
static const double FAILURE = 0.5;

typedef struct forest_search {
  history h;
  forest model;
  acquisition candidates;
  size_t n_seen;   /* points asked for, or told without */
  size_t n_fitted; /* evaluations when the candidates were scored; 0: never */
  float *target;   /* of each evaluation */
  size_t *order;   /* see history_order */
  size_t capacity; /* of both */
} forest_search;

static void stop(void *self) {
  forest_search *x = self;
  forest_clear(&x->model);
  acquisition_clear(&x->candidates);
  free(x->target);
  free(x->order);
}

static int start(void *self, err *e) {
  forest_search *x = self;
  TRY(forest_init(&x->model, TREES, e));
  return acquisition_init(&x->candidates, CANDIDATES, e);
}

static bool reserve(forest_search *x) {
  if (x->h.n <= x->capacity) {
    return true;
  }
  const size_t capacity = 2 * x->h.n;
  const bool ok = array_resize(&x->target, capacity, sizeof *x->target) &&
                  array_resize(&x->order, capacity, sizeof *x->order);
  x->capacity = ok ? capacity : x->capacity;
  return ok;
}

/* 0 for the fastest, 1 for all slower than the fast quarter, more for failures */
static void set_targets(forest_search *x, size_t n_ok) {
  const evaluation *a = x->h.evaluations;
  double best = log(a[x->order[0]].sec), cut = log(a[x->order[(n_ok - 1) / 4]].sec);
  double range = cut > best ? cut - best : 1;
  for (size_t i = 0; i < x->h.n; i++) {
    double sec = a[i].sec;
    x->target[i] = (float)(isfinite(sec) ? fmin(log(sec) - best, range) / range : 1 + FAILURE);
  }
}

static void score(forest_search *x) {
  acquisition_candidate *list = x->candidates.candidates;
  for (size_t i = 0; i < x->candidates.n; i++) {
    double mean, deviation;
    forest_predict(&x->model, list[i].coordinates, &mean, &deviation);
    list[i].score = mean - deviation;
  }
}

/* False when memory is out: the search continues with random points. */
static bool learn(forest_search *x) {
  if (!reserve(x)) {
    return false;
  }
  size_t n_ok = history_order(&x->h, x->order);
  set_targets(x, n_ok);
  if (!forest_fit(&x->model, &x->h, x->target)) {
    return false;
  }
  acquisition_collect(&x->candidates, &x->h, x->order, n_ok);
  score(x);
  x->n_fitted = x->h.n;
  return true;
}

static bool informed(const forest_search *x) {
  return x->n_seen >= FIRST && x->h.n >= LEAST && x->h.best != SIZE_MAX && x->n_seen % EXPLORE;
}

/* A fit costs time in proportion to the evaluations, so fits become rarer: the cost for each point
 * stays the same. */
static bool due(const forest_search *x) {
  size_t batch = x->n_fitted / (100 * BATCH) ? x->n_fitted / 100 : BATCH;
  return !x->n_fitted || x->h.n >= x->n_fitted + batch;
}

static bool ask(void *self, size_t *point) {
  forest_search *x = self;
  bool model = informed(x);
  x->n_seen++;
  if (model && due(x)) {
    model = learn(x);
  }
  return (model && acquisition_take(&x->candidates, &x->h, point)) || sample_random(&x->h, point);
}

static void tell(void *self, size_t point, double sec) {
  forest_search *x = self;
  x->n_seen += !history_is_asked(&x->h, point);
  history_tell(&x->h, point, sec);
}

const search_strategy search_forest = {
    .name = "forest",
    .brief = "random forest as a model of the space, failures included",
    .nbytes = sizeof(forest_search),
    .start = start,
    .ask = ask,
    .tell = tell,
    .stop = stop,
};
