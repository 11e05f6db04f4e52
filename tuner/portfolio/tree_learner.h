/* tree_learner.h -- grow a decision tree over sizes (chooser.h), the split that gains most first.
 * What a split gains, and what a leaf says, is the caller's. */
#ifndef TUNE_TREE_LEARNER_H
#define TUNE_TREE_LEARNER_H

#include "portfolio.h"

enum { TREE_FEATURES = 256 };

/* Sizes in the order of a feature's value. */
typedef struct feature_rank {
  double value;
  size_t size;
} feature_rank;

/* feature_sort -- by value, then by size */
void feature_sort(feature_rank *list, size_t n);

/* feature_sort_value -- of a feature; a choice is one, too: sizes that have it come first */
double feature_sort_value(const chooser_feature *f, const int64_t *values);

typedef struct tree_split {
  double gain; /* 0: none is of use */
  chooser_feature feature;
  double below;
} tree_split;

typedef struct tree_node { /* numbered in the order in which they are made; the root is 0 */
  size_t *members, n;      /* its sizes */
  tree_split split;
  size_t yes, no; /* nodes; 0: not split */
  size_t step;    /* number of its split: a tree of s + 1 leaves has the splits before step s */
} tree_node;

/* A split is looked for by sorting a node's sizes by each feature: all are right of it, then one
 * after the other moves to the left. */
typedef struct tree_criterion {
  size_t leaf_least; /* sizes that a leaf has at least */
  /* work out what a node is worth whose members are known; above: SIZE_MAX for the root. Before any
   * of the following. False: out of memory */
  bool (*open)(void *self, size_t node, size_t above);
  void (*start)(void *self, const feature_rank *sorted, size_t n); /* all are right */
  void (*move)(void *self, size_t size);                           /* from right to left */
  double (*gain)(void *self, size_t node);
  double (*threshold)(double a, double b); /* in (a, b] */
  void *self;
} tree_criterion;

typedef struct tree_learner {
  const tree_criterion *criterion;
  const int64_t *values; /* [size * n_fields + field] */
  size_t n_fields;
  chooser_feature features[TREE_FEATURES];
  size_t n_features;
  tree_node *nodes;
  size_t n_nodes;
  size_t *members, *aside; /* [n_sizes] */
  feature_rank *sorted;    /* likewise */
} tree_learner;

/* tree_learner_new -- for up to so many sizes and leaves; in the arena. err ERR_NOMEM */
int tree_learner_new(const gen_template *t, const int64_t *values, size_t n_sizes,
                     size_t leaves_most, const tree_criterion *criterion, arena *a,
                     tree_learner *out, err *e);
/* tree_grow -- a tree of those sizes, in place of the one before. False: out of memory */
bool tree_grow(tree_learner *l, const size_t *sizes, size_t n, size_t leaves);
/* tree_walk -- the number of the node where the tree of so many leaves leads */
size_t tree_walk(const tree_learner *l, const int64_t *values, size_t leaves);
/* tree_emit -- the tree of so many leaves as a chooser's nodes, whose number is returned; 0:
 * `leaf`, which fills in a leaf, has failed */
size_t tree_emit(const tree_learner *l, size_t leaves,
                 bool (*leaf)(void *self, size_t node, chooser_node *out), void *self,
                 chooser_node *out);

#endif
