/* finals.h -- the best candidates and the default, timed again side by side.
 *
 * The first measurement of a candidate is biased by what ran before it (clocks, caches), up to 10 %
 * either way; in interleaved rounds in one process all finalists meet the same conditions. The
 * default always takes part, so the tuned configuration is never slower.
 */
#ifndef TUNE_FINALS_H
#define TUNE_FINALS_H

#include "session.h"

int finals_race(tune_session *s, err *e);

#endif
