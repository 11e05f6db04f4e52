/* gen_builder.h -- a decision diagram while it is built: gen_diagram_plan.c decides the order, finds
 * the parts that distinguish nodes and what each layer evaluates; gen_diagram_build.c evaluates it.
 */
#ifndef GEN_BUILDER_H
#define GEN_BUILDER_H

#include "gen_diagram.h"
#include "expr_parts.h"

enum { GEN_MAX_SLOTS = 100 };

typedef struct gen_test { /* a requirement, or one of the conditions that it joins by `and` */
  const expr_term *x;
  size_t requirement;
} gen_test;

typedef struct gen_slots { /* the parts whose values distinguish the nodes of a layer */
  const expr_node *tree[GEN_MAX_SLOTS];
  expr_part part[GEN_MAX_SLOTS];
  size_t n;
} gen_slots;

typedef struct gen_step { /* what a layer tests, computed from the parts of the one before it */
  const expr_node *tree;
  size_t requirement;
} gen_step;

typedef struct gen_keys { /* the parts' values, of the nodes of one layer */
  uint64_t *bits;
  uint8_t *types; /* of expr_type */
  double *ways;   /* beginnings that lead to each node */
  size_t width, n, max;
  uint32_t *table; /* hash: 1 + node */
  size_t n_table;
} gen_keys;

typedef struct gen_builder {
  gen_instance *g;
  gen_diagram *d;
  double *rejected;
  arena a;
  expr_terms terms;
  gen_test *tests;
  size_t n_tests;
  const char **texts; /* each that a part had, once */
  size_t n_texts, max_texts;
  size_t order[GEN_MAX_PARAMS];
  uint64_t known[GEN_MAX_PARAMS + 1];
  gen_slots slots[GEN_MAX_PARAMS + 1];
  gen_step *steps; /* of the layer at hand: its tests, */
  size_t n_steps;
  const expr_node *next_parts[GEN_MAX_SLOTS]; /* and the next layer's parts */
  gen_keys now, next;
  size_t layer, node;
  double points_below; /* one value of the layer's parameter, valid or not */
  bool too_many_slots;
  bool as_declared; /* the parameters' order, and little is tried */
} gen_builder;

/* Inside gen_box_run: */

/* gen_builder_plan -- the order of the parameters, and the parts of every layer */
void gen_builder_plan(gen_builder *b);
/* gen_builder_layer -- what layer b->layer evaluates */
void gen_builder_layer(gen_builder *b);
_Noreturn void gen_builder_no_memory(gen_builder *b);
/* gen_builder_too_large -- ERR_LIMIT, `why` follows "and" */
_Noreturn void gen_builder_too_large(gen_builder *b, const char *why);

#endif
