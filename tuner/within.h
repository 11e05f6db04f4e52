/* within.h -- a search kept to the points where one parameter has one value. */
#ifndef TUNE_WITHIN_H
#define TUNE_WITHIN_H

#include "strategy.h"

typedef struct tune_within {
  const tune_strategy *inner; /* that searches there */
  size_t param;               /* by its place in the template */
  uint16_t place;             /* of the value among the parameter's */
} tune_within;

/* tune_within_open -- the state of tune_within_strategy; there may be no such point. */
int tune_within_open(const tune_within *w, const tune_space *space, uint64_t seed, void **self,
                     err *e);
extern const tune_strategy tune_within_strategy; /* its open is NULL */

#endif
