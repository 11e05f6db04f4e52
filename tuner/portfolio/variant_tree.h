/* variant_tree.h -- the tree by which exported C without models chooses among its kernels. It is
 * learnt from what the models say of sizes drawn at random. */
#ifndef TUNE_VARIANT_TREE_H
#define TUNE_VARIANT_TREE_H

#include "export.h"

typedef struct variant_table {
  size_t n_variants, n_sizes;
  const int64_t *values; /* [size * n_fields + field] */
  const float *lost;     /* [size * n_variants + variant]: against the best there */
  float nothing;         /* what stands there for a variant that does not fit */
} variant_table;

/* variant_tree_grow -- the nodes are in the arena. err ERR_NOMEM */
int variant_tree_grow(const gen_template *t, const variant_table *table, arena *a,
                      chooser_node **nodes, size_t *n, err *e);

#endif
