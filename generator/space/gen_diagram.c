#include "gen_diagram.h"

#include <stdlib.h>

void gen_diagram_free(gen_diagram *d) {
  for (size_t i = 0; d && i <= GEN_MAX_PARAMS; i++) {
    free(d->layers[i].below);
    free(d->layers[i].count);
  }
  free(d);
}

uint64_t gen_diagram_count(const gen_diagram *d) {
  return d->layers[0].count[0];
}

void gen_diagram_at(const gen_diagram *d, uint64_t i, gen_config *c) {
  size_t node = 0;
  *c = (gen_config){{0}};
  for (size_t k = 0; k < d->t->n_params; k++) {
    const gen_layer *y = &d->layers[k];
    const uint32_t *below = y->below + node * d->t->params[y->param].n;
    size_t v = 0;
    for (uint64_t n; i >= (n = gen_diagram_below(d, k, &below[v])); v++) {
      i -= n;
    }
    c->index[y->param] = (uint16_t)v;
    node = below[v];
  }
}

bool gen_diagram_find(const gen_diagram *d, const gen_config *c, uint64_t *i) {
  size_t node = 0;
  *i = 0;
  for (size_t k = 0; k < d->t->n_params; k++) {
    const gen_layer *y = &d->layers[k];
    const uint32_t *below = y->below + node * d->t->params[y->param].n;
    size_t v = c->index[y->param];
    if (!gen_diagram_below(d, k, &below[v])) {
      return false;
    }
    for (size_t w = 0; w < v; w++) {
      *i += gen_diagram_below(d, k, &below[w]);
    }
    node = below[v];
  }
  return true;
}
