#include "variant_tree.h"

#include <math.h>
#include <string.h>

#include "feature_sort.h"

/* Sizes that a leaf has at least; leaves at most; variants that a branch
 * names itself, and with those of the branches above. */
enum { LEAF_LEAST = 8, LEAVES_MOST = 1024, OWN_MOST = 8, ORDER_MOST = 32, FEATURES_MOST = 256 };

typedef struct split {
  double gain; /* 0: none is of use */
  chooser_feature feature;
  double below;
} split;

typedef struct branch {
  size_t from, n; /* its sizes: learner.member[from], ... */
  split split;
  size_t yes, no; /* 0: a leaf */
  double *mean;   /* [n_variants]: what sizes here lose; a part of it is what those above lose */
  uint16_t *order;
  size_t n_order;
  double expected;
} branch;

typedef struct learner {
  const gen_template *t;
  const variant_table *table;
  arena *a;
  chooser_feature features[FEATURES_MOST];
  size_t n_features;
  size_t *member, *aside;     /* sizes */
  feature_rank *feature_rank; /* [n_sizes] */
  float *now;                 /* [n_sizes]: what a size loses by its branch's order */
  double *left, *right, *all; /* [n_variants]: what sizes lose with each */
  branch *branches;
  size_t n_branches;
  chooser_node *nodes;
  size_t n_nodes;
  bool failed;
} learner;

static const int64_t *values_of(const learner *l, size_t size) {
  return l->table->values + size * l->t->n_fields;
}

static const float *lost_at(const learner *l, size_t size) {
  return l->table->lost + size * l->table->n_variants;
}

/* ---- splitting ------------------------------------------------------------------------------ */

/* So many sizes like those of the branch above are added to a branch: variants that fit little
 * are not trusted for having fitted the few sizes that are here. */
static const double PRIOR = 1;

/* What a variant in front must spare its branch: a logarithm, all sizes together. */
static const double LEAST_GAIN = 0.15;

static double least(const double *sum, size_t n) {
  double x = INFINITY;
  for (size_t i = 0; i < n; i++) {
    x = sum[i] < x ? sum[i] : x;
  }
  return x;
}

/* With the variant in front of the branch's order. */
static double lost_with(const learner *l, size_t size, float lost) {
  return (double)(lost < l->table->nothing ? lost : l->now[size]);
}

static void move_left(learner *l, size_t size) {
  const float *lost = lost_at(l, size);
  for (size_t i = 0; i < l->table->n_variants; i++) {
    const double x = lost_with(l, size, lost[i]);
    l->left[i] += x;
    l->right[i] -= x;
  }
}

/* whole: what the branch and the prior of both parts lose with one variant */
static void try_feature(learner *l, const branch *b, const chooser_feature *f, double whole,
                        split *best) {
  const size_t n = l->table->n_variants;
  feature_rank *r = l->feature_rank;
  for (size_t i = 0; i < b->n; i++) {
    const size_t size = l->member[b->from + i];
    r[i] = (feature_rank){.value = feature_sort_value(f, values_of(l, size)), .size = size};
  }
  feature_sort(r, b->n);
  for (size_t k = 0; k < n; k++) {
    l->left[k] = PRIOR * b->mean[k];
    l->right[k] = l->all[k] + PRIOR * b->mean[k];
  }
  for (size_t i = 1; i + LEAF_LEAST <= b->n; i++) {
    move_left(l, r[i - 1].size);
    if (i >= LEAF_LEAST && r[i - 1].value < r[i].value) {
      const double gain = whole - least(l->left, n) - least(l->right, n);
      if (gain > best->gain + 1e-9) {
        *best = (split){.gain = gain, .feature = *f, .below = (r[i - 1].value + r[i].value) / 2};
      }
    }
  }
}

static double whole_of(const learner *l, const branch *b) {
  double x = INFINITY;
  for (size_t k = 0; k < l->table->n_variants; k++) {
    x = fmin(x, l->all[k] + 2 * PRIOR * b->mean[k]);
  }
  return x;
}

/* all: what the branch loses with each variant in front of its order */
static void add_up(learner *l, const branch *b) {
  memset(l->all, 0, l->table->n_variants * sizeof *l->all);
  for (size_t i = 0; i < b->n; i++) {
    const size_t size = l->member[b->from + i];
    const float *lost = lost_at(l, size);
    for (size_t k = 0; k < l->table->n_variants; k++) {
      l->all[k] += lost_with(l, size, lost[k]);
    }
  }
}

static void find_split(learner *l, branch *b, const double *above) {
  const size_t n = l->table->n_variants;
  add_up(l, b);
  for (size_t k = 0; k < n; k++) {
    const double prior = above ? PRIOR : 0;
    b->mean[k] = (l->all[k] + (above ? prior * above[k] : 0)) / ((double)b->n + prior);
  }
  const double whole = whole_of(l, b);
  for (size_t i = 0; i < l->n_features && b->n >= 2 * LEAF_LEAST; i++) {
    try_feature(l, b, &l->features[i], whole, &b->split);
  }
}

static double lost_now(const learner *l, const branch *b) {
  double sum = 0;
  for (size_t i = 0; i < b->n; i++) {
    sum += (double)l->now[l->member[b->from + i]];
  }
  return sum;
}

static void put_in_front(learner *l, branch *b, size_t variant) {
  for (size_t i = 0; i < b->n; i++) {
    const size_t size = l->member[b->from + i];
    l->now[size] = (float)lost_with(l, size, lost_at(l, size)[variant]);
  }
  b->n_order += b->n_order < ORDER_MOST;
  memmove(b->order + 1, b->order, (b->n_order - 1) * sizeof *b->order);
  b->order[0] = (uint16_t)variant;
}

/* A branch has the order of the one above, and in front of it who serves its sizes better than
 * that, where he fits. */
static void set_order(learner *l, branch *b, const branch *above) {
  double lost = lost_now(l, b);
  if (above) {
    memcpy(b->order, above->order, above->n_order * sizeof *b->order);
    b->n_order = above->n_order;
  }
  for (size_t own = 0; own < OWN_MOST; own++) {
    size_t best = 0;
    add_up(l, b);
    for (size_t k = 1; k < l->table->n_variants; k++) {
      best = l->all[k] < l->all[best] ? k : best;
    }
    if (!(l->all[best] < lost - LEAST_GAIN)) {
      break;
    }
    put_in_front(l, b, best);
    lost = lost_now(l, b);
  }
  b->expected = b->n ? expm1(lost / (double)b->n) : 0;
}

static size_t new_branch(learner *l, size_t from, size_t n, const branch *above) {
  branch *b = &l->branches[l->n_branches];
  *b = (branch){.from = from,
                .n = n,
                .mean = ARENA_ARRAY(l->a, double, l->table->n_variants + 1),
                .order = ARENA_ARRAY(l->a, uint16_t, ORDER_MOST)};
  l->failed = l->failed || !b->mean || !b->order;
  if (!l->failed) {
    set_order(l, b, above);
    find_split(l, b, above ? above->mean : NULL);
  }
  return l->n_branches++;
}

static void split_branch(learner *l, branch *b) {
  size_t yes = 0, no = 0;
  for (size_t i = 0; i < b->n; i++) {
    const size_t size = l->member[b->from + i];
    if (chooser_feature_holds(&b->split.feature, b->split.below, values_of(l, size))) {
      l->member[b->from + yes++] = size;
    } else {
      l->aside[no++] = size;
    }
  }
  memcpy(l->member + b->from + yes, l->aside, no * sizeof *l->aside);
  b->yes = new_branch(l, b->from, yes, b);
  b->no = new_branch(l, b->from + yes, no, b);
}

/* Best gain first. */
static void grow(learner *l) {
  new_branch(l, 0, l->table->n_sizes, NULL);
  for (size_t leaves = 1; leaves < LEAVES_MOST && !l->failed; leaves++) {
    branch *best = NULL;
    for (size_t i = 0; i < l->n_branches; i++) {
      branch *b = &l->branches[i];
      best = !b->yes && b->split.gain > (best ? best->split.gain : 0) ? b : best;
    }
    if (!best) {
      return;
    }
    split_branch(l, best);
  }
}

/* ---- as nodes ------------------------------------------------------------------------------- */

/* A node, then those below it where the question is answered with yes, then the others. */
static void emit(learner *l, const branch *b) {
  chooser_node *node = &l->nodes[l->n_nodes++];
  *node = (chooser_node){.feature = b->split.feature,
                         .below = b->split.below,
                         .expected = b->expected,
                         .order = b->order,
                         .n_order = b->n_order};
  if (b->yes) {
    emit(l, &l->branches[b->yes]);
    node->no = l->n_nodes;
    emit(l, &l->branches[b->no]);
  }
}

int variant_tree_grow(const gen_template *t, const variant_table *table, arena *a,
                      chooser_node **nodes, size_t *n, err *e) {
  learner l = {.t = t, .table = table, .a = a};
  l.n_features = portfolio_features(t, l.features, FEATURES_MOST);
  l.member = ARENA_ARRAY(a, size_t, table->n_sizes + 1);
  l.aside = ARENA_ARRAY(a, size_t, table->n_sizes + 1);
  l.feature_rank = ARENA_ARRAY(a, feature_rank, table->n_sizes + 1);
  l.now = ARENA_ARRAY(a, float, table->n_sizes + 1);
  l.left = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.right = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.all = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.branches = ARENA_ARRAY(a, branch, 2 * LEAVES_MOST);
  l.nodes = ARENA_ARRAY(a, chooser_node, 2 * LEAVES_MOST);
  if (!l.member || !l.aside || !l.feature_rank || !l.now || !l.left || !l.right || !l.all ||
      !l.branches || !l.nodes) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < table->n_sizes; i++) {
    l.member[i] = i;
    l.now[i] = table->nothing;
  }
  grow(&l);
  emit(&l, &l.branches[0]);
  *nodes = l.nodes;
  *n = l.n_nodes;
  return l.failed ? err_set(e, ERR_NOMEM, "out of memory") : 0;
}
