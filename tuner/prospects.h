/* prospects.h -- which points a model is asked about, when the space is too large to ask about all.
 *
 * A third are neighbours of the best points known (one parameter, any value), a third children of
 * two of them, the rest random: where the model is to refine, to combine, and to look for something
 * new.
 */
#ifndef TUNE_PROSPECTS_H
#define TUNE_PROSPECTS_H

#include "trail.h"

typedef struct prospect {
  size_t point;
  double score; /* the least is the best */
  uint16_t places[GEN_MAX_PARAMS];
} prospect;

typedef struct prospects {
  prospect *p;
  size_t n, max;
  uint32_t *slots; /* hash table of the points that are in already */
  size_t n_slots;
} prospects;

int prospects_init(prospects *c, size_t max, err *e);
void prospects_clear(prospects *c);
/* prospects_collect -- anew; `order` names n answers, fastest first. Points that nobody asked for,
 * each once: all of them where the space has no more than max */
void prospects_collect(prospects *c, trail *t, const size_t *order, size_t n);
/* prospects_take -- the one with the least score that nobody asked for meanwhile; false: none left
 */
bool prospects_take(const prospects *c, trail *t, size_t *point);

#endif
