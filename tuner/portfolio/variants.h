/* variants.h -- the variants that a portfolio's configurations are adapted to over its range: found
 * at many sizes drawn from it. */
#ifndef TUNE_VARIANTS_H
#define TUNE_VARIANTS_H

#include "export.h"

typedef struct variants {
  exported_variant
      *v; /* by base: the configuration itself, then its variants, the least changed first */
  size_t n;
  uint64_t derived; /* as exported_portfolio has it */
  str *sources;     /* distinct texts: v[i].source is a place here */
  size_t *bodies;   /* where each begins after its comments */
  size_t n_sources;
  size_t n_met;              /* where models chose: the number of variants considered; else 0 */
  double lost;               /* with these against all of them: the mean, a share */
  const chooser_node *nodes; /* a tree over them, where one was asked for; else NULL */
  size_t n_nodes;
} variants;

/* variants_find -- at most `most`: those with which sizes lose least by the models, or without
 * models the most frequent; and the template's default for every choice of the portfolio's range.
 * Clear them with variants_clear.
 *   in   numbers  the limits of the device
 *        tree     learn a tree over them, if there are models
 *   err  ERR_USAGE  the text of the kernel depends on the sizes, so it can't be shared by them */
int variants_find(gen_template *t, const portfolio *c, const gen_number *numbers, size_t n_numbers,
                  bool tree, size_t most, arena *a, variants *out, err *e);
void variants_clear(variants *v);

#endif
