/* importance.h -- which parameters a problem's time depends on: functional ANOVA of a forest.
 *
 * A forest learns the logarithm of the time from the trials that worked. For each tree, the
 * variance over the whole Cartesian product is split into the shares that single parameters explain
 * (averaged over all others) and those that pairs explain beyond these; the result is the mean over
 * the trees. It is exact, without sampling, because a tree is constant on boxes.
 *
 * src: Hutter, Hoos and Leyton-Brown, An Efficient Approach for Assessing Hyperparameter
 * Importance, ICML 2014; Sobol, Global Sensitivity Indices, 2001.
 */
#ifndef TUNE_IMPORTANCE_H
#define TUNE_IMPORTANCE_H

#include "history.h"

typedef struct importance_pair {
  size_t a, b; /* parameters, a < b */
  double share;
} importance_pair;

typedef struct importance {
  double main[GEN_MAX_PARAMS];  /* share of the variance, 0 to 1 */
  size_t best[GEN_MAX_PARAMS];  /* the value with the least mean time */
  double range[GEN_MAX_PARAMS]; /* mean time of its worst value divided by that of its best */
  importance_pair pairs[GEN_MAX_PARAMS * (GEN_MAX_PARAMS - 1) / 2]; /* strongest first */
  size_t n_pairs;
  double
      fit; /* R^2 on trials that the forest was not fitted to; below 0.5 the shares mean little */
} importance;

enum { IMPORTANCE_LEAST = 30 }; /* trials */

/* importance_find -- from the evaluations of a history without failures
 *   err  ERR_NOTFOUND  fewer than IMPORTANCE_LEAST of them worked, or all took the same time */
int importance_find(history *h, importance *out, err *e);

#endif
