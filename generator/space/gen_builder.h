/* gen_builder.h -- a decision diagram while it is built: gen_diagram_plan.c decides the order,
 * finds the parts that tell nodes apart and writes the layers' functions; gen_diagram.c runs them.
 */
#ifndef GEN_BUILDER_H
#define GEN_BUILDER_H

#include "gen_diagram.h"
#include "gen_formula.h"

enum { GEN_MAX_SLOTS = 100 };

typedef struct gen_test { /* a requirement, or one of the conditions that it joins by `and` */
  const gen_formula *x;
  size_t requirement;
} gen_test;

typedef struct gen_slots { /* the parts whose values tell the nodes of a layer apart */
  const char *text[GEN_MAX_SLOTS];
  gen_part part[GEN_MAX_SLOTS];
  size_t n;
} gen_slots;

typedef struct gen_keys { /* their values, of the nodes of one layer */
  uint64_t *bits;
  uint8_t *types; /* Lua's; LUA_TNUMBER + 16 for a number that is not whole */
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
  str text, part;
  gen_test *tests;
  size_t n_tests;
  size_t order[GEN_MAX_PARAMS];
  uint64_t known[GEN_MAX_PARAMS + 1];
  gen_slots slots[GEN_MAX_PARAMS + 1];
  gen_keys now, next;
  size_t layer, node;
  double points_below; /* one value of the layer's parameter, valid or not */
  bool too_many_slots;
  bool as_declared; /* the parameters' order, and little is tried */
} gen_builder;

/* gen_builder_plan -- inside gen_box_run: order, known, slots, and the functions in text */
void gen_builder_plan(gen_builder *b);
_Noreturn void gen_builder_no_memory(gen_builder *b);
/* gen_builder_too_large -- ERR_LIMIT, `why` follows "and" */
_Noreturn void gen_builder_too_large(gen_builder *b, const char *why);

#endif
