/* sampling.h -- points that were not asked for yet: at random, near given coordinates, or next to
 * them. Each function marks the point that it returns as asked. */
#ifndef SEARCH_SAMPLING_H
#define SEARCH_SAMPLING_H

#include "history.h"

/* sample_random -- from each stratum equally often; false when no point is left */
bool sample_random(history *h, size_t *point);
/* sample_nearest -- the point at these coordinates if it is valid and not asked for; else one that
 * differs in as few parameters as a few random attempts find; else a random one; false when no
 * point is left */
bool sample_nearest(history *h, const uint16_t *coordinates, size_t *point);
/* sample_neighbour -- a random point that differs in a single parameter; false when none is left */
bool sample_neighbour(history *h, const uint16_t *coordinates, size_t *point);

/* sample_find -- is there a valid point that was not asked for? Marks nothing. */
bool sample_find(const history *h, const uint16_t *coordinates, size_t *point);
/* sample_mutate -- change one free parameter to another value */
void sample_mutate(history *h, uint16_t *coordinates);

#endif
