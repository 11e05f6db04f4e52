/* space_view.c -- a template's space as strategies see it. */
#include <string.h>

#include "search_space.h"

static void at(const void *self, size_t point, uint16_t *coordinates) {
  gen_config c;
  gen_space_at(self, point, &c);
  memcpy(coordinates, c.index, sizeof c.index);
}

static bool find(const void *self, const uint16_t *coordinates, size_t *point) {
  gen_config c;
  memcpy(c.index, coordinates, sizeof c.index);
  return gen_space_find(self, &c, point);
}

/* The first point whose first parameter has at least that value. */
static size_t first_with(const search_space *s, size_t value) {
  uint16_t coordinates[GEN_MAX_PARAMS];
  size_t from = 0, to = s->n;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    s->at(s->self, middle, coordinates);
    if (coordinates[0] < value) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

/* By convention the parameter ALG, if there is one, comes first and names the algorithm. */
static void find_strata(const gen_space *space, const gen_template *t, search_space *s) {
  if (!t->n_params || strcmp(t->params[0].name, "ALG") != 0 || !gen_space_is_sorted(space) ||
      t->params[0].n > SEARCH_MAX_STRATA) {
    return;
  }
  for (size_t v = 1; v <= t->params[0].n; v++) {
    size_t end = first_with(s, v);
    if (end > s->stratum[s->n_strata]) {
      s->stratum[++s->n_strata] = end;
    }
  }
}

void search_space_view(const gen_space *space, const gen_template *t, search_space *out) {
  *out = (search_space){
      .n = gen_space_count(space), .n_params = t->n_params, .self = space, .at = at, .find = find};
  for (size_t i = 0; i < t->n_params; i++) {
    out->n_values[i] = (uint16_t)t->params[i].n;
  }
  find_strata(space, t, out);
}
