/* space_view.c -- a template's space as strategies see it. */
#include <string.h>

#include "strategy.h"

static void at(const void *self, size_t point, uint16_t *places) {
  gen_config c;
  gen_space_at(self, point, &c);
  memcpy(places, c.index, sizeof c.index);
}

static bool find(const void *self, const uint16_t *places, size_t *point) {
  gen_config c;
  memcpy(c.index, places, sizeof c.index);
  return gen_space_find(self, &c, point);
}

void tune_space_view(const gen_space *space, const gen_template *t, tune_space *out) {
  *out = (tune_space){
      .n = gen_space_count(space), .n_params = t->n_params, .self = space, .at = at, .find = find};
  for (size_t i = 0; i < t->n_params; i++) {
    out->n_values[i] = (uint16_t)t->params[i].n;
  }
}
