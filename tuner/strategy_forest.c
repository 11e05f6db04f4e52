/* strategy_forest.c -- the default: a random forest learns which points are fast, and says what to
 * try next.
 *
 * FIRST random points, then again and again: fit the forest to all answers, score a few thousand
 * points (prospects.h) and try the best BATCH of them. Trees suit the spaces of kernels: parameters
 * interact, the landscape has steps, values have no distance, and failures fill whole corners of
 * it. One trial in EXPLORE stays random, for what the model will never believe.
 *
 * What the forest learns is the logarithm of the time, cut off above the fastest quarter, so that
 * its splits are spent on telling good from very good, not slow from very slow. Failures are a
 * class of their own: half the range above the cut, whichever way they failed. The score is the
 * mean over the trees minus their deviation: an optimist's bound, so that a point the trees
 * disagree about is worth a trial.
 *
 * src: Hutter, Hoos and Leyton-Brown, Sequential Model-Based Optimization for General Algorithm
 * Configuration, LION 5, 2011 (forest as surrogate, candidates around the incumbents); Song et al.,
 * A General Recipe for Likelihood-free Bayesian Optimization, ICML 2022 (learning only what
 * separates good from the rest). The constants were tried on recorded and on synthetic spaces, and
 * none of them matters much: half or twice of any changes the mean result after 200 trials by about
 * one hundredth.
 */
#include <math.h>
#include <stdlib.h>

#include "forest.h"
#include "prospects.h"

enum { FIRST = 20, LEAST = 10, BATCH = 4, EXPLORE = 12, TREES = 48, PROSPECTS = 2048 };
static const double FAILURE = 0.5;

typedef struct forest_search {
  trail t;
  forest model;
  prospects p;
  size_t n_seen;   /* asked for, or known from elsewhere */
  size_t n_fitted; /* answers the scores come from; 0: none yet */
  float *target;   /* of each answer */
  size_t *order;   /* of the answers */
  size_t capacity; /* of both */
} forest_search;

static void close_(void *self) {
  forest_search *x = self;
  trail_clear(&x->t);
  forest_clear(&x->model);
  prospects_clear(&x->p);
  free(x->target);
  free(x->order);
  free(x);
}

static int open_(const tune_space *space, uint64_t seed, void **self, err *e) {
  forest_search *x = *self = calloc(1, sizeof *x);
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  int rc = trail_init(&x->t, space, seed, e);
  rc = rc ? rc : forest_init(&x->model, TREES, e);
  rc = rc ? rc : prospects_init(&x->p, PROSPECTS, e);
  if (rc) {
    close_(x);
    *self = NULL;
  }
  return rc;
}

static bool reserve(forest_search *x) {
  if (x->t.n_told <= x->capacity) {
    return true;
  }
  size_t capacity = 2 * x->t.n_told;
  float *target = realloc(x->target, capacity * sizeof *target);
  x->target = target ? target : x->target;
  size_t *order = realloc(x->order, capacity * sizeof *order);
  x->order = order ? order : x->order;
  x->capacity = target && order ? capacity : x->capacity;
  return target && order;
}

/* 0 for the fastest, 1 for the slowest of the fast quarter and what is slower, more for failures.
 */
static void set_targets(forest_search *x, size_t n_ok) {
  const told *a = x->t.told;
  double best = log(a[x->order[0]].sec), cut = log(a[x->order[(n_ok - 1) / 4]].sec);
  double range = cut > best ? cut - best : 1;
  for (size_t i = 0; i < x->t.n_told; i++) {
    double sec = a[i].sec;
    x->target[i] = (float)(isfinite(sec) ? fmin(log(sec) - best, range) / range : 1 + FAILURE);
  }
}

static void score(forest_search *x) {
  for (size_t i = 0; i < x->p.n; i++) {
    double mean, deviation;
    forest_predict(&x->model, x->p.p[i].places, &mean, &deviation);
    x->p.p[i].score = mean - deviation;
  }
}

/* False when memory is out: the search goes on at random. */
static bool learn(forest_search *x) {
  if (!reserve(x)) {
    return false;
  }
  size_t n_ok = trail_order(&x->t, x->order);
  set_targets(x, n_ok);
  if (!forest_fit(&x->model, &x->t, x->target)) {
    return false;
  }
  prospects_collect(&x->p, &x->t, x->order, n_ok);
  score(x);
  x->n_fitted = x->t.n_told;
  return true;
}

static bool informed(const forest_search *x) {
  return x->n_seen >= FIRST && x->t.n_told >= LEAST && x->t.best != SIZE_MAX && x->n_seen % EXPLORE;
}

/* A fit costs in proportion to the answers; fits become rarer in proportion, so that a trial's
 * share stays. */
static bool due(const forest_search *x) {
  size_t batch = x->n_fitted / (100 * BATCH) ? x->n_fitted / 100 : BATCH;
  return !x->n_fitted || x->t.n_told >= x->n_fitted + batch;
}

static bool ask(void *self, size_t *point) {
  forest_search *x = self;
  bool model = informed(x);
  x->n_seen++;
  if (model && due(x)) {
    model = learn(x);
  }
  return (model && prospects_take(&x->p, &x->t, point)) || trail_fresh(&x->t, point);
}

static void tell(void *self, size_t point, double sec) {
  forest_search *x = self;
  x->n_seen += !trail_is_asked(&x->t, point);
  trail_tell(&x->t, point, sec);
}

const tune_strategy tune_forest = {
    .name = "forest",
    .brief = "random forest as a model of the space, failures included",
    .open = open_,
    .ask = ask,
    .tell = tell,
    .close = close_,
};
