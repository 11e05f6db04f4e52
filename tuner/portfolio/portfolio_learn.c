#include "portfolio_learn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feature_sort.h"
#include "threads.h"

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of memory");
}

/* ---- losses --------------------------------------------------------------------------------- */

static double sec_of(const portfolio_table *t, size_t config, size_t size) {
  return t->sec[config * t->n_sizes + size];
}

static double least_of(const portfolio_table *t, size_t size) {
  double least = INFINITY;
  for (size_t i = 0; i < t->n_configs; i++) {
    least = fmin(least, sec_of(t, i, size));
  }
  return least;
}

double portfolio_loss(const portfolio_table *t, const size_t *chosen, size_t n, size_t size) {
  double best = INFINITY;
  for (size_t i = 0; i < n; i++) {
    best = fmin(best, sec_of(t, chosen[i], size));
  }
  return isfinite(best) ? log(best / least_of(t, size)) : INFINITY;
}

/* ---- the set -------------------------------------------------------------------------------- */

static const double LOST_MOST = 3; /* a logarithm: what a size that is not served counts as lost */

typedef struct set { /* being chosen */
  const portfolio_table *t;
  double bound;     /* logarithm */
  double *lost;     /* [config * n_sizes + size], at most LOST_MOST */
  bool *in;         /* per configuration */
  unsigned *covers; /* per size: how many of those in do */
  size_t *chosen;
  size_t n;
} set;

static double lost(const set *s, size_t config, size_t size) {
  return s->lost[config * s->t->n_sizes + size];
}

static bool covered_by(const set *s, size_t config, size_t size) {
  return lost(s, config, size) <= s->bound;
}

static double total_lost(const set *s, size_t config) {
  double sum = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    sum += lost(s, config, j);
  }
  return sum;
}

static void put(set *s, size_t config, int by) {
  s->in[config] = by > 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    if (covered_by(s, config, j)) {
      s->covers[j] += (unsigned)by;
    }
  }
}

static void add(set *s, size_t config) {
  put(s, config, 1);
  s->chosen[s->n++] = config;
}

static void drop(set *s, size_t place) {
  put(s, s->chosen[place], -1);
  memmove(&s->chosen[place], &s->chosen[place + 1], (--s->n - place) * sizeof *s->chosen);
}

static size_t newly_covered(const set *s, size_t config) {
  size_t n = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    n += !s->covers[j] && covered_by(s, config, j);
  }
  return n;
}

/* The one that covers the most of what is left; of equal ones, the one that loses least at all. */
static bool greedy_step(set *s) {
  size_t best = 0, most = 0;
  for (size_t i = 0; i < s->t->n_configs; i++) {
    const size_t n = s->in[i] ? 0 : newly_covered(s, i);
    if (n > most || (n && n == most && total_lost(s, i) < total_lost(s, best))) {
      most = n;
      best = i;
    }
  }
  if (most) {
    add(s, best);
  }
  return most > 0;
}

static size_t n_covered(const set *s) {
  size_t n = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    n += s->covers[j] > 0;
  }
  return n;
}

/* Those whose sizes others cover as well. */
static bool drop_needless(set *s) {
  const size_t covered = n_covered(s);
  for (size_t i = s->n; i-- > 0;) {
    const size_t config = s->chosen[i];
    put(s, config, -1);
    const bool needless = s->n > 1 && n_covered(s) == covered;
    put(s, config, 1);
    if (needless) {
      drop(s, i);
      return true;
    }
  }
  return false;
}

/* missing: sizes that are not covered any more */
static bool replaces(set *s, size_t missing, size_t config) {
  return !s->in[config] && newly_covered(s, config) >= missing;
}

/* Two for which one will do. */
static bool merge_two(set *s) {
  const size_t covered = n_covered(s);
  for (size_t i = 0; i < s->n; i++) {
    for (size_t k = i + 1; k < s->n; k++) {
      const size_t a = s->chosen[i], b = s->chosen[k];
      put(s, a, -1);
      put(s, b, -1);
      const size_t missing = covered - n_covered(s);
      size_t other = 0;
      while (other < s->t->n_configs &&
             (other == a || other == b || !replaces(s, missing, other))) {
        other++;
      }
      put(s, a, 1);
      put(s, b, 1);
      if (other < s->t->n_configs) {
        drop(s, k);
        drop(s, i);
        add(s, other);
        return true;
      }
    }
  }
  return false;
}

static double set_lost(const set *s) {
  double sum = 0;
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    double least = LOST_MOST;
    for (size_t i = 0; i < s->n; i++) {
      least = fmin(least, lost(s, s->chosen[i], j));
    }
    sum += least;
  }
  return sum;
}

/* One for another that covers as much and loses less. */
static bool exchange(set *s) {
  const size_t covered = n_covered(s);
  const double before = set_lost(s);
  for (size_t i = 0; i < s->n; i++) {
    const size_t old = s->chosen[i];
    put(s, old, -1);
    const size_t missing = covered - n_covered(s);
    for (size_t other = 0; other < s->t->n_configs; other++) {
      if (other == old || !replaces(s, missing, other)) {
        continue;
      }
      s->chosen[i] = other;
      if (set_lost(s) < before - 1e-9) {
        put(s, other, 1);
        return true;
      }
    }
    s->chosen[i] = old;
    put(s, old, 1);
  }
  return false;
}

/* An exchange lowers the loss at the same number, the others the number: it ends. */
static void choose(set *s) {
  while (s->n < PORTFOLIO_CONFIGS && greedy_step(s)) {
  }
  while (drop_needless(s) || merge_two(s) || exchange(s)) {
  }
}

static void fill_lost(set *s) {
  for (size_t j = 0; j < s->t->n_sizes; j++) {
    const double least = least_of(s->t, j);
    for (size_t i = 0; i < s->t->n_configs; i++) {
      const double sec = sec_of(s->t, i, j);
      s->lost[i * s->t->n_sizes + j] =
          isfinite(sec) ? fmin(log(sec / least), LOST_MOST) : LOST_MOST;
    }
  }
}

static size_t servable(const portfolio_table *t) {
  size_t n = 0;
  for (size_t j = 0; j < t->n_sizes; j++) {
    n += isfinite(least_of(t, j));
  }
  return n;
}

int portfolio_select(const portfolio_table *t, double loss, size_t *chosen, size_t *n,
                     size_t *n_left, err *e) {
  set s = {.t = t, .bound = log1p(loss) + 1e-12, .chosen = chosen};
  s.lost = calloc(t->n_configs * t->n_sizes + 1, sizeof *s.lost);
  s.in = calloc(t->n_configs + 1, sizeof *s.in);
  s.covers = calloc(t->n_sizes + 1, sizeof *s.covers);
  const bool ok = s.lost && s.in && s.covers;
  if (ok) {
    fill_lost(&s);
    choose(&s);
    *n = s.n;
    *n_left = servable(t) - n_covered(&s);
  }
  free(s.lost);
  free(s.in);
  free(s.covers);
  return ok ? 0 : no_room(e);
}

/* ---- the tree ------------------------------------------------------------------------------- */

enum { LEAVES_MOST = (PORTFOLIO_NODES + 1) / 2, LEAVES_TRIED = 128, FOLDS = 10, ORDER_MOST = 12 };
enum { FEATURES_MOST = 256 };

/* Of sizes. Those that were only drawn are many, and no leaf of a few of them tells much. */
enum { LEAF_LEAST = 3, SHORT_LEAF_LEAST = 8 };

/* A leaf's short list is as long as it takes to lose so little by it, in the mean over the leaf's
 * sizes; a logarithm. Of 24 configurations 4.5 are on it, and with them 3,520 fresh sizes of sgemm
 * lost on an H200 what they lost with the models of all, 1.4 %; with 6.2 no less, with 3.6 1.5 %.
 */
static const double SHORT_LOSS = 2e-3;
enum { SHORT_MOST = 8 };

/* What a tree that finds short lists tells apart: how much slower than this is all the same. */
static const double SHORT_LOST_MOST = 0.2;

/* A leaf's few sizes are believed as far as they go; this many more are taken to be like those of
 * the node above. */
static const double PRIOR = 1.5;

/* A measured size counts as much as so many of which only a model speaks. */
static const double MEASURED = 4;

typedef struct split {
  double gain; /* 0: none */
  chooser_feature feature;
  double below;
} split;

typedef struct grown { /* a node of a tree being grown */
  size_t *members, n;  /* sizes */
  double *mean;        /* per configuration: the loss expected here */
  size_t best;         /* configuration */
  split split;
  size_t yes, no; /* nodes; 0: not split */
  size_t step;    /* when it was split: a tree of s + 1 leaves has the splits before step s */
} grown;

typedef struct learner {
  const gen_template *template;
  const portfolio_table *t;
  const chooser_feature *features;
  size_t n_features, n_configs;
  double *lost; /* [size * n_configs + configuration]; the drawn ones' as the model says */
  const fit_sample *known;           /* [configuration * n_sizes + size] */
  const double *octaves;             /* [measured size * n_fields + field] */
  const float *apart;                /* [measured size * n_sizes + other]; NULL: no models */
  const fitted_model *const *models; /* per configuration; NULL: too little is known of it */
  const size_t *chosen;
  grown nodes[2 * LEAVES_MOST];
  size_t n_nodes, n_leaves;
  arena *a;
  double *left, *right; /* scratch, per configuration */
  bool shortens;        /* the tree is to find short lists, else the best one alone */
  bool failed;          /* out of memory */
} learner;

static const int64_t *values_of(const learner *l, size_t size) {
  return l->t->values + size * l->t->n_fields;
}

static const double *lost_of(const learner *l, size_t size) {
  return l->lost + size * l->n_configs;
}

static double weight(const learner *l, size_t size) {
  return size < l->t->n_sizes && l->t->n_drawn ? MEASURED : 1;
}

static void add_lost(const learner *l, size_t size, double times, double *sum) {
  const double most = l->shortens ? SHORT_LOST_MOST : LOST_MOST, *lost_here = lost_of(l, size);
  times *= weight(l, size);
  for (size_t k = 0; k < l->n_configs; k++) {
    sum[k] += times * (lost_here[k] < most ? lost_here[k] : most);
  }
}

/* The configuration by the sums over sizes of weight n, with the node above as a prior; its own. */
static double least_sum(const learner *l, const double *sum, double n, const double *above,
                        size_t *best) {
  double least = INFINITY;
  *best = 0;
  for (size_t k = 0; k < l->n_configs; k++) {
    const double mean = (sum[k] + PRIOR * above[k]) / (n + PRIOR);
    if (mean < least) {
      least = mean;
      *best = k;
    }
  }
  return sum[*best];
}

/* What the sizes' losses have in common: the less they are spread about their mean, the more. */
static double sum_of_squares(const learner *l, const double *sum, double n) {
  double squares = 0;
  for (size_t k = 0; k < l->n_configs; k++) {
    squares += sum[k] * sum[k];
  }
  return squares / n;
}

/* What a node gains by a split into two of those sums and weights; 0 where it is of no use. */
static double gain_of(const learner *l, const grown *g, double whole, double left, double right) {
  size_t a, b;
  if (l->shortens) {
    return sum_of_squares(l, l->left, left) + sum_of_squares(l, l->right, right) - whole;
  }
  const double gain =
      whole - least_sum(l, l->left, left, g->mean, &a) - least_sum(l, l->right, right, g->mean, &b);
  return a != b ? gain : 0;
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

/* whole: what the node loses as it is, or its sum of squares */
static void try_feature(learner *l, const grown *g, const chooser_feature *f, double whole,
                        feature_rank *order, split *best) {
  for (size_t i = 0; i < g->n; i++) {
    order[i] = (feature_rank){.value = feature_sort_value(f, values_of(l, g->members[i])),
                              .size = g->members[i]};
  }
  feature_sort(order, g->n);
  const size_t least = l->shortens ? SHORT_LEAF_LEAST : LEAF_LEAST;
  double left = 0, right = 0;
  if (!(order[0].value < order[g->n - 1].value)) {
    return;
  }
  memset(l->left, 0, l->n_configs * sizeof *l->left);
  memset(l->right, 0, l->n_configs * sizeof *l->right);
  for (size_t i = 0; i < g->n; i++) {
    add_lost(l, order[i].size, 1, l->right);
    right += weight(l, order[i].size);
  }
  for (size_t i = 1; i < g->n; i++) {
    const double w = weight(l, order[i - 1].size);
    add_lost(l, order[i - 1].size, 1, l->left);
    add_lost(l, order[i - 1].size, -1, l->right);
    left += w;
    right -= w;
    if (i < least || g->n - i < least || order[i].value <= order[i - 1].value) {
      continue;
    }
    const double gain = gain_of(l, g, whole, left, right);
    if (gain > best->gain + 1e-9) {
      *best = (split){
          .gain = gain, .feature = *f, .below = round_between(order[i - 1].value, order[i].value)};
    }
  }
}

/* Fill in what a node with its members is worth, and its best split. */
static void judge(learner *l, grown *g, const double *above) {
  double *sum = ARENA_ARRAY(l->a, double, l->n_configs);
  feature_rank *order = ARENA_ARRAY(l->a, feature_rank, g->n + 1);
  g->mean = ARENA_ARRAY(l->a, double, l->n_configs);
  if (!sum || !order || !g->mean) {
    l->failed = true;
    return;
  }
  double n = above ? PRIOR : 0;
  for (size_t i = 0; i < g->n; i++) {
    add_lost(l, g->members[i], 1, sum);
    n += weight(l, g->members[i]);
  }
  for (size_t k = 0; k < l->n_configs; k++) {
    g->mean[k] = (sum[k] + (above ? PRIOR * above[k] : 0)) / n;
    g->best = g->mean[k] < g->mean[g->best] ? k : g->best;
  }
  const double whole = l->shortens ? sum_of_squares(l, sum, n) : sum[g->best];
  for (size_t i = 0; g->n && i < l->n_features; i++) {
    try_feature(l, g, &l->features[i], whole, order, &g->split);
  }
}

static size_t new_node(learner *l, size_t most) {
  grown *g = &l->nodes[l->n_nodes];
  *g = (grown){.members = ARENA_ARRAY(l->a, size_t, most + 1)};
  l->failed = l->failed || !g->members;
  return l->n_nodes++;
}

static void split_node(learner *l, size_t i) {
  grown *g = &l->nodes[i];
  g->yes = new_node(l, g->n);
  g->no = new_node(l, g->n);
  g->step = l->n_leaves++ - 1;
  for (size_t j = 0; j < g->n && !l->failed; j++) {
    const bool yes =
        chooser_feature_holds(&g->split.feature, g->split.below, values_of(l, g->members[j]));
    grown *to = &l->nodes[yes ? g->yes : g->no];
    to->members[to->n++] = g->members[j];
  }
  if (!l->failed) {
    judge(l, &l->nodes[g->yes], g->mean);
    judge(l, &l->nodes[g->no], g->mean);
  }
}

static bool best_leaf(const learner *l, size_t *best) {
  double most = 0;
  for (size_t i = 0; i < l->n_nodes; i++) {
    if (!l->nodes[i].yes && l->nodes[i].split.gain > most) {
      most = l->nodes[i].split.gain;
      *best = i;
    }
  }
  return most > 0;
}

static const model_work *work_of(const learner *l, size_t k, size_t size) {
  return &l->t->work[l->chosen[k] * (l->t->n_sizes + l->t->n_drawn) + size];
}

/* apart: of this size, from each measured one */
static double model_sec(const learner *l, size_t k, size_t size, const float *apart) {
  return l->models[k] ? model_fit_sec(l->template, &l->models[k]->fit, values_of(l, size),
                                      work_of(l, k, size), apart)
                      : INFINITY;
}

static void distances(const learner *l, size_t size, float *apart) {
  double here[GEN_MAX_FIELDS];
  const chooser_fields fields = model_fields(l->template);
  chooser_octaves(&fields, values_of(l, size), here);
  for (size_t i = 0; i < l->t->n_sizes; i++) {
    apart[i] = (float)chooser_field_distance(&fields, here, l->octaves + i * l->t->n_fields);
  }
}

/* From seconds to what is lost against the best. */
static void relate(learner *l, size_t size) {
  double *lost = &l->lost[size * l->n_configs], least = INFINITY;
  for (size_t k = 0; k < l->n_configs; k++) {
    least = fmin(least, lost[k]);
  }
  for (size_t k = 0; k < l->n_configs; k++) {
    const double x = log(lost[k] / least);
    lost[k] = x < LOST_MOST ? x : LOST_MOST; /* also where nothing is finite */
  }
}

/* What the models say of a drawn size. */
static void imagine_one(void *self, size_t i) {
  learner *l = self;
  const size_t size = l->t->n_sizes + i;
  float apart[PORTFOLIO_SIZES];
  distances(l, size, apart);
  for (size_t k = 0; k < l->n_configs; k++) {
    l->lost[size * l->n_configs + k] = model_sec(l, k, size, apart);
  }
  relate(l, size);
}

static void imagine(learner *l) {
  threads_each(l->t->n_drawn, threads_cores(), imagine_one, l);
}

/* A tree over the sizes that are not left out. */
static void grow(learner *l, const uint8_t *in, uint8_t left_out, size_t leaves) {
  const size_t all = l->t->n_sizes + l->t->n_drawn;
  size_t i;
  l->n_nodes = 0;
  l->n_leaves = 1;
  new_node(l, all);
  for (size_t j = 0; j < all && !l->failed; j++) {
    if (j >= l->t->n_sizes || in[j] != left_out) {
      l->nodes[0].members[l->nodes[0].n++] = j;
    }
  }
  if (!l->failed && l->nodes[0].n) {
    judge(l, &l->nodes[0], NULL);
  }
  while (!l->failed && l->n_leaves < leaves && best_leaf(l, &i)) {
    split_node(l, i);
  }
}

/* Where the tree with so many leaves leads. */
static const grown *walk(const learner *l, const int64_t *values, size_t leaves) {
  const grown *g = &l->nodes[0];
  while (g->yes && g->step + 1 < leaves) {
    const bool yes = chooser_feature_holds(&g->split.feature, g->split.below, values);
    g = &l->nodes[yes ? g->yes : g->no];
  }
  return g;
}

/* ---- how many leaves ------------------------------------------------------------------------ */

/* Every size is left out once, with its neighbours in no order: a multiplicative generator deals
 * them to the folds. */
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

/* With the first of the leaf's order that works there; a root of no sizes has no order. */
static double lost_with(const learner *l, const grown *g, size_t size) {
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < l->n_configs; k++) {
    const bool works = isfinite(sec_of(l->t, l->chosen[k], size));
    const bool before = best == SIZE_MAX || (g->mean && g->mean[k] < g->mean[best]);
    best = works && before ? k : best;
  }
  return best == SIZE_MAX ? LOST_MOST : lost_of(l, size)[best];
}

/* held[size * LEAVES_TRIED + leaves - 1] of the sizes left out */
static void cross_validate(learner *l, const uint8_t *fold, double *held) {
  for (uint8_t f = 0; f < FOLDS; f++) {
    grow(l, fold, f, LEAVES_TRIED);
    for (size_t j = 0; j < l->t->n_sizes && !l->failed; j++) {
      for (size_t n = 1; n <= LEAVES_TRIED && fold[j] == f; n++) {
        held[j * LEAVES_TRIED + n - 1] = lost_with(l, walk(l, values_of(l, j), n), j);
      }
    }
  }
}

/* The fewest that do as well as any but for a tenth of a per cent. */
static size_t best_number(const learner *l, const double *held) {
  double mean[LEAVES_TRIED] = {0}, least = INFINITY;
  for (size_t n = 0; n < LEAVES_TRIED; n++) {
    for (size_t j = 0; j < l->t->n_sizes; j++) {
      mean[n] += held[j * LEAVES_TRIED + n] / (double)l->t->n_sizes;
    }
    least = fmin(least, mean[n]);
  }
  size_t n = 0;
  while (mean[n] > least + 1e-3) {
    n++;
  }
  return n + 1;
}

/* ---- how well the models pick ---------------------------------------------------------------- */

typedef struct foresight { /* what the models say of the measured sizes */
  learner *l;
  double *sec; /* [configuration * n_sizes + size]: by a model that has not seen the size */
  bool *in;
  size_t n;
} foresight;

/* One that failed at a size is passed over there. */
static void foretell(foresight *x) {
  const learner *l = x->l;
  const size_t ns = l->t->n_sizes;
  for (size_t k = 0; k < l->n_configs; k++) {
    for (size_t j = 0; j < ns; j++) {
      const bool works = isfinite(sec_of(l->t, l->chosen[k], j));
      const bool seen = l->models[k] && isfinite(l->models[k]->unseen[j]);
      x->sec[k * ns + j] = !works ? INFINITY
                           : seen ? l->models[k]->unseen[j]
                                  : model_sec(l, k, j, l->apart + j * ns);
    }
  }
}

/* With the one that the model would take. */
static double lost_at(const foresight *x, size_t size) {
  const size_t ns = x->l->t->n_sizes;
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < x->l->n_configs; k++) {
    const double sec = x->in[k] ? x->sec[k * ns + size] : INFINITY;
    best = isfinite(sec) && (best == SIZE_MAX || sec < x->sec[best * ns + size]) ? k : best;
  }
  return best == SIZE_MAX ? LOST_MOST : lost_of(x->l, size)[best];
}

/* ---- as a portfolio's nodes ----------------------------------------------------------------- */

typedef struct emitter {
  const learner *l;
  const double *held; /* per measured size: what it lost when it was left out */
  size_t leaves;
  chooser_node *nodes;
  size_t n;
} emitter;

static bool set_order(emitter *m, const grown *g, chooser_node *n) {
  feature_rank order[PORTFOLIO_CONFIGS] = {{0}};
  uint16_t *list = ARENA_ARRAY(m->l->a, uint16_t, ORDER_MOST);
  for (size_t k = 0; k < m->l->n_configs; k++) {
    order[k] = (feature_rank){.value = g->mean[k], .size = k};
  }
  feature_sort(order, m->l->n_configs);
  n->order = list;
  for (size_t k = 0; list && k < m->l->n_configs && k < ORDER_MOST; k++) {
    list[n->n_order++] = (uint16_t)order[k].size;
  }
  return list;
}

/* The next of a leaf's order is whoever lowers most what its sizes lose with the best of those
 * before and him: lost[member], which he lowers. */
static size_t next_of_order(const learner *l, const grown *g, bool *in, double *lost_so_far) {
  double least = INFINITY;
  size_t best = 0;
  for (size_t k = 0; k < l->n_configs; k++) {
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

static double mean_lost(const learner *l, const grown *g, const double *lost_here) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < g->n; i++) {
    sum += weight(l, g->members[i]) * lost_here[i];
    n += weight(l, g->members[i]);
  }
  return n > 0 ? sum / n : 0;
}

static bool set_short_list(emitter *m, const grown *g, chooser_node *n) {
  const size_t nc = m->l->n_configs;
  bool in[PORTFOLIO_CONFIGS] = {false};
  double *lost_so_far = ARENA_ARRAY(m->l->a, double, g->n + 1);
  uint16_t *list = ARENA_ARRAY(m->l->a, uint16_t, ORDER_MOST);
  if (!lost_so_far || !list) {
    return false;
  }
  for (size_t i = 0; i < g->n; i++) {
    lost_so_far[i] = LOST_MOST;
  }
  while (n->n_order < nc && n->n_order < ORDER_MOST) {
    list[n->n_order++] = (uint16_t)next_of_order(m->l, g, in, lost_so_far);
    const bool enough = n->n_order == nc || n->n_order == SHORT_MOST ||
                        mean_lost(m->l, g, lost_so_far) < SHORT_LOSS;
    n->n_short = !n->n_short && enough ? n->n_order : n->n_short;
  }
  n->order = list;
  return true;
}

/* What the leaf promises: what its sizes lost when they were left out. */
static void set_losses(emitter *m, const grown *g, chooser_node *n) {
  double sum = 0, worst = 0, n_measured = 0;
  for (size_t i = 0; i < g->n; i++) {
    if (g->members[i] < m->l->t->n_sizes) {
      const double x = m->held[g->members[i]];
      sum += x;
      worst = fmax(worst, x);
      n_measured++;
    }
  }
  n->expected = n_measured > 0 ? expm1(sum / n_measured) : 0;
  n->worst = expm1(worst);
}

/* The depth is at most the number of leaves. */
static bool emit(emitter *m, const grown *g) {
  chooser_node *n = &m->nodes[m->n++];
  if (!g->yes || g->step + 1 >= m->leaves) {
    set_losses(m, g, n);
    return m->l->shortens ? set_short_list(m, g, n) : set_order(m, g, n);
  }
  n->feature = g->split.feature;
  n->below = g->split.below;
  if (!emit(m, &m->l->nodes[g->yes])) {
    return false;
  }
  n->no = m->n;
  return emit(m, &m->l->nodes[g->no]);
}

static void promise(const learner *l, const double *held, portfolio *out) {
  double sum = 0, worst = 0;
  for (size_t j = 0; j < l->t->n_sizes; j++) {
    sum += held[j];
    worst = fmax(worst, held[j]);
  }
  out->expected = expm1(sum / (double)l->t->n_sizes);
  out->worst = expm1(worst);
}

/* With models it is they who pick, and what they lost is what the leaves tell. */
static bool foresee(learner *l, double *held) {
  const size_t ns = l->t->n_sizes;
  foresight x = {.l = l, .n = l->n_configs};
  x.sec = ARENA_ARRAY(l->a, double, l->n_configs *ns + 1);
  x.in = ARENA_ARRAY(l->a, bool, l->n_configs + 1);
  if (!x.sec || !x.in) {
    return false;
  }
  memset(x.in, true, l->n_configs);
  foretell(&x);
  for (size_t j = 0; j < ns; j++) {
    held[j] = lost_at(&x, j);
  }
  return true;
}

/* Of the first configuration that fits there. */
static double flops_at(const learner *l, size_t size) {
  double flops = 0;
  for (size_t k = 0; k < l->n_configs && !(flops > 0); k++) {
    flops = l->known[k * l->t->n_sizes + size].work.amount.flops;
  }
  return flops;
}

static bool put_models(const learner *l, portfolio *out) {
  const size_t ns = l->t->n_sizes;
  model_fit *fits = ARENA_ARRAY(l->a, model_fit, l->n_configs + 1);
  double *flops = ARENA_ARRAY(l->a, double, ns + 1);
  if (!fits || !flops) {
    return false;
  }
  for (size_t k = 0; k < l->n_configs; k++) {
    const model_fit none = {.chooser.costs = {.sms = l->t->sms, .at_once = 1}};
    fits[k] = l->models[k] ? l->models[k]->fit : none;
  }
  for (size_t j = 0; j < ns; j++) {
    flops[j] = flops_at(l, j);
  }
  out->model = (portfolio_model){.n_configs = l->n_configs,
                                 .sizes.n = ns,
                                 .fits = fits,
                                 .values = l->t->values,
                                 .flops = flops};
  return !portfolio_model_sizes(l->template, &out->model, l->a, NULL);
}

/* As many leaves as the sizes left out have use for; what those lost. */
static bool choose_leaves(learner *l, size_t *leaves, double *lost_then) {
  const size_t n = l->t->n_sizes;
  uint8_t *fold = ARENA_ARRAY(l->a, uint8_t, n);
  double *held = ARENA_ARRAY(l->a, double, n *LEAVES_TRIED);
  if (!fold || !held) {
    return false;
  }
  deal(fold, n);
  cross_validate(l, fold, held);
  *leaves = l->failed ? 1 : best_number(l, held);
  for (size_t j = 0; j < n; j++) {
    lost_then[j] = held[j * LEAVES_TRIED + *leaves - 1];
  }
  return true;
}

/* Of seven sizes none: fit_model takes eight. */
static bool any_model(const learner *l) {
  for (size_t k = 0; l->apart && k < l->n_configs; k++) {
    if (l->models[k]) {
      return true;
    }
  }
  return false;
}

/* Short lists need many sizes, and models that speak of them: then the leaves are as many as may
 * be, since a deeper tree has shorter lists. */
static bool learn(learner *l, portfolio *out) {
  const size_t n = l->t->n_sizes;
  size_t leaves = LEAVES_MOST;
  uint8_t *all = ARENA_ARRAY(l->a, uint8_t, n);
  double *held = ARENA_ARRAY(l->a, double, n + 1);
  chooser_node *nodes = ARENA_ARRAY(l->a, chooser_node, PORTFOLIO_NODES);
  l->shortens = any_model(l) && l->t->n_drawn;
  if (!all || !held || !nodes) {
    return false;
  }
  imagine(l);
  if (!l->shortens && !choose_leaves(l, &leaves, held)) {
    return false;
  }
  grow(l, all, FOLDS, leaves);
  emitter m = {.l = l, .held = held, .leaves = leaves, .nodes = nodes};
  if ((any_model(l) && !foresee(l, held)) || (l->apart && !put_models(l, out))) {
    return false;
  }
  if (l->failed || !emit(&m, &l->nodes[0])) {
    return false;
  }
  promise(l, held, out);
  out->nodes = nodes;
  out->n_nodes = m.n;
  out->n_sizes = n;
  return true;
}

/* Where the measurement was held up, what the model says. */
static double believed(const learner *l, size_t k, size_t size) {
  const fitted_model *m = l->models ? l->models[k] : NULL;
  return m && m->held_up[size] ? m->unseen[size] : sec_of(l->t, l->chosen[k], size);
}

static double *losses(const learner *l) {
  const portfolio_table *t = l->t;
  const size_t n = l->n_configs;
  double *out = ARENA_ARRAY(l->a, double, (t->n_sizes + t->n_drawn) * n + 1);
  for (size_t j = 0; out && j < t->n_sizes; j++) {
    const double least = least_of(t, j);
    for (size_t k = 0; k < n; k++) {
      const double x = fmax(0, log(believed(l, k, j) / least));
      out[j * n + k] = x < LOST_MOST ? x : LOST_MOST; /* also where nothing is finite */
    }
  }
  return out;
}

/* What loses far more than this at a size will not be taken there, and its model need not know by
 * how much: one in so many of these is told, and those where it would be believed nearly as fast as
 * the fastest. Of 2,639 sizes 24 configurations of sgemm so have two thirds of the rows, and at 600
 * fresh sizes on an H200 the mean loss fell from 1.4 to 1.3 %. Of fewer sizes than TOLD_ALL all are
 * told. */
static const double TOLD_MOST = 0.5, BELIEVED_MOST = 0.25;
enum { TOLD_BEYOND = 4, TOLD_ALL = 400, FITS_MOST = 4 };

static bool tells(const learner *l, size_t k, size_t size, double sec, double least) {
  return l->t->n_sizes < TOLD_ALL || sec <= (1 + TOLD_MOST) * least ||
         (7 * size + 3 * k) % TOLD_BEYOND == 0;
}

static fit_sample *measurements(const learner *l) {
  const portfolio_table *t = l->t;
  fit_sample *out = ARENA_ARRAY(l->a, fit_sample, t->n_sizes * l->n_configs + 1);
  for (size_t j = 0; out && t->work && j < t->n_sizes; j++) {
    const double least = least_of(t, j);
    for (size_t k = 0; k < l->n_configs; k++) {
      const double sec = sec_of(t, l->chosen[k], j);
      out[k * t->n_sizes + j] = (fit_sample){.values = t->values + j * t->n_fields,
                                             .work = *work_of(l, k, j),
                                             .sec = tells(l, k, j, sec, least) ? sec : INFINITY};
    }
  }
  return out;
}

/* Between the measured sizes. */
static bool find_distances(learner *l) {
  const size_t ns = l->t->n_sizes, nf = l->t->n_fields;
  double *octaves = ARENA_ARRAY(l->a, double, ns *nf + 1);
  float *apart = ARENA_ARRAY(l->a, float, ns *ns + 1);
  const chooser_fields fields = model_fields(l->template);
  for (size_t j = 0; octaves && j < ns; j++) {
    chooser_octaves(&fields, values_of(l, j), octaves + j * nf);
  }
  l->octaves = octaves;
  for (size_t j = 0; octaves && apart && j < ns; j++) {
    distances(l, j, apart + j * ns);
  }
  l->apart = apart;
  return octaves && apart;
}

typedef struct fitting { /* the models, by all threads */
  learner *l;
  fit_sample *known; /* the learner's */
  const fitted_model *models[PORTFOLIO_CONFIGS];
  arena memory[PORTFOLIO_CONFIGS];
  int rc[PORTFOLIO_CONFIGS];
} fitting;

/* Where it is slow, was not told, and would be believed fast. */
static bool tell_mistakes(const fitting *f, size_t k) {
  const learner *l = f->l;
  const size_t ns = l->t->n_sizes;
  bool any = false;
  for (size_t j = 0; j < ns; j++) {
    fit_sample *known = &f->known[k * ns + j];
    const double sec = sec_of(l->t, l->chosen[k], j);
    if (isfinite(sec) && !isfinite(known->sec) &&
        model_fit_sec(l->template, &f->models[k]->fit, known->values, &known->work,
                      l->apart + j * ns) < (1 + BELIEVED_MOST) * least_of(l->t, j)) {
      known->sec = sec;
      any = true;
    }
  }
  return any;
}

static void fit_one(void *self, size_t k) {
  fitting *f = self;
  const learner *l = f->l;
  const size_t ns = l->t->n_sizes;
  for (int i = 0; i < FITS_MOST; i++) {
    arena_clear(&f->memory[k]);
    f->rc[k] = fit_model(l->template, f->known + k * ns, ns, l->apart, l->t->sms, &f->memory[k],
                         &f->models[k], NULL);
    if (f->rc[k] || !f->models[k] || !tell_mistakes(f, k)) {
      break;
    }
  }
}

static int fit_models(learner *l, fit_sample *known, err *e) {
  fitting *f = ARENA_ARRAY(l->a, fitting, 1);
  int rc = 0;
  if (!f || !find_distances(l)) {
    return no_room(e);
  }
  f->l = l;
  f->known = known;
  threads_each(l->n_configs, threads_cores(), fit_one, f);
  for (size_t k = 0; k < l->n_configs; k++) {
    arena_take(l->a, &f->memory[k]);
    rc = f->rc[k] ? f->rc[k] : rc;
  }
  l->models = f->models;
  return rc ? no_room(e) : 0;
}

static int open_learner(learner *l, const gen_template *t, const portfolio_table *table,
                        const size_t *chosen, size_t n, arena *a, err *e) {
  chooser_feature *features = ARENA_ARRAY(a, chooser_feature, FEATURES_MOST);
  if (!features) {
    return no_room(e);
  }
  *l = (learner){
      .template = t, .t = table, .features = features, .n_configs = n, .chosen = chosen, .a = a};
  l->n_features = portfolio_features(t, features, FEATURES_MOST);
  fit_sample *known = measurements(l);
  l->known = known;
  l->left = ARENA_ARRAY(a, double, n + 1);
  l->right = ARENA_ARRAY(a, double, n + 1);
  if (!l->known || !l->left || !l->right) {
    return no_room(e);
  }
  TRY(table->work ? fit_models(l, known, e) : 0);
  l->lost = losses(l);
  return l->lost ? 0 : no_room(e);
}

int portfolio_learn(const gen_template *t, const portfolio_table *table, const size_t *chosen,
                    size_t n, arena *a, portfolio *out, err *e) {
  learner *l = ARENA_ARRAY(a, learner, 1);
  TRY(l ? open_learner(l, t, table, chosen, n, a, e) : no_room(e));
  return learn(l, out) ? 0 : no_room(e);
}

/* ---- fewer ---------------------------------------------------------------------------------- */

/* What a configuration must gain over all sizes, in the measure of lost_in_all: each takes time at
 * every size that nobody has met, and can be taken by mistake. Of 22 of sgemm on an H200, 16 were
 * left, which lost 0.2 % against the best of the 22 at 1092 other sizes, and 0.5 % less than the 22
 * against the best of their own. */
static const double WORTH = 0.005;

/* The mean over the sizes; large losses count more than in proportion. */
static double lost_in_all(const foresight *x) {
  double sum = 0;
  for (size_t j = 0; j < x->l->t->n_sizes; j++) {
    const double lost = lost_at(x, j);
    sum += lost + 4 * lost * lost;
  }
  return sum / (double)x->l->t->n_sizes;
}

/* The one whose absence costs the least; what is lost without it. */
static double least_missed(foresight *x, size_t *which) {
  double least = INFINITY;
  for (size_t k = 0; k < x->l->n_configs; k++) {
    if (x->in[k]) {
      x->in[k] = false;
      const double lost = lost_in_all(x);
      x->in[k] = true;
      *which = lost < least ? k : *which;
      least = fmin(least, lost);
    }
  }
  return least;
}

static void thin(foresight *x) {
  double least = lost_in_all(x);
  while (x->n > 1) {
    size_t which = 0;
    const double lost = least_missed(x, &which);
    if (lost > least + WORTH) {
      break;
    }
    least = fmin(least, lost);
    x->in[which] = false;
    x->n--;
  }
}

int portfolio_thin(const gen_template *t, const portfolio_table *table, size_t *chosen, size_t *n,
                   arena *a, err *e) {
  learner *l = ARENA_ARRAY(a, learner, 1);
  foresight x = {.l = l, .n = *n};
  size_t n_kept = 0;
  x.sec = ARENA_ARRAY(a, double, *n * table->n_sizes + 1);
  x.in = ARENA_ARRAY(a, bool, *n + 1);
  if (!table->work) {
    return 0; /* nothing is known of what they do */
  }
  TRY(l && x.sec && x.in ? open_learner(l, t, table, chosen, *n, a, e) : no_room(e));
  memset(x.in, true, *n);
  foretell(&x);
  thin(&x);
  for (size_t k = 0; k < *n; k++) {
    chosen[n_kept] = chosen[k];
    n_kept += x.in[k];
  }
  *n = n_kept;
  return 0;
}

/* ---- where to measure ----------------------------------------------------------------------- */

/* By how much a time that is expected to be longer by `more`, give or take `doubt`, will be
 * shorter: the expectation over a normal distribution. */
static double gain(double more, double doubt) {
  static const double root2 = 1.4142135623730951, root2pi = 2.5066282746310002;
  const double z = more / doubt;
  return doubt > 0 ? doubt * (exp(-z * z / 2) / root2pi - z * erfc(z / root2) / 2) : 0;
}

typedef struct regretting {
  const learner *l;
  double *regret;
} regretting;

static void regret_one(void *self, size_t i) {
  const regretting *r = self;
  const learner *l = r->l;
  const size_t size = l->t->n_sizes + i;
  float apart[PORTFOLIO_SIZES];
  double sec[PORTFOLIO_CONFIGS], doubt[PORTFOLIO_CONFIGS], sum = 0;
  size_t best = 0;
  distances(l, size, apart);
  for (size_t k = 0; k < l->n_configs; k++) {
    sec[k] = model_sec(l, k, size, apart);
    doubt[k] = isfinite(sec[k])
                   ? fitted_model_doubt(l->template, l->models[k], work_of(l, k, size), apart)
                   : 0;
    best = sec[k] < sec[best] ? k : best;
  }
  for (size_t k = 0; k < l->n_configs; k++) {
    if (k != best && isfinite(sec[k])) {
      sum += gain(log(sec[k] / sec[best]), hypot(doubt[k], doubt[best]));
    }
  }
  r->regret[i] = sum;
}

int portfolio_regret(const gen_template *t, const portfolio_table *table, double *regret, err *e) {
  size_t all[PORTFOLIO_CONFIGS];
  arena a = {0};
  learner *l = ARENA_ARRAY(&a, learner, 1);
  for (size_t k = 0; k < table->n_configs; k++) {
    all[k] = k;
  }
  int rc = l ? open_learner(l, t, table, all, table->n_configs, &a, e) : no_room(e);
  if (!rc) {
    threads_each(table->n_drawn, threads_cores(), regret_one,
                 &(regretting){.l = l, .regret = regret});
  }
  arena_clear(&a);
  return rc;
}
