/* search_space.h -- a space as search strategies see it: numbered valid points.
 *
 * A point also has coordinates: for each parameter, the index of its value in the parameter's list.
 * A space that a template defines and one that is read from a recording look alike.
 */
#ifndef SEARCH_SPACE_H
#define SEARCH_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen.h"

enum { SEARCH_MAX_STRATA = 32 };

typedef struct search_space {
  size_t n;        /* valid points, up to 2^63 */
  size_t n_params; /* at most GEN_MAX_PARAMS */
  uint16_t n_values[GEN_MAX_PARAMS];
  /* Points stratum[i] .. stratum[i + 1] - 1 belong to one algorithm. Strategies draw random points
   * from all strata equally often: otherwise they would hardly see an algorithm of few points. */
  size_t n_strata, stratum[SEARCH_MAX_STRATA + 1];
  const void *self; /* whose points they are; outlives the view */
  /* at -- the coordinates of a point; GEN_MAX_PARAMS of them, 0 beyond n_params */
  void (*at)(const void *self, size_t point, uint16_t *coordinates);
  /* find -- the point at these coordinates; false when it is not valid */
  bool (*find)(const void *self, const uint16_t *coordinates, size_t *point);
} search_space;

/* search_space_view -- a template's space */
void search_space_view(const gen_space *space, const gen_template *t, search_space *out);

#endif
