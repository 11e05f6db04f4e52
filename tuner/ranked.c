#include "ranked.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                              : (x->size > y->size) - (x->size < y->size);
}

void ranked_sort(ranked *list, size_t n) {
  qsort(list, n, sizeof *list, by_value);
}

double ranked_value(const serve_feature *f, const int64_t *values) {
  return f->kind == SERVE_FEATURE_CHOICE ? !serve_feature_holds(f, 0, values)
                                         : serve_feature_value(f, values);
}
