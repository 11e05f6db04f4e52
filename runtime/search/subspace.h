/* subspace.h -- the points of a space where one parameter has one value, as a space of their own.
 */
#ifndef SEARCH_SUBSPACE_H
#define SEARCH_SUBSPACE_H

#include "err.h"
#include "search_space.h"

typedef struct search_subspace {
  size_t param;   /* its index in the template */
  uint16_t value; /* an index into the parameter's list */
} search_subspace;

typedef struct subspace {
  search_space view;         /* what a strategy sees; at a fixed address */
  const search_space *whole; /* borrowed */
  size_t *points;            /* [view.n], ascending: their numbers in the whole space */
} subspace;

/* subspace_init -- view.n may be 0; on error too, subspace_clear */
int subspace_init(subspace *s, const search_space *whole, const search_subspace *which, err *e);
void subspace_clear(subspace *s);
/* subspace_find -- the number in the subspace of a point of the whole space; false: not in it */
bool subspace_find(const subspace *s, size_t whole, size_t *point);

#endif
