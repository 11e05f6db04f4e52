#include "tree_learner.h"

#include <stdlib.h>
#include <string.h>

int tree_learner_new(const gen_template *t, const int64_t *values, size_t n_sizes,
                     size_t leaves_most, const tree_criterion *criterion, arena *a,
                     tree_learner *out, err *e) {
  *out = (tree_learner){.criterion = criterion, .values = values, .n_fields = t->n_fields};
  out->n_features = portfolio_features(t, out->features, TREE_FEATURES);
  out->nodes = ARENA_ARRAY(a, tree_node, 2 * leaves_most);
  out->members = ARENA_ARRAY(a, size_t, n_sizes + 1);
  out->aside = ARENA_ARRAY(a, size_t, n_sizes + 1);
  out->sorted = ARENA_ARRAY(a, feature_rank, n_sizes + 1);
  return out->nodes && out->members && out->aside && out->sorted ? 0 : err_nomem(e);
}

static const int64_t *values_of(const tree_learner *l, size_t size) {
  return l->values + size * l->n_fields;
}

/* ---- sorting -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  const feature_rank *x = a, *y = b;
  return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                              : (x->size > y->size) - (x->size < y->size);
}

void feature_sort(feature_rank *list, size_t n) {
  qsort(list, n, sizeof *list, by_value);
}

double feature_sort_value(const chooser_feature *f, const int64_t *values) {
  return f->kind == CHOOSER_CHOICE ? !chooser_feature_holds(f, 0, values)
                                   : chooser_feature_value(f, values);
}

/* ---- splitting ------------------------------------------------------------------------------ */

static void try_feature(tree_learner *l, size_t node, const chooser_feature *f) {
  const tree_criterion *c = l->criterion;
  tree_node *g = &l->nodes[node];
  feature_rank *r = l->sorted;
  for (size_t i = 0; i < g->n; i++) {
    r[i] = (feature_rank){.value = feature_sort_value(f, values_of(l, g->members[i])),
                          .size = g->members[i]};
  }
  feature_sort(r, g->n);
  if (!(r[0].value < r[g->n - 1].value)) {
    return;
  }
  c->start(c->self, r, g->n);
  for (size_t i = 1; i + c->leaf_least <= g->n; i++) {
    c->move(c->self, r[i - 1].size);
    if (i < c->leaf_least || r[i].value <= r[i - 1].value) {
      continue;
    }
    const double gain = c->gain(c->self, node);
    if (gain > g->split.gain + 1e-9) {
      g->split = (tree_split){
          .gain = gain, .feature = *f, .below = c->threshold(r[i - 1].value, r[i].value)};
    }
  }
}

static bool open_node(tree_learner *l, size_t node, size_t above) {
  const tree_criterion *c = l->criterion;
  if (!c->open(c->self, node, above)) {
    return false;
  }
  for (size_t i = 0; i < l->n_features && l->nodes[node].n >= 2 * c->leaf_least; i++) {
    try_feature(l, node, &l->features[i]);
  }
  return true;
}

static size_t new_node(tree_learner *l, size_t *members, size_t n) {
  l->nodes[l->n_nodes] = (tree_node){.members = members, .n = n};
  return l->n_nodes++;
}

/* The members stay in order on both sides. */
static bool split_node(tree_learner *l, size_t node, size_t step) {
  tree_node *g = &l->nodes[node];
  size_t yes = 0, no = 0;
  for (size_t i = 0; i < g->n; i++) {
    const size_t size = g->members[i];
    if (chooser_feature_holds(&g->split.feature, g->split.below, values_of(l, size))) {
      g->members[yes++] = size;
    } else {
      l->aside[no++] = size;
    }
  }
  memcpy(g->members + yes, l->aside, no * sizeof *l->aside);
  g->step = step;
  g->yes = new_node(l, g->members, yes);
  g->no = new_node(l, g->members + yes, no);
  return open_node(l, g->yes, node) && open_node(l, g->no, node);
}

static bool best_leaf(const tree_learner *l, size_t *best) {
  double most = 0;
  for (size_t i = 0; i < l->n_nodes; i++) {
    if (!l->nodes[i].yes && l->nodes[i].split.gain > most) {
      most = l->nodes[i].split.gain;
      *best = i;
    }
  }
  return most > 0;
}

bool tree_grow(tree_learner *l, const size_t *sizes, size_t n, size_t leaves) {
  size_t node;
  memcpy(l->members, sizes, n * sizeof *sizes);
  l->n_nodes = 0;
  new_node(l, l->members, n);
  bool ok = !n || open_node(l, 0, SIZE_MAX);
  for (size_t i = 1; ok && i < leaves && best_leaf(l, &node); i++) {
    ok = split_node(l, node, i - 1);
  }
  return ok;
}

/* ---- using ---------------------------------------------------------------------------------- */

static bool is_leaf(const tree_node *g, size_t leaves) {
  return !g->yes || g->step + 1 >= leaves;
}

size_t tree_walk(const tree_learner *l, const int64_t *values, size_t leaves) {
  size_t i = 0;
  while (!is_leaf(&l->nodes[i], leaves)) {
    const tree_split *s = &l->nodes[i].split;
    i = chooser_feature_holds(&s->feature, s->below, values) ? l->nodes[i].yes : l->nodes[i].no;
  }
  return i;
}

typedef struct emitter {
  const tree_learner *l;
  size_t leaves;
  bool (*leaf)(void *self, size_t node, chooser_node *out);
  void *self;
  chooser_node *out;
  size_t n;
} emitter;

/* A node, then those below it where its feature holds, then the others; the depth is at most the
 * number of leaves. */
static bool emit(emitter *m, size_t node) {
  const tree_node *g = &m->l->nodes[node];
  chooser_node *n = &m->out[m->n++];
  if (is_leaf(g, m->leaves)) {
    return m->leaf(m->self, node, n);
  }
  n->feature = g->split.feature;
  n->below = g->split.below;
  if (!emit(m, g->yes)) {
    return false;
  }
  n->no = m->n;
  return emit(m, g->no);
}

size_t tree_emit(const tree_learner *l, size_t leaves,
                 bool (*leaf)(void *self, size_t node, chooser_node *out), void *self,
                 chooser_node *out) {
  emitter m = {.l = l, .leaves = leaves, .leaf = leaf, .self = self, .out = out};
  return emit(&m, 0) ? m.n : 0;
}
