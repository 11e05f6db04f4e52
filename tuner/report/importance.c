#include "importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"

enum { TREES = 48, MAX_BINS = 64 };

/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct box { /* of a leaf: the values [from, to) of each parameter, as indices */
  uint16_t from[GEN_MAX_PARAMS], to[GEN_MAX_PARAMS];
  double value, share; /* of the whole product */
} box;

typedef struct boxes {
  const search_space *space;
  box *b;
  size_t n, max;
} boxes;

static double part(const boxes *x, const box *b, size_t p) {
  return (double)(b->to[p] - b->from[p]) / x->space->n_values[p];
}

static void add_box(boxes *x, const box *b, double value) {
  box *new = &x->b[x->n++];
  *new = *b;
  new->value = value;
  new->share = 1;
  for (size_t p = 0; p < x->space->n_params; p++) {
    new->share *= part(x, b, p);
  }
}

static bool reserve(boxes *x) {
  if (x->n == x->max) {
    size_t max = 2 * x->max + 64;
    box *b = realloc(x->b, max * sizeof *b);
    if (!b) {
      return false;
    }
    x->b = b;
    x->max = max;
  }
  return true;
}

static bool split(boxes *x, const forest_node *nodes, size_t node, const box *b) {
  const forest_node *at = &nodes[node];
  if (!at->left) {
    bool room = reserve(x);
    if (room) {
      add_box(x, b, at->value);
    }
    return room;
  }
  box left = *b, right = *b;
  left.to[at->param] = right.from[at->param] = (uint16_t)(at->cut + 1);
  return split(x, nodes, at->left, &left) && split(x, nodes, at->left + 1, &right);
}

/* Every cut lies inside its box, between two values that were seen there. */
static bool boxes_of(boxes *x, const forest_node *nodes) {
  box all = {.from = {0}};
  for (size_t p = 0; p < x->space->n_params; p++) {
    all.to[p] = x->space->n_values[p];
  }
  x->n = 0;
  return split(x, nodes, 0, &all);
}

/* ---- variances ------------------------------------------------------------------------------- */

/* Parameters with more than MAX_BINS values are binned. */
typedef struct axis {
  size_t n;
  double width; /* values per bin */
} axis;

static axis axis_of(const search_space *s, size_t p) {
  size_t n = s->n_values[p] < MAX_BINS ? s->n_values[p] : MAX_BINS;
  return (axis){n, (double)s->n_values[p] / (double)n};
}

/* The share of a bin that [from, to) covers. */
static double overlap(const axis *a, size_t bin, double from, double to) {
  double low = (double)bin * a->width, high = low + a->width;
  double inside = fmin(high, to) - fmax(low, from);
  return inside > 0 ? inside / a->width : 0;
}

static void mean_and_variance(const boxes *x, double *mean, double *variance) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < x->n; i++) {
    sum += x->b[i].share * x->b[i].value;
    squares += x->b[i].share * x->b[i].value * x->b[i].value;
  }
  *mean = sum;
  *variance = fmax(0, squares - sum * sum);
}

/* The mean over all other parameters, for each bin of one. */
static void marginal(const boxes *x, size_t p, double *out) {
  axis a = axis_of(x->space, p);
  memset(out, 0, a.n * sizeof *out);
  for (size_t i = 0; i < x->n; i++) {
    const box *b = &x->b[i];
    double rest = b->value * b->share / part(x, b, p);
    for (size_t k = (size_t)(b->from[p] / a.width); k < a.n && (double)k * a.width < b->to[p];
         k++) {
      out[k] += rest * overlap(&a, k, b->from[p], b->to[p]);
    }
  }
}

static double variance_of(const double *v, size_t n, double mean) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (v[i] - mean) * (v[i] - mean) / (double)n;
  }
  return sum;
}

static void marginal_of_pair(const boxes *x, size_t p, size_t q, double *out) {
  axis a = axis_of(x->space, p), c = axis_of(x->space, q);
  memset(out, 0, a.n * c.n * sizeof *out);
  for (size_t i = 0; i < x->n; i++) {
    const box *b = &x->b[i];
    double rest = b->value * b->share / part(x, b, p) / part(x, b, q);
    for (size_t k = (size_t)(b->from[p] / a.width); k < a.n && (double)k * a.width < b->to[p];
         k++) {
      double half = rest * overlap(&a, k, b->from[p], b->to[p]);
      for (size_t l = (size_t)(b->from[q] / c.width); l < c.n && (double)l * c.width < b->to[q];
           l++) {
        out[k * c.n + l] += half * overlap(&c, l, b->from[q], b->to[q]);
      }
    }
  }
}

/* ---- one tree, and all ----------------------------------------------------------------------- */

typedef struct anova {
  history *h;
  importance *out;
  boxes boxes;
  double mean[GEN_MAX_PARAMS][MAX_BINS]; /* of the trees' marginals */
  double pair[MAX_BINS * MAX_BINS];
} anova;

static void add_tree(anova *x) {
  const search_space *s = x->h->space;
  double mean, variance, single[GEN_MAX_PARAMS] = {0}, bins[MAX_BINS];
  mean_and_variance(&x->boxes, &mean, &variance);
  for (size_t i = 0; i < x->h->n_free; i++) {
    size_t p = x->h->free[i], n = axis_of(s, p).n;
    marginal(&x->boxes, p, bins);
    single[p] = variance_of(bins, n, mean);
    x->out->main[p] += variance > 0 ? single[p] / variance / TREES : 0;
    for (size_t k = 0; k < n; k++) {
      x->mean[p][k] += bins[k] / TREES;
    }
  }
  for (size_t k = 0; k < x->out->n_pairs && variance > 0; k++) {
    importance_pair *w = &x->out->pairs[k];
    marginal_of_pair(&x->boxes, w->a, w->b, x->pair);
    double both = variance_of(x->pair, axis_of(s, w->a).n * axis_of(s, w->b).n, mean);
    w->share += fmax(0, both - single[w->a] - single[w->b]) / variance / TREES;
  }
}

static int by_share(const void *a, const void *b) {
  const importance_pair *x = a, *y = b;
  return x->share != y->share ? (x->share > y->share ? -1 : 1)
         : x->a != y->a       ? (x->a < y->a ? -1 : 1)
                              : (x->b > y->b) - (x->b < y->b);
}

static void begin(anova *x) {
  *x->out = (importance){.fit = 0};
  for (size_t i = 0; i < x->h->n_free; i++) {
    for (size_t j = i + 1; j < x->h->n_free; j++) {
      x->out->pairs[x->out->n_pairs++] = (importance_pair){x->h->free[i], x->h->free[j], 0};
    }
  }
}

static void finish(anova *x) {
  importance *out = x->out;
  qsort(out->pairs, out->n_pairs, sizeof *out->pairs, by_share);
  for (size_t p = 0; p < x->h->space->n_params; p++) {
    axis a = axis_of(x->h->space, p);
    size_t best = 0, worst = 0;
    for (size_t k = 1; k < a.n; k++) {
      best = x->mean[p][k] < x->mean[p][best] ? k : best;
      worst = x->mean[p][k] > x->mean[p][worst] ? k : worst;
    }
    out->best[p] = (size_t)((double)best * a.width);
    out->range[p] = exp(x->mean[p][worst] - x->mean[p][best]);
  }
}

/* ---- quality of the forest ------------------------------------------------------------------- */

static double share_explained(const history *test, const forest *f, const float *target) {
  double mean = 0, residual = 0, total = 0, n = (double)test->n;
  for (size_t i = 0; i < test->n; i++) {
    mean += target[i] / n;
  }
  for (size_t i = 0; i < test->n; i++) {
    double v, deviation;
    forest_predict(f, test->coordinates[i], &v, &deviation);
    residual += (target[i] - v) * (target[i] - v);
    total += (target[i] - mean) * (target[i] - mean);
  }
  return total > 0 ? 1 - residual / total : 0;
}

static bool targets_of(const history *h, float **out) {
  *out = malloc((h->n + 1) * sizeof **out);
  for (size_t i = 0; *out && i < h->n; i++) {
    (*out)[i] = (float)log(h->evaluations[i].sec);
  }
  return *out != NULL;
}

static bool fit_history(forest *f, history *h) {
  float *target;
  bool ok = targets_of(h, &target) && forest_fit(f, h, target);
  free(target);
  return ok;
}

/* Copy the evaluations that did not fail; every fifth goes to `test`, if there is one. */
static int copy_evaluations(const history *h, history *learn, history *test, err *e) {
  size_t n = 0;
  for (size_t i = 0; i < h->n; i++) {
    if (isfinite(h->evaluations[i].sec)) {
      history *to = test && n % 5 == 0 ? test : learn;
      if (history_tell(to, h->evaluations[i].point, h->evaluations[i].sec) == SIZE_MAX) {
        return err_nomem(e);
      }
      n++;
    }
  }
  return 0;
}

static int cross_validate(const history *h, forest *f, double *fit, err *e) {
  history learn, test;
  float *target = NULL;
  TRY(history_init(&learn, h->space, 1, e));
  int rc = history_init(&test, h->space, 1, e);
  rc = rc ? rc : copy_evaluations(h, &learn, &test, e);
  if (!rc && (!fit_history(f, &learn) || !targets_of(&test, &target))) {
    rc = err_nomem(e);
  }
  if (!rc) {
    *fit = share_explained(&test, f, target);
  }
  free(target);
  history_clear(&learn);
  history_clear(&test);
  return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int check(const history *h, err *e) {
  double least = INFINITY, most = 0;
  size_t n = 0;
  for (size_t i = 0; i < h->n; i++) {
    double sec = h->evaluations[i].sec;
    n += isfinite(sec);
    least = isfinite(sec) ? fmin(least, sec) : least;
    most = isfinite(sec) ? fmax(most, sec) : most;
  }
  if (n < IMPORTANCE_LEAST) {
    return err_set(e, ERR_NOTFOUND,
                   "%zu trials with a time are too few for an analysis; tune further, to %d", n,
                   IMPORTANCE_LEAST);
  }
  return least < most ? 0 : err_set(e, ERR_NOTFOUND, "all trials took the same time");
}

static int analyse(anova *x, forest *f, err *e) {
  history all;
  TRY(cross_validate(x->h, f, &x->out->fit, e));
  TRY(history_init(&all, x->h->space, 1, e));
  int rc = copy_evaluations(x->h, &all, NULL, e);
  bool ok = !rc && fit_history(f, &all);
  for (size_t i = 0; ok && i < TREES; i++) {
    ok = boxes_of(&x->boxes, f->trees[i]);
    if (ok) {
      add_tree(x);
    }
  }
  history_clear(&all);
  finish(x);
  return rc || ok ? rc : err_nomem(e);
}

int importance_find(history *h, importance *out, err *e) {
  forest f;
  TRY(check(h, e));
  anova *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  *x = (anova){.h = h, .out = out, .boxes = {.space = h->space}};
  begin(x);
  int rc = forest_init(&f, TREES, e);
  rc = rc ? rc : analyse(x, &f, e);
  forest_clear(&f);
  free(x->boxes.b);
  free(x);
  return rc;
}
