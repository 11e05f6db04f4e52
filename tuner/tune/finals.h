/* finals.h -- the fastest candidates and the default, timed again side by side.
 *
 * A single look is biased by what ran before it (clocks, caches), up to 10 % either way;
 * interleaved rounds in one process give every finalist the same conditions. The default always
 * takes part, so "tuned" never loses to it.
 */
#ifndef TUNE_FINALS_H
#define TUNE_FINALS_H

#include "tune.h"

int finals_race(tune_session *s, err *e);

#endif
