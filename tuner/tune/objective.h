/* objective.h -- what a search minimises: time, energy, or their product (edp).
 *
 * Energy is measured, over a quarter of a second of launches, for every candidate that takes at
 * most twice the fastest one's time, and for longer in the finals.
 */
#ifndef TUNE_OBJECTIVE_H
#define TUNE_OBJECTIVE_H

#include "err.h"

typedef enum tune_objective { TUNE_TIME, TUNE_ENERGY, TUNE_EDP } tune_objective;

const char *tune_objective_name(tune_objective o);
/* tune_objective_find -- err ERR_USAGE */
int tune_objective_find(const char *name, tune_objective *out, err *e);

typedef struct scorer {
  tune_objective objective;
  double watts; /* of the last candidate whose energy was measured; 0: none yet */
} scorer;

/* scorer_score -- seconds, joules, or their product. Energy that was not measured (0) is estimated
 * from the last watts. */
double scorer_score(const scorer *s, double sec, double joules);
/* scorer_note -- the energy of a candidate; 0: not measured */
void scorer_note(scorer *s, double sec, double joules);

#endif
