#include "variant_tree.h"

#include <math.h>
#include <string.h>

#include "tree_learner.h"

/* Sizes that a leaf has at least; leaves at most; variants that a branch names itself, and with
 * those of the branches above. */
enum { LEAF_LEAST = 8, LEAVES_MOST = 1024, OWN_MOST = 8, ORDER_MOST = 32 };

/* A branch counts as if it had this many sizes more that are like those of the branch above:
 * variants that fit little are not trusted for having fitted the few sizes that are here. */
static const double PRIOR = 1;

/* What a variant in front must gain its branch: a logarithm, all sizes together. */
static const double LEAST_GAIN = 0.15;

typedef struct branch { /* of a node of the tree */
  double *mean; /* [n_variants]: what sizes here lose; a part of it is what those above lose */
  uint16_t *order;
  size_t n_order;
  double whole; /* what the branch, and the prior of both parts, lose with one variant */
  double expected;
} branch;

typedef struct learner {
  const variant_table *table;
  arena *a;
  tree_learner tree;
  float *now;                 /* [n_sizes]: what a size loses by its branch's order */
  double *left, *right, *all; /* [n_variants]: what sizes lose with each */
  branch *branches;           /* by node */
  size_t at;                  /* the node that is open */
} learner;

static const float *lost_at(const learner *l, size_t size) {
  return l->table->lost + size * l->table->n_variants;
}

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

/* ---- the criterion -------------------------------------------------------------------------- */

static void start(void *self, const feature_rank *sorted, size_t n) {
  learner *l = self;
  const double *mean = l->branches[l->at].mean;
  (void)sorted;
  (void)n;
  for (size_t k = 0; k < l->table->n_variants; k++) {
    l->left[k] = PRIOR * mean[k];
    l->right[k] = l->all[k] + PRIOR * mean[k];
  }
}

static void move(void *self, size_t size) {
  learner *l = self;
  const float *lost = lost_at(l, size);
  for (size_t i = 0; i < l->table->n_variants; i++) {
    const double x = lost_with(l, size, lost[i]);
    l->left[i] += x;
    l->right[i] -= x;
  }
}

static double gain(void *self, size_t node) {
  const learner *l = self;
  const size_t n = l->table->n_variants;
  return l->branches[node].whole - least(l->left, n) - least(l->right, n);
}

static double middle(double a, double b) {
  return (a + b) / 2;
}

/* ---- branches ------------------------------------------------------------------------------- */

/* all: what the branch loses with each variant in front of its order */
static void add_up(learner *l, const tree_node *g) {
  memset(l->all, 0, l->table->n_variants * sizeof *l->all);
  for (size_t i = 0; i < g->n; i++) {
    const float *lost = lost_at(l, g->members[i]);
    for (size_t k = 0; k < l->table->n_variants; k++) {
      l->all[k] += lost_with(l, g->members[i], lost[k]);
    }
  }
}

static double lost_now(const learner *l, const tree_node *g) {
  double sum = 0;
  for (size_t i = 0; i < g->n; i++) {
    sum += (double)l->now[g->members[i]];
  }
  return sum;
}

static void put_in_front(learner *l, const tree_node *g, branch *b, size_t variant) {
  for (size_t i = 0; i < g->n; i++) {
    const size_t size = g->members[i];
    l->now[size] = (float)lost_with(l, size, lost_at(l, size)[variant]);
  }
  b->n_order += b->n_order < ORDER_MOST;
  memmove(b->order + 1, b->order, (b->n_order - 1) * sizeof *b->order);
  b->order[0] = (uint16_t)variant;
}

/* A branch has the order of the one above, and in front of it the variants that serve its sizes
 * better than that, where they fit. */
static void set_order(learner *l, const tree_node *g, branch *b, const branch *above) {
  double lost = lost_now(l, g);
  if (above) {
    memcpy(b->order, above->order, above->n_order * sizeof *b->order);
    b->n_order = above->n_order;
  }
  for (size_t own = 0; own < OWN_MOST; own++) {
    size_t best = 0;
    add_up(l, g);
    for (size_t k = 1; k < l->table->n_variants; k++) {
      best = l->all[k] < l->all[best] ? k : best;
    }
    if (!(l->all[best] < lost - LEAST_GAIN)) {
      break;
    }
    put_in_front(l, g, b, best);
    lost = lost_now(l, g);
  }
  b->expected = g->n ? expm1(lost / (double)g->n) : 0;
}

static void set_means(learner *l, const tree_node *g, branch *b, const branch *above) {
  add_up(l, g);
  b->whole = INFINITY;
  for (size_t k = 0; k < l->table->n_variants; k++) {
    const double prior = above ? PRIOR : 0;
    b->mean[k] = (l->all[k] + (above ? prior * above->mean[k] : 0)) / ((double)g->n + prior);
    b->whole = fmin(b->whole, l->all[k] + 2 * PRIOR * b->mean[k]);
  }
}

static bool open_branch(void *self, size_t node, size_t above) {
  learner *l = self;
  const tree_node *g = &l->tree.nodes[node];
  branch *b = &l->branches[node];
  const branch *parent = above == SIZE_MAX ? NULL : &l->branches[above];
  *b = (branch){.mean = ARENA_ARRAY(l->a, double, l->table->n_variants + 1),
                .order = ARENA_ARRAY(l->a, uint16_t, ORDER_MOST)};
  if (!b->mean || !b->order) {
    return false;
  }
  l->at = node;
  set_order(l, g, b, parent);
  set_means(l, g, b, parent);
  return true;
}

static bool emit_leaf(void *self, size_t node, chooser_node *out) {
  const learner *l = self;
  const branch *b = &l->branches[node];
  out->expected = b->expected;
  out->order = b->order;
  out->n_order = b->n_order;
  return true;
}

static bool learn(learner *l, size_t *sizes, chooser_node *nodes, size_t *n) {
  for (size_t i = 0; i < l->table->n_sizes; i++) {
    sizes[i] = i;
    l->now[i] = l->table->nothing;
  }
  if (!tree_grow(&l->tree, sizes, l->table->n_sizes, LEAVES_MOST)) {
    return false;
  }
  *n = tree_emit(&l->tree, SIZE_MAX, emit_leaf, l, nodes);
  return *n > 0;
}

int variant_tree_grow(const gen_template *t, const variant_table *table, arena *a,
                      chooser_node **nodes, size_t *n, err *e) {
  learner l = {.table = table, .a = a};
  const tree_criterion criterion = {.leaf_least = LEAF_LEAST,
                                    .open = open_branch,
                                    .start = start,
                                    .move = move,
                                    .gain = gain,
                                    .threshold = middle,
                                    .self = &l};
  TRY(tree_learner_new(t, table->values, table->n_sizes, LEAVES_MOST, &criterion, a, &l.tree, e));
  size_t *sizes = ARENA_ARRAY(a, size_t, table->n_sizes + 1);
  l.now = ARENA_ARRAY(a, float, table->n_sizes + 1);
  l.left = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.right = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.all = ARENA_ARRAY(a, double, table->n_variants + 1);
  l.branches = ARENA_ARRAY(a, branch, 2 * LEAVES_MOST);
  *nodes = ARENA_ARRAY(a, chooser_node, 2 * LEAVES_MOST);
  return sizes && l.now && l.left && l.right && l.all && l.branches && *nodes &&
                 learn(&l, sizes, *nodes, n)
             ? 0
             : err_nomem(e);
}
