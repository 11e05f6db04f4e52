/* ranked.h -- sizes in the order of a feature's value: where trees look for their splits. */
#ifndef TUNE_RANKED_H
#define TUNE_RANKED_H

#include "serve_cover.h"

typedef struct ranked {
  double value;
  size_t size;
} ranked;

/* ranked_sort -- by value, then by size */
void ranked_sort(ranked *list, size_t n);

/* ranked_value -- of a feature; a choice is one, too: sizes that have it come first */
double ranked_value(const serve_feature *f, const int64_t *values);

#endif
