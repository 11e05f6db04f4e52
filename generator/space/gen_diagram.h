/* gen_diagram.h -- the valid points of a space too large to list: a decision diagram with counts.
 *
 * One layer a parameter, in an order of its own. A node stands for all beginnings of a
 * configuration that leave the remaining requirements the same. The values of the parts
 * (expr_parts.h) that undecided requirements still depend on identify it, so that beginnings meet
 * again as soon as what they differ in has been decided. A group of parameters that no requirement
 * ties to the others comes down to one node at its end, and a sum or product to one node a value.
 * Each node knows how many valid points lie below it: that makes the number of a point, the point
 * of a number, and so a uniform sample, one walk from the root.
 *
 * src: Bryant, Graph-Based Algorithms for Boolean Function Manipulation, 1986, for the counting;
 * Rasch, Schulze, Steuwer and Gorlatch, Efficient Auto-Tuning of Parallel Programs with
 * Interdependent Tuning Parameters via Auto-Tuning Framework, TACO 18, 2021, for groups of
 * parameters (there, a tree each).
 */
#ifndef GEN_DIAGRAM_H
#define GEN_DIAGRAM_H

#include "gen_tmpl.h"

typedef struct gen_layer {
  size_t param;
  size_t n;        /* nodes */
  uint32_t *below; /* [node * n_values + value]: node of the next layer; GEN_NOWHERE: rejected */
  uint64_t *count; /* valid points below each node */
} gen_layer;

#define GEN_NOWHERE UINT32_MAX

typedef struct gen_diagram {
  const gen_template *t;
  gen_layer layers[GEN_MAX_PARAMS + 1]; /* the last has one node, where every valid point ends */
  size_t n_nodes, n_cells, nbytes;
} gen_diagram;

void gen_diagram_free(gen_diagram *d);
/* gen_diagram_below -- valid points below an edge of that layer */
static inline uint64_t gen_diagram_below(const gen_diagram *d, size_t layer,
                                         const uint32_t *below) {
  return *below == GEN_NOWHERE ? 0 : d->layers[layer + 1].count[*below];
}
uint64_t gen_diagram_count(const gen_diagram *d);
void gen_diagram_at(const gen_diagram *d, uint64_t i, gen_config *c);
bool gen_diagram_find(const gen_diagram *d, const gen_config *c, uint64_t *i);

/* gen_diagram_new --
 *   out  rejected  by requirement, as in gen_tally
 *   err  ERR_LIMIT     its layers grow too wide, or over 2^63 points are valid
 *        ERR_TEMPLATE  an expression could not be evaluated; the place is the template only */
int gen_diagram_new(gen_instance *g, double *rejected, gen_diagram **out, err *e);

#endif
