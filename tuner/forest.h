/* forest.h -- a random forest over the points of a space: regression trees, each on a bootstrap
 * sample.
 *
 * Learns a target from a few hundred points and predicts it, with the trees' disagreement, for a
 * few thousand, in some milliseconds for both: the place of a value in its parameter's list is a
 * small whole number, so the best cut of a node is found by counting, without sorting. Trees are
 * grown until a leaf has fewer than three points. src: Breiman, Random Forests, Machine Learning
 * 45, 2001.
 */
#ifndef TUNE_FOREST_H
#define TUNE_FOREST_H

#include "trail.h"

typedef struct forest_node {
  float value;         /* mean of the targets below */
  uint16_t param, cut; /* places up to cut go left */
  uint32_t left;       /* 0: a leaf; the right child is the next */
} forest_node;

typedef struct forest {
  size_t n_trees;
  forest_node **trees;
  /* inside */
  size_t *rows, capacity; /* of answers */
} forest;

int forest_init(forest *f, size_t n_trees, err *e);
void forest_clear(forest *f);
/* forest_fit -- from all answers of a trail, whose random numbers it uses; false when memory is out
 */
bool forest_fit(forest *f, trail *t, const float *target);
void forest_predict(const forest *f, const uint16_t *places, double *mean, double *deviation);

#endif
