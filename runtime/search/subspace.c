#include "subspace.h"

#include <stdlib.h>

static void at(const void *self, size_t point, uint16_t *coordinates) {
  const subspace *s = self;
  s->whole->at(s->whole->self, s->points[point], coordinates);
}

static bool find(const void *self, const uint16_t *coordinates, size_t *point) {
  const subspace *s = self;
  size_t whole;
  return s->whole->find(s->whole->self, coordinates, &whole) && subspace_find(s, whole, point);
}

bool subspace_find(const subspace *s, size_t whole, size_t *point) {
  size_t low = 0, high = s->view.n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->points[middle] < whole) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *point = low;
  return low < s->view.n && s->points[low] == whole;
}

int subspace_init(subspace *s, const search_space *whole, const search_subspace *which, err *e) {
  *s = (subspace){.view = *whole, .whole = whole};
  s->view.n = s->view.n_strata = 0;
  s->view.self = s;
  s->view.at = at;
  s->view.find = find;
  s->points = malloc((whole->n + 1) * sizeof *s->points);
  if (!s->points) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < whole->n; i++) {
    uint16_t coordinates[GEN_MAX_PARAMS];
    whole->at(whole->self, i, coordinates);
    if (coordinates[which->param] == which->value) {
      s->points[s->view.n++] = i;
    }
  }
  return 0;
}

void subspace_clear(subspace *s) {
  free(s->points);
  s->points = NULL;
}
