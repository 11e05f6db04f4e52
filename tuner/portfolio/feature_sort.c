#include "feature_sort.h"

#include <stdlib.h>

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
