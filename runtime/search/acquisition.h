/* acquisition.h -- the candidates that a model scores, when the space is too large to score all of
 * it.
 *
 * A third are neighbours of the best points known (one parameter, any value), a third children of
 * two of them, the rest random: the model can refine, combine, and explore.
 */
#ifndef SEARCH_ACQUISITION_H
#define SEARCH_ACQUISITION_H

#include "history.h"

typedef struct acquisition_candidate {
  size_t point;
  double score; /* the least is the best */
  uint16_t coordinates[GEN_MAX_PARAMS];
} acquisition_candidate;

typedef struct acquisition {
  acquisition_candidate *candidates;
  size_t n, max;
  uint32_t *slots; /* hash table: point -> 1 + index of its candidate */
  size_t n_slots;
} acquisition;

int acquisition_init(acquisition *a, size_t max, err *e);
void acquisition_clear(acquisition *a);
/* acquisition_collect -- a new list of points not asked for, each once; all of them where the space
 * has at most max.
 *   in  order  n evaluations, fastest first */
void acquisition_collect(acquisition *a, history *h, const size_t *order, size_t n);
/* acquisition_take -- the candidate with the least score that was not asked for meanwhile, marked
 * as asked; false: none is left */
bool acquisition_take(const acquisition *a, history *h, size_t *point);

#endif
