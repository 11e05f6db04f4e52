/* portfolio_learn.c -- which of a portfolio's configurations a size gets: a tree, and the models.
 *
 * Without models every leaf of the tree takes the configuration that loses the least time over the
 * leaf's sizes; the sizes left out in cross-validation decide how many leaves there are, and what
 * they lost is what the tree promises. With models, and sizes drawn for them, the tree finds short
 * lists: each leaf names the few configurations that the models are asked about there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portfolio_models.h"
#include "tree_learner.h"

enum { LEAVES_MOST = (PORTFOLIO_NODES + 1) / 2, LEAVES_TRIED = 128, FOLDS = 10, ORDER_MOST = 12 };

/* Sizes of a leaf. Those that were only drawn are many, and a leaf of a few of them tells
 * little. */
enum { LEAF_LEAST = 3, SHORT_LEAF_LEAST = 8 };

/* A leaf's short list is as long as it takes to lose no more than this by it, in the mean over the
 * leaf's sizes; a logarithm. Of 24 configurations 4.5 are on it, and with them 3,520 fresh sizes of
 * sgemm lost on an H200 what they lost with the models of all, 1.4 %; with 6.2 no less, with 3.6
 * 1.5 %. */
static const double SHORT_LOSS = 2e-3;
enum { SHORT_MOST = 8 };

/* A tree that finds short lists does not distinguish configurations that are slower than this. */
static const double SHORT_LOST_MOST = 0.2;

/* A leaf counts as if it had this many sizes more that are like those of the node above. */
static const double PRIOR = 1.5;

/* A measured size counts as much as this many drawn ones. */
static const double MEASURED = 4;

typedef struct worth { /* of a node of the tree */
  double *mean;        /* per configuration: the loss expected here */
  double whole;        /* what the node loses as it is, or its sum of squares */
} worth;

typedef struct learner {
  portfolio_models m;
  tree_learner tree;
  worth worths[2 * LEAVES_MOST]; /* by node */
  double *left, *right;   /* per configuration: sums over the sizes on both sides of a split */
  double n_left, n_right; /* their weights */
  bool shortens;          /* the tree is to find short lists, else the best one alone */
  size_t *sizes;          /* that a tree is grown from */
} learner;

static const double *lost_of(const learner *l, size_t size) {
  return l->m.lost + size * l->m.n_configs;
}

static double weight(const learner *l, size_t size) {
  return size < l->m.t->n_sizes && l->m.t->n_drawn ? MEASURED : 1;
}

static void add_lost(const learner *l, size_t size, double times, double *sum) {
  const double most = l->shortens ? SHORT_LOST_MOST : PORTFOLIO_LOST_MOST;
  const double *lost_here = lost_of(l, size);
  times *= weight(l, size);
  for (size_t k = 0; k < l->m.n_configs; k++) {
    sum[k] += times * (lost_here[k] < most ? lost_here[k] : most);
  }
}

/* ---- what a split gains --------------------------------------------------------------------- */

/* The sum of the configuration that loses least, by the sums over sizes of weight n with the node
 * above as a prior. */
static double least_sum(const learner *l, const double *sum, double n, const double *above,
                        size_t *best) {
  double least = INFINITY;
  *best = 0;
  for (size_t k = 0; k < l->m.n_configs; k++) {
    const double mean = (sum[k] + PRIOR * above[k]) / (n + PRIOR);
    if (mean < least) {
      least = mean;
      *best = k;
    }
  }
  return sum[*best];
}

/* The greater, the less the sizes' losses are spread about their mean. */
static double sum_of_squares(const learner *l, const double *sum, double n) {
  double squares = 0;
  for (size_t k = 0; k < l->m.n_configs; k++) {
    squares += sum[k] * sum[k];
  }
  return squares / n;
}

static double gain(void *self, size_t node) {
  const learner *l = self;
  const worth *w = &l->worths[node];
  size_t a, b;
  if (l->shortens) {
    return sum_of_squares(l, l->left, l->n_left) + sum_of_squares(l, l->right, l->n_right) -
           w->whole;
  }
  const double gained = w->whole - least_sum(l, l->left, l->n_left, w->mean, &a) -
                        least_sum(l, l->right, l->n_right, w->mean, &b);
  return a != b ? gained : 0;
}

static void start(void *self, const feature_rank *sorted, size_t n) {
  learner *l = self;
  memset(l->left, 0, l->m.n_configs * sizeof *l->left);
  memset(l->right, 0, l->m.n_configs * sizeof *l->right);
  l->n_left = l->n_right = 0;
  for (size_t i = 0; i < n; i++) {
    add_lost(l, sorted[i].size, 1, l->right);
    l->n_right += weight(l, sorted[i].size);
  }
}

static void move(void *self, size_t size) {
  learner *l = self;
  add_lost(l, size, 1, l->left);
  add_lost(l, size, -1, l->right);
  l->n_left += weight(l, size);
  l->n_right -= weight(l, size);
}

/* The shortest number in (a, b]. */
static double round_between(double a, double b) {
  const double middle = a > 0 ? sqrt(a * b) : (a + b) / 2;
  for (int digits = 1; digits < 17; digits++) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, middle);
    const double v = strtod(text, NULL);
    if (v > a && v <= b) {
      return v;
    }
  }
  return b;
}

static bool open_node(void *self, size_t node, size_t above) {
  learner *l = self;
  const tree_node *g = &l->tree.nodes[node];
  const double *prior = above == SIZE_MAX ? NULL : l->worths[above].mean;
  double *sum = ARENA_ARRAY(l->m.a, double, l->m.n_configs);
  double *mean = ARENA_ARRAY(l->m.a, double, l->m.n_configs), n = prior ? PRIOR : 0;
  size_t best = 0;
  if (!sum || !mean) {
    return false;
  }
  for (size_t i = 0; i < g->n; i++) {
    add_lost(l, g->members[i], 1, sum);
    n += weight(l, g->members[i]);
  }
  for (size_t k = 0; k < l->m.n_configs; k++) {
    mean[k] = (sum[k] + (prior ? PRIOR * prior[k] : 0)) / n;
    best = mean[k] < mean[best] ? k : best;
  }
  l->worths[node] =
      (worth){.mean = mean, .whole = l->shortens ? sum_of_squares(l, sum, n) : sum[best]};
  return true;
}

/* A tree over the sizes that are not left out. */
static bool grow(learner *l, const uint8_t *fold, uint8_t left_out, size_t leaves) {
  const size_t all = l->m.t->n_sizes + l->m.t->n_drawn;
  size_t n = 0;
  for (size_t j = 0; j < all; j++) {
    l->sizes[n] = j;
    n += j >= l->m.t->n_sizes || fold[j] != left_out;
  }
  l->worths[0] = (worth){0};
  return tree_grow(&l->tree, l->sizes, n, leaves);
}

/* ---- how many leaves ------------------------------------------------------------------------ */

/* Every size is left out once; a generator deals them to the folds, so that neighbours are
 * apart. */
static void deal(uint8_t *fold, size_t n) {
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < n; i++) {
    fold[i] = (uint8_t)(i % FOLDS);
  }
  for (size_t i = n; i-- > 1;) { /* Fisher and Yates, with xorshift64 (Marsaglia 2003) */
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const size_t j = x % (i + 1);
    const uint8_t other = fold[i];
    fold[i] = fold[j];
    fold[j] = other;
  }
}

/* Lost with the first of the leaf's order that works there; a root without sizes has no order. */
static double lost_with(const learner *l, const double *mean, size_t size) {
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < l->m.n_configs; k++) {
    const bool works = isfinite(portfolio_sec(l->m.t, l->m.chosen[k], size));
    const bool before = best == SIZE_MAX || (mean && mean[k] < mean[best]);
    best = works && before ? k : best;
  }
  return best == SIZE_MAX ? PORTFOLIO_LOST_MOST : lost_of(l, size)[best];
}

/* held[size * LEAVES_TRIED + leaves - 1] of the sizes left out */
static bool cross_validate(learner *l, const uint8_t *fold, double *held) {
  for (uint8_t f = 0; f < FOLDS; f++) {
    if (!grow(l, fold, f, LEAVES_TRIED)) {
      return false;
    }
    for (size_t j = 0; j < l->m.t->n_sizes; j++) {
      const int64_t *values = l->m.t->values + j * l->m.t->n_fields;
      for (size_t n = 1; n <= LEAVES_TRIED && fold[j] == f; n++) {
        held[j * LEAVES_TRIED + n - 1] =
            lost_with(l, l->worths[tree_walk(&l->tree, values, n)].mean, j);
      }
    }
  }
  return true;
}

/* The fewest leaves that lose at most a tenth of a per cent more than any number. */
static size_t best_number(const learner *l, const double *held) {
  double mean[LEAVES_TRIED] = {0}, least = INFINITY;
  for (size_t n = 0; n < LEAVES_TRIED; n++) {
    for (size_t j = 0; j < l->m.t->n_sizes; j++) {
      mean[n] += held[j * LEAVES_TRIED + n] / (double)l->m.t->n_sizes;
    }
    least = fmin(least, mean[n]);
  }
  size_t n = 0;
  while (mean[n] > least + 1e-3) {
    n++;
  }
  return n + 1;
}

/* The number of leaves with which the sizes left out lose least, and what they lose. */
static bool choose_leaves(learner *l, size_t *leaves, double *lost_then) {
  const size_t n = l->m.t->n_sizes;
  uint8_t *fold = ARENA_ARRAY(l->m.a, uint8_t, n);
  double *held = ARENA_ARRAY(l->m.a, double, n *LEAVES_TRIED);
  if (!fold || !held) {
    return false;
  }
  deal(fold, n);
  if (!cross_validate(l, fold, held)) {
    return false;
  }
  *leaves = best_number(l, held);
  for (size_t j = 0; j < n; j++) {
    lost_then[j] = held[j * LEAVES_TRIED + *leaves - 1];
  }
  return true;
}

/* ---- leaves --------------------------------------------------------------------------------- */

typedef struct emitter {
  const learner *l;
  const double *held; /* per measured size: what it lost when it was left out */
} emitter;

static bool set_order(const learner *l, const double *mean, chooser_node *n) {
  feature_rank order[PORTFOLIO_CONFIGS] = {{0}};
  uint16_t *list = ARENA_ARRAY(l->m.a, uint16_t, ORDER_MOST);
  for (size_t k = 0; k < l->m.n_configs; k++) {
    order[k] = (feature_rank){.value = mean[k], .size = k};
  }
  feature_sort(order, l->m.n_configs);
  n->order = list;
  for (size_t k = 0; list && k < l->m.n_configs && k < ORDER_MOST; k++) {
    list[n->n_order++] = (uint16_t)order[k].size;
  }
  return list;
}

/* The next of a leaf's order: the configuration that lowers most what the leaf's sizes lose with
 * the best of those before. lost_so_far[member] is lowered. */
static size_t next_of_order(const learner *l, const tree_node *g, bool *in, double *lost_so_far) {
  double least = INFINITY;
  size_t best = 0;
  for (size_t k = 0; k < l->m.n_configs; k++) {
    double sum = 0;
    for (size_t i = 0; !in[k] && i < g->n; i++) {
      sum += weight(l, g->members[i]) * fmin(lost_so_far[i], lost_of(l, g->members[i])[k]);
    }
    best = !in[k] && sum < least ? k : best;
    least = in[k] ? least : fmin(least, sum);
  }
  for (size_t i = 0; i < g->n; i++) {
    lost_so_far[i] = fmin(lost_so_far[i], lost_of(l, g->members[i])[best]);
  }
  in[best] = true;
  return best;
}

static double mean_lost(const learner *l, const tree_node *g, const double *lost_here) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < g->n; i++) {
    sum += weight(l, g->members[i]) * lost_here[i];
    n += weight(l, g->members[i]);
  }
  return n > 0 ? sum / n : 0;
}

static bool set_short_list(const learner *l, const tree_node *g, chooser_node *n) {
  const size_t nc = l->m.n_configs;
  bool in[PORTFOLIO_CONFIGS] = {false};
  double *lost_so_far = ARENA_ARRAY(l->m.a, double, g->n + 1);
  uint16_t *list = ARENA_ARRAY(l->m.a, uint16_t, ORDER_MOST);
  if (!lost_so_far || !list) {
    return false;
  }
  for (size_t i = 0; i < g->n; i++) {
    lost_so_far[i] = PORTFOLIO_LOST_MOST;
  }
  while (n->n_order < nc && n->n_order < ORDER_MOST) {
    list[n->n_order++] = (uint16_t)next_of_order(l, g, in, lost_so_far);
    const bool enough =
        n->n_order == nc || n->n_order == SHORT_MOST || mean_lost(l, g, lost_so_far) < SHORT_LOSS;
    n->n_short = !n->n_short && enough ? n->n_order : n->n_short;
  }
  n->order = list;
  return true;
}

/* A leaf promises what its sizes lost when they were left out. */
static void set_losses(const emitter *m, const tree_node *g, chooser_node *n) {
  double sum = 0, worst = 0, n_measured = 0;
  for (size_t i = 0; i < g->n; i++) {
    if (g->members[i] < m->l->m.t->n_sizes) {
      const double x = m->held[g->members[i]];
      sum += x;
      worst = fmax(worst, x);
      n_measured++;
    }
  }
  n->expected = n_measured > 0 ? expm1(sum / n_measured) : 0;
  n->worst = expm1(worst);
}

static bool emit_leaf(void *self, size_t node, chooser_node *out) {
  const emitter *m = self;
  const tree_node *g = &m->l->tree.nodes[node];
  set_losses(m, g, out);
  return m->l->shortens ? set_short_list(m->l, g, out)
                        : set_order(m->l, m->l->worths[node].mean, out);
}

static void promise(const learner *l, const double *held, portfolio *out) {
  double sum = 0, worst = 0;
  for (size_t j = 0; j < l->m.t->n_sizes; j++) {
    sum += held[j];
    worst = fmax(worst, held[j]);
  }
  out->expected = expm1(sum / (double)l->m.t->n_sizes);
  out->worst = expm1(worst);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Short lists need many sizes, and models of them; the tree then has as many leaves as it may,
 * since a deeper tree has shorter lists. Where there are models, they choose, and the leaves
 * promise what the models lost. */
static int learn(learner *l, portfolio *out, err *e) {
  const size_t n = l->m.t->n_sizes;
  const bool any = portfolio_models_any(&l->m);
  size_t leaves = LEAVES_MOST;
  uint8_t *all = ARENA_ARRAY(l->m.a, uint8_t, n);
  double *held = ARENA_ARRAY(l->m.a, double, n + 1);
  chooser_node *nodes = ARENA_ARRAY(l->m.a, chooser_node, PORTFOLIO_NODES);
  TRY(all && held && nodes ? 0 : err_nomem(e));
  l->shortens = any && l->m.t->n_drawn;
  portfolio_models_foresee(&l->m);
  if ((!l->shortens && !choose_leaves(l, &leaves, held)) || !grow(l, all, FOLDS, leaves)) {
    return err_nomem(e);
  }
  TRY(any ? portfolio_models_unseen(&l->m, held, e) : 0);
  TRY(l->m.distances ? portfolio_models_put(&l->m, out, e) : 0);
  emitter m = {.l = l, .held = held};
  out->n_nodes = tree_emit(&l->tree, leaves, emit_leaf, &m, nodes);
  out->nodes = nodes;
  out->n_sizes = n;
  promise(l, held, out);
  return out->n_nodes ? 0 : err_nomem(e);
}

int portfolio_learn(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                    size_t n, arena *a, portfolio *out, err *e) {
  const size_t all = table->n_sizes + table->n_drawn;
  learner *l = ARENA_ARRAY(a, learner, 1);
  TRY(l ? portfolio_models_new(t, table, chosen, n, a, &l->m, e) : err_nomem(e));
  tree_criterion criterion = {.open = open_node,
                              .start = start,
                              .move = move,
                              .gain = gain,
                              .threshold = round_between,
                              .self = l};
  criterion.leaf_least =
      portfolio_models_any(&l->m) && table->n_drawn ? SHORT_LEAF_LEAST : LEAF_LEAST;
  TRY(tree_learner_new(t, table->values, all, LEAVES_MOST, &criterion, a, &l->tree, e));
  l->left = ARENA_ARRAY(a, double, n + 1);
  l->right = ARENA_ARRAY(a, double, n + 1);
  l->sizes = ARENA_ARRAY(a, size_t, all + 1);
  return l->left && l->right && l->sizes ? learn(l, out, e) : err_nomem(e);
}
