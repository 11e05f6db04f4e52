#include "gen_counts.h"

#include "gen_numbers.h"

static bool is_known(const gen_counts *counts, size_t i) {
  return counts && (counts->known >> i & 1);
}

void gen_counts_bind(gen_instance *g, const gen_counts *counts, uint32_t bounded) {
  tmpl *t = g->t;
  for (size_t i = 0; i < t->pub.n_counts; i++) {
    expr_value *to = &t->scalars[GEN_FIRST_COUNT + i];
    const gen_expr *most = t->prepare.counts[i].most;
    *to = (expr_value){0};
    if (is_known(counts, i)) {
      *to = expr_integer(counts->values[i]);
    } else if (bounded >> i & 1) {
      *to = expr_integer(gen_bounded(g, most, 0, INT64_MAX, "the bound of a count"));
    }
  }
}

uint64_t gen_prepared_nbytes(gen_instance *g, size_t i) {
  const gen_prepared_rule *x = &g->t->prepare.buffers[i];
  return gen_nbytes(g, x->count, gen_element_type(g, x->element));
}
