/* feature_sort.h -- sizes in the order of a feature's value: where trees look for their splits. */
#ifndef TUNE_FEATURE_SORT_H
#define TUNE_FEATURE_SORT_H

#include "portfolio.h"

typedef struct feature_rank {
  double value;
  size_t size;
} feature_rank;

/* feature_sort -- by value, then by size */
void feature_sort(feature_rank *list, size_t n);

/* feature_sort_value -- of a feature; a choice is one, too: sizes that have it come first */
double feature_sort_value(const chooser_feature *f, const int64_t *values);

#endif
