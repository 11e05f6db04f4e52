/* variant_tree.h -- a tree by which exported C chooses among its kernels where it has no models at
 * hand. They are asked beforehand: the tree learns from what they say of sizes drawn. */
#ifndef TUNE_VARIANT_TREE_H
#define TUNE_VARIANT_TREE_H

#include "export.h"

typedef struct variant_table {
  size_t n_variants, n_sizes;
  const int64_t *values; /* [size * n_fields + field] */
  const float *lost;     /* [size * n_variants + variant]: against the best there */
  float nothing;         /* as much: it does not fit */
} variant_table;

/* variant_tree_grow -- nodes as exported_portfolio has them, in the arena. err ERR_NOMEM */
int variant_tree_grow(const gen_template *t, const variant_table *table, arena *a,
                      chooser_node **nodes, size_t *n, err *e);

#endif
