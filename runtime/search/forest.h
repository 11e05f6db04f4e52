/* forest.h -- a random forest over the points of a space: regression trees, each on a bootstrap
 * sample.
 *
 * It learns a target from a few hundred points and predicts mean and deviation over the trees for a
 * few thousand, each in some milliseconds: coordinates are small integers, so the best cut of a
 * node is found by counting, without sorting. Trees are grown until a leaf has fewer than three
 * points. src: Breiman, Random Forests, Machine Learning 45, 2001.
 */
#ifndef SEARCH_FOREST_H
#define SEARCH_FOREST_H

#include "history.h"

typedef struct forest_node {
  float value;         /* mean of the targets below */
  uint16_t param, cut; /* values up to cut go left */
  uint32_t left;       /* 0: a leaf; the right child is the next */
} forest_node;

typedef struct forest {
  size_t n_trees;
  forest_node **trees;
  /* private */
  size_t *rows, capacity; /* indices of evaluations */
} forest;

int forest_init(forest *f, size_t n_trees, err *e);
void forest_clear(forest *f);
/* forest_fit -- to all evaluations of a history, with its random numbers; false when memory is out
 *   in  target  of each evaluation */
bool forest_fit(forest *f, history *h, const float *target);
void forest_predict(const forest *f, const uint16_t *coordinates, double *mean, double *deviation);

#endif
